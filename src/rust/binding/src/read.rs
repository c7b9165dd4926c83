//! Serves `R/read.R`.

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::{ReadLimit, Request};

use crate::argument::{count, optional, range};
use crate::condition::guard;
use crate::outcome::{call, target};

// Reads text.
#[extendr]
fn core_read(handle: Robj, tool: Robj, principal: Robj, path: Robj, lines: Robj, limit: Robj) -> Robj {
    guard(|| {
        let request = Request::Read {
            target: target(&path)?,
            lines: optional(&lines, "lines", range)?,
            limit: read_limit(&limit)?,
        };
        call(&handle, &tool, &principal, request)
    })
}

fn read_limit(value: &Robj) -> Result<ReadLimit, Misuse> {
    Ok(match optional(value, "limit", count)? {
        None => ReadLimit::Default,
        Some(u64::MAX) => ReadLimit::Capability,
        Some(bytes) => ReadLimit::Bytes(bytes),
    })
}

extendr_module! {
    mod read;
    fn core_read;
}
