//! Removing one entry: a file, a link itself, or an empty directory.

use rustix::fs::{unlinkat, AtFlags};

use super::install::Entry;
use super::{Context, Extent};
use crate::facts::{self, Kind};
use crate::outcome::{Code, Refusal};

/// What was removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The entry's path below its root, escaped for showing.
    pub path: String,
    /// What it was.
    pub kind: &'static str,
}

/// Removes.
///
/// # Errors
/// `NotFound`, `NotEmpty`, `Contended`, or the system's.
pub fn remove(entry: &Entry, path: String, context: &mut Context<'_>) -> Result<Removed, Refusal> {
    let Some(admitted) = &entry.facts else {
        return Err(Code::NotFound.into());
    };
    let found = facts::of_entry(&entry.parent, &entry.name)?;
    if found.identity != admitted.identity {
        return Err(Code::Contended.into());
    }
    let flags = if admitted.kind == Kind::Directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    unlinkat(&entry.parent, entry.name.as_slice(), flags)?;
    context.report.extent = Extent::Done;
    Ok(Removed {
        path,
        kind: admitted.kind.as_str(),
    })
}
