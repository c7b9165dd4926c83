//! Commands under the real supervisor: what they gave, and that nothing of them is left. The table
//! follows the groups of the project's catalogue of commands.

mod harness;

use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use harness::{skip, Answer, Ask, ENDLESS, EXITS, LEFTOVERS, SUPERVISOR};
use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::{run, Command, Ending};
use rhocap_core::process::protocol::{Cause, Exit, Method, Stage, Start};
use rhocap_core::process::supervisor::{Program, Unusable};

#[test]
fn exits_and_output() {
    for (command, exit, text) in EXITS {
        let answer = Ask::new(command).run();
        answer.is(Cause::Natural, *exit);
        assert_eq!(answer.text(), *text, "{command}");
    }
    let answer = Ask::new("nosuchcmd").run();
    answer.is(Cause::Natural, Exit::Exited(127));
    assert!(answer.text().contains("nosuchcmd"));
    Ask::new("if then").run().is(Cause::Natural, Exit::Exited(2));
}

#[test]
fn what_cannot_be_started() {
    let no_shell = Ask {
        shell: "/no/bash",
        ..Ask::new("true")
    };
    let ended = no_shell.run().ran.ending;
    assert_eq!(ended, Ending::NotStarted(Stage::Execute, libc::ENOENT));
    // The kernel bounds one argument (128 KiB), and so does the protocol all of them (8 MiB). Passing the
    // text by a descriptor instead would change `$0`, `$-` and what an error message calls its place.
    for length in [129 << 10, 2 << 20, 9 << 20] {
        let command = format!(": {}", "x".repeat(length));
        let ended = Ask::new(&command).run().ran.ending;
        assert_eq!(ended, Ending::NotStarted(Stage::Execute, libc::E2BIG), "{length}");
    }
    let command = format!(": {}", "x".repeat(127 << 10));
    Ask::new(&command).run().is(Cause::Natural, Exit::Exited(0));

    // A descriptor that is no directory.
    let program = Program::open(Path::new(SUPERVISOR)).expect("the supervisor");
    let file = std::fs::File::open("/etc/passwd").expect("a file");
    let command = Command {
        start: Start {
            arguments: vec![b"/bin/true".to_vec()],
            environment: Vec::new(),
            timeout: None,
            grace: Duration::ZERO,
            confinement: None,
            required: Vec::new(),
        },
        input: None,
        directory: file.as_fd(),
        output_bytes: 0,
        redactor: &rhocap_core::secret::known::redactor(),
    };
    let ran = run(&program, &command, &Cancel::default(), &mut |_, _| {}).expect("a supervisor");
    assert_eq!(ran.ending, Ending::NotStarted(Stage::WorkingDirectory, libc::ENOTDIR));
}

