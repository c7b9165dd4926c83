//! Commands from a capability to their result, where the host does not do what it should: a full disk, a
//! supervisor that is none, mounts among the roots. What needs mounts of its own starts this program again
//! in a mount namespace.

#![cfg(target_os = "linux")]

mod harness;

use harness::skip;

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rhocap_core::capability::{Capability, CapabilitySpec, CommandSpec};
use rhocap_core::environment::EnvironmentSpec;
use rhocap_core::limits::Limits;
use rhocap_core::misuse::Misuse;
use rhocap_core::outcome::{Call, Code, Refusal};
use rhocap_core::policy::{Network, Placement, Process};
use rhocap_core::process::protocol::Exit;
use rhocap_core::resolve::Use;
use rhocap_core::verb::command::{Ask, Command, Ended};
use rhocap_core::verb::{self, Caller, Principal, ReadLimit, ReadPart, Request, Started, Target, Value};

const SUPERVISOR: &str = env!("CARGO_BIN_EXE_rhocap-supervisor");

/// Says that this program has mounts of its own.
const ALONE: &str = "RHOCAP_TEST_MOUNTS";

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_bytes().to_vec()
}

/// One test at a time: they look at this process's children.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The children of this process, zombies among them.
fn children() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").expect("/proc").flatten();
    let told = tasks.map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    told.flat_map(|told| told.split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Runs a test in a mount namespace of its own: whether this is where it is to go on.
fn with_own_mounts(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return true;
    }
    let _one = one_at_a_time();
    let how = if rustix::process::geteuid().is_root() {
        "-m"
    } else {
        "-Urm"
    };
    let unshare = || {
        let mut command = std::process::Command::new("unshare");
        command.args([how, "--propagation", "private"]).stdin(Stdio::null());
        command
    };
    let mounts = "mount -t tmpfs none /mnt";
    let possible = unshare().args(["sh", "-c", mounts]).stderr(Stdio::null()).status();
    if !possible.is_ok_and(|status| status.success()) {
        skip("mount_namespace", format!("{test}: nothing can be mounted"));
        return false;
    }
    let ended = unshare()
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .output()
        .expect("this program");
    println!("{}", String::from_utf8_lossy(&ended.stdout));
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    false
}

fn mount(place: &Path, options: &str) {
    fs::create_dir_all(place).expect("a directory");
    let mut command = std::process::Command::new("mount");
    command.args(["-t", "tmpfs", "-o", options, "none"]).arg(place);
    assert!(command.status().expect("mount").success());
}

struct Tree {
    _kept: tempfile::TempDir,
    top: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let kept = tempfile::tempdir().expect("a directory");
        let top = kept.path().canonicalize().expect("a path");
        for name in ["root", "beside"] {
            fs::create_dir(top.join(name)).expect("a directory");
        }
        Self { _kept: kept, top }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    /// Writes to `root`, with unrestricted commands.
    fn spec(&self) -> CapabilitySpec {
        let root = bytes(self.at("root"));
        CapabilitySpec {
            read: Vec::new(),
            write: vec![root.clone()],
            cwd: root,
            libraries: Vec::new(),
            environment: EnvironmentSpec::default(),
            process: Process::Unrestricted,
            network: Network::Host,
            placement: Placement::Local,
            deny: Vec::new(),
            protect: Vec::new(),
            limits: Limits::default(),
            reserved: Vec::new(),
            commands: CommandSpec {
                supervisor: SUPERVISOR.into(),
                beside: bytes(self.at("beside")),
            },
        }
    }

    /// A capability of which another program is the supervisor.
    fn with_supervisor(&self, program: &str) -> Arc<Capability> {
        let copy = self.at("supervisor");
        fs::copy(program, &copy).expect("a program");
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).expect("a mode");
        let mut spec = self.spec();
        spec.commands.supervisor = bytes(copy);
        Capability::new(spec).expect("a capability")
    }
}

fn caller() -> Caller {
    Caller {
        tool: "test".to_owned(),
        principal: Principal::User,
    }
}

fn ask(command: &str) -> Ask {
    Ask {
        command: command.into(),
        timeout: Some(20.0),
        ..Ask::default()
    }
}

fn command(call: Call<Value>) -> Result<Box<Command>, Refusal> {
    match call.outcome? {
        Value::Command(ran) => Ok(ran),
        other => panic!("no command: {other:?}"),
    }
}

fn run(capability: &Arc<Capability>, ask: Ask) -> Result<Box<Command>, Refusal> {
    command(verb::run(capability, Request::Bash(ask), caller(), Use::Best))
}

