//! Serves `R/remove.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::Texts;
use crate::condition::guard;
use crate::outcome::call;

// Removes an entry.
#[extendr]
fn core_remove(handle: Robj, tool: Robj, principal: Robj, path: Robj) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let target = texts.target(&path, "path")?;
        call(&handle, &tool, &principal, &texts, Request::Remove { target })
    })
}

extendr_module! {
    mod remove;
    fn core_remove;
}
