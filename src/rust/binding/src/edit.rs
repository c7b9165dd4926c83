//! Serves `R/edit.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::{count, Texts};
use crate::condition::guard;
use crate::outcome::call;
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
        let mut texts = Texts::default();
        let request = Request::Edit {
            target: texts.target(&path, "path")?,
            old: texts.bytes(&old, "old")?,
            new: texts.bytes(&new, "new")?,
            count: count(&count_expected, "count")?,
            expected: write::expected(&expected)?,
        };
        call(&handle, &tool, &principal, &texts, request)
    })
}

extendr_module! {
    mod edit;
    fn core_edit;
}