#[test]
fn output_that_the_disk_does_not_take_is_kept_as_far_as_it_goes() {
    if !with_own_mounts("output_that_the_disk_does_not_take_is_kept_as_far_as_it_goes") {
        return;
    }
    let tree = Tree::new();
    mount(&tree.at("beside"), "size=256k");
    let capability = Capability::new(tree.spec()).expect("a capability");
    let lines: Vec<String> = (1..=200_000).map(|line| line.to_string()).collect();
    let whole = lines.join("\n") + "\n";
    let spilled = Ask {
        spill: true,
        ..ask("seq 1 200000; echo end >&2; exit 3")
    };
    let ran = run(&capability, spilled).expect("a command");
    assert_eq!((ran.ended, ran.exit), (Ended::Exited, Some(Exit::Exited(3))));
    // Of the result nothing is lost.
    let total = whole.len() as u64 + 4;
    assert_eq!(ran.output.total, total);
    assert_eq!(ran.output.dropped, total - (1 << 20));
    assert!(whole.as_bytes().starts_with(&ran.output.head));
    assert!(ran.output.tail.ends_with(b"\n200000\nend\n"));
    // The file has the start, and says how much.
    let (path, kept) = ran.spilled.expect("a file");
    let file = fs::read(&path).expect("a file");
    assert_eq!(file.len() as u64, kept);
    assert!(kept > 64 << 10 && kept <= 256 << 10, "{kept}");
    assert!(whole.as_bytes().starts_with(&file));
    // A disk with room takes all of it.
    fs::remove_file(path).expect("removed");
    let little = Ask {
        spill: true,
        ..ask("echo little")
    };
    let (path, kept) = run(&capability, little).expect("a command").spilled.expect("a file");
    assert_eq!((kept, fs::read(path).expect("a file")), (7, b"little\n".to_vec()));
}

#[test]
fn nothing_is_run_when_there_can_be_no_file_for_its_output() {
    if !with_own_mounts("nothing_is_run_when_there_can_be_no_file_for_its_output") {
        return;
    }
    let tree = Tree::new();
    mount(&tree.at("beside"), "nr_inodes=20");
    let capability = Capability::new(tree.spec()).expect("a capability");
    let full = (0..20).any(|number| fs::write(tree.at(&format!("beside/{number}")), "").is_err());
    assert!(full);
    let spilled = Ask {
        spill: true,
        ..ask("echo x > ran")
    };
    let refusal = run(&capability, spilled).expect_err("no file");
    assert_eq!(refusal.code, Refusal::from_errno(rustix::io::Errno::NOSPC).code);
    assert!(!tree.at("root/ran").exists());
    assert_eq!(children(), Vec::<String>::new());
}

/// SIGTERM is a wish to end: the supervisor ends the tree and tells it, and it is no success.
#[test]
fn who_asks_the_supervisor_to_end_is_told_so() {
    let _one = one_at_a_time();
    let tree = Tree::new();
    let capability = Capability::new(tree.spec()).expect("a capability");
    let mark = format!("rhocap-verbs-{}.", std::process::id());
    let away = format!("exec -a {mark} sleep 30");
    for end in [
        format!("({away})"),
        "exit 0".to_owned(),
        "trap '' TERM; sleep 30; exit 0".to_owned(),
    ] {
        let text = format!(
            "echo some output; setsid -f bash -c 'trap \"\" TERM HUP; {away}'; sleep 0.3; kill $PPID; sleep 0.2; {end}"
        );
        let begun = Instant::now();
        let ran = run(&capability, ask(&text)).expect("a command");
        assert_eq!(ran.ended, Ended::SupervisorLost, "{end}");
        assert_eq!(ran.ended.code(), Some(Code::SupervisorLost));
        assert_eq!(ran.text.text, "some output\n");
        assert!(
            ran.record.survivors.is_empty() && ran.record.killed >= 1,
            "{:?}",
            ran.record
        );
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{end}: {:?}",
            begun.elapsed()
        );
        assert_eq!(marked(&mark), Vec::<String>::new(), "{end}");
    }
    assert_eq!(children(), Vec::<String>::new());
}

fn marked(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").expect("/proc").flatten();
    let lines = processes.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .filter(|line| line.starts_with(mark))
        .collect()
}

