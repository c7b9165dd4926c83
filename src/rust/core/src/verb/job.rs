//! A call at work on a thread of its own.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::work::{defect, Work};
use super::{Started, Value};
use crate::effect::Cancel;
use crate::outcome::Call;
use crate::process::live::Live;

/// A call at work on a thread of its own.
#[derive(Debug)]
pub struct Job {
    shared: Arc<Shared>,
    cancel: Cancel,
}

#[derive(Debug, Default)]
struct Shared {
    done: Mutex<Option<Call<Value>>>,
    /// Output that somebody looks at while the command runs.
    live: Option<Live>,
    changed: Condvar,
}

impl Shared {
    fn done(&self) -> MutexGuard<'_, Option<Call<Value>>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_output(&self) -> bool {
        self.live.as_ref().is_some_and(Live::is_waiting)
    }
}

impl Job {
    /// Waits until the call is done, or has output for who looks; whether it is done.
    #[must_use]
    pub fn wait(&self, most: Duration, output: bool) -> bool {
        let (done, _) = self
            .shared
            .changed
            .wait_timeout_while(self.shared.done(), most, |done| {
                done.is_none() && !(output && self.shared.has_output())
            })
            .unwrap_or_else(PoisonError::into_inner);
        done.is_some()
    }

    /// The output since the last time, as text.
    #[must_use]
    pub fn output(&self) -> String {
        let ended = self.shared.done().is_some();
        self.shared
            .live
            .as_ref()
            .map_or_else(String::new, |live| live.fetch(ended))
    }

    /// Asks the call to stop. Its outcome is `Cancelled`, unless it was done before.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The call, once it is done; only once.
    #[must_use]
    pub fn take(&self) -> Option<Call<Value>> {
        self.shared.done().take()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Nobody can take its result any more. A call that is done does not hear it.
        self.cancel.cancel();
    }
}

/// Carries a call out on a thread of its own, or here when there is none to be had.
pub(super) fn start(mut work: Work<'static>) -> Started {
    let shared = Arc::new(Shared {
        live: work.is_live().then(Live::default),
        ..Shared::default()
    });
    if shared.live.is_some() {
        let shared = Arc::clone(&shared);
        work.watch(Box::new(move |bytes| {
            shared.live.iter().for_each(|live| live.push(bytes));
            // Who waits holds this lock between looking and sleeping.
            drop(shared.done());
            shared.changed.notify_all();
        }));
    }
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
        *shared.done() = Some(call);
        shared.changed.notify_all();
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
