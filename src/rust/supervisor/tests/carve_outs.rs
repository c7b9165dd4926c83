//! Carve-outs under the real supervisor, from a capability to what is left in its roots: with mounts,
//! and with Landlock alone.

#![cfg(target_os = "linux")]

mod harness;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use harness::{deny, on_a_thread, skip, NAMESPACES};
use rhocap_core::capability::{Capability, CapabilitySpec, CommandSpec, NarrowSpec};
use rhocap_core::misuse::Misuse;
use rhocap_core::outcome::{Code, Refusal};
use rhocap_core::policy::Process;
use rhocap_core::process::protocol::Exit;
use rhocap_core::resolve::Use;
use rhocap_core::verb::command::Ask;
use rhocap_core::verb::{self, Caller, Principal, Request, Value};

/// What is there before each command.
const FILES: &[&str] = &[
    "root/f",
    "root/.env",
    "root/.git/hooks/old",
    "root/.git/config",
    "root/.git/HEAD",
    "root/src/a",
    "root/home/.ssh/key",
    "root/home/z",
    "root/lib/pkg/x",
    "root/home/bare/HEAD",
    "root/home/bare/config",
    "root/home/bare/refs/x",
    "root/src/hooks/x",
];

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_bytes().to_vec()
}

struct Fixture {
    _kept: tempfile::TempDir,
    root: PathBuf,
    capability: Arc<Capability>,
}

impl Fixture {
    /// `mechanism` is what of the host it needs.
    fn new(mechanism: &str) -> Option<Self> {
        let kept = tempfile::tempdir().unwrap();
        let top = kept.path().canonicalize().unwrap();
        for file in FILES {
            fs::create_dir_all(top.join(file).parent().unwrap()).unwrap();
            fs::write(top.join(file), "IN\n").unwrap();
        }
        fs::create_dir(top.join("beside")).unwrap();
        let root = top.join("root");
        match Self::capability(&top, |_| {}) {
            Ok(capability) => Some(Self {
                _kept: kept,
                root,
                capability,
            }),
            Err(misuse) if misuse.kind == "not_enforceable" => {
                skip(mechanism, misuse);
                None
            }
            Err(misuse) => panic!("{misuse}"),
        }
    }

    fn capability(top: &Path, change: impl FnOnce(&mut CapabilitySpec)) -> Result<Arc<Capability>, Misuse> {
        let root = top.join("root");
        let mut spec = CapabilitySpec {
            write: vec![bytes(&root)],
            // Readable inside of what is writable.
            libraries: vec![bytes(root.join("lib"))],
            process: Process::Confined,
            commands: CommandSpec {
                supervisor: env!("CARGO_BIN_EXE_rhocap-supervisor").into(),
                beside: bytes(top.join("beside")),
            },
            ..CapabilitySpec::new(bytes(&root))
        };
        change(&mut spec);
        Capability::new(spec)
    }

    fn another(&self, change: impl FnOnce(&mut CapabilitySpec)) -> Arc<Capability> {
        Self::capability(self.root.parent().unwrap(), change).unwrap()
    }

    fn with_mounts() -> Option<Self> {
        Self::new("mount_namespace").filter(Self::mechanism)
    }

    fn mechanism(&self) -> bool {
        self.capability.enforcement().unwrap().has("mount_namespace")
    }

    fn run(&self, command: &str) -> Ran {
        self.try_run(command)
            .unwrap_or_else(|refusal| panic!("{command}: {refusal:?}"))
    }

    fn try_run(&self, command: &str) -> Result<Ran, Refusal> {
        run(&self.capability, command)
    }
}

/// Whether a command did all of it, its output, and what of its making was taken away.
type Ran = (bool, String, Vec<String>);

fn run(capability: &Arc<Capability>, command: &str) -> Result<Ran, Refusal> {
    let ask = Ask {
        command: format!("set -e; {command}").into(),
        timeout: Some(20.0),
        ..Ask::default()
    };
    let caller = Caller {
        tool: "test".to_owned(),
        principal: Principal::User,
    };
    let Value::Command(ran) = verb::run(capability, Request::Bash(ask), caller, Use::Best).outcome? else {
        panic!("no command");
    };
    let mut carved: Vec<_> = ran
        .record
        .carve_outs
        .iter()
        .map(|made| format!("{} {}", made.fate, made.path))
        .collect();
    carved.sort();
    Ok((ran.exit == Some(Exit::Exited(0)), ran.text.text.clone(), carved))
}

