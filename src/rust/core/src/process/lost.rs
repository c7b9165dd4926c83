//! The end of what a lost supervisor left, by R's side.
//!
//! An unrestricted command can kill or stop its supervisor. Its first process dies with it; the others
//! are found by their [`Mark`], wherever they hang in the tree of processes.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::mark::Mark;
use super::status::Status;

/// How long killing is tried.
const KILLING: Duration = Duration::from_secs(5);

/// How long processes have to end before all are looked at again.
const PAUSE: Duration = Duration::from_millis(2);

/// What became of the processes of a lost supervisor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Whether they could be looked for.
    pub searched: bool,
    /// How many were killed.
    pub killed: u32,
    /// Those that could not be ended.
    pub survivors: Vec<u32>,
}

/// Kills every process that carries the mark until none is left, for a bounded time.
#[must_use]
pub fn sweep(mark: Mark) -> Swept {
    let begun = Instant::now();
    let mut killed = HashSet::new();
    let mut quiet = 0;
    loop {
        let Some(found) = carriers(mark) else {
            return swept(false, &killed, &[]);
        };
        // One look may miss a process whose number is below that of the one that made it.
        quiet = if found.is_empty() { quiet + 1 } else { 0 };
        if quiet == 2 {
            return swept(true, &killed, &[]);
        }
        for process in &found {
            if kill(*process, mark) {
                killed.insert(*process);
            }
        }
        if begun.elapsed() > KILLING {
            return swept(true, &killed, &found);
        }
        if quiet == 0 {
            std::thread::sleep(PAUSE);
        }
    }
}

fn swept(searched: bool, killed: &HashSet<i32>, survivors: &[i32]) -> Swept {
    Swept {
        searched,
        killed: u32::try_from(killed.len()).unwrap_or(u32::MAX),
        survivors: survivors.iter().map(|process| process.unsigned_abs()).collect(),
    }
}

/// The processes that carry a mark and are not dead; none when there is no /proc to look in.
fn carriers(mark: Mark) -> Option<Vec<i32>> {
    let processes = std::fs::read_dir("/proc").ok()?;
    let numbers = processes
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut any = false;
    let found = numbers
        .inspect(|_| any = true)
        .filter(|process| mark.is_on(*process) && Status::of(*process).is_some_and(|status| !status.is_dead()))
        .collect();
    any.then_some(found)
}

/// Kills a process that still carries the mark: the number could be another's by now, so it is held by
/// a descriptor and looked at again first.
#[cfg(target_os = "linux")]
fn kill(process: i32, mark: Mark) -> bool {
    use rustix::process::{kill_process, pidfd_open, pidfd_send_signal, Pid, PidfdFlags, Signal};
    let Some(pid) = Pid::from_raw(process) else {
        return false;
    };
    match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(held) => mark.is_on(process) && pidfd_send_signal(held, Signal::KILL).is_ok(),
        // Before Linux 5.3 there is only the number.
        Err(rustix::io::Errno::NOSYS) => mark.is_on(process) && kill_process(pid, Signal::KILL).is_ok(),
        Err(_) => false,
    }
}

#[cfg(not(target_os = "linux"))]
fn kill(_: i32, _: Mark) -> bool {
    false
}
