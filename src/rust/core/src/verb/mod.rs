//! Verbs: a request is admitted, takes effect through the admitted handle, and leaves one receipt.

pub mod command;
pub mod confined;
mod job;
mod overlap;
mod request;
mod work;

use std::sync::Arc;

use self::work::Work;
use crate::capability::Capability;
use crate::effect::Cancel;
use crate::outcome::{Call, Refusal};
use crate::resolve::Use;

pub use self::job::Job;
pub use self::request::{Caller, Principal, Request, Target, Value};
pub use crate::admission::{Access, Admitted};
pub use crate::effect::edit::Edited;
pub use crate::effect::list::{ListEntry, Listing};
pub use crate::effect::read::{Limit as ReadLimit, Part as ReadPart, Text};
pub use crate::effect::relocate::Moved;
pub use crate::effect::remove::Removed;
pub use crate::effect::write::{Expected, Written};

/// A call that is done, or still at work.
#[derive(Debug)]
pub enum Started {
    /// Done.
    Done(Box<Call<Value>>),
    /// At work on a thread of its own.
    Running(Job<Call<Value>>),
}

/// Starts a call: admits here, and goes on here or, for long work, on a thread of its own.
#[must_use]
pub fn start(capability: &Arc<Capability>, request: Request<'_>, caller: Caller) -> Started {
    let mut work = Work::admit(capability, request, caller, Use::Best);
    // Without memory for a copy of what is to be written it is written from here.
    if !work.is_long() || !work.own_content() {
        return Started::Done(Box::new(work.finish(&Cancel::default())));
    }
    job::start(work.owned())
}

/// Runs a call to its end on this thread.
#[must_use]
pub fn run(capability: &Arc<Capability>, request: Request<'_>, caller: Caller, using: Use) -> Call<Value> {
    Work::admit(capability, request, caller, using).finish(&Cancel::default())
}

/// Answers a request before any path is looked at: what was given is not what a request is made of.
#[must_use]
pub fn refuse(capability: &Arc<Capability>, request: &Request<'_>, caller: Caller, refusal: Refusal) -> Call<Value> {
    let mut work = Work::new(capability, request, caller);
    work.refuse(refusal);
    work.finish(&Cancel::default())
}
