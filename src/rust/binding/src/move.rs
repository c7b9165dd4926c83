//! Serves `R/move.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::{bytes, flag};
use crate::condition::guard;
use crate::outcome::{call, target};

// Moves an entry.
#[extendr]
fn core_move(handle: Robj, tool: Robj, principal: Robj, from: Robj, to: Robj, overwrite: Robj) -> Robj {
    guard(|| {
        let request = Request::Move {
            from: target(&from)?,
            to: bytes(&to, "to")?,
            overwrite: flag(&overwrite, "overwrite")?,
        };
        call(&handle, &tool, &principal, request)
    })
}

extendr_module! {
    mod moving;
    fn core_move;
}
