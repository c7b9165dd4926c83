//! Random nasty trees in a row. Whatever they are made of and however they end, nothing is left.
//!
//! `RHOCAP_TREES` is how many (500 is the full size), `RHOCAP_SEED` makes the same ones again.

mod harness;

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::Ask;
use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::Ending;
use rhocap_core::process::protocol::Cause;

/// Most processes that one tree may have at once.
const MOST: u32 = 60;

/// Numbers that a seed determines (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// One word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Whether a command works here.
fn works(command: &str) -> bool {
    let status = Command::new("/bin/bash")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// What a tree is made of: a name, the processes that it takes beside its inside, whether it works here,
/// and the shell's text around its inside. `Q` is the inside as one quoted word, `X` as it is.
struct Kind {
    name: &'static str,
    processes: u32,
    text: &'static str,
}

const KINDS: &[Kind] = &[
    Kind { name: "background", processes: 1, text: "( X ) &" },
    Kind { name: "disowned", processes: 1, text: "( X ) & disown" },
    Kind { name: "session", processes: 1, text: "setsid bash -c Q &" },
    Kind { name: "session, parent ends", processes: 1, text: "setsid -f bash -c Q" },
    Kind { name: "two forks", processes: 1, text: "( ( ( X ) & ) & )" },
    Kind { name: "nohup", processes: 1, text: "nohup bash -c Q >/dev/null 2>&1 &" },
    Kind { name: "no environment", processes: 1, text: "setsid -f env -i /bin/bash -c Q </dev/null >/dev/null 2>&1" },
    Kind { name: "no descriptors", processes: 1, text: "( exec 0<&- 1>&- 2>&-; X ) &" },
    Kind { name: "signals ignored", processes: 1, text: "( trap '' TERM HUP INT QUIT; X ) &" },
    Kind { name: "TERM answered by more", processes: 3, text: "( trap '( SLEEP ) & ( SLEEP ) &' TERM; X; wait; wait ) &" },
    Kind { name: "stopped", processes: 1, text: "( X ) & kill -STOP $!" },
    Kind { name: "stops itself", processes: 2, text: "setsid -f bash -c 'kill -STOP $$; SLEEP'; X" },
    Kind { name: "another name", processes: 1, text: "( exec -a ') Z 1 (' bash -c Q ) &" },
    Kind { name: "coprocess", processes: 1, text: "coproc ( X )" },
    Kind { name: "respawner", processes: 3, text: "( trap '' TERM; for i in {1..200}; do ( SLEEP ); done ) & X" },
    Kind { name: "mutual restarters", processes: 4, text: "for i in 1 2; do ( trap '' TERM; for j in {1..200}; do bash -c 'SLEEP' & wait; done ) & done; X" },
    Kind {
        name: "hopper",
        processes: 3,
        text: "h='if (($2)); then setsid -f bash -c \"$1\" \"$0\" \"$1\" $(($2 - 1)); fi'; setsid -f bash -c \"$h\" MARK \"$h\" 2000; X",
    },
    Kind {
        name: "hopper by forks",
        processes: 3,
        text: "h() { if (($1)); then ( h $(($1 - 1)) ) & fi; exit; }; ( h 500 ) & X",
    },
    Kind { name: "busy forker", processes: 3, text: "( trap '' TERM; for i in {1..500}; do setsid -f true; done ) & X" },
    Kind {
        name: "nested subreaper",
        processes: 2,
        text: "python3 -c 'import ctypes, subprocess, sys; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0); subprocess.run([\"bash\", \"-c\", sys.argv[1]]); subprocess.run([\"bash\", \"-c\", sys.argv[2]])' Q SLEEPQ &",
    },
    Kind {
        name: "first thread ends",
        processes: 2,
        text: "python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(30,)).start(); ctypes.CDLL(None).syscall(60, 0)' MARK & X",
    },
    Kind {
        name: "children of a thread",
        processes: 2,
        text: "python3 -c 'import subprocess, sys, threading; t = threading.Thread(target=subprocess.run, args=([\"bash\", \"-c\", sys.argv[1]],)); t.start(); t.join()' Q &",
    },
    Kind { name: "pid namespace", processes: 2, text: "unshare -Urpf --mount-proc bash -c Q &" },
    Kind { name: "namespaces", processes: 1, text: "unshare -Urnmiu bash -c Q &" },
    Kind { name: "killed namespace", processes: 2, text: "unshare -Urpf --kill-child bash -c Q &" },
];

/// The kinds that work here. What `X` stands for in a test of it is nothing.
fn kinds() -> Vec<&'static Kind> {
    let probes = [
        ("python3", "python3 -c 'import ctypes'"),
        ("unshare -Urpf", "unshare -Urpf --mount-proc true"),
        ("unshare -Urnmiu", "unshare -Urnmiu true"),
        ("setsid", "setsid -f true"),
        ("nohup", "nohup true"),
    ];
    let missing: Vec<&str> = probes
        .iter()
        .filter(|(_, probe)| !works(probe))
        .map(|(word, _)| *word)
        .collect();
    for word in &missing {
        let mechanism = word.split(' ').next().unwrap_or(word);
        let mechanism = if mechanism == "unshare" {
            "user_namespace"
        } else {
            mechanism
        };
        harness::skip(mechanism, format!("no trees with {word}"));
    }
    KINDS
        .iter()
        .filter(|kind| !missing.iter().any(|word| kind.text.contains(word)))
        .collect()
}