/// What of the making of a command was taken away, or told, while the user did something in the directory where it
/// runs.
fn meanwhile(capability: &Arc<Capability>, place: &Path, then: &str, user: impl FnOnce()) -> Vec<String> {
    let command = format!("touch made; while [ ! -e over ]; do sleep 0.02; done; {then}");
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(capability, &command).unwrap());
        wait_for(&place.join("made"));
        user();
        fs::write(place.join("over"), "").unwrap();
        let (done, output, carved) = running.join().unwrap();
        assert!(done, "{output}");
        carved
    })
}

/// Waits until a command has made something.
fn wait_for(path: &Path) {
    while !path.exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What every way of enforcing refuses, and leaves as it is.
const REFUSED: &[&str] = &[
    "cat .env",
    "echo x > .env",
    "rm .env",
    "mv src/a .env",
    "cat home/.ssh/key",
    "echo x >> .git/config",
    "echo x > .git/hooks/pre-commit",
    "echo x > .git/hooks/old",
    "rm -r .git/hooks",
    "mkdir new; mv new .git/hooks",
    "mv .git/hooks x",
    "mv .git x; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit",
    "mv home x; cat x/.ssh/key",
    "ln .env g; cat g",
    "ln -s .env src/g; cat src/g",
    "echo x >> home/bare/config",
    "mv src/hooks/x home/bare/config",
    "mv home/bare/config x",
    "echo x > lib/pkg/x",
    "echo x > lib/new",
    "chmod 777 .git/hooks/old && echo x > .git/hooks/old",
];

/// What every way allows.
const ALLOWED: &[(&str, &str)] = &[
    ("cat f src/a home/z lib/pkg/x", "IN\nIN\nIN\nIN\n"),
    ("cat .git/config .git/hooks/old", "IN\nIN\n"),
    ("ls .git", "HEAD\nconfig\nhooks\n"),
    (
        "echo IN > src/hooks/x; echo x > home/bare/refs/y; rm home/bare/refs/y",
        "",
    ),
    ("echo more >> f; tail -n 1 f", "more\n"),
    (
        "mkdir -p src/b/c; echo x > src/b/c/d; mv src/b src/e; cat src/e/c/d; rm -r src/e",
        "x\n",
    ),
    ("echo x > $TMPDIR/y; cat $TMPDIR/y; echo x > ~/z; cat ~/z", "x\nx\n"),
];

/// Names that a command can make, and does not keep: what is taken away, and the file that is gone.
const TAKEN: &[(&str, &[&str])] = &[
    ("echo x > src/.Rprofile", &["kept src/.Rprofile"]),
    (
        "mkdir -p src/n/.git/hooks; touch src/n/.git/hooks/x src/n/.git/HEAD",
        &["kept src/n/.git/hooks"],
    ),
    (
        "mkdir -p src/b/hooks; touch src/b/config src/b/HEAD",
        &["kept src/b/HEAD"],
    ),
    ("ln -s /etc/passwd src/.netrc", &["kept src/.netrc"]),
    ("ln -s a src/renv", &["kept src/renv"]),
    (
        "mkdir -p src/h/.ssh; chmod 0 src/h/.ssh; chmod 0 src/h",
        &["kept src/h/.ssh"],
    ),
];

fn check(mounts: bool) {
    let mechanism = if mounts { "mount_namespace" } else { "landlock" };
    let Some(fixture) = Fixture::new(mechanism) else {
        return;
    };
    if fixture.mechanism() != mounts {
        return skip(mechanism, "there is another");
    }
    let digest = || {
        let mut all: Vec<_> = FILES
            .iter()
            .map(|file| fs::read_to_string(fixture.root.parent().unwrap().join(file)))
            .map(|text| text.map_err(|error| error.kind()))
            .collect();
        // One that is allowed to be written.
        all.remove(0).ok();
        all
    };
    let before = digest();
    for command in REFUSED {
        let (done, output, _) = fixture.run(command);
        assert!(!done, "{command}: {output}");
        assert!(!output.contains("IN"), "{command}: {output}");
        assert_eq!(digest(), before, "{command}");
        for name in ["x", "new", "g", "src/g"] {
            let _ = fs::remove_dir_all(fixture.root.join(name)).or_else(|_| fs::remove_file(fixture.root.join(name)));
        }
    }
    for (command, output) in ALLOWED {
        assert_eq!(
            fixture.run(command),
            (true, (*output).to_owned(), Vec::new()),
            "{command}"
        );
    }
    for (command, taken) in TAKEN {
        let (done, output, carved) = fixture.run(command);
        assert!(done, "{command}: {output}");
        assert_eq!(carved, *taken, "{command}");
    }
    assert_eq!(digest(), before);
    // New names beside carve-outs: only mounts can tell them apart.
    for (command, taken) in [
        ("echo x > new; echo x > .Rprofile", &["kept .Rprofile"][..]),
        (
            "mkdir home/bare/hooks; echo x > home/bare/hooks/update",
            &["kept home/bare/hooks"],
        ),
    ] {
        let (done, _, carved) = fixture.run(command);
        assert_eq!(done, mounts, "{command}");
        assert_eq!(carved, if mounts { taken } else { &[] }, "{command}");
    }
    assert!(!fixture.root.join(".Rprofile").exists());
    // The name of a denied directory is not to be listed where a right to list could not leave it out.
    assert_eq!(fixture.run("ls home").0, mounts);
}

/// Links that give something a covered name, and what they say.
const LINKS: &[(&str, &str)] = &[
    ("CLAUDE.md", "hops/one"),
    ("hops/one", "../src/a"),
    (".Rprofile", "../profile.R"),
    (".vscode", "code"),
    ("renv", "src"),
    ("deploy/renv", "../current"),
    ("current", "A"),
    ("home/.git", "../.git"),
    (".github", "gh"),
    // Through a directory that is left again.
    (".zshrc", "B/deep/../../src/a"),
    // On the way of a pattern, but to a file.
    ("deploy/.github", "../B/note"),
    // In what is closed itself.
    (".husky/pre-push", "../src/hook"),
    (".git/hooks/post-merge", "../../hops/to"),
];

/// What they lead to, or could.
const INSIDE: &[&str] = &[
    "src/a",
    "src/activate.R",
    "../profile.R",
    "B/activate.R",
    "B/note",
    "src/hook",
    "hops/to",
];

/// No command can put anything else in the place of such a link, or of one that is passed from it, or of the
/// directory to which it leads.
const TURNS: &[&str] = &[
    "rm CLAUDE.md",
    "echo x > x; mv x CLAUDE.md",
    "mv CLAUDE.md x",
    "ln -sfn ./src/a CLAUDE.md",
    "ln -sfn ../f hops/one",
    "rm hops/one",
    "mv hops x; mkdir hops; ln -s ../f hops/one",
    "rm .Rprofile; echo x > .Rprofile",
    "rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json",
    "mkdir -p m; echo x > m/y; ln -sfn ../m home/.git",
    "ln -sfn ./src renv",
    "mv src x; ln -s x src",
    "rm -r gh; mkdir gh",
    "ln -sfn B current",
    "ln -sfn /proc/self/cwd/B current",
    "rm current; mkdir current",
    "mv A C; mv B A",
    "mv deploy x",
    "rm -r deploy",
    "mv B/deep x; mkdir -p m/y; ln -s ../m/y B/deep",
    "rm B/note; mkdir -p B/note/workflows",
    "echo x > src/hook",
    "echo x > hops/to",
    "rm src/hook",
    "echo x > .zshrc",
];

fn check_links(mechanism: &str) {
    let Some(fixture) = Fixture::new(mechanism) else {
        return;
    };
    let at = |name: &str| fixture.root.join(name);
    for directory in ["code", "hops", "deploy", "gh", "A", "B", "B/deep", ".husky"] {
        fs::create_dir(at(directory)).unwrap();
    }
    for file in INSIDE {
        fs::write(at(file), "IN\n").unwrap();
    }
    for (name, text) in LINKS {
        symlink(text, at(name)).unwrap();
    }
    let as_before = |command: &str| {
        for (name, text) in LINKS {
            assert_eq!(fs::read_link(at(name)).ok(), Some(PathBuf::from(text)), "{command}");
        }
        for file in INSIDE {
            assert_eq!(fs::read_to_string(at(file)).unwrap(), "IN\n", "{command}");
        }
        assert!(
            !at("A/activate.R").exists() && !at("gh/workflows").exists(),
            "{command}"
        );
    };
    // They lead where they did.
    assert_eq!(
        fixture.run("cat CLAUDE.md renv/activate.R; ls deploy/renv .github; cat home/.git/config"),
        (true, "IN\nIN\n.github:\n\ndeploy/renv:\nIN\n".to_owned(), Vec::new())
    );
    for command in TURNS {
        let (done, output, carved) = fixture.run(command);
        assert!(!done, "{command}: {output}");
        assert_eq!(carved, [""; 0], "{command}");
        as_before(command);
        for left in ["x", "m", "C"] {
            let _ = fs::remove_dir_all(at(left)).or_else(|_| fs::remove_file(at(left)));
        }
    }
    if !fixture.mechanism() {
        return;
    }
    // What comes to where they lead is taken away, by the name that they give it.
    for (command, taken) in [
        ("echo x > A/activate.R", "kept deploy/renv/activate.R"),
        ("mkdir gh/workflows; echo x > gh/workflows/y", "kept .github/workflows"),
        ("mv B/activate.R A; cp A/activate.R B", "kept deploy/renv/activate.R"),
    ] {
        let (done, output, carved) = fixture.run(command);
        assert!(done, "{command}: {output}");
        assert_eq!(carved, [taken], "{command}");
        as_before(command);
    }
}

#[test]
fn links_that_give_a_covered_name() {
    check_links("mount_namespace");
}

#[test]
fn links_that_give_a_covered_name_with_landlock_alone() {
    on_a_thread(|| {
        deny(NAMESPACES, libc::EPERM);
        check_links("landlock");
    });
}

/// Where a covered link leads nowhere, a command could make what it leads to: none runs.
#[test]
fn links_that_lead_nowhere() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    symlink("build/../src/a", at("CLAUDE.md")).unwrap();
    let refusal = fixture.try_run("mkdir build").unwrap_err();
    assert_eq!(refusal.code, Code::CarveOut);
    assert!(refusal.message.contains("make what it names"), "{refusal:?}");
    assert!(!at("build").exists());
    fs::create_dir(at("build")).unwrap();
    assert!(fixture.run("true").0);
    // Then the directory that is left again stays as well.
    assert!(!fixture.run("rmdir build").0);
}

