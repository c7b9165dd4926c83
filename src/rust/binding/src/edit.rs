//! Serves `R/edit.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::{bytes, count};
use crate::condition::guard;
use crate::outcome::{call, target};
use crate::write;

// Replaces text.
#[extendr]
#[allow(clippy::too_many_arguments)] // The verb's own.
fn core_edit(
    handle: Robj,
    tool: Robj,
    principal: Robj,
    path: Robj,
    old: Robj,
    new: Robj,
    count_expected: Robj,
    expected: Robj,
) -> Robj {
    guard(|| {
        let request = Request::Edit {
            target: target(&path)?,
            old: bytes(&old, "old")?,
            new: bytes(&new, "new")?,
            count: count(&count_expected, "count")?,
            expected: write::expected(&expected)?,
        };
        call(&handle, &tool, &principal, request)
    })
}

extendr_module! {
    mod edit;
    fn core_edit;
}
