//! What becomes of commands when something happens to the process that runs them, as R would: each test
//! starts this program again in one of the roles below.

mod harness;

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use harness::{marked, skip, Ask, SUPERVISOR};
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::Ending;
use rhocap_core::process::mark::Mark;
use rhocap_core::process::protocol::{Cause, Event, Exit, Method, Start};
use rhocap_core::process::supervisor::{Descriptors, Program, Said, Supervisor};

/// Far longer than anything takes, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(20);

/// Says which role this program has.
const ROLE: &str = "RHOCAP_TEST_ROLE";

/// The mark of a role's commands.
const MARK: &str = "RHOCAP_TEST_MARK";

/// Says that the control groups are hidden.
const HIDDEN: &str = "RHOCAP_TEST_HIDDEN";

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// This program in a role, perhaps by way of another program.
fn role(name: &str, by: &[&str]) -> Command {
    let program = std::env::current_exe().expect("this program");
    let mut words: Vec<std::ffi::OsString> = by.iter().map(Into::into).collect();
    words.push(program.into());
    words.extend(["--exact", name, "--ignored", "--nocapture"].map(Into::into));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env(ROLE, name).stdin(Stdio::null());
    command
}

/// Runs a role to its end. What it says is told.
fn passes(mut role: Command) {
    let ended = role.output().expect("a host");
    let said = String::from_utf8_lossy(&ended.stdout);
    println!("{said}");
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{said}{errors}");
}

fn plays(name: &str) -> bool {
    std::env::var_os(ROLE).is_some_and(|role| role == name)
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn mark(name: &str) -> String {
    format!("rhocap-host-{}-{name}.", std::process::id())
}

#[test]
#[ignore = "a role"]
fn one_command() {
    if !plays("one_command") {
        return;
    }
    let mark = std::env::var(MARK).expect("a mark");
    // Out of this process's environment, which the search looks at too.
    let away = format!("exec -a {mark} sleep 30");
    let command = format!("setsid -f env -i bash -c '{away}' </dev/null >/dev/null 2>&1; setsid -f bash -c 'trap \"\" TERM; {away}'; {away}");
    let ask = Ask {
        grace: Duration::from_millis(500),
        timeout: Duration::from_secs(120),
        ..Ask::new(&command)
    };
    ask.run();
}

/// The processes of a role's command: not the role itself.
fn of_command(mark: &str, host: &Child) -> Vec<String> {
    let host = format!("{} ", host.id());
    marked(mark)
        .into_iter()
        .filter(|found| !found.starts_with(&host))
        .collect()
}

/// Killed in any way, or ended: its commands end with it.
#[test]
fn a_host_that_dies_takes_its_commands_along() {
    for signal in [Signal::SIGKILL, Signal::SIGSEGV, Signal::SIGABRT, Signal::SIGTERM] {
        let mark = mark(signal.as_str());
        let mut host = role("one_command", &[])
            .env(MARK, &mark)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a host");
        until("the command's processes", || of_command(&mark, &host).len() >= 3);
        kill(Pid::from_raw(i32::try_from(host.id()).expect("a number")), signal).expect("a host");
        host.wait().expect("a host");
        until("the end of the command's processes", || marked(&mark).is_empty());
    }
}

/// A host in a terminal that is stopped and continued goes on.
#[test]
fn a_host_that_is_stopped_loses_nothing() {
    let mut host = role("exact_statuses", &[])
        .stdout(Stdio::null())
        .spawn()
        .expect("a host");
    let pid = Pid::from_raw(i32::try_from(host.id()).expect("a number"));
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(30));
        let _ = kill(pid, Signal::SIGSTOP);
        std::thread::sleep(Duration::from_millis(30));
        let _ = kill(pid, Signal::SIGCONT);
    }
    assert!(host.wait().expect("a host").success());
}

#[test]
#[ignore = "a role"]
fn exact_statuses() {
    if !plays("exact_statuses") {
        return;
    }
    for status in 0..20 {
        Ask::new(&format!("(SLEEP) & exit {status}"))
            .run()
            .is(Cause::Natural, Exit::Exited(status));
    }
}

