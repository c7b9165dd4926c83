//! The rules of rhocap: capabilities, admission, file effects and receipts.
//!
//! A [`capability::Capability`] says what its holder may do. A [`verb::Request`] is admitted by it before
//! anything happens, takes effect through the handle that was admitted, and leaves one
//! [`receipt::Receipt`]. Nothing here knows of R.

pub mod admission;
pub mod authority;
mod beneath;
pub mod capability;
pub mod carve_out;
mod character;
pub mod confine;
pub mod effect;
pub mod environment;
pub mod escape;
pub mod facts;
pub mod host;
pub mod http;
pub mod limits;
pub mod misuse;
pub mod mount_table;
pub mod open;
pub mod outcome;
mod parallel;
pub mod path;
mod per_process;
pub mod policy;
pub mod private;
pub mod process;
pub mod random;
pub mod receipt;
pub mod redact;
mod remove_all;
pub mod resolve;
pub mod root;
pub mod secret;
pub mod verb;
pub mod version;
