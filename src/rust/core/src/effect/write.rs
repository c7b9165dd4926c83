//! Writing a whole file, or appending to one.

use std::borrow::Cow;

use super::install::{self, Basis, Entry};
use super::masked::{no_marker, stay_masked};
use super::Context;
use crate::outcome::{Code, Refusal};
use crate::version;

/// What a caller knows of the file it overwrites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// There is none.
    Absent,
    /// It is in this version.
    Version(String),
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file's path below its root, escaped for showing.
    pub path: String,
    /// Bytes of the whole file now.
    pub bytes: u64,
    /// Whether the file is new.
    pub created: bool,
    /// The version of the content; empty where a secret is in it.
    pub version: String,
    /// Attributes of the old file that could not be kept.
    pub lost: Vec<String>,
}

/// Writes.
///
/// # Errors
/// `RedactedContent`, `AlreadyExists` or `LostUpdate` when the file is not as expected, and those of
/// [`install::install`].
pub fn write(
    entry: &Entry,
    path: String,
    content: &[u8],
    append: bool,
    expected: Option<&Expected>,
    context: &mut Context<'_>,
) -> Result<Written, Refusal> {
    no_marker(content)?;
    match (expected, &entry.facts) {
        (Some(Expected::Absent), Some(_)) => return Err(Code::AlreadyExists.into()),
        (Some(Expected::Version(_)), None) => {
            return Err(Refusal::new(Code::LostUpdate).with("reason", "the file is gone"));
        }
        _ => {}
    }
    let needs_old = append || matches!(expected, Some(Expected::Version(_)));
    let old = match install::open_old(entry) {
        // A file that may be replaced but not read is replaced; its version stays unknown.
        Err(refusal) if refusal.code == Code::PermissionDenied && !needs_old => None,
        other => other?,
    };
    let mut basis = Basis::Any;
    let mut whole = Cow::Borrowed(content);
    if let (true, Some(old)) = (needs_old, &old) {
        let before = install::old_content(old, context)?;
        let version = version::of(&before);
        let masked = context.redactor.spans(&before);
        context.report.secret_before = !masked.is_empty();
        if let Some(Expected::Version(wanted)) = expected {
            if *wanted != version {
                return Err(Refusal::new(Code::LostUpdate).with("reason", "the file was changed"));
            }
        }
        context.report.version_before = Some(version.clone());
        basis = Basis::Version(version);
        if append {
            let mut joined = install::room(before.len() + content.len())?;
            joined.extend_from_slice(&before);
            joined.extend_from_slice(content);
            stay_masked(context.redactor, &masked, &[], &joined)?;
            whole = Cow::Owned(joined);
        }
    }
    let told = context.redactor.mask(&whole);
    context.report.secret_after = told.count > 0;
    let bytes = told.text.len() as u64;
    let installed = install::install(entry, old.as_ref(), &whole, &basis, context)?;
    context.report.bytes = Some(bytes);
    Ok(Written {
        path,
        bytes,
        created: installed.created,
        version: context.report.told_after(installed.version),
        lost: installed.lost,
    })
}
