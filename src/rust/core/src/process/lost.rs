//! The end of what a lost supervisor left, by R's side.
//!
//! An unrestricted command can kill or stop its supervisor. Its first process dies with it; the others
//! are found by their [`Mark`], wherever they hang in the tree of processes, and in their control group
//! where they have one.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::group::Group;
use super::mark::Mark;
use super::status::Status;

/// How long killing is tried while processes end by it.
const KILLING: Duration = Duration::from_secs(25);

/// How long it is tried when they do not become fewer.
const STUCK: Duration = Duration::from_secs(5);

/// How long processes have to end before all are looked at again.
const PAUSE: Duration = Duration::from_millis(1);

/// How often new numbers are followed in one look.
const CHASES: u32 = 1000;

/// How many looks that found nothing, but may have missed something, are taken for one that cannot have.
const ENOUGH: u32 = 20;

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

/// Kills every process of the mark or the group until none is left, for a bounded time.
#[must_use]
pub fn sweep(mark: Mark, group: Option<&Group>) -> Swept {
    if !mark.is_usable() && group.is_none() {
        return swept(false, &HashSet::new(), &[]);
    }
    let begun = Instant::now();
    let mut killed = HashSet::new();
    let (mut fewest, mut fewer) = (usize::MAX, begun);
    let mut quiet = 0;
    loop {
        // First at once what is in the group, and so what has shed its mark.
        let mut found = group.map(Group::members).unwrap_or_default();
        found.retain(|member| !is_dead(*member));
        if group.is_some_and(|group| !found.is_empty() && group.kill()) {
            killed.extend(&found);
        }
        let look = look(&mut |process| {
            if mark.is_on(process) && !is_dead(process) {
                found.push(process);
                if kill(process, mark) {
                    killed.insert(process);
                }
            }
        });
        let Some(whole) = look else {
            return swept(false, &killed, &[]);
        };
        quiet = match (found.is_empty(), whole) {
            (true, true) => ENOUGH,
            (true, false) => quiet + 1,
            (false, _) => 0,
        };
        if quiet >= ENOUGH {
            let _ = group.map(Group::remove);
            return swept(true, &killed, &[]);
        }
        found.sort_unstable();
        found.dedup();
        if found.len() < fewest {
            (fewest, fewer) = (found.len(), Instant::now());
        }
        if begun.elapsed() > KILLING || fewer.elapsed() > STUCK {
            return swept(true, &killed, &found);
        }
        if !found.is_empty() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn is_dead(process: i32) -> bool {
    Status::of(process).is_none_or(|status| status.is_dead())
}

fn swept(searched: bool, killed: &HashSet<i32>, survivors: &[i32]) -> Swept {
    Swept {
        searched,
        killed: u32::try_from(killed.len()).unwrap_or(u32::MAX),
        survivors: survivors.iter().map(|process| process.unsigned_abs()).collect(),
    }
}

/// Visits every process there is, those too that are made meanwhile; whether that was all, or none when
/// there is no /proc to look in.
///
/// A process that forks and ends, over and over, is always younger than a list of all processes. So the
/// numbers that the kernel gave since are looked at, too, until it gave no new one. A number is given
/// before its process can be seen, but then the process that makes it is still there and is seen itself.
fn look(visit: &mut dyn FnMut(i32)) -> Option<bool> {
    let before = newest();
    let entries = std::fs::read_dir("/proc").ok()?;
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut numbers: Vec<i32> = numbers.collect();
    if numbers.is_empty() {
        return None;
    }
    // The younger ones sooner: they may not be there for long.
    numbers.sort_unstable_by(|one, other| other.cmp(one));
    numbers.into_iter().for_each(&mut *visit);
    let Some(mut seen) = before else { return Some(false) };
    for _ in 0..CHASES {
        match newest() {
            Some(now) if now == seen => return Some(true),
            Some(now) if now > seen => {
                (seen + 1..=now).for_each(&mut *visit);
                seen = now;
            }
            // The numbers began anew.
            _ => return Some(false),
        }
    }
    Some(false)
}

/// The number that was given last (`man 5 proc_loadavg`).
fn newest() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    text.split_ascii_whitespace().nth(4)?.parse().ok()
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
