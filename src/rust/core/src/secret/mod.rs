//! Stub until secrets are merged.
pub mod known;
