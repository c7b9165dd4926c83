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

impl<T: Default> PerProcess<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// This process's own.
    pub fn get(&'static self) -> &'static T {
        let process = std::process::id();
        let owned = self.0.get_or_init(|| {
            Box::new(Owned {
                process,
                value: T::default(),
                next: Self::new(),
            })
        });
        if owned.process == process {
            &owned.value
        } else {
            owned.next.get()
        }
    }
}
