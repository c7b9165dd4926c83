//! The processes below this one.
//!
//! A subreaper gets every orphan below it as a child, so that whatever a process does to get away from
//! its parent (`setsid`, two forks, another environment), it stays in this tree.

use nix::unistd::Pid;
#[cfg(target_os = "linux")]
use rhocap_core::process::status::Status;

/// A process that is not a zombie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its number.
    pub pid: Pid,
    /// Whether it is our own child: its number cannot be given to another before we reap it.
    pub child: bool,
}

/// Makes this process the one that orphans below it go to, and one that others cannot look into.
pub fn become_root() {
    #[cfg(target_os = "linux")]
    {
        let _ = nix::sys::prctl::set_child_subreaper(true);
        let _ = nix::sys::prctl::set_dumpable(false);
    }
}

/// All processes below this one that are no zombies.
pub fn descendants() -> Vec<Process> {
    let mut found = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let own = nix::unistd::getpid();
    let family = Family::look();
    let mut pending: Vec<(Pid, bool)> = family.children(own).into_iter().map(|pid| (pid, true)).collect();
    while let Some((pid, child)) = pending.pop() {
        // A number may be met twice when the tree changes meanwhile.
        if !seen.insert(pid) {
            continue;
        }
        if !is_dead(pid) {
            found.push(Process { pid, child });
        }
        pending.extend(family.children(pid).into_iter().map(|pid| (pid, false)));
    }
    found
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
    fn look() -> Self {
        let own = nix::unistd::getpid();
        if std::fs::metadata(format!("/proc/self/task/{own}/children")).is_ok() {
            return Self::Told;
        }
        let mut children: std::collections::HashMap<Pid, Vec<Pid>> = std::collections::HashMap::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
            let Some(pid) = pid.map(Pid::from_raw) else { continue };
            if let Some(status) = Status::of(pid.as_raw()) {
                children.entry(Pid::from_raw(status.parent)).or_default().push(pid);
            }
        }
        Self::Mapped(children)
    }

    fn children(&self, of: Pid) -> Vec<Pid> {
        match self {
            Self::Mapped(children) => children.get(&of).cloned().unwrap_or_default(),
            Self::Told => {
                let mut found = Vec::new();
                // A child belongs to the thread that made it.
                for task in std::fs::read_dir(format!("/proc/{of}/task"))
                    .into_iter()
                    .flatten()
                    .flatten()
                {
                    let told = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
                    found.extend(
                        told.split_ascii_whitespace()
                            .filter_map(|pid| pid.parse().ok())
                            .map(Pid::from_raw),
                    );
                }
                found
            }
        }
    }
}

#[cfg(target_os = "linux")]
fn is_dead(pid: Pid) -> bool {
    // Gone counts as well.
    Status::of(pid.as_raw()).is_none_or(|status| status.is_dead())
}

#[cfg(not(target_os = "linux"))]
impl Family {
    fn look() -> Self {
        Self::Asked
    }

    #[allow(unsafe_code)]
    fn children(&self, of: Pid) -> Vec<Pid> {
        let mut pids = vec![0_i32; 4096];
        let size = i32::try_from(pids.len() * 4).unwrap_or(i32::MAX);
        // SAFETY: writes at most `size` bytes into the vector.
        let count = unsafe { libc::proc_listchildpids(of.as_raw(), pids.as_mut_ptr().cast(), size) };
        pids.truncate(usize::try_from(count).unwrap_or(0));
        pids.into_iter().map(Pid::from_raw).collect()
    }
}

#[cfg(not(target_os = "linux"))]
fn is_dead(_: Pid) -> bool {
    false
}

/// Sends a signal to a process that was found; whether it was sent. A number that another process may
/// have got since is held by a descriptor and looked at again first.
pub fn send(process: Process, signal: nix::sys::signal::Signal) -> bool {
    #[cfg(target_os = "linux")]
    if !process.child {
        use rustix::process::{pidfd_open, pidfd_send_signal, PidfdFlags};
        let Some(pid) = rustix::process::Pid::from_raw(process.pid.as_raw()) else {
            return false;
        };
        if let Ok(held) = pidfd_open(pid, PidfdFlags::empty()) {
            let signal = rustix::process::Signal::from_named_raw(signal as i32);
            return is_below(process.pid) && signal.is_some_and(|signal| pidfd_send_signal(held, signal).is_ok());
        }
    }
    nix::sys::signal::kill(process.pid, signal).is_ok()
}

/// Whether a process lies below this one now.
#[cfg(target_os = "linux")]
fn is_below(pid: Pid) -> bool {
    let own = nix::unistd::getpid();
    let mut at = pid;
    // Deeper chains than there are numbers cannot be.
    for _ in 0..1 << 22 {
        match Status::of(at.as_raw()).map(|status| Pid::from_raw(status.parent)) {
            Some(parent) if parent == own => return true,
            Some(parent) if parent.as_raw() > 1 => at = parent,
            _ => return false,
        }
    }
    false
}