#[test]
fn a_supervisor_that_ends_at_once_is_told() {
    let _one = one_at_a_time();
    let tree = Tree::new();
    let capability = tree.with_supervisor("/bin/true");
    // One that fits into the socket, so that it is sent to nobody, and one that does not.
    for length in [0, 4 << 20] {
        for _ in 0..5 {
            let begun = Instant::now();
            let told = run(&capability, ask(&format!("touch ran; : {}", "x".repeat(length))));
            match told {
                Ok(ran) => {
                    assert_eq!((ran.ended, ran.exit), (Ended::SupervisorLost, None));
                    assert_eq!((ran.output.total, ran.record.killed), (0, 0));
                }
                Err(refusal) => {
                    assert_eq!(refusal.code, Code::SpawnFailed, "{refusal:?}");
                    assert!(refusal.message.ends_with("Nothing was run."), "{refusal:?}");
                }
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            assert_eq!(children(), Vec::<String>::new());
            assert!(!tree.at("root/ran").exists());
        }
    }
}

/// One that never reads: its order does not fit into the socket.
#[test]
fn a_supervisor_that_does_not_take_its_order_can_be_cancelled() {
    let _one = one_at_a_time();
    let tree = Tree::new();
    let capability = tree.with_supervisor("/usr/bin/yes");
    let text = format!(": {}", "x".repeat(4 << 20));
    let Started::Running(job) = verb::start(&capability, Request::Bash(ask(&text)), caller()) else {
        panic!("it is not waited for")
    };
    assert!(!job.wait(Duration::from_millis(500), false));
    let begun = Instant::now();
    job.cancel();
    assert!(job.wait(Duration::from_secs(15), false), "it does not end");
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let refusal = command(job.take().expect("a call")).expect_err("nothing ran");
    assert_eq!(refusal.code, Code::Cancelled);
    assert_eq!(children(), Vec::<String>::new());
}

/// The same, and nobody cancels.
#[test]
#[ignore = "20 s"]
fn a_supervisor_that_does_not_take_its_order_is_not_waited_for_for_ever() {
    let _one = one_at_a_time();
    let tree = Tree::new();
    let capability = tree.with_supervisor("/usr/bin/yes");
    let begun = Instant::now();
    let refusal = run(&capability, ask(&format!(": {}", "x".repeat(4 << 20)))).expect_err("nothing ran");
    assert_eq!(refusal.code, Code::SpawnFailed);
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    assert_eq!(children(), Vec::<String>::new());
}

/// Reads by the verb, and by a command: the content, or nothing where it is not to be had.
fn read(capability: &Arc<Capability>, path: &Path) -> [Option<String>; 2] {
    let request = Request::Read {
        target: Target::Path(bytes(path)),
        part: ReadPart {
            lines: None,
            skip: 0,
            limit: ReadLimit::Default,
        },
    };
    let by_verb = match verb::run(capability, request, caller(), Use::Best).outcome {
        Ok(Value::Text(text)) => Some(text.text),
        _ => None,
    };
    let ran = run(capability, ask(&format!("cat {} 2>/dev/null", path.display()))).expect("a command");
    let by_command = (ran.exit == Some(Exit::Exited(0))).then_some(ran.text.text);
    [by_verb, by_command]
}

/// A root inside another mount inside a root: the mount is hidden or not, the root is there.
#[test]
fn a_root_in_a_mount_in_a_root() {
    if !with_own_mounts("a_root_in_a_mount_in_a_root") {
        return;
    }
    roots_in_mounts(false);
    harness::on_a_thread(|| {
        harness::deny(harness::NAMESPACES, libc::EPERM);
        roots_in_mounts(true);
    });
}

/// `alone`: by Landlock, which closes nothing in what it grants.
fn roots_in_mounts(alone: bool) {
    for mounts in [false, true] {
        for (inner_writes, patterns) in [(false, false), (true, false), (false, true), (true, true)] {
            let tree = Tree::new();
            mount(&tree.at("root/disk"), "size=1m");
            fs::create_dir_all(tree.at("root/disk/a/inner/deep")).expect("a directory");
            for (file, text) in [
                ("root/f", "root"),
                ("root/disk/f", "disk"),
                ("root/disk/a/inner/f", "inner"),
                ("root/disk/a/inner/.env", "secret"),
            ] {
                fs::write(tree.at(file), text).expect("a file");
            }
            // And one more mount in the inner root.
            mount(&tree.at("root/disk/a/inner/more"), "size=1m");
            fs::write(tree.at("root/disk/a/inner/more/f"), "more").expect("a file");
            let mut spec = tree.spec();
            spec.process = Process::Confined;
            spec.network = Network::None;
            spec.limits.mounts = mounts;
            if patterns {
                spec.deny.push(".env".to_owned());
            }
            let inner = bytes(tree.at("root/disk/a/inner"));
            if inner_writes { &mut spec.write } else { &mut spec.read }.push(inner);
            let capability = match Capability::new(spec) {
                Ok(capability) => capability,
                Err(Misuse {
                    kind: "not_enforceable",
                    message,
                    ..
                }) => {
                    return skip(if alone { "landlock" } else { "mount_namespace" }, message);
                }
                Err(misuse) => panic!("{misuse}"),
            };
            let place = format!("alone {alone}, mounts {mounts}, inner writes {inner_writes}, patterns {patterns}");
            assert_eq!(capability.enforcement().expect("it").has("mount_namespace"), !alone);
            // A directory that holds something else than what it grants gets no new names.
            let as_a_whole = |file: &str| {
                let whole = mounts && inner_writes && !patterns;
                !alone || whole || file.contains("deep") || file.contains("more")
            };
            // By absolute paths: a relative one goes by the mount on its way, of which a verb sees nothing.
            let root = tree.at("root");
            let both = |text: &str| [Some(text.to_owned()), Some(text.to_owned())];
            let seen = |text: &str| if mounts { both(text) } else { [None, None] };
            assert_eq!(read(&capability, &root.join("f")), both("root"), "{place}");
            assert_eq!(read(&capability, &root.join("disk/f")), seen("disk"), "{place}");
            assert_eq!(
                read(&capability, &root.join("disk/a/inner/f")),
                both("inner"),
                "{place}"
            );
            assert_eq!(
                read(&capability, &root.join("disk/a/inner/more/f")),
                seen("more"),
                "{place}"
            );
            let secret = if patterns { [None, None] } else { both("secret") };
            assert_eq!(read(&capability, &root.join("disk/a/inner/.env")), secret, "{place}");
            for (file, writes) in [
                ("new", true),
                ("disk/new", mounts),
                ("disk/a/new", mounts),
                ("disk/a/inner/new", inner_writes),
                ("disk/a/inner/deep/new", inner_writes),
                ("disk/a/inner/more/new", inner_writes && mounts),
            ] {
                let writes = writes && as_a_whole(file);
                let ran = run(&capability, ask(&format!("echo x > {file}"))).expect("a command");
                assert_eq!(
                    ran.exit == Some(Exit::Exited(0)),
                    writes,
                    "{place}: {file}: {}",
                    ran.text.text
                );
                assert_eq!(tree.at("root").join(file).exists(), writes, "{place}: {file}");
            }
            drop(capability);
            for mounted in ["root/disk/a/inner/more", "root/disk"] {
                assert!(std::process::Command::new("umount")
                    .arg(tree.at(mounted))
                    .status()
                    .expect("umount")
                    .success());
            }
        }
    }
}

/// Mounts are entered, and no pattern applies: kernel file systems are not seen all the same, and the rules
/// of a root hold where its directory is mounted once more.
#[test]
fn what_mounts_must_not_show_without_patterns() {
    if !with_own_mounts("what_mounts_must_not_show_without_patterns") {
        return;
    }
    kernel_and_again(false);
    harness::on_a_thread(|| {
        harness::deny(harness::NAMESPACES, libc::EPERM);
        kernel_and_again(true);
    });
}

fn kernel_and_again(alone: bool) {
    let tree = Tree::new();
    let bind = |from: &Path, name: &str| {
        let to = tree.at("root").join(name);
        fs::create_dir_all(&to).expect("a directory");
        let mut command = std::process::Command::new("mount");
        assert!(command
            .arg("--rbind")
            .args([from, &to])
            .status()
            .expect("mount")
            .success());
    };
    fs::create_dir_all(tree.at("outer/inner")).expect("a directory");
    fs::write(tree.at("outer/inner/f"), "inner").expect("a file");
    fs::write(tree.at("root/f"), "root").expect("a file");
    bind(Path::new("/proc"), "kernel");
    bind(&tree.at("outer"), "again");
    let mut spec = tree.spec();
    spec.process = Process::Confined;
    spec.network = Network::None;
    spec.limits.mounts = true;
    spec.read.push(bytes(tree.at("outer/inner")));
    let made = Capability::new(spec);
    if let Err(Misuse {
        kind: "not_enforceable",
        message,
        ..
    }) = &made
    {
        skip(if alone { "landlock" } else { "mount_namespace" }, message);
    } else {
        let capability = made.expect("a capability");
        assert_eq!(capability.enforcement().expect("it").has("mount_namespace"), !alone);
        let done = |text: &str| run(&capability, ask(text)).expect("a command").exit == Some(Exit::Exited(0));
        assert!(done("cat f && echo x >> f"), "alone {alone}");
        assert!(
            done(&format!("cat {}", tree.at("outer/inner/f").display())),
            "alone {alone}"
        );
        for refused in [
            "cat kernel/cmdline",
            "ls kernel/self",
            "echo x > again/inner/new",
            "echo x > again/inner/f",
            "echo x > kernel/self/comm",
        ] {
            assert!(!done(refused), "alone {alone}: {refused}");
        }
        assert_eq!(fs::read_to_string(tree.at("outer/inner/f")).expect("a file"), "inner");
    }
    for name in ["kernel", "again"] {
        let mut command = std::process::Command::new("umount");
        assert!(command
            .arg("-l")
            .arg(tree.at("root").join(name))
            .status()
            .expect("umount")
            .success());
    }
}
