//! Serves `R/move.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::{flag, Texts};
use crate::condition::guard;
use crate::outcome::call;

// Moves an entry.
#[extendr]
fn core_move(handle: Robj, tool: Robj, principal: Robj, from: Robj, to: Robj, overwrite: Robj) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let request = Request::Move {
            from: texts.target(&from, "from")?,
            to: texts.bytes(&to, "to")?,
            overwrite: flag(&overwrite, "overwrite")?,
        };
        call(&handle, &tool, &principal, &texts, request)
    })
}

extendr_module! {
    mod moving;
    fn core_move;
}