/// Makes a tree of what works here.
struct Maker<'a> {
    random: &'a mut Random,
    kinds: &'a [&'static Kind],
    /// How many more processes it may have.
    room: u32,
    used: &'a mut BTreeMap<&'static str, u32>,
}

impl Maker<'_> {
    /// A part of it: some parts beside each other and one process that stays, in a random kind.
    fn part(&mut self, depth: u32) -> String {
        let kind = self.random.below(self.kinds.len() as u64);
        let kind = self.kinds[usize::try_from(kind).expect("an index")];
        if depth == 0 || self.room < kind.processes + 2 {
            return "( SLEEP ) &\n".to_owned();
        }
        self.room -= kind.processes + 2;
        *self.used.entry(kind.name).or_default() += 1;
        let mut inside = String::new();
        for _ in 0..self.random.below(3) {
            if self.room > 4 && depth > 1 {
                inside.push_str(&self.part(depth - 1));
            }
        }
        inside.push_str("( SLEEP )");
        // The longer word first: it holds the shorter one.
        let text = kind
            .text
            .replace("SLEEPQ", "\u{1}")
            .replace('Q', &quoted(&inside))
            .replace('X', &inside)
            .replace('\u{1}', &quoted("SLEEP"));
        format!("(\n{text}\n) &\n")
    }
}

/// How a tree ends.
#[derive(Debug, Clone, Copy)]
enum Way {
    Exits,
    TimesOut,
    Cancelled,
    LosesSupervisor,
    StopsSupervisor,
}

#[test]
fn random_nasty_trees_leave_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let count = number("RHOCAP_TREES").unwrap_or(40);
    let seed = number("RHOCAP_SEED").unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |now| now.as_secs())
    });
    println!("{count} trees of seed {seed}");
    let kinds = kinds();
    let mut random = Random(seed);
    let (mut used, mut ways, mut killed) = (BTreeMap::new(), BTreeMap::new(), 0_u64);
    for tree in 0..count {
        let mut parts = String::new();
        let more = random.below(5);
        let mut maker = Maker {
            random: &mut random,
            kinds: &kinds,
            room: MOST - 10,
            used: &mut used,
        };
        for _ in 0..=more {
            if maker.room > 6 {
                parts.push_str(&maker.part(3));
            }
        }
        let way = match random.below(8) {
            0 | 1 => Way::Exits,
            2..=4 => Way::TimesOut,
            5 => Way::Cancelled,
            6 => Way::LosesSupervisor,
            _ => Way::StopsSupervisor,
        };
        // Some are ended while they are still being made.
        let pause = random.below(300);
        let end = match way {
            Way::Exits => format!("sleep 0.{pause:03}; exit 7"),
            Way::TimesOut | Way::Cancelled => "( SLEEP ); ( SLEEP )".to_owned(),
            Way::LosesSupervisor => format!("sleep 0.{pause:03}; kill -9 $PPID; ( SLEEP )"),
            Way::StopsSupervisor => format!("sleep 0.{pause:03}; kill -STOP $PPID; ( SLEEP )"),
        };
        let command = format!("{parts}{end}");
        let cancel = Cancel::default();
        let ask = Ask {
            timeout: match way {
                Way::TimesOut => Duration::from_millis(100 + pause),
                _ => Duration::from_secs(25),
            },
            grace: Duration::from_millis(random.below(100)),
            ..Ask::new(&command)
        };
        let thread = matches!(way, Way::Cancelled).then(|| {
            let cancel = cancel.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(pause));
                cancel.cancel();
            })
        });
        let answer = ask.run_with(&cancel);
        if let Some(thread) = thread {
            thread.join().expect("the thread");
        }
        let at = format!(
            "tree {tree} of seed {seed}, {way:?}:\n{command}\n{:?}",
            answer.ran.ending
        );
        match (&answer.ran.ending, way) {
            (Ending::Ended(end), Way::Exits | Way::TimesOut | Way::Cancelled) => {
                let cause = match way {
                    Way::Exits => Cause::Natural,
                    Way::TimesOut => Cause::TimedOut,
                    _ => Cause::Cancelled,
                };
                assert_eq!(end.cause, cause, "{at}");
                assert!(end.survivors.is_empty(), "{at}");
                killed += u64::from(end.killed);
            }
            (Ending::SupervisorLost(lost), Way::LosesSupervisor | Way::StopsSupervisor) => {
                assert!(lost.swept.searched && lost.swept.survivors.is_empty(), "{at}");
                killed += u64::from(lost.swept.killed);
            }
            _ => panic!("{at}"),
        }
        *ways.entry(format!("{way:?}")).or_insert(0_u32) += 1;
    }
    println!("{killed} processes killed; ended so: {ways:?}; made of: {used:?}");
}
