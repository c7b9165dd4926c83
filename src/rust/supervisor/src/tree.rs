//! The processes below this one.
//!
//! A subreaper gets every orphan below it as a child, so that whatever a process does to get away from
//! its parent (`setsid`, two forks, another environment), it stays in this tree.

use std::os::fd::OwnedFd;

use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;
use rhocap_core::process::status::Status;

/// A process that is not dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// When it started; none when it is our own child, whose number cannot be given to another before we
    /// reap it.
    started: Option<u64>,
}

impl Process {
    /// A process that was found in another way; none when it is dead.
    pub fn look(pid: Pid) -> Option<Self> {
        let started = Some(look(pid)?.started);
        Some(Self { pid, started })
    }
}

/// Makes this process the one that orphans below it go to, and one that others cannot look into; whether
/// the orphans come. Without that, who loses its parent on purpose is not found.
pub fn become_root() -> bool {
    #[cfg(target_os = "linux")]
    {
        let _ = nix::sys::prctl::set_dumpable(false);
        nix::sys::prctl::set_child_subreaper(true).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    false
}

/// The process that started this one is gone.
pub struct Gone;

/// Holds the process that started this one, by the number that it gave; none where the system cannot.
///
/// # Errors
/// [`Gone`], when it is not our parent: it died before it could be held, however early.
pub fn hold_host(number: u32) -> Result<Option<OwnedFd>, Gone> {
    #[cfg(target_os = "linux")]
    let held = i32::try_from(number)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .and_then(|host| rustix::process::pidfd_open(host, rustix::process::PidfdFlags::empty()).ok());
    #[cfg(not(target_os = "linux"))]
    let held = None;
    // Asked afterwards: a parent that is there now had its number all the time, so that what is held is it.
    if nix::unistd::getppid().as_raw().unsigned_abs() == number {
        Ok(held)
    } else {
        Err(Gone)
    }
}

/// Whether a process that is held has ended.
pub fn has_ended(held: &OwnedFd) -> bool {
    use rustix::event::{poll, PollFd, PollFlags, Timespec};
    let mut held = [PollFd::new(held, PollFlags::IN)];
    poll(&mut held, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// All processes below this one that are not dead.
pub fn descendants() -> Vec<Process> {
    let mut found = Vec::new();
    walk(&mut |process| found.push(process));
    found
}

/// Visits every process below this one that is not dead. Each is visited before its children are looked
/// up: what a visit kills makes no more of them, and what it had made is found now or, because it became
/// ours, by the next walk.
pub fn walk(visit: &mut dyn FnMut(Process)) {
    let own = nix::unistd::getpid();
    let family = Family::look(own);
    let mut seen = std::collections::HashSet::new();
    let mut pending: Vec<(Pid, bool)> = family.children(own, 1).into_iter().map(|pid| (pid, true)).collect();
    while let Some((pid, child)) = pending.pop() {
        // A number may be met twice when the tree changes meanwhile. A dead process has no children: they
        // are ours, or were found when they became another's.
        let Some(status) = Some(pid).filter(|pid| seen.insert(*pid)).and_then(look) else {
            continue;
        };
        visit(Process {
            pid,
            started: Some(status.started).filter(|_| !child),
        });
        pending.extend(family.children(pid, status.threads).into_iter().map(|pid| (pid, false)));
    }
}

/// Who is whose child.
enum Family {
    /// The kernel tells for each process (`CONFIG_PROC_CHILDREN`).
    #[cfg(target_os = "linux")]
    Told,
    /// From the parents of all processes, taken at once.
    #[cfg(target_os = "linux")]
    Mapped(std::collections::HashMap<Pid, Vec<Pid>>),
    #[cfg(not(target_os = "linux"))]
    Asked,
}

#[cfg(target_os = "linux")]
impl Family {
    fn look(own: Pid) -> Self {
        if std::fs::metadata(format!("/proc/self/task/{own}/children")).is_ok() {
            Self::Told
        } else {
            Self::mapped()
        }
    }

    fn mapped() -> Self {
        let mut children: std::collections::HashMap<Pid, Vec<Pid>> = std::collections::HashMap::new();
        for pid in numbers("/proc") {
            if let Some(status) = Status::of(pid.as_raw()) {
                children.entry(Pid::from_raw(status.parent)).or_default().push(pid);
            }
        }
        Self::Mapped(children)
    }

    fn children(&self, of: Pid, threads: u32) -> Vec<Pid> {
        match self {
            Self::Mapped(children) => children.get(&of).cloned().unwrap_or_default(),
            Self::Told if threads == 1 => told(of, of),
            // A child belongs to the thread that made it.
            Self::Told => numbers(&format!("/proc/{of}/task"))
                .into_iter()
                .flat_map(|task| told(of, task))
                .collect(),
        }
    }
}

/// The names in a directory that are numbers.
#[cfg(target_os = "linux")]
fn numbers(directory: &str) -> Vec<Pid> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Pid::from_raw)
        .collect()
}

/// The children of a thread, as the kernel tells.
#[cfg(target_os = "linux")]
fn told(process: Pid, task: Pid) -> Vec<Pid> {
    let told = std::fs::read_to_string(format!("/proc/{process}/task/{task}/children")).unwrap_or_default();
    let numbers = told.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
    numbers.map(Pid::from_raw).collect()
}

#[cfg(target_os = "linux")]
fn look(pid: Pid) -> Option<Status> {
    Status::of(pid.as_raw()).filter(|status| !status.is_dead())
}

#[cfg(not(target_os = "linux"))]
impl Family {
    fn look(_: Pid) -> Self {
        Self::Asked
    }

    #[allow(unsafe_code)]
    fn children(&self, of: Pid, _: u32) -> Vec<Pid> {
        let mut pids = vec![0_i32; 4096];
        let size = i32::try_from(pids.len() * 4).unwrap_or(i32::MAX);
        // SAFETY: writes at most `size` bytes into the vector.
        let count = unsafe { libc::proc_listchildpids(of.as_raw(), pids.as_mut_ptr().cast(), size) };
        pids.truncate(usize::try_from(count).unwrap_or(0));
        pids.into_iter().map(Pid::from_raw).collect()
    }
}

#[cfg(not(target_os = "linux"))]
fn look(_: Pid) -> Option<Status> {
    Some(Status {
        state: b'?',
        parent: 0,
        threads: 1,
        started: 0,
    })
}

/// Sends signals to a process that was found; whether the first was sent. A number that another process
/// may have got since is held by a descriptor and looked at again first: what was below this process once
/// stays below it.
pub fn send(process: Process, signals: &[Signal]) -> bool {
    #[cfg(target_os = "linux")]
    if let Some(started) = process.started {
        use rustix::process::{pidfd_open, pidfd_send_signal, PidfdFlags};
        let same = || Status::of(process.pid.as_raw()).is_some_and(|status| status.started == started);
        let Some(pid) = rustix::process::Pid::from_raw(process.pid.as_raw()) else {
            return false;
        };
        return match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(held) => {
                same()
                    && first(signals, |signal| {
                        let named = rustix::process::Signal::from_named_raw(signal as i32);
                        named.is_some_and(|named| pidfd_send_signal(&held, named).is_ok())
                    })
            }
            // Before Linux 5.3 there is only the number.
            Err(rustix::io::Errno::NOSYS) => same() && first(signals, |signal| kill(process.pid, signal).is_ok()),
            Err(_) => false,
        };
    }
    first(signals, |signal| kill(process.pid, signal).is_ok())
}

/// Sends all; whether the first was sent.
fn first(signals: &[Signal], send: impl Fn(Signal) -> bool) -> bool {
    let mut sent = signals.iter().map(|signal| send(*signal));
    let first = sent.next().unwrap_or(false);
    sent.for_each(drop);
    first
}