#[test]
#[ignore = "a role"]
fn a_foreign_reaper() {
    if !plays("a_foreign_reaper") {
        return;
    }
    // Another package's handler that takes the status of every child there is.
    std::thread::spawn(|| loop {
        if nix::sys::wait::waitpid(None, None).is_err() {
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    for status in 0..40 {
        Ask::new(&format!("exit {status}"))
            .run()
            .is(Cause::Natural, Exit::Exited(status));
    }
    for _ in 0..3 {
        let ended = Ask::new("setsid -f bash -c 'SLEEP'; kill -9 $PPID; (SLEEP)")
            .run()
            .ran
            .ending;
        assert!(matches!(ended, Ending::SupervisorLost(_)), "{ended:?}");
    }
}

#[test]
fn statuses_are_exact_where_another_reaps_all_children() {
    passes(role("a_foreign_reaper", &[]));
}

#[test]
#[ignore = "a role"]
fn by_mark_alone() {
    if !plays("by_mark_alone") {
        return;
    }
    if Ask::new("true").run().end().method != Method::Descent {
        assert!(std::env::var_os(HIDDEN).is_none(), "it is not hidden");
        return skip("mount_namespace", "the control group cannot be hidden here");
    }
    let hopper = "h='if (($2)); then setsid -f bash -c \"$1\" \"$0\" \"$1\" $(($2 - 1)); fi'; \
                  for i in 1 2 3; do setsid -f bash -c \"$h\" MARK \"$h\" 5000; done; sleep 0.1; ";
    for left in [
        hopper,
        "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; ",
        "for i in {1..20}; do setsid -f bash -c 'trap \"\" TERM HUP; SLEEP'; done; ",
        "setsid -f bash -c 'kill -STOP $$; SLEEP'; ",
    ] {
        for end in ["kill -9 $PPID; (SLEEP)", "kill -STOP $PPID; (SLEEP)"] {
            let command = format!("{left}{end}");
            match Ask::new(&command).run().ran.ending {
                Ending::SupervisorLost(lost) => {
                    assert!(
                        lost.swept.searched && lost.swept.survivors.is_empty(),
                        "{command}: {lost:?}"
                    );
                }
                other => panic!("{command}: {other:?}"),
            }
        }
    }
}

#[test]
fn what_a_lost_supervisor_left_is_found_without_a_control_group() {
    // Hidden from a privileged process; an ordinary one mostly has none.
    let hide = "umount -l $(awk '/ - cgroup2 / {print $5}' /proc/self/mountinfo) 2>/dev/null; exec \"$0\" \"$@\"";
    let by = ["unshare", "-m", "sh", "-c", hide];
    let possible = Command::new(by[0])
        .args(&by[1..])
        .arg("true")
        .stderr(Stdio::null())
        .status();
    let host = if possible.is_ok_and(|status| status.success()) {
        let mut host = role("by_mark_alone", &by);
        host.env(HIDDEN, "1");
        host
    } else {
        role("by_mark_alone", &[])
    };
    passes(host);
}

#[test]
#[ignore = "a role"]
fn without_a_mark() {
    if !plays("without_a_mark") {
        return;
    }
    assert_eq!(Mark::new().number(), 0, "there is room for a mark");
    let left = "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; ";
    // What a supervisor ends needs none.
    Ask::new(&format!("{left} exit 3"))
        .run()
        .is(Cause::Natural, Exit::Exited(3));
    assert_eq!(Ask::late(&format!("{left} (SLEEP)")).run().end().cause, Cause::TimedOut);
    let grouped = Ask::new("true").run().end().method == Method::Group;
    assert!(!grouped || std::env::var_os(HIDDEN).is_none(), "it is not hidden");
    for end in ["kill -9 $PPID", "kill -STOP $PPID"] {
        // The first process dies with the supervisor, and there is no other.
        let alone = format!("{end}; while :; do :; done");
        // By the group the others are found.
        let command = if grouped { format!("{left}{alone}") } else { alone };
        match Ask::new(&command).run().ran.ending {
            Ending::SupervisorLost(lost) => {
                assert_eq!(lost.swept.searched, grouped, "{command}: {lost:?}");
                assert!(lost.swept.survivors.is_empty(), "{command}: {lost:?}");
                assert!(grouped || lost.swept.killed == 0, "{command}: {lost:?}");
            }
            other => panic!("{command}: {other:?}"),
        }
    }
}

/// Where the limit that carries it is lower already, no process can have a mark. Then it is not claimed that
/// what a lost supervisor left was looked for.
#[test]
fn a_host_that_has_no_room_for_a_mark() {
    let lower = "ulimit -x 5 || exit 77; exec \"$0\" \"$@\"";
    let hide = format!("umount -l $(awk '/ - cgroup2 / {{print $5}}' /proc/self/mountinfo) 2>/dev/null; {lower}");
    let plain = ["bash", "-c", lower];
    let hidden = ["unshare", "-m", "bash", "-c", &hide];
    for by in [&plain[..], &hidden[..]] {
        let possible = Command::new(by[0])
            .args(&by[1..])
            .arg("true")
            .stderr(Stdio::null())
            .status();
        if !possible.is_ok_and(|status| status.success()) {
            harness::skip("mount_namespace", format!("{by:?}"));
            continue;
        }
        let mut role = role("without_a_mark", by);
        if by == hidden {
            role.env(HIDDEN, "1");
        }
        let ended = role.output().expect("a host");
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success(),
            "{by:?} {said}{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}

/// A signal at the end of the thread that started it would end it.
#[test]
fn a_command_does_not_depend_on_the_thread_that_started_it() {
    let start = || {
        let program = Program::open(Path::new(SUPERVISOR)).expect("the supervisor");
        let order = Start {
            arguments: ["/bin/bash", "-c", "sleep 0.5; exit 7"]
                .map(|text| text.as_bytes().to_vec())
                .to_vec(),
            environment: vec![b"PATH=/usr/bin:/bin".to_vec().into()],
            timeout: Some(PATIENCE),
            grace: Duration::ZERO,
            confinement: None,
            required: Vec::new(),
        };
        let null = File::options()
            .read(true)
            .write(true)
            .open("/dev/null")
            .expect("the null device");
        let directory = File::open("/").expect("a directory");
        let descriptors = Descriptors {
            input: null.as_fd(),
            output: null.as_fd(),
            directory: directory.as_fd(),
        };
        Supervisor::start(&program, &order, &descriptors, &Cancel::default()).expect("a supervisor")
    };
    let mut supervisor = std::thread::spawn(start).join().expect("the thread");
    let mut end = None;
    until("the end", || match supervisor.hear() {
        Said::Event(Event::Ended(ended)) => {
            end = Some(ended);
            true
        }
        Said::Event(_) | Said::Nothing => false,
        Said::Gone => panic!("the supervisor is gone"),
    });
    assert_eq!(end.and_then(|end| end.leader), Some(Exit::Exited(7)));
    supervisor.reap();
}

/// What a process holds: descriptors, KiB of memory, children that nobody reaped.
fn held() -> (usize, u64, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("/proc").count();
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse().ok());
    let children: usize = std::fs::read_dir("/proc/self/task")
        .expect("/proc")
        .flatten()
        .map(|task| {
            let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            children.split_ascii_whitespace().count()
        })
        .sum();
    (descriptors, memory.expect("its memory"), children)
}

#[test]
#[ignore = "a role"]
fn many_runs() {
    if !plays("many_runs") {
        return;
    }
    let count = number("RHOCAP_SOAK", 150);
    let run = |number: usize| {
        let cancel = Cancel::default();
        let command = match number % 8 {
            0 => "exit 3",
            1 => "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; echo hi",
            2 => "head -c 1000000 /dev/zero",
            3 => "kill -9 $$",
            4 => "(SLEEP) & kill -9 $PPID; (SLEEP)",
            5 => "cat; (SLEEP) & (SLEEP)",
            6 => "nosuchcommand",
            _ => "kill -STOP $$",
        };
        let ask = Ask {
            timeout: Duration::from_millis(if number % 8 == 7 { 50 } else { 20_000 }),
            input: Some(b"some input"),
            ..Ask::new(command)
        };
        if number % 8 == 5 {
            let other = cancel.clone();
            let thread = std::thread::spawn(move || other.cancel());
            ask.run_with(&cancel);
            thread.join().expect("the thread");
        } else {
            ask.run_with(&cancel);
        }
    };
    (0..count / 5).for_each(run);
    let before = held();
    (0..count).for_each(run);
    let after = held();
    println!("{count} runs: descriptors, KiB and children were {before:?}, are {after:?}");
    assert_eq!((before.0, before.2), (after.0, after.2));
    assert!(
        after.1 < before.1 + 4096,
        "memory grew from {} to {} KiB",
        before.1,
        after.1
    );
}

#[test]
fn many_runs_leave_nothing_in_the_host() {
    passes(role("many_runs", &[]));
}

/// Fewer numbers than the test needs processes in a second: each is given again and again.
const NUMBERS: &str = "400";

#[test]
#[ignore = "a role"]
fn recycled_numbers() {
    if !plays("recycled_numbers") {
        return;
    }
    std::fs::write("/proc/sys/kernel/pid_max", NUMBERS).expect("fewer numbers");
    // Foreign processes: a few that stay, and many that come and go, on the numbers that commands leave.
    let mut stay: Vec<Child> = (0..5)
        .map(|_| Command::new("sleep").arg("120").spawn().expect("sleep"))
        .collect();
    let over = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flag = over.clone();
    let churn = std::thread::spawn(move || {
        let mut count = 0_u32;
        while !flag.load(std::sync::atomic::Ordering::Relaxed) {
            let ended = Command::new("/bin/true").status().expect("true");
            assert!(ended.success(), "a foreign process: {ended:?}");
            count += 1;
        }
        count
    });
    for round in 0..number("RHOCAP_RECYCLED", 12) {
        let tree = "for i in {1..8}; do (trap '' TERM; SLEEP) & setsid -f bash -c 'SLEEP'; done; for i in {1..40}; do setsid -f true; done; ";
        let end = ["exit 0", "kill -9 $PPID; (SLEEP)", "(SLEEP)"][round % 3];
        let command = format!("{tree}{end}");
        let ask = Ask {
            timeout: Duration::from_millis(if round % 3 == 2 { 300 } else { 20_000 }),
            ..Ask::new(&command)
        };
        ask.run();
    }
    over.store(true, std::sync::atomic::Ordering::Relaxed);
    let count = churn.join().expect("no foreign process was signalled");
    for child in &mut stay {
        assert_eq!(
            child.try_wait().expect("its status"),
            None,
            "a foreign process was signalled"
        );
        child.kill().expect("a child");
        child.wait().expect("a child");
    }
    println!("{count} foreign processes came and went");
    assert!(count > 0);
}

#[test]
fn a_recycled_number_is_not_signalled() {
    let by = ["unshare", "-Urpf", "--mount-proc"];
    let lower =
        format!("echo {NUMBERS} > /proc/sys/kernel/pid_max && test $(cat /proc/sys/kernel/pid_max) = {NUMBERS}");
    // Before Linux 6.14 there is one bound for all: it must not be touched then, not even to find out.
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut version = release.split('.').map_while(|part| part.parse::<u32>().ok());
    let recent = (version.next(), version.next()) >= (Some(6), Some(14));
    let probe = || Command::new(by[0]).args(&by[1..]).args(["sh", "-c", &lower]).output();
    if !recent || !probe().is_ok_and(|probe| probe.status.success()) {
        return skip("pid_max", "no pid namespace with a bound of its own");
    }
    passes(role("recycled_numbers", &by));
}
