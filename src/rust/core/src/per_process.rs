//! A value of the process, which no fork of it inherits: a fork has copies of its threads' work, and of
//! locks that they held, but none of the threads.

use std::sync::OnceLock;

/// Where such a value is kept: a static.
pub struct PerProcess<T: 'static>(OnceLock<Box<Owned<T>>>);

struct Owned<T: 'static> {
    process: u32,
    value: T,
    /// That of a fork.
    next: PerProcess<T>,
}

impl<T> Owned<T> {
    #[allow(clippy::unnecessary_box_returns, reason = "the type holds itself")]
    fn new(process: u32, value: T) -> Box<Self> {
        let next = PerProcess(OnceLock::new());
        Box::new(Self { process, value, next })
    }
}

impl<T: Default> PerProcess<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// This process's own.
    pub fn get(&'static self) -> &'static T {
        let process = std::process::id();
        let owned = self.0.get_or_init(|| Owned::new(process, T::default()));
        if owned.process == process {
            &owned.value
        } else {
            owned.next.get()
        }
    }

    /// This process's own; in a fork what `inherit` makes of that of the process it was forked from.
    pub fn get_or_inherit(&'static self, inherit: fn(&T) -> T) -> &'static T {
        let process = std::process::id();
        let mut owned = self.0.get_or_init(|| Owned::new(process, T::default()));
        while owned.process != process {
            // One for each fork on the way that asked.
            owned = owned.next.0.get_or_init(|| Owned::new(process, inherit(&owned.value)));
        }
        &owned.value
    }
}
