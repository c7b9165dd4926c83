//! Receipts: one for each call, refusals included.

pub mod log;
pub mod record;

pub use log::{log, Log};
pub use record::{Receipt, Record};

/// The schema's name and version, in each receipt.
pub const SCHEMA: &str = "rhocap.receipt/1";

/// The time as receipts write it.
pub(crate) fn now() -> String {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    time::OffsetDateTime::now_utc().format(&format).unwrap_or_default()
}
