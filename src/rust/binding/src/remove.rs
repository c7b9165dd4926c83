//! Serves `R/remove.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::condition::guard;
use crate::outcome::{call, target};

// Removes an entry.
#[extendr]
fn core_remove(handle: Robj, tool: Robj, principal: Robj, path: Robj) -> Robj {
    guard(|| call(&handle, &tool, &principal, Request::Remove { target: target(&path)? }))
}

extendr_module! {
    mod remove;
    fn core_remove;
}