/// What one command's end takes out is free in the view of another from then on.
#[test]
fn what_another_command_took_out() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    fs::write(at("CLAUDE.md"), "IN\n").unwrap();
    std::thread::scope(|scope| {
        let first =
            scope.spawn(|| fixture.run("touch made; while [ ! -e over ]; do sleep 0.02; done; echo x > CLAUDE.md"));
        wait_for(&at("made"));
        fs::remove_file(at("CLAUDE.md")).unwrap();
        let (done, output, carved) = fixture.run("echo x > CLAUDE.md");
        assert!(done, "{output}");
        assert_eq!(carved, ["kept CLAUDE.md"]);
        fs::write(at("over"), "").unwrap();
        let (done, output, carved) = first.join().unwrap();
        assert!(done, "{output}");
        assert_eq!(carved, ["kept CLAUDE.md"]);
    });
    assert!(!at("CLAUDE.md").exists());
}

/// What a command makes where it finds that of another is not taken for the user's by a third, though the name
/// is given on by its hard links.
#[test]
fn what_is_given_on_from_command_to_command() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    // What the user takes away while the first runs is free as well.
    for there in [false, true] {
        if there {
            fs::write(at(".Rprofile"), "IN\n").unwrap();
        }
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                fixture.run(
                    "touch m0; while [ ! -e g0 ]; do sleep 0.02; done; echo one > .Rprofile; touch m1; \
                     while [ ! -e g1 ]; do sleep 0.02; done; ln .Rprofile kept; rm .Rprofile",
                )
            });
            wait_for(&at("m0"));
            if there {
                fs::remove_file(at(".Rprofile")).unwrap();
            }
            fs::write(at("g0"), "").unwrap();
            wait_for(&at("m1"));
            let second = scope.spawn(|| {
                fixture.run(
                    "touch m2; while [ ! -e g2 ]; do sleep 0.02; done; echo two > .Rprofile; touch m3; \
                     while [ ! -e g3 ]; do sleep 0.02; done; ln -f .Rprofile kept; rm .Rprofile",
                )
            });
            wait_for(&at("m2"));
            fs::write(at("g1"), "").unwrap();
            // Not while the look after the other goes on.
            assert!(first.join().unwrap().0);
            fs::write(at("g2"), "").unwrap();
            wait_for(&at("m3"));
            let third =
                scope.spawn(|| fixture.run("touch m4; while [ ! -e g4 ]; do sleep 0.02; done; mv kept .Rprofile"));
            wait_for(&at("m4"));
            fs::write(at("g3"), "").unwrap();
            assert!(second.join().unwrap().0);
            fs::write(at("g4"), "").unwrap();
            let (done, output, carved) = third.join().unwrap();
            assert!(done, "{output}");
            // Where the user had a hand in it, it stays.
            assert_eq!(carved, [if there { "replaced .Rprofile" } else { "kept .Rprofile" }]);
        });
        for name in ["m0", "m1", "m2", "m3", "m4", "g0", "g1", "g2", "g3", "g4"] {
            fs::remove_file(at(name)).unwrap();
        }
    }
}

