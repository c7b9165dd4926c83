//! Carve-outs under the real supervisor, from a capability to what is left in its roots: with mounts,
//! and with Landlock alone.

#![cfg(target_os = "linux")]

mod harness;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harness::{deny, on_a_thread, skip, NAMESPACES};
use rhocap_core::capability::{Capability, CapabilitySpec, CommandSpec};
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
        let made = Capability::new(CapabilitySpec {
            write: vec![bytes(&root)],
            // Readable inside of what is writable.
            libraries: vec![bytes(root.join("lib"))],
            process: Process::Confined,
            commands: CommandSpec {
                supervisor: env!("CARGO_BIN_EXE_rhocap-supervisor").into(),
                beside: bytes(top.join("beside")),
            },
            ..CapabilitySpec::new(bytes(&root))
        });
        match made {
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

    fn mechanism(&self) -> bool {
        self.capability.enforcement().unwrap().has("mount_namespace")
    }

    /// Runs a command: whether it did all of it, its output, and what of its making was taken away.
    fn run(&self, command: &str) -> (bool, String, Vec<String>) {
        let ask = Ask {
            command: format!("set -e; {command}").into(),
            timeout: Some(20.0),
            ..Ask::default()
        };
        let caller = Caller {
            tool: "test".to_owned(),
            principal: Principal::User,
        };
        let call = verb::run(&self.capability, Request::Bash(ask), caller, Use::Best);
        let Value::Command(ran) = call.outcome.unwrap_or_else(|refusal| panic!("{command}: {refusal:?}")) else {
            panic!("no command");
        };
        let mut carved: Vec<_> = ran
            .record
            .carve_outs
            .iter()
            .map(|made| format!("{} {}", made.fate, made.path))
            .collect();
        carved.sort();
        (ran.exit == Some(Exit::Exited(0)), ran.text.text.clone(), carved)
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

/// Covered names that are links, and what they say; nothing can be mounted on one.
const LINKS: &[(&str, &str)] = &[
    ("CLAUDE.md", "f"),
    (".Rprofile", "../profile.R"),
    (".vscode", "code"),
    ("renv", "src"),
    ("home/.git", "../.git"),
];

/// What a command puts in the place of a link goes, and the link is there again.
#[test]
fn links_that_a_command_replaces() {
    let Some(fixture) = Fixture::new("mount_namespace") else {
        return;
    };
    let at = |name: &str| fixture.root.join(name);
    for (name, text) in LINKS {
        std::os::unix::fs::symlink(text, at(name)).unwrap();
    }
    let as_before = |command: &str| {
        for (name, text) in LINKS {
            assert_eq!(
                fs::read_link(at(name)).ok(),
                Some(PathBuf::from(text)),
                "{name}: {command}"
            );
        }
    };
    fs::write(at("src/activate.R"), "IN\n").unwrap();
    fs::write(at("../profile.R"), "IN\n").unwrap();
    fs::create_dir(at("code")).unwrap();
    assert_eq!(fixture.run("cat CLAUDE.md renv/activate.R").1, "IN\nIN\n");
    for (command, taken) in [
        ("rm CLAUDE.md; echo x > CLAUDE.md", "kept CLAUDE.md"),
        ("echo x > x; mv x CLAUDE.md", "kept CLAUDE.md"),
        ("rm .Rprofile; echo x > .Rprofile", "kept .Rprofile"),
        ("ln -sfn src/a .Rprofile", "kept .Rprofile"),
        ("rm .Rprofile; mkdir .Rprofile", "kept .Rprofile"),
        ("rm .vscode; mkdir .vscode; echo x > .vscode/tasks.json", "kept .vscode"),
        ("mkdir -p m; echo x > m/y; ln -sfn ../m home/.git", "kept home/.git"),
    ] {
        let (done, output, carved) = fixture.run(command);
        if !fixture.mechanism() {
            assert!(!done, "{command}");
            continue;
        }
        assert!(done, "{command}: {output}");
        assert_eq!(carved, [taken], "{command}");
        as_before(command);
    }
    if fixture.mechanism() {
        // Nor one on the way of a pattern, with what came to what it leads to meanwhile.
        fs::create_dir(at("new-renv")).unwrap();
        fs::create_dir(at("new")).unwrap();
        std::os::unix::fs::symlink("../new", at("new-renv/renv")).unwrap();
        for (command, told) in [
            ("mkdir n; echo x > n/activate.R; ln -sfn n renv", vec!["kept renv"]),
            (
                "mkdir other; echo x > new/activate.R; ln -sfn ../other new-renv/renv",
                vec!["kept new-renv/renv", "kept new-renv/renv/activate.R"],
            ),
            ("rm renv CLAUDE.md", vec!["restored CLAUDE.md", "restored renv"]),
            (
                "rm new-renv/renv; echo x > new/activate.R",
                vec!["kept new-renv/renv/activate.R", "restored new-renv/renv"],
            ),
            ("rm -r new-renv", vec!["gone new-renv/renv"]),
        ] {
            let (done, output, carved) = fixture.run(command);
            assert!(done, "{command}: {output}");
            assert_eq!(carved, told, "{command}");
            as_before(command);
            assert!(!at("new/activate.R").exists(), "{command}");
        }
        // What lies where a link on the way of one was turned to may be the user's, and stays.
        for directory in ["A", "B", "B/sub"] {
            fs::create_dir(at(directory)).unwrap();
        }
        fs::write(at("B/activate.R"), "IN\n").unwrap();
        fs::write(at("B/sub/activate.R"), "IN\n").unwrap();
        std::os::unix::fs::symlink("A", at("cur")).unwrap();
        for (turn, told) in [
            ("ln -sfn B cur", vec!["kept deploy/renv"]),
            (
                "ln -sfn B cur; echo x > A/activate.R",
                vec!["kept deploy/renv", "kept deploy/renv/activate.R"],
            ),
            ("mv A C; mv B A", vec!["kept deploy/renv"]),
            ("mkdir D; ln -sfn D cur", vec![]),
        ] {
            fs::create_dir(at("deploy")).unwrap();
            std::os::unix::fs::symlink("../cur", at("deploy/renv")).unwrap();
            let (done, output, carved) = fixture.run(turn);
            assert!(done, "{turn}: {output}");
            assert_eq!(carved, told, "{turn}");
            let theirs = if turn.starts_with("mv") { "A" } else { "B" };
            for file in ["activate.R", "sub/activate.R"] {
                let file = at(theirs).join(file);
                assert_eq!(fs::read_to_string(&file).unwrap(), "IN\n", "{turn}: {file:?}");
            }
            if theirs == "A" {
                fs::rename(at("A"), at("B")).unwrap();
                fs::rename(at("C"), at("A")).unwrap();
            }
            assert!(!at("A/activate.R").exists());
            fs::remove_dir_all(at("deploy")).unwrap();
            fs::remove_file(at("cur")).unwrap();
            std::os::unix::fs::symlink("A", at("cur")).unwrap();
        }
        // A link that led nowhere, or leads elsewhere now, is not made again.
        std::os::unix::fs::symlink("later", at(".envrc")).unwrap();
        std::os::unix::fs::symlink("src/hop", at(".zshrc")).unwrap();
        std::os::unix::fs::symlink("a", at("src/hop")).unwrap();
        let (done, output, carved) =
            fixture.run("rm .envrc .zshrc; touch later .envrc .zshrc; echo x > src/b; ln -sfn b src/hop");
        assert!(done, "{output}");
        assert_eq!(carved, ["kept .envrc", "kept .zshrc"]);
        assert!(at(".envrc").symlink_metadata().is_err() && at(".zshrc").symlink_metadata().is_err());
        // What was reached through the link stands under another name now. The way to it is told.
        let (done, output, carved) = fixture.run("rm renv; mkdir renv; echo x > renv/activate.R");
        assert!(done, "{output}");
        assert_eq!(carved, ["gone renv", "kept renv/activate.R"]);
        fs::remove_dir(at("renv")).unwrap();
        std::os::unix::fs::symlink("src", at("renv")).unwrap();
    }
    // A link that stays is not told.
    assert_eq!(fixture.run("cat CLAUDE.md"), (true, "IN\n".to_owned(), Vec::new()));
    as_before("cat");
}

/// Of two commands, the one that did not replace the link may end first.
#[test]
fn a_link_that_another_command_replaces() {
    let Some(fixture) = Fixture::new("mount_namespace").filter(Fixture::mechanism) else {
        return;
    };
    let at = |name: &str| fixture.root.join(name);
    std::os::unix::fs::symlink("src/a", at("CLAUDE.md")).unwrap();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            fixture.run("rm CLAUDE.md; echo x > CLAUDE.md; touch made; while [ ! -e over ]; do sleep 0.02; done")
        });
        let (done, _, carved) = fixture.run("while [ ! -e made ]; do sleep 0.02; done");
        assert!(done);
        assert_eq!(carved, ["kept CLAUDE.md"]);
        fs::write(at("over"), "").unwrap();
        let (done, output, carved) = first.join().unwrap();
        assert!(done, "{output}");
        // Whether the second one knew the link: it made it again then, and nothing is to be told here.
        assert!(carved.is_empty() || carved == ["restored CLAUDE.md"], "{carved:?}");
    });
    assert_eq!(fs::read_link(at("CLAUDE.md")).unwrap(), Path::new("src/a"));
    assert_eq!(fixture.run("true").2, [""; 0]);
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
