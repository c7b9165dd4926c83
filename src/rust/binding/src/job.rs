//! Serves `R/job.R`: work that goes on while R waits in slices.

use std::cell::RefCell;
use std::time::Duration;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::Job;

use crate::argument::{flag, number};
use crate::condition::guard;
use crate::handle::held;
use crate::value::Plain;

/// What R needs of a job, whatever it comes to.
trait Running {
    fn wait(&self, most: Duration, output: bool) -> bool;
    fn output(&self) -> String;
    fn cancel(&self);
    fn take(&self) -> Option<Result<Plain, Misuse>>;
}

struct Shown<T, F> {
    job: Job<T>,
    show: F,
}

impl<T, F: Fn(T) -> Result<Plain, Misuse>> Running for Shown<T, F> {
    fn wait(&self, most: Duration, output: bool) -> bool {
        self.job.wait(most, output)
    }

    fn output(&self) -> String {
        self.job.output()
    }

    fn cancel(&self) {
        self.job.cancel();
    }

    fn take(&self) -> Option<Result<Plain, Misuse>> {
        self.job.take().map(&self.show)
    }
}

/// A job until its result was taken.
pub struct Work(RefCell<Option<Box<dyn Running>>>);

impl Work {
    /// A job that runs, and what R gets of its result.
    pub fn new<T: 'static>(job: Job<T>, show: impl Fn(T) -> Result<Plain, Misuse> + 'static) -> Self {
        Self(RefCell::new(Some(Box::new(Shown { job, show }))))
    }
}

fn work(handle: &Robj) -> Result<&Work, Misuse> {
    held(handle, "running call", "the verb")
}

// Waits at most so many seconds, or until there is output to look at, and tells whether the work has
// ended.
#[extendr]
fn core_job_wait(handle: Robj, seconds: Robj, output: Robj) -> Robj {
    guard(|| {
        let seconds = number(&seconds, "seconds")?.clamp(0.0, 1.0);
        let output = flag(&output, "output")?;
        let job = work(&handle)?.0.borrow();
        Ok(job
            .as_ref()
            .is_none_or(|job| job.wait(Duration::from_secs_f64(seconds), output))
            .into())
    })
}

// The output of a command since the last time.
#[extendr]
fn core_job_output(handle: Robj) -> Robj {
    guard(|| {
        let job = work(&handle)?.0.borrow();
        Ok(job.as_ref().map_or_else(String::new, |job| job.output()).into())
    })
}

// Asks the work to end at its next safe point.
#[extendr]
fn core_job_cancel(handle: Robj) -> Robj {
    guard(|| {
        if let Some(job) = work(&handle)?.0.borrow().as_ref() {
            job.cancel();
        }
        Ok(Plain::Null)
    })
}

// The result of work that has ended.
#[extendr]
fn core_job_take(handle: Robj) -> Robj {
    guard(|| {
        let job = work(&handle)?.0.borrow_mut().take();
        let job = job.ok_or_else(|| Misuse::new("handle_used", "The result of this call was taken before."))?;
        job.take()
            .ok_or_else(|| Misuse::new("internal", "The call has not ended yet."))?
    })
}

// Drops the work with what it came to, which nobody wants.
#[extendr]
fn core_job_drop(handle: Robj) -> Robj {
    guard(|| {
        drop(work(&handle)?.0.borrow_mut().take());
        Ok(Plain::Null)
    })
}

extendr_module! {
    mod job;
    fn core_job_wait;
    fn core_job_output;
    fn core_job_cancel;
    fn core_job_take;
    fn core_job_drop;
}
