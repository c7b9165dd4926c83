//! Serves `R/host-report.R`.

use std::path::Path;

use extendr_api::prelude::*;
use rhocap_core::host::host_report;

use crate::argument::text;
use crate::condition::guard;

// What this host can enforce.
#[extendr]
fn core_host_report(supervisor: Robj) -> Robj {
    guard(|| Ok((&host_report(Path::new(text(&supervisor, "supervisor")?))).into()))
}

extendr_module! {
    mod host_report;
    fn core_host_report;
}
