//! Serves `R/read.R`.

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::{ReadLimit, ReadPart, Request};

use crate::argument::{count, optional, range, Texts};
use crate::condition::guard;
use crate::outcome::call;

// Reads text.
#[extendr]
fn core_read(handle: Robj, tool: Robj, principal: Robj, path: Robj, lines: Robj, skip: Robj, limit: Robj) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let request = Request::Read {
            target: texts.target(&path, "path")?,
            part: ReadPart {
                lines: optional(&lines, "lines", range)?,
                skip: count(&skip, "skip")?,
                limit: read_limit(&limit)?,
            },
        };
        call(&handle, &tool, &principal, &texts, request)
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
