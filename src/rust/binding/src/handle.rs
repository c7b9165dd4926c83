//! Handles: what R holds of the core's values.
//!
//! A handle is null after it was saved and loaded again, and belongs to the process that made it:
//! a fork has the descriptors but none of the threads.

use std::mem::ManuallyDrop;
use std::process;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;

use crate::sexp::{element, pointer_tag, Element};
use crate::value::Plain;

/// A value of the core with the process that made it.
pub struct Held<T> {
    value: ManuallyDrop<T>,
    process: u32,
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        // In a fork there may be no thread to join and no lock that is ever released: leave it.
        if self.process == process::id() {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// Puts a value behind a handle.
pub fn hold<T: 'static>(value: T) -> Plain {
    let held = Held {
        value: ManuallyDrop::new(value),
        process: process::id(),
    };
    Plain::Handle(ExternalPtr::new(held).into())
}

/// The value behind a handle.
///
/// `what` says what was expected, `again` how to make another.
pub fn held<'a, T: 'static>(handle: &'a Robj, what: &str, again: &str) -> Result<&'a T, Misuse> {
    let wrong = || Misuse::new("type", format!("This is no {what}. Make one with {again}."));
    if !handle.is_external_pointer() {
        return Err(wrong());
    }
    // extendr follows the address before it looks at the type, so another package's pointer would
    // crash R. The tag is ours alone; R code cannot set it. It is lost when a handle is freed.
    let tag = pointer_tag(handle);
    let ours = matches!(
        element(&tag, 0),
        Some(Element::Bytes(name)) if name == std::any::type_name::<Held<T>>().as_bytes()
    );
    if !ours {
        return Err(wrong());
    }
    let Ok(pointer) = <&ExternalPtr<Held<T>>>::try_from(handle) else {
        return Err(Misuse::new(
            "stale_handle",
            format!(
                "This {what} cannot be used any more: it was saved and loaded again, or sent to another process. \
                 Make a new one with {again}."
            ),
        ));
    };
    let held: &Held<T> = pointer;
    if held.process != process::id() {
        return Err(Misuse::new(
            "forked",
            format!(
                "This {what} was made in the process that this one was forked from. \
                 Make it in the child, with {again}."
            ),
        ));
    }
    Ok(&held.value)
}