#[test]
fn a_program_that_another_can_change_is_not_used() {
    use std::os::unix::fs::PermissionsExt;
    let directory = std::env::temp_dir().join(format!("rhocap-supervisor-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let copy = directory.join("rhocap-supervisor");
    std::fs::copy(SUPERVISOR, &copy).expect("a copy");
    for (mode, usable) in [(0o755, true), (0o700, true), (0o775, false), (0o757, false)] {
        std::fs::set_permissions(&copy, std::fs::Permissions::from_mode(mode)).expect("a mode");
        assert_eq!(Program::open(&copy).is_ok(), usable, "{mode:o}");
    }
    assert_eq!(Program::open(&directory).err(), Some(Unusable::NotRegular));
    std::fs::remove_file(&copy).expect("removed");
    assert!(matches!(Program::open(&copy), Err(Unusable::Missing(_))));
    std::fs::remove_dir(&directory).expect("removed");
}

#[test]
fn much_output_is_bounded_and_counted() {
    let answer = Ask {
        output: 2048,
        ..Ask::new("seq 1 1000000")
    }
    .run();
    let kept = &answer.ran.output;
    assert_eq!(kept.total, 6_888_896);
    assert_eq!((kept.head.len(), kept.tail.len()), (1024, 1024));
    assert_eq!(kept.dropped, 6_888_896 - 2048);
    assert!(kept.head.starts_with(b"1\n2\n") && kept.tail.ends_with(b"\n1000000\n"));

    let answer = Ask::new("head -c 200000000 /dev/zero; echo END").run();
    assert_eq!(answer.ran.output.total, 200_000_004);
    assert!(answer.ran.output.tail.ends_with(b"END\n"));

    let answer = Ask::late("yes").run();
    assert_eq!(answer.end().cause, Cause::TimedOut);
    let kept = answer.ran.output;
    assert_eq!(kept.total, kept.dropped + (kept.head.len() + kept.tail.len()) as u64);
}

#[test]
fn input_is_fed_and_need_not_be_read() {
    let megabyte = vec![b'x'; 1 << 20];
    let answer = Ask {
        input: Some(&megabyte),
        ..Ask::new("wc -c")
    }
    .run();
    assert_eq!(answer.text().trim(), "1048576");
    let ten = vec![b'x'; 10 << 20];
    let echoed = Ask {
        input: Some(&ten),
        output: 32 << 20,
        ..Ask::new("cat; echo")
    }
    .run();
    assert_eq!(echoed.ran.output.total, (10 << 20) + 1);
    let unread = Ask {
        input: Some(&ten),
        ..Ask::new("true")
    }
    .run();
    unread.is(Cause::Natural, Exit::Exited(0));
}

#[test]
fn the_environment_is_what_was_given_and_nothing_else() {
    let value = "a b\n'\u{fc}";
    let answer = Ask {
        environment: vec![format!("FOO={value}"), "PATH=/usr/bin:/bin".to_owned()],
        ..Ask::new("env -0 | sort -z | tr '\\0' '|'; printf %s \"$FOO\"")
    }
    .run();
    let text = answer.text();
    let (names, printed) = text.rsplit_once('|').expect("names");
    assert_eq!(printed, value);
    let names: Vec<&str> = names
        .split('|')
        .map(|entry| entry.split('=').next().unwrap_or(""))
        .collect();
    // The last three are bash's own.
    assert_eq!(names, ["FOO", "MARKED", "PATH", "PWD", "SHLVL", "_"]);
    let supervisor = Ask::new("tr '\\0' '\\n' < /proc/$PPID/environ; ls /proc/self/fd | tr '\\n' ' '").run();
    // The supervisor's environment is empty or out of reach; beside the three there is what ls opened.
    assert!(supervisor.text().ends_with("0 1 2 3 "), "{:?}", supervisor.text());
    assert!(!supervisor.text().contains('='));
}

#[test]
fn signals_and_session_are_the_defaults() {
    let text = Ask::new("grep -E '^Sig(Blk|Ign)' /proc/self/status; ps -o pid=,sid= -p $$")
        .run()
        .text();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("SigBlk:\t0000000000000000"));
    assert_eq!(lines.next(), Some("SigIgn:\t0000000000000000"));
    if let Some(line) = lines.next() {
        let mut fields = line.split_ascii_whitespace();
        assert_eq!(fields.next(), fields.next(), "a session of its own");
    }
}

#[test]
fn what_a_command_leaves_behind_is_ended() {
    for command in LEFTOVERS {
        let answer = Ask::new(command).run();
        answer.is(Cause::Natural, Exit::Exited(0));
        assert_eq!(answer.text(), "done\n", "{command}");
        // It was there, and had not come to its end.
        assert!(
            answer.end().found >= 1 && answer.end().killed >= 1,
            "{command}: {:?}",
            answer.end()
        );
    }
    // What comes late is not waited for.
    let answer = Ask::new("(sleep 5; echo late) & echo early").run();
    assert_eq!(answer.text(), "early\n");
    assert!(answer.end().found >= 1);
}

#[test]
fn trees_that_time_out_are_ended() {
    for command in ENDLESS {
        let answer = Ask::late(command).run();
        assert_eq!(answer.end().cause, Cause::TimedOut, "{command}");
        assert!(answer.end().ran >= Duration::from_secs(1), "{command}");
        assert!(answer.ran.signals.iter().any(|(signal, ..)| *signal == libc::SIGTERM));
    }
    if Path::new("/usr/bin/script").exists() {
        let answer = Ask::late("script -qc 'bash -c \"SLEEP\"' /dev/null").run();
        assert_eq!(answer.end().cause, Cause::TimedOut, "a terminal of its own");
    } else {
        skip("script", "a terminal of its own");
    }
    // Those who clean up may; those who ignore it may not.
    let signals = |answer: &Answer| {
        answer
            .ran
            .signals
            .iter()
            .map(|(signal, ..)| *signal)
            .collect::<Vec<_>>()
    };
    let answer = Ask {
        grace: Duration::from_secs(20),
        ..Ask::new("trap 'echo cleaned; exit 3' TERM; echo ready; sleep 30 & wait")
    }
    .run_until("ready\n");
    answer.is(Cause::Cancelled, Exit::Exited(3));
    assert_eq!(answer.text(), "ready\ncleaned\n");
    assert_eq!(signals(&answer), [libc::SIGTERM], "the grace is not waited for");
    let answer = Ask::new("trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 1; done").run_until("ready\n");
    answer.is(Cause::Cancelled, Exit::Signalled(9));
    assert_eq!(signals(&answer), [libc::SIGTERM, libc::SIGKILL]);
}

#[test]
fn processes_that_fork_while_they_are_killed_are_ended() {
    // Each forks, ends, and goes on as another, in a session of its own.
    let hopper = "hop() { trap '' TERM; local i; for ((i = 0; i < 2000; i++)); do ( setsid -f true ); done; }; ";
    for count in [4, 20] {
        let command = format!("{hopper} for i in $(seq {count}); do hop & done; wait");
        let answer = Ask::late(&command).run();
        assert_eq!(answer.end().cause, Cause::TimedOut);
    }
}

/// `RHOCAP_STORM=1` is the full size: a thousand processes at once.
#[test]
fn storms_are_ended() {
    let (depth, storm) = if std::env::var_os("RHOCAP_STORM").is_some() {
        (9, 300)
    } else {
        (4, 40)
    };
    let bomb =
        format!("b() {{ if (($1)); then b $(($1 - 1)) & b $(($1 - 1)) & fi; trap '' TERM; (SLEEP); }}; b {depth}");
    let storm = format!("for i in $(seq {storm}); do setsid -f bash -c 'trap \"\" TERM; SLEEP'; done; (SLEEP)");
    for command in [bomb, storm] {
        let answer = Ask {
            timeout: Duration::from_secs(3),
            ..Ask::new(&command)
        }
        .run();
        let end = answer.end();
        assert_eq!(end.cause, Cause::TimedOut);
        let (killed, found) = (end.killed, end.found + 1);
        println!(
            "{killed} of {found} killed in {:?}, signals {:?}",
            end.ending, answer.ran.signals
        );
    }
}

#[test]
fn a_call_can_be_cancelled_at_any_time() {
    let cancel = Cancel::default();
    let waiting = cancel.clone();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        waiting.cancel();
        waiting.cancel();
    });
    let answer = Ask::new("(SLEEP) & (SLEEP)").run_with(&cancel);
    assert_eq!(answer.end().cause, Cause::Cancelled);
    thread.join().expect("the thread");

    // Around its start, and around its own end. `RHOCAP_RACES=1000` is the full size.
    let races = std::env::var("RHOCAP_RACES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60_u64);
    for delay in (0..races).map(|step| step * 6000 / races) {
        let cancel = Cancel::default();
        let other = cancel.clone();
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(delay));
            other.cancel();
        });
        let answer = Ask::new("true").run_with(&cancel);
        let end = answer.end();
        assert!(matches!(end.cause, Cause::Cancelled | Cause::Natural), "{end:?}");
        thread.join().expect("the thread");
    }
}

