//! Runs commands by R's side of the engine, and looks for what is left of them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::{run, Command, Ending, Ran};
use rhocap_core::process::protocol::{Cause, End, Exit, Start};
use rhocap_core::process::supervisor::Program;

/// The supervisor that is tested.
pub const SUPERVISOR: &str = env!("CARGO_BIN_EXE_rhocap-supervisor");

/// A command, and what it is run with.
pub struct Ask<'a> {
    pub command: &'a str,
    pub shell: &'a str,
    pub timeout: Duration,
    pub grace: Duration,
    pub input: Option<&'a [u8]>,
    pub environment: Vec<String>,
    pub output: u64,
}

impl<'a> Ask<'a> {
    /// With times that no honest command reaches.
    pub fn new(command: &'a str) -> Self {
        Self {
            command,
            shell: "/bin/bash",
            timeout: Duration::from_secs(20),
            grace: Duration::from_millis(100),
            input: None,
            environment: vec!["PATH=/usr/bin:/bin".to_owned()],
            output: 1 << 20,
        }
    }

    /// Times out after a second.
    pub fn late(command: &'a str) -> Self {
        Self {
            timeout: Duration::from_secs(1),
            ..Self::new(command)
        }
    }

    /// Runs it to its end.
    pub fn run(&self) -> Answer {
        self.run_with(&Cancel::default())
    }

    /// Runs it, and looks through /proc for whatever has the run's mark in its environment or arguments.
    pub fn run_with(&self, cancel: &Cancel) -> Answer {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // The point ends it: without it the mark of one run would be the start of another's.
        let mark = format!(
            "rhocap-mark-{}-{}.",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let program = Program::open(Path::new(SUPERVISOR)).expect("the supervisor");
        let directory = std::fs::File::open("/tmp").expect("a directory");
        let mut environment: Vec<Vec<u8>> = self.environment.iter().map(|text| text.clone().into_bytes()).collect();
        environment.push(format!("MARKED={mark}").into_bytes());
        // The mark is an argument too, for what clears its environment: sleep is called by this name.
        let command = self
            .command
            .replace("SLEEP", &format!("exec -a {mark} sleep 30"))
            .replace("MARK", &mark);
        let command = Command {
            start: Start {
                arguments: [self.shell, "-c", &command]
                    .iter()
                    .map(|text| text.as_bytes().to_vec())
                    .collect(),
                environment,
                timeout: Some(self.timeout),
                grace: self.grace,
                confinement: None,
                required: Vec::new(),
            },
            input: self.input,
            directory: directory.as_fd(),
            output_bytes: self.output,
        };
        let started = Instant::now();
        let ran = run(&program, &command, cancel, &mut |_| {}).expect("a supervisor");
        let took = started.elapsed();
        let left = marked(&mark);
        assert_eq!(
            left,
            Vec::<String>::new(),
            "left of {:?}: {:?}",
            self.command,
            ran.ending
        );
        Answer { ran, took }
    }
}

/// What came of it.
pub struct Answer {
    pub ran: Ran,
    pub took: Duration,
}

impl Answer {
    /// Its whole output.
    pub fn text(&self) -> String {
        assert_eq!(self.ran.output.dropped, 0);
        String::from_utf8_lossy(&self.ran.output.head).into_owned()
    }

    /// Its end, of which nothing survived.
    pub fn end(&self) -> &End {
        match &self.ran.ending {
            Ending::Ended(end) => {
                assert_eq!(end.survivors, Vec::<u32>::new());
                end
            }
            other => panic!("{other:?} after {:?}", self.ran.signals),
        }
    }

    /// Ended for this reason, and its first process so.
    pub fn is(&self, cause: Cause, exit: Exit) {
        assert_eq!(
            (self.end().cause, self.end().leader),
            (cause, Some(exit)),
            "{:?}",
            self.text()
        );
    }
}

/// The processes that have a mark in their environment or arguments and are not dead.
pub fn marked(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        // Of each thread: a process whose first one ended has no arguments, but the others go on.
        let threads = std::fs::read_dir(format!("/proc/{pid}/task"));
        for thread in threads.into_iter().flatten().flatten() {
            let text = |file: &str| std::fs::read(thread.path().join(file)).unwrap_or_default();
            let holds = |file| text(file).windows(mark.len()).any(|part| part == mark.as_bytes());
            if pid != std::process::id() && (holds("environ") || holds("cmdline")) {
                found.push(format!("{pid} {}", String::from_utf8_lossy(&text("cmdline"))));
            }
        }
    }
    found
}

/// Refuses namespaces on this thread and in what it starts.
#[cfg(target_os = "linux")]
pub fn refuse_namespaces() {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    let flag = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        let condition =
            SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag).expect("one");
        SeccompRule::new(vec![condition]).expect("a rule")
    };
    let rules = [
        (
            libc::SYS_clone,
            vec![flag(libc::CLONE_NEWUSER), flag(libc::CLONE_NEWNS)],
        ),
        (libc::SYS_unshare, Vec::new()),
    ];
    let filter: BpfProgram = SeccompFilter::new(
        rules.into(),
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        std::env::consts::ARCH.try_into().expect("a processor"),
    )
    .expect("a filter")
    .try_into()
    .expect("a program");
    seccompiler::apply_filter(&filter).expect("a filter");
}