/// Nor where the user has renamed what is above meanwhile, nor what was closed under another name.
#[test]
fn what_is_renamed_while_commands_run() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let top = fixture.root.parent().unwrap();
    let moved = top.join("moved");
    fs::create_dir(fixture.root.join("p")).unwrap();
    fs::write(fixture.root.join("p/CLAUDE.md"), "IN\n").unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            fixture.run(
                "echo one > .Rprofile; touch m1; while [ ! -e m2 ]; do sleep 0.02; done; ln .Rprofile kept; rm .Rprofile",
            )
        });
        wait_for(&fixture.root.join("m1"));
        fs::rename(&fixture.root, &moved).unwrap();
        fs::rename(moved.join("p"), moved.join("q")).unwrap();
        let second = scope.spawn(|| {
            fixture.run("touch m2; while [ ! -e g2 ]; do sleep 0.02; done; echo two > kept; mv kept .Rprofile")
        });
        assert!(first.join().unwrap().0);
        fs::write(moved.join("g2"), "").unwrap();
        let (done, output, carved) = second.join().unwrap();
        assert!(done, "{output}");
        assert_eq!(carved, ["kept .Rprofile", "replaced q/CLAUDE.md"]);
    });
    assert!(moved.join("q/CLAUDE.md").exists() && !moved.join(".Rprofile").exists());
}

