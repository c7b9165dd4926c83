//! What the processes of one command carry, so that they are found when their supervisor is lost.
//!
//! Its death takes the tree apart: each orphan becomes a child of init, and nothing that /proc tells of
//! parents, sessions or groups leads to it any more. What a process cannot help inheriting, through
//! `fork`, `exec`, `setsid`, an emptied environment and new namespaces, are its resource limits; and one
//! of them, on file locks, has meant nothing since Linux 2.4.25 (`man 2 getrlimit`). It is set to a random
//! number. The hard limit is lowered too, unless an outer command's number stands there.
//!
//! A command that wants to lose its mark can lower both: an unrestricted one can do anything. What is
//! found by it is certain: no process gets such a number by chance.

/// The number of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

/// Below are numbers that somebody may have set by hand.
const LEAST: u64 = 1 << 40;

/// Above are numbers that a system may not be able to hold.
const MOST: u64 = 1 << 62;

impl Mark {
    /// A new one.
    #[must_use]
    pub fn new() -> Self {
        let mut random = [0; 8];
        crate::random::fill(&mut random);
        // A process cannot go over its own hard limit, and neither can its children.
        let room = limit::most().min(MOST).saturating_sub(LEAST);
        let above = u64::from_le_bytes(random).checked_rem(room);
        Self(above.map_or(0, |above| LEAST + above))
    }

    /// From its number.
    #[must_use]
    pub const fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// Gives it to this process and what comes of it.
    pub fn carry(self) {
        if self.is_usable() {
            limit::set(self.0);
        }
    }

    /// Whether a process carries it.
    #[must_use]
    pub fn is_on(self, process: i32) -> bool {
        // Everybody may read this file, unlike the process's environment.
        self.is_usable() && std::fs::read(format!("/proc/{process}/limits")).is_ok_and(|limits| self.is_in(&limits))
    }

    fn is_in(self, limits: &[u8]) -> bool {
        let own = self.0.to_string();
        let mut lines = limits.split(|byte| *byte == b'\n');
        lines
            .find_map(|line| line.strip_prefix(b"Max file locks"))
            .is_some_and(|line| line.split(u8::is_ascii_whitespace).any(|field| field == own.as_bytes()))
    }

    pub(super) const fn is_usable(self) -> bool {
        self.0 >= LEAST
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(target_os = "linux")]
mod limit {
    use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

    pub fn most() -> u64 {
        getrlimit(Resource::Locks).maximum.unwrap_or(u64::MAX)
    }

    pub fn set(number: u64) {
        let maximum = getrlimit(Resource::Locks).maximum.or(Some(number));
        let current = Some(number);
        let _ = setrlimit(Resource::Locks, Rlimit { current, maximum });
    }
}

/// Other systems have no such limit, and no /proc to find it in.
#[cfg(not(target_os = "linux"))]
mod limit {
    pub fn most() -> u64 {
        0
    }

    pub fn set(_: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_whole_field_of_its_own_line() {
        let mark = Mark(1_234_567_890_123);
        let line = |soft: &str, hard: &str| {
            format!(
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max pending signals       1234567890123        1234567890123        signals   \n\
                 Max file locks            {soft:<20} {hard:<20} locks     \n"
            )
        };
        for (soft, hard, found) in [
            ("1234567890123", "1234567890123", true),
            ("1234567890123", "unlimited", true),
            ("77", "1234567890123", true),
            ("unlimited", "unlimited", false),
            ("12345678901234", "unlimited", false),
            ("234567890123", "unlimited", false),
        ] {
            assert_eq!(mark.is_in(line(soft, hard).as_bytes()), found, "{soft} {hard}");
        }
        assert!(!mark.is_in(b""));
        assert!(!Mark(0).is_on(1));
    }

    #[test]
    fn marks_differ_and_are_within_bounds() {
        let (one, other) = (Mark::new(), Mark::new());
        assert_ne!(one, other);
        assert!(one.is_usable() && one.0 < MOST);
        assert!(!one.is_on(i32::try_from(std::process::id()).unwrap()));
    }
}
