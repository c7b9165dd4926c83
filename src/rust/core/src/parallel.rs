//! Two pieces of work beside each other.

use std::sync::{Mutex, PoisonError};
use std::thread;

/// Runs `aside` on a thread of its own while `here` runs on this one; one after the other where no
/// thread can be had.
pub fn both<A: Send, B>(aside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> (A, B) {
    // Where the spawn fails the work must still be ours.
    let slot = Mutex::new(Some(aside));
    let take = || slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    thread::scope(|scope| {
        let spawned = thread::Builder::new().spawn_scoped(scope, || take().map(|work| work()));
        let here = here();
        let aside = match spawned {
            // A panic of the other thread is ours.
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(_) => take().map(|work| work()),
        };
        (aside.expect("the work is taken once"), here)
    })
}