/// What stood under a name when another command started is not what this one was closed to.
#[test]
fn what_the_user_rotates_while_commands_run() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    fs::create_dir(at(".claude")).unwrap();
    let carved = meanwhile(&fixture.capability, &fixture.root, "true", || {
        fs::rename(at(".claude"), at("old")).unwrap();
        fs::create_dir(at(".claude")).unwrap();
        let (done, output, carved) = fixture.run("echo evil > old/settings.json; mv old .codex");
        assert!(done, "{output}");
        assert_eq!(carved, ["kept .codex", "replaced .claude"]);
    });
    assert_eq!(carved, ["replaced .claude"]);
    assert!(!at(".codex").exists());
}

/// What is mounted on something does not go with it to where another of the command's mounts is.
#[test]
fn what_the_user_moves_is_told() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    for (directory, file) in [("pkg/.vscode", "x"), ("pkg", "CLAUDE.md"), ("docs", "CLAUDE.md")] {
        fs::create_dir_all(at(directory)).unwrap();
        fs::write(at(directory).join(file), "IN\n").unwrap();
    }
    let then = "echo evil > docs/.vscode/x || true";
    let carved = meanwhile(&fixture.capability, &fixture.root, then, || {
        fs::rename(at("pkg/.vscode"), at("docs/.vscode")).unwrap();
        fs::rename(at("pkg/CLAUDE.md"), at("docs/AGENTS.md")).unwrap();
    });
    let told = [
        "gone pkg/.vscode",
        "gone pkg/CLAUDE.md",
        "replaced docs/.vscode",
        "replaced docs/AGENTS.md",
    ];
    assert_eq!(carved, told);
}

