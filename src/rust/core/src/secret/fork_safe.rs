//! A value of the process that a fork of it goes on with, whatever other threads did at that moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A shared value that is replaced as a whole.
///
/// A fork copies locks as they stand, and the thread that held one is not there to release it. So the value is kept
/// twice and at most one of the two is locked at any time: the child takes the other.
pub struct ForkSafe<T> {
    turn: Mutex<()>,
    copies: [Mutex<Arc<T>>; 2],
}

impl<T: Default> Default for ForkSafe<T> {
    fn default() -> Self {
        Self::new(Arc::new(T::default()))
    }
}

impl<T> ForkSafe<T> {
    fn new(value: Arc<T>) -> Self {
        Self {
            turn: Mutex::new(()),
            copies: [Mutex::new(Arc::clone(&value)), Mutex::new(value)],
        }
    }

    /// The value as it stands.
    pub fn read(&self) -> Arc<T> {
        let turn = lock(&self.turn);
        let value = Arc::clone(&lock(&self.copies[0]));
        drop(turn);
        value
    }

    /// Replaces the value by what `change` makes of it.
    ///
    /// Nothing that `change` lets go may be dropped in it, because that may come back here: it gives such things
    /// back with its answer.
    pub fn update<A>(&self, change: impl FnOnce(&T) -> (T, A)) -> A {
        let turn = lock(&self.turn);
        let before = Arc::clone(&lock(&self.copies[0]));
        let (after, answer) = change(&before);
        let after = Arc::new(after);
        let first = std::mem::replace(&mut *lock(&self.copies[0]), Arc::clone(&after));
        let second = std::mem::replace(&mut *lock(&self.copies[1]), after);
        drop(turn);
        // Only now: the last holder of the old value may be here.
        drop((before, first, second));
        answer
    }

    /// The same value, for the process that was forked from the one that this belongs to.
    pub fn in_fork(&self) -> Self {
        let free = self.copies.iter().find_map(|copy| match copy.try_lock() {
            Ok(value) => Some(Arc::clone(&value)),
            Err(std::sync::TryLockError::Poisoned(value)) => Some(Arc::clone(&value.into_inner())),
            Err(std::sync::TryLockError::WouldBlock) => None,
        });
        Self::new(free.expect("one of the two copies is never locked"))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A value is replaced in one step, so that a panic leaves a whole one.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_takes_the_copy_that_is_free() {
        let value = ForkSafe::<u32>::default();
        value.update(|before| (before + 7, ()));
        for index in 0..2 {
            let turn = lock(&value.turn);
            let held = lock(&value.copies[index]);
            let child = value.in_fork();
            drop((turn, held));
            assert_eq!(*child.read(), 7);
            child.update(|before| (before + 1, ()));
            assert_eq!(*child.read(), 8);
        }
        assert_eq!(*value.read(), 7);
    }
}
