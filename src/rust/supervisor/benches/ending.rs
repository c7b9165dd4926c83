//! How long the end of a hostile tree takes, and a command that does nothing.
//!
//! `tools/cargo bench -p rhocap-supervisor`

use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::{run, Command, Ending, Ran};
use rhocap_core::process::protocol::{Start, Variable};
use rhocap_core::process::supervisor::Program;

fn one(command: &str, cancel: &Cancel, on_output: &mut dyn FnMut(&[u8])) -> Ran {
    let program = Program::open(Path::new(env!("CARGO_BIN_EXE_rhocap-supervisor"))).expect("the supervisor");
    let directory = std::fs::File::open("/").expect("a directory");
    let command = Command {
        start: Start {
            arguments: ["/bin/bash", "-c", command]
                .map(|text| text.as_bytes().to_vec())
                .to_vec(),
            environment: vec![Variable::new("PATH", b"/usr/bin:/bin")],
            timeout: Some(Duration::from_secs(30)),
            // The KILL stage starts at once.
            grace: Duration::ZERO,
            confinement: None,
            required: Vec::new(),
        },
        input: None,
        directory: directory.as_fd(),
        output_bytes: 1 << 16,
        redactor: &rhocap_core::secret::known::redactor(),
    };
    run(&program, &command, cancel, &mut |bytes, _| on_output(bytes)).expect("a supervisor")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// From the wish to end a tree until nothing is left of it.
fn ending(command: &str, rounds: usize) -> (Duration, u32) {
    let mut killed = 0;
    let times = (0..rounds).map(|_| {
        let cancel = Cancel::default();
        let ran = one(command, &cancel, &mut |output| {
            // The tree is made.
            if output.contains(&b'!') {
                cancel.cancel();
            }
        });
        let Ending::Ended(end) = ran.ending else {
            panic!("{:?}", ran.ending)
        };
        assert!(end.survivors.is_empty());
        killed = end.killed;
        end.ending
    });
    (median(times.collect()), killed)
}

/// What nobody can be faster than: as many children of our own, killed and waited for.
fn bound(count: usize, rounds: usize) -> Duration {
    let times = (0..rounds).map(|_| {
        let children = (0..count).map(|_| std::process::Command::new("sleep").arg("30").spawn().expect("sleep"));
        let mut children: Vec<_> = children.collect();
        std::thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        for child in &mut children {
            child.kill().expect("a child");
        }
        for child in &mut children {
            child.wait().expect("a child");
        }
        begun.elapsed()
    });
    median(times.collect())
}

fn main() {
    const ROUNDS: usize = 5;
    let times = (0..100).map(|_| one("true", &Cancel::default(), &mut |_| {}).duration);
    println!("true: {:?}", median(times.collect()));
    for count in [50, 200] {
        let least = bound(count, ROUNDS);
        println!("{count} children of our own, killed and reaped: {least:?}");
        for (name, each) in [
            (
                "away, TERM ignored",
                "(trap '' TERM; setsid -f env -i sleep 30 </dev/null >/dev/null 2>&1)",
            ),
            ("children, TERM ignored", "(trap '' TERM; exec sleep 30) &"),
            (
                "away with a child each",
                "setsid -f bash -c 'trap \"\" TERM; sleep 30; :'",
            ),
        ] {
            let command = format!("for i in $(seq {count}); do {each}\ndone; sleep 0.1; echo '!'; sleep 30");
            let (time, killed) = ending(&command, ROUNDS);
            let ratio = time.as_secs_f64() / least.as_secs_f64();
            println!("{count} {name}: {time:?}, {ratio:.2} times that ({killed} killed)");
        }
    }
    // A chain: each the child of the one before.
    let command = "trap '' TERM; c() { if (($1)); then (c $(($1 - 1))) & wait; else echo '!'; sleep 30; fi; }; c 100";
    let (time, killed) = ending(command, ROUNDS);
    println!("chain of 100: {time:?} ({killed} killed)");
}