/// What is open to one command is not taken for its making by another to which it is closed.
#[test]
fn what_another_capability_leaves_open() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    fs::write(at("CLAUDE.md"), "IN\n").unwrap();
    let open = fixture.another(|spec| (spec.deny, spec.protect) = (Vec::new(), Vec::new()));
    let narrow = fixture.another(|spec| spec.protect.extend(["f".to_owned(), "src/".to_owned()]));
    let (open, closed) = (&open, &fixture.capability);
    std::thread::scope(|scope| {
        let wait = "while [ ! -e over ]; do sleep 0.02; done";
        let first = scope.spawn(move || run(open, &format!("touch m1; {wait}")).unwrap());
        let other = scope.spawn(move || {
            run(
                closed,
                &format!("echo x > .Rprofile; ln -s nowhere .envrc; touch m3; {wait}"),
            )
            .unwrap()
        });
        wait_for(&at("m1"));
        wait_for(&at("m3"));
        // What the other may not make either is its making: a link that leads nowhere refuses nothing then.
        for (capability, taken) in [(&narrow, &["kept .Rprofile", "kept .envrc"][..]), (closed, &[])] {
            let (done, output, carved) = run(capability, "true").unwrap();
            assert!(done, "{output}");
            assert_eq!(carved, taken);
        }
        fs::write(at("over"), "").unwrap();
        assert!(first.join().unwrap().0 && other.join().unwrap().0);
    });
    assert!(at("CLAUDE.md").exists() && at(".git/config").exists() && at("f").exists() && at("src/a").exists());
}

/// From a place that is only readable, too, a link can give a covered name to what commands make.
#[test]
fn links_in_what_is_only_readable() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    for (text, name) in [("../../src/a", "AGENTS.md"), ("../../code", ".vscode")] {
        symlink(text, at("lib/pkg").join(name)).unwrap();
    }
    fs::create_dir(at("code")).unwrap();
    for refused in ["echo x > src/a", "rm src/a", "mv code x", "echo x > code/tasks.json"] {
        assert!(!fixture.run(refused).0, "{refused}");
    }
    symlink("../../later", at("lib/pkg/CLAUDE.md")).unwrap();
    let refusal = fixture.try_run("echo x > later").unwrap_err();
    assert_eq!(refusal.code, Code::CarveOut);
}

/// What a smaller capability cannot see is closed to its commands all the same.
#[test]
fn links_of_a_larger_capability() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    fs::create_dir_all(at("src/deep")).unwrap();
    for (text, name) in [("src/a", "CLAUDE.md"), ("src/deep", "renv"), ("src/hooks", ".github")] {
        symlink(text, at(name)).unwrap();
    }
    let narrowed = fixture.capability.narrow(NarrowSpec {
        read: Some(Vec::new()),
        write: Some(vec![bytes(at("src"))]),
        cwd: Some(bytes(at("src"))),
        ..NarrowSpec::default()
    });
    let narrowed = narrowed.unwrap();
    for refused in ["echo x > a", "mv deep x", "rm -r hooks"] {
        let (done, output, _) = run(&narrowed, refused).unwrap();
        assert!(!done, "{refused}: {output}");
    }
    let (done, output, carved) = run(
        &narrowed,
        "echo x > deep/activate.R; mkdir hooks/workflows; echo x > new; echo x > .Rprofile",
    )
    .unwrap();
    assert!(done, "{output}");
    assert_eq!(
        carved,
        ["kept .Rprofile", "kept deep/activate.R", "kept hooks/workflows"]
    );
    assert!(at("src/new").exists() && !at("src/deep/activate.R").exists());
    // The user's own, elsewhere and meanwhile.
    let carved = meanwhile(&narrowed, &at("src"), "true", || {
        fs::write(at(".Rprofile"), "IN\n").unwrap();
    });
    assert_eq!(carved, [""; 0]);
    assert!(at(".Rprofile").exists());
    symlink("src/nowhere", at("AGENTS.md")).unwrap();
    assert_eq!(run(&narrowed, "true").unwrap_err().code, Code::CarveOut);
}

