//! Work on a thread of its own, which its caller can look at and stop.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::work::{defect, Work};
use super::{Started, Value};
use crate::effect::Cancel;
use crate::outcome::Call;
use crate::process::live::Live;

/// Work on a thread of its own: a call, or what else takes its time.
#[derive(Debug)]
pub struct Job<T> {
    shared: Arc<Shared<T>>,
    cancel: Cancel,
}

#[derive(Debug)]
struct Shared<T> {
    done: Mutex<Option<T>>,
    /// Output that somebody looks at while the command runs.
    live: Option<Live>,
    changed: Condvar,
}

impl<T> Shared<T> {
    fn new(live: bool) -> Arc<Self> {
        Arc::new(Self {
            done: Mutex::new(None),
            live: live.then(Live::default),
            changed: Condvar::new(),
        })
    }

    fn done(&self) -> MutexGuard<'_, Option<T>> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_output(&self) -> bool {
        self.live.as_ref().is_some_and(Live::is_waiting)
    }
}

impl<T> Job<T> {
    /// Waits until the work is done, or has output for who looks; whether it is done.
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

    /// Asks the work to stop. A call's outcome is `Cancelled`, unless it was done before.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// What it came to, once it is done; only once.
    #[must_use]
    pub fn take(&self) -> Option<T> {
        self.shared.done().take()
    }
}

impl<T: Send + 'static> Job<T> {
    /// Starts work. It must come to a result whatever happens in it: a panic would be waited for without end.
    ///
    /// # Errors
    /// The work, when there is no thread to be had.
    pub fn start<W: FnOnce(&Cancel) -> T + Send + 'static>(work: W) -> Result<Self, W> {
        Self::start_with(Shared::new(false), work)
    }

    fn start_with<W: FnOnce(&Cancel) -> T + Send + 'static>(shared: Arc<Shared<T>>, work: W) -> Result<Self, W> {
        let job = Self {
            shared: Arc::clone(&shared),
            cancel: Cancel::default(),
        };
        let cancel = job.cancel.clone();
        // A thread that cannot be had would keep what it was to do.
        let slot = Arc::new(Mutex::new(Some(work)));
        let take = |slot: &Mutex<Option<W>>| slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        let theirs = Arc::clone(&slot);
        let spawned = std::thread::Builder::new().name("rhocap".to_owned()).spawn(move || {
            let Some(work) = take(&theirs) else { return };
            let done = work(&cancel);
            *shared.done() = Some(done);
            shared.changed.notify_all();
        });
        match spawned {
            Ok(_) => Ok(job),
            Err(_) => take(&slot).map_or(Ok(job), Err),
        }
    }
}

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        // Nobody can take its result any more. Work that is done does not hear it.
        self.cancel.cancel();
    }
}

/// Carries a call out on a thread of its own, or here when there is none to be had.
pub(super) fn start(mut work: Work<'static>) -> Started {
    let shared = Shared::<Call<Value>>::new(work.is_live());
    if shared.live.is_some() {
        let shared = Arc::clone(&shared);
        work.watch(Box::new(move |bytes, likely| {
            shared.live.iter().for_each(|live| live.push(bytes, likely));
            // Who waits holds this lock between looking and sleeping.
            drop(shared.done());
            shared.changed.notify_all();
        }));
    }
    let carry_out = move |cancel: &Cancel| {
        let mut work = work;
        // A caller that waits must not wait for ever, whatever happens here.
        catch_unwind(AssertUnwindSafe(|| work.finish(cancel))).unwrap_or_else(|_| {
            work.refuse(defect());
            work.finish(cancel)
        })
    };
    match Job::start_with(shared, carry_out) {
        Ok(job) => Started::Running(job),
        Err(carry_out) => Started::Done(Box::new(carry_out(&Cancel::default()))),
    }
}
