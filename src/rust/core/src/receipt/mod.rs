//! Receipts: one for each call, refusals included.

pub mod log;
pub mod record;

pub use log::{log, Log};
pub use record::{Receipt, Record};

/// The schema's name and version, in each receipt.
pub const SCHEMA: &str = "rhocap.receipt/1";
