//! Serves `R/host-report.R`.

use extendr_api::prelude::*;
use rhocap_core::capability::host_report;

use crate::condition::guard;
use crate::value::from_json;

// What this host can enforce.
#[extendr]
fn core_host_report() -> Robj {
    guard(|| Ok(from_json(&host_report())))
}

extendr_module! {
    mod host_report;
    fn core_host_report;
}
