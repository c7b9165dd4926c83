//! A call at work on a thread of its own.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::work::{defect, Work};
use super::{Started, Value};
use crate::effect::Cancel;
use crate::outcome::Call;

/// A call at work on a thread of its own.
#[derive(Debug)]
pub struct Job {
    shared: Arc<(Mutex<Option<Call<Value>>>, Condvar)>,
    cancel: Cancel,
}

impl Job {
    /// Waits; whether the call is done.
    #[must_use]
    pub fn wait(&self, most: Duration) -> bool {
        let (done, signal) = &*self.shared;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, _) = signal
            .wait_timeout_while(done, most, |done| done.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        done.is_some()
    }

    /// Asks the call to stop. Its outcome is `Cancelled`, unless it was done before.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The call, once it is done; only once.
    #[must_use]
    pub fn take(&self) -> Option<Call<Value>> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Carries a call out on a thread of its own, or here when there is none to be had.
pub(super) fn start(work: Work<'static>) -> Started {
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let job = Job {
        shared: Arc::clone(&shared),
        cancel: Cancel::default(),
    };
    let cancel = job.cancel.clone();
    let slot = Arc::new(Mutex::new(Some(work)));
    let theirs = Arc::clone(&slot);
    let spawned = std::thread::Builder::new().name("rhocap".to_owned()).spawn(move || {
        let Some(mut work) = theirs.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        // A caller that waits must not wait for ever, whatever happens here.
        let call = catch_unwind(AssertUnwindSafe(|| work.finish(&cancel))).unwrap_or_else(|_| {
            work.refuse(defect());
            work.finish(&cancel)
        });
        *shared.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        shared.1.notify_all();
    });
    if spawned.is_ok() {
        return Started::Running(job);
    }
    // No thread to be had: the work is done here.
    let work = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    match work {
        Some(mut work) => Started::Done(Box::new(work.finish(&Cancel::default()))),
        None => Started::Running(job),
    }
}