/// Whatever becomes of the supervisor, none of its command's processes stays, and what happened is told.
#[test]
fn a_lost_supervisor_is_told_and_nothing_is_left() {
    let away = "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; ";
    // Forks and ends, over and over: younger than any list of processes.
    let hopper = "h='if (($2)); then setsid -f bash -c \"$1\" \"$0\" \"$1\" $(($2 - 1)); fi'; \
                  for i in 1 2 3; do setsid -f bash -c \"$h\" MARK \"$h\" 5000; done; sleep 0.1; ";
    for (end, left) in [
        ("kill -9 $PPID; (SLEEP)", hopper.to_owned()),
        ("kill -STOP $PPID; (SLEEP)", hopper.to_owned()),
        ("kill -9 $PPID; (SLEEP)", away.to_owned()),
        ("kill -STOP $PPID; (SLEEP)", away.to_owned()),
        ("kill -9 $PPID; exit 0", away.to_owned()),
        ("kill -STOP $PPID; exit 0", away.to_owned()),
        ("kill -9 $PPID; (SLEEP)", "setsid -f bash -c 'SLEEP'; ".to_owned()),
        ("kill -9 $PPID; (SLEEP)", away.repeat(30)),
        (
            "kill -9 $PPID; (SLEEP)",
            "( ( (SLEEP) & ) & ); coproc (SLEEP); ".to_owned(),
        ),
        ("kill -9 $PPID", "setsid -f bash -c 'kill -STOP $$; SLEEP'; ".to_owned()),
        (
            "kill -9 $PPID; (SLEEP)",
            "setsid -f bash -c 'trap \"\" TERM HUP; SLEEP'; ".to_owned(),
        ),
        (
            "kill -9 $PPID; (SLEEP)",
            "for i in 1 2 3 4; do (while :; do setsid -f true; done) & done; ".to_owned(),
        ),
        (
            "for i in $(seq 20); do setsid -f bash -c \"kill -9 $PPID; SLEEP\"; done; (SLEEP)",
            String::new(),
        ),
    ] {
        let command = format!("{left}{end}");
        let answer = Ask::new(&command).run();
        let Ending::SupervisorLost(lost) = &answer.ran.ending else {
            panic!("{command}: {:?}", answer.ran.ending);
        };
        assert!(
            lost.swept.searched && lost.swept.survivors.is_empty(),
            "{command}: {lost:?}"
        );
        // None of it had come to its end.
        assert!(lost.swept.killed >= 1, "{command}: {lost:?}");
    }
}