/// What the user does to a link while a command runs stays, and is told.
#[test]
fn links_that_the_user_turns() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    for directory in ["A", "B"] {
        fs::create_dir(at(directory)).unwrap();
    }
    fs::write(at("B/activate.R"), "IN\n").unwrap();
    let link = |text: &str, name: &str| symlink(text, at(name)).unwrap();
    link("current", "renv");
    link("A", "current");
    link("f", "CLAUDE.md");
    let carved = meanwhile(&fixture.capability, &fixture.root, "true", || {
        fs::remove_file(at("current")).unwrap();
        link("B", "current");
        fs::remove_file(at("CLAUDE.md")).unwrap();
    });
    assert_eq!(carved, ["gone CLAUDE.md", "replaced renv"]);
    assert_eq!(fs::read_to_string(at("renv/activate.R")).unwrap(), "IN\n");
    assert!(!at("CLAUDE.md").exists());
}

/// What is mounted on a file is gone with its name, also when the same file comes back.
#[test]
fn what_the_user_takes_off() {
    let Some(fixture) = Fixture::with_mounts() else { return };
    let at = |name: &str| fixture.root.join(name);
    for file in ["CLAUDE.md", ".Rprofile", ".envrc"] {
        fs::write(at(file), "IN\n").unwrap();
    }
    symlink("src/a", at("AGENTS.md")).unwrap();
    let then = "echo evil | tee CLAUDE.md .env src/a; ! echo x > .Rprofile; echo evil > free; mv free .zshrc";
    let carved = meanwhile(&fixture.capability, &fixture.root, then, || {
        for name in ["CLAUDE.md", ".env", "src/a"] {
            let kept = fixture.root.parent().unwrap().join("kept");
            fs::hard_link(at(name), &kept).unwrap();
            fs::remove_file(at(name)).unwrap();
            fs::rename(&kept, at(name)).unwrap();
        }
        // It is open under its new name, and under that it may get a covered one.
        fs::hard_link(at(".envrc"), at("free")).unwrap();
        fs::remove_file(at(".envrc")).unwrap();
        // Moved and moved back it stays closed.
        fs::rename(at(".Rprofile"), at("moved")).unwrap();
        fs::rename(at("moved"), at(".Rprofile")).unwrap();
    });
    let told = [
        "gone .envrc",
        "replaced .env",
        "replaced .zshrc",
        "replaced AGENTS.md",
        "replaced CLAUDE.md",
    ];
    assert_eq!(carved, told);
    assert_eq!(fs::read_to_string(at("CLAUDE.md")).unwrap(), "evil\n");
}

/// A repository inside of a repository is one.
#[test]
fn repositories_in_git_directories() {
    let Some(fixture) = Fixture::new("mount_namespace") else {
        return;
    };
    let (done, output, carved) = fixture.run(
        "mkdir -p src/.git/evil/hooks src/.git/remotes src/.git/sequencer; cd src/.git; \
         touch evil/HEAD evil/config evil/hooks/x remotes/origin sequencer/opts HEAD index; \
         cd ../../home/bare; mkdir x; ln -s x info; ln -s x rebase-merge; ln -s x plain",
    );
    assert!(done, "{output}");
    let taken = [
        "home/bare/info",
        "home/bare/rebase-merge",
        "src/.git/evil/HEAD",
        "src/.git/remotes",
        "src/.git/sequencer/opts",
    ];
    assert_eq!(carved, taken.map(|path| format!("kept {path}")));
    assert!(fixture.root.join("src/.git/HEAD").exists());
    // A name that makes a repository of what is the user's goes, and nothing of the user's does.
    for name in ["src/config/app.yml", "src/info/attributes", "src/worktrees"] {
        fs::create_dir_all(fixture.root.join(name).parent().unwrap()).unwrap();
        fs::write(fixture.root.join(name), "mine").unwrap();
    }
    let (done, output, carved) = fixture.run("touch src/HEAD; echo x > src/commondir");
    assert!(done, "{output}");
    assert_eq!(carved, ["kept src/HEAD"]);
    for name in [
        "src/config/app.yml",
        "src/info/attributes",
        "src/worktrees",
        "src/hooks/x",
    ] {
        assert!(fixture.root.join(name).exists(), "{name}");
    }
}

#[test]
fn with_mounts() {
    check(true);
}

#[test]
fn with_landlock_alone() {
    on_a_thread(|| {
        deny(NAMESPACES, libc::EPERM);
        check(false);
    });
}
