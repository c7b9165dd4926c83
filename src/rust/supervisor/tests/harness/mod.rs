//! Runs commands by R's side of the engine, and looks for what is left of them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rhocap_core::effect::Cancel;
use rhocap_core::process::engine::{run, Command, Ending, Ran};
use rhocap_core::process::protocol::{Cause, End, Exit, Start, Variable};
use rhocap_core::process::supervisor::Program;

#[path = "../../../core/tests/skip/mod.rs"]
mod skip;

pub use skip::skip;

/// The supervisor that is tested.
pub const SUPERVISOR: &str = env!("CARGO_BIN_EXE_rhocap-supervisor");

/// Commands that end by themselves, whatever holds them: their exits and their output.
pub const EXITS: &[(&str, Exit, &str)] = &[
    ("echo hi", Exit::Exited(0), "hi\n"),
    ("exit 7", Exit::Exited(7), ""),
    ("exit 255", Exit::Exited(255), ""),
    ("exit 256", Exit::Exited(0), ""),
    ("exit 124", Exit::Exited(124), ""),
    ("kill -9 $$", Exit::Signalled(9), ""),
    ("kill -TERM $$", Exit::Signalled(15), ""),
    ("kill -34 $$", Exit::Signalled(34), ""),
    ("kill -9 0", Exit::Signalled(9), ""),
    ("printf abc", Exit::Exited(0), "abc"),
    ("echo e >&2", Exit::Exited(0), "e\n"),
    ("echo a; echo b >&2; echo c", Exit::Exited(0), "a\nb\nc\n"),
    ("printf 'a\\0b'", Exit::Exited(0), "a\0b"),
    (
        "echo '!' \"`echo x`\" \"$((1+1))\" 'a\\'",
        Exit::Exited(0),
        "! x 2 a\\\n",
    ),
    ("cat <<'E'\n$HOME\nE", Exit::Exited(0), "$HOME\n"),
    ("echo $(seq 1 20000) | wc -c", Exit::Exited(0), "108894\n"),
    ("cat", Exit::Exited(0), ""),
    ("read x; echo \"$?\"", Exit::Exited(0), "1\n"),
    ("cat <(echo sub)", Exit::Exited(0), "sub\n"),
    (
        "echo x | tee /dev/stderr 2>/dev/null; echo $?",
        Exit::Exited(0),
        "x\n0\n",
    ),
    ("true & wait; echo done", Exit::Exited(0), "done\n"),
    ("echo $$ | grep -qx 1 && echo first", Exit::Exited(1), ""),
];

/// Commands that end at once, say "done", and leave one process.
pub const LEFTOVERS: &[&str] = &[
    "(SLEEP) & echo done",
    "(SLEEP) & disown; echo done",
    "setsid -f bash -c 'SLEEP'; echo done",
    "exec 9>&1; setsid -f bash -c 'SLEEP' >/dev/null; echo done",
    "( ( (SLEEP) & ) & ); echo done",
    "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; echo done",
    "setsid -f bash -c 'trap \"\" TERM HUP INT; SLEEP'; echo done",
    "nohup bash -c 'SLEEP' >/dev/null 2>&1 & echo done",
    "setsid -f bash -c 'kill -STOP $$; SLEEP'; echo done",
];

/// Commands that do not end, and what they start.
pub const ENDLESS: &[&str] = &[
    "(SLEEP)",
    "setsid bash -c 'SLEEP' & (SLEEP)",
    "setsid -f bash -c 'SLEEP'; (SLEEP)",
    "( ( (SLEEP) & ) & ); (SLEEP)",
    "nohup bash -c 'SLEEP' >/dev/null 2>&1 & disown; (SLEEP)",
    "setsid -f env -i bash -c 'SLEEP' </dev/null >/dev/null 2>&1; (SLEEP)",
    "setsid bash -c 'kill -STOP $$; SLEEP' & (SLEEP)",
    "kill -STOP $$",
    "coproc (SLEEP); wait",
    "( (SLEEP) & (SLEEP) & wait )",
    "for i in $(seq 40); do setsid -f bash -c 'SLEEP'; done; (SLEEP)",
];

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

    /// Cancels it as soon as it has said this.
    pub fn run_until(&self, said: &str) -> Answer {
        let cancel = Cancel::default();
        let mut hear = cancel_at(said, &cancel);
        self.run_and_hear(&cancel, &mut hear)
    }

    pub fn run_with(&self, cancel: &Cancel) -> Answer {
        self.run_and_hear(cancel, &mut |_| {})
    }

    /// Runs it, and looks through /proc for whatever has the run's mark in its environment or arguments.
    fn run_and_hear(&self, cancel: &Cancel, hear: &mut dyn FnMut(&[u8])) -> Answer {
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
                environment: environment.into_iter().map(Variable::from).collect(),
                timeout: Some(self.timeout),
                grace: self.grace,
                confinement: None,
                required: Vec::new(),
            },
            input: self.input,
            directory: directory.as_fd(),
            output_bytes: self.output,
            redactor: &rhocap_core::secret::known::redactor(),
        };
        let ran = run(&program, &command, cancel, &mut |bytes, _| hear(bytes)).expect("a supervisor");
        let left = marked(&mark);
        assert_eq!(
            left,
            Vec::<String>::new(),
            "left of {:?}: {:?}",
            self.command,
            ran.ending
        );
        Answer { ran }
    }
}

/// Hears output, and cancels when this was said.
pub fn cancel_at<'a>(said: &'a str, cancel: &'a Cancel) -> impl FnMut(&[u8]) + 'a {
    let mut heard = Vec::new();
    move |bytes| {
        heard.extend_from_slice(bytes);
        if heard.windows(said.len()).any(|part| part == said.as_bytes()) {
            cancel.cancel();
        }
    }
}

/// What came of it.
pub struct Answer {
    pub ran: Ran,
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

/// On a thread that ends with the test, under the test's name.
pub fn on_a_thread(test: impl FnOnce() + Send + 'static) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let thread = std::thread::Builder::new().name(name).spawn(test).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Refuses calls on this thread and in what it starts: a host that does not give them.
#[cfg(target_os = "linux")]
pub fn deny(calls: &[(i64, Option<i32>)], errno: i32) {
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };
    let mut rules = std::collections::BTreeMap::<i64, Vec<SeccompRule>>::new();
    for (call, flag) in calls {
        let rules = rules.entry(*call).or_default();
        if let Some(flag) = flag {
            let flag = u64::from(flag.unsigned_abs());
            let condition =
                SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag).expect("one");
            rules.push(SeccompRule::new(vec![condition]).expect("a rule"));
        }
    }
    let filter: BpfProgram = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into().expect("a processor"),
    )
    .expect("a filter")
    .try_into()
    .expect("a program");
    seccompiler::apply_filter(&filter).expect("a filter");
}

/// The calls that make namespaces.
#[cfg(target_os = "linux")]
pub const NAMESPACES: &[(i64, Option<i32>)] = &[
    (libc::SYS_clone, Some(libc::CLONE_NEWUSER)),
    (libc::SYS_clone, Some(libc::CLONE_NEWNS)),
    (libc::SYS_unshare, None),
];