/// The names of the groups that supervisors made, where this process may make one.
fn groups() -> Option<Vec<String>> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mount = mounts
        .lines()
        .find(|line| line.contains(" - cgroup2 "))?
        .split(' ')
        .nth(4)?;
    let probe = Path::new(mount).join(format!("test-rhocap-{}", std::process::id()));
    std::fs::create_dir(&probe).ok()?;
    std::fs::remove_dir(&probe).ok()?;
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    own.lines().any(|line| line == "0::/").then(|| {
        let names = std::fs::read_dir(mount).into_iter().flatten().flatten();
        names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    })
}

#[test]
fn a_command_has_a_control_group_where_the_host_gives_one() {
    let ended = Ask::new("(SLEEP) & cat /proc/self/cgroup").run();
    let group = ended
        .text()
        .lines()
        .find_map(|line| Some(line.strip_prefix("0::/")?.to_owned()));
    if groups().is_none() {
        assert_eq!(ended.end().method, Method::Descent);
        return skip("control_group", "none can be made here");
    }
    assert_eq!(ended.end().method, Method::Group);
    let group = group.expect("a group");
    assert!(group.starts_with("rhocap-"), "{group}");
    assert!(!groups().expect("groups").contains(&group), "{group} is left");
    // One that cannot be started leaves none, and one that loses its supervisor neither; what has shed its
    // mark is found in the group, and groups that the command made in its own are removed with it.
    let missing = Ask {
        shell: "/no/bash",
        ..Ask::new("true")
    };
    missing.run();
    let inner = "g=$(awk '/ - cgroup2 /{print $5}' /proc/self/mountinfo)$(sed -n 's/^0:://p' /proc/self/cgroup); \
                 mkdir $g/inner && echo $g; ";
    for end in ["exit 0", "kill -9 $PPID; (SLEEP)"] {
        let command = format!("{inner} setsid -f bash -c 'ulimit -x 5 && echo shed; SLEEP'; sleep 0.2; {end}");
        let answer = Ask::new(&command).run();
        let text = answer.text();
        let (group, shed) = text.trim().split_once('\n').expect("a group");
        assert_eq!(shed, "shed");
        assert!(!Path::new(group).exists(), "{group} is left: {:?}", answer.ran.ending);
    }
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let threads: Vec<_> = (0..32_i32)
        .map(|number| {
            std::thread::spawn(move || {
                let cancel = Cancel::default();
                if number % 2 == 0 {
                    let command = format!("sleep 0.2; exit {number}");
                    Ask::new(&command)
                        .run_with(&cancel)
                        .is(Cause::Natural, Exit::Exited(number));
                } else {
                    let other = cancel.clone();
                    let thread = std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(100));
                        other.cancel();
                    });
                    let answer = Ask::new("(SLEEP) & (SLEEP)").run_with(&cancel);
                    assert_eq!(answer.end().cause, Cause::Cancelled);
                    thread.join().expect("the thread");
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a command");
    }
}
