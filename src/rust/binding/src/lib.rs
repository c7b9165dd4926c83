//! The binding between R and `rhocap_core`: the only crate that sees an R object.
//!
//! It converts arguments, calls the core and gives back plain values; each file serves the R file of
//! the same name. No function here signals an R error or lets a panic out, see [`condition::guard`].

// The wrappers that extendr generates around each exported function are unsafe and undocumented.
#![allow(unsafe_code, missing_docs)]
// extendr hands arguments over by value, and its generated code uses names with an underscore.
#![allow(clippy::needless_pass_by_value, clippy::used_underscore_binding)]

mod admission;
mod argument;
mod auth;
mod capability;
mod command;
mod condition;
mod edit;
mod exchange;
mod handle;
mod host_report;
mod job;
mod list;
#[path = "move.rs"]
mod moving;
mod outcome;
mod read;
mod receipt;
mod redact;
mod remove;
mod request;
mod secret;
mod sexp;
mod tool;
mod value;
mod write;

use extendr_api::prelude::*;

extendr_module! {
    mod rhocap;
    use admission;
    use auth;
    use capability;
    use command;
    use edit;
    use exchange;
    use host_report;
    use job;
    use list;
    use moving;
    use outcome;
    use read;
    use receipt;
    use redact;
    use remove;
    use request;
    use secret;
    use tool;
    use write;
}
