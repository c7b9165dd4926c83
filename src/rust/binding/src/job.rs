//! Serves `R/job.R`: work that goes on while R waits in slices.

use std::cell::RefCell;
use std::time::Duration;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::Job;

use crate::argument::{flag, number};
use crate::condition::guard;
use crate::handle::held;
use crate::outcome::finished;
use crate::value::Plain;

/// A job until its result was taken.
pub struct Work(RefCell<Option<Job>>);

impl Work {
    /// A job that runs.
    pub fn new(job: Job) -> Self {
        Self(RefCell::new(Some(job)))
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
        Ok(job.as_ref().map_or_else(String::new, Job::output).into())
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
        let call = job
            .take()
            .ok_or_else(|| Misuse::new("internal", "The call has not ended yet."))?;
        Ok(finished(call))
    })
}

extendr_module! {
    mod job;
    fn core_job_wait;
    fn core_job_output;
    fn core_job_cancel;
    fn core_job_take;
}
