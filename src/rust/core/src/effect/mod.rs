//! Effects: what happens through a handle that was admitted. No function here looks a path up.

pub mod attributes;
mod cancel;
mod directories;
pub mod edit;
pub mod install;
pub mod list;
pub mod masked;
pub mod read;
pub mod relocate;
pub mod remove;
pub(crate) mod temporary;
pub mod write;

use std::sync::Arc;

use crate::limits::Limits;
use crate::receipt::record::CommandRecord;
use crate::redact::Redactor;

pub use self::cancel::{Bell, Cancel};

/// How far an effect came, for the receipt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Extent {
    /// Nothing was changed.
    #[default]
    None,
    /// Something was changed, and the call failed.
    Partial,
    /// All of it.
    Done,
}

impl Extent {
    /// The word used in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Done => "done",
            Self::Partial => "partial",
        }
    }
}

/// What an effect tells the receipt, also when it failed.
#[derive(Debug, Default)]
pub struct Report {
    /// How far it came.
    pub extent: Extent,
    /// Bytes read or written.
    pub bytes: Option<u64>,
    /// The version that was there.
    pub version_before: Option<String>,
    /// The version that is there now.
    pub version_after: Option<String>,
    /// How many places were masked in what the call gives.
    pub masked: u64,
    /// Whether what was there holds a secret: its version is not told then.
    pub secret_before: bool,
    /// Whether what is there now does.
    pub secret_after: bool,
    /// What could not be assured.
    pub gaps: Vec<String>,
    /// What of the kernel enforced it.
    pub kernel: Vec<String>,
    /// What a command cannot do though the capability would allow it.
    pub restrictions: Vec<&'static str>,
    /// What became of a command.
    pub command: Option<CommandRecord>,
}

impl Report {
    /// The new version as it may be told: nothing of content that holds a secret.
    #[must_use]
    pub fn told_after(&self, version: String) -> String {
        if self.secret_after {
            String::new()
        } else {
            version
        }
    }
}

/// What every effect gets beside its own arguments.
pub struct Context<'a> {
    /// The capability's bounds.
    pub limits: &'a Limits,
    /// Whether the caller still wants it.
    pub cancel: &'a Cancel,
    /// What masks secrets.
    pub redactor: &'a Arc<Redactor>,
    /// What the receipt will say.
    pub report: Report,
}
