//! Serves `R/list.R`.

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::verb::{ListEntry, Request};

use crate::argument::{flag, Texts};
use crate::condition::guard;
use crate::outcome::call;
use crate::value::Plain;

// Lists a directory.
#[extendr]
fn core_list(handle: Robj, tool: Robj, principal: Robj, path: Robj, recursive: Robj) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let request = Request::List {
            target: texts.target(&path, "path")?,
            recursive: flag(&recursive, "recursive")?,
        };
        call(&handle, &tool, &principal, &texts, request)
    })
}

/// Entries as columns. A path that is not UTF-8 is shown escaped, with its bytes in `raw`.
pub fn columns(entries: Vec<ListEntry>) -> Plain {
    let column = |fact: fn(&ListEntry) -> Option<&'static str>| {
        Plain::Texts(entries.iter().map(|entry| fact(entry).map(str::to_owned)).collect())
    };
    #[allow(clippy::cast_precision_loss)] // No file is that large.
    let bytes = entries
        .iter()
        .map(|entry| entry.bytes.map(|bytes| bytes as f64))
        .collect();
    let mut columns = vec![
        ("kind", column(|entry| Some(entry.kind))),
        ("bytes", Plain::Numbers(bytes)),
        (
            "modified",
            Plain::Numbers(entries.iter().map(|entry| Some(entry.modified)).collect()),
        ),
        ("carve_out", column(|entry| entry.carve_out)),
        ("mount", Plain::Flags(entries.iter().map(|entry| entry.mount).collect())),
    ];
    let mut raw = Vec::with_capacity(entries.len());
    let mut paths = Vec::with_capacity(entries.len());
    let mut any_raw = false;
    for entry in entries {
        match String::from_utf8(entry.path) {
            Ok(path) => {
                paths.push(path);
                raw.push(Plain::Null);
            }
            Err(error) => {
                any_raw = true;
                paths.push(escape::display(error.as_bytes()));
                raw.push(Plain::Bytes(error.into_bytes()));
            }
        }
    }
    columns.push(("path", paths.into()));
    if any_raw {
        columns.push(("raw", Plain::List(raw)));
    }
    Plain::Named(columns)
}

extendr_module! {
    mod list;
    fn core_list;
}
