//! Serves `R/host-report.R`.

use extendr_api::prelude::*;
use rhocap_core::host::host_report;

use crate::condition::guard;

// What this host can enforce.
#[extendr]
fn core_host_report() -> Robj {
    guard(|| Ok((&host_report()).into()))
}

extendr_module! {
    mod host_report;
    fn core_host_report;
}
