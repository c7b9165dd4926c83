//! What /proc tells of a process (`man 5 proc_pid_stat`).

use std::io::Read;

/// A process as it is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Its state, one letter.
    pub state: u8,
    /// The process it is a child of.
    pub parent: i32,
    /// How many threads it has.
    pub threads: u32,
    /// When it started, in clock ticks since the start of the system: with its number, what tells it
    /// from a later process of that number.
    pub started: u64,
}

impl Status {
    /// The process of a number; none when there is none, or no /proc.
    #[must_use]
    pub fn of(process: i32) -> Option<Self> {
        // One read of one buffer: this stands in loops over whole trees.
        let mut bytes = [0; 1024];
        let mut file = std::fs::File::open(format!("/proc/{process}/stat")).ok()?;
        let length = file.read(&mut bytes).ok()?;
        Self::parse(bytes.get(..length)?)
    }

    fn parse(text: &[u8]) -> Option<Self> {
        // The name in parentheses may hold anything, a parenthesis too.
        let end = text.iter().rposition(|byte| *byte == b')')?;
        let rest = std::str::from_utf8(text.get(end + 2..)?).ok()?;
        // The state is the third field of the manual's list.
        let mut fields = rest.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let parent = fields.next()?.parse().ok()?;
        let threads = fields.nth(15)?.parse().ok()?;
        let started = fields.nth(1)?.parse().ok()?;
        Some(Self {
            state,
            parent,
            threads,
            started,
        })
    }

    /// Whether nothing of it runs any more. A process whose first thread ended shows as a zombie while
    /// other threads of it go on.
    #[must_use]
    pub const fn is_dead(&self) -> bool {
        matches!(self.state, b'Z' | b'X') && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_whatever_the_name_is() {
        let rest = "S 41 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 3 0 9001 0 0";
        for name in ["sleep", "a) Z 1 (b", "", ") R 2"] {
            let status = Status::parse(format!("17 ({name}) {rest}\n").as_bytes());
            let expected = Status {
                state: b'S',
                parent: 41,
                threads: 3,
                started: 9001,
            };
            assert_eq!(status, Some(expected), "{name}");
        }
        for cut in ["", "17", "17 (sleep)", "17 (sleep) S 41 7"] {
            assert_eq!(Status::parse(cut.as_bytes()), None, "{cut}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_runs() {
        let own = i32::try_from(std::process::id()).unwrap();
        let status = Status::of(own).unwrap();
        assert!(!status.is_dead() && status.threads >= 1 && status.started > 0);
        assert_eq!(status.parent, nix::unistd::getppid().as_raw());
        assert_eq!(Status::of(i32::MAX), None);
    }
}
