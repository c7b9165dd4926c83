//! Requests that carry credentials: references in their place, exchanged for the values at the wire.
//!
//! What a foreign client holds as text is a [`reference`], never a key. [`exchange`] puts the value in,
//! as the last step before sending, where the reference was made for and for the hosts that its credential
//! is bound to.

pub mod auth;
pub(crate) mod base64;
pub mod echo;
pub mod exchange;
pub mod framing;
pub mod header;
mod open;
mod parts;
pub mod reference;
pub mod request;
pub mod url;
