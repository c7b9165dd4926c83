//! Serves `R/list.R`.

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::verb::{ListEntry, Request};

use crate::argument::flag;
use crate::condition::guard;
use crate::outcome::{call, target};
use crate::value::{named_list, number};

// Lists a directory.
#[extendr]
fn core_list(handle: Robj, tool: Robj, principal: Robj, path: Robj, recursive: Robj) -> Robj {
    guard(|| {
        let request = Request::List {
            target: target(&path)?,
            recursive: flag(&recursive, "recursive")?,
        };
        call(&handle, &tool, &principal, request)
    })
}

/// Entries as columns. A path that is not UTF-8 is shown escaped, with its bytes in `raw`.
pub fn columns(entries: &[ListEntry]) -> Robj {
    let path = |entry: &ListEntry| match std::str::from_utf8(&entry.path) {
        Ok(text) => text.to_owned(),
        Err(_) => escape::display(&entry.path),
    };
    let mut columns = vec![
        ("path", entries.iter().map(path).collect_robj()),
        ("kind", entries.iter().map(|entry| entry.kind).collect_robj()),
        ("bytes", entries.iter().map(|entry| number(entry.bytes)).collect_robj()),
        ("modified", entries.iter().map(|entry| entry.modified).collect_robj()),
        ("carve_out", entries.iter().map(|entry| entry.carve_out).collect_robj()),
        ("mount", entries.iter().map(|entry| entry.mount).collect_robj()),
    ];
    if entries.iter().any(|entry| std::str::from_utf8(&entry.path).is_err()) {
        let raw = entries.iter().map(|entry| match std::str::from_utf8(&entry.path) {
            Ok(_) => ().into(),
            Err(_) => Raw::from_bytes(&entry.path).into(),
        });
        columns.push(("raw", List::from_values(raw.collect::<Vec<Robj>>()).into()));
    }
    named_list(columns)
}

extendr_module! {
    mod list;
    fn core_list;
}
