//! Programming mistakes: what a caller must fix before anything can be decided.
//!
//! A [`Misuse`] is never about a file that is missing or a path that is refused; those are
//! [`Refusal`](crate::outcome::Refusal)s. The binding turns a misuse into an R condition of class
//! `rhocap_error_<kind>`.

use std::fmt;

/// A mistake in how the library was called, with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Misuse {
    /// The kind, a closed set of snake-case words; part of the R condition's class.
    pub kind: &'static str,
    /// One or more sentences: what is wrong and what to do next.
    pub message: String,
    /// Facts by name, for programs that handle the condition.
    pub fields: Vec<(&'static str, String)>,
}

impl Misuse {
    /// A misuse of `kind` with a message.
    pub fn new(kind: &'static str, message: impl fmt::Display) -> Self {
        Self {
            kind,
            message: message.to_string(),
            fields: Vec::new(),
        }
    }

    /// Adds one named fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.fields.push((name, value.to_string()));
        self
    }
}
