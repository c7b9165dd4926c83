//! Admission: from what was asked to an open handle, or to a verdict. Nothing is changed here.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::capability::Capability;
use crate::effect::install::Entry;
use crate::escape::display;
use crate::facts::Facts;
use crate::outcome::Code;
use crate::path;
use crate::receipt::record::Resolved;
use crate::resolve::{self, Found, Object, Refused, Use, Want};

/// What a caller means to do with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read a regular file.
    Read,
    /// Write a regular file, or make a new one.
    Write,
    /// List a directory.
    List,
}

impl Access {
    /// The word used in arguments and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::List => "list",
        }
    }

    pub(crate) const fn want(self) -> Want {
        match self {
            Self::Read => Want::File,
            Self::Write => Want::Entry { create_parents: false },
            Self::List => Want::Directory,
        }
    }
}

/// An admitted object: the handle, and where it lies. Good for one effect.
#[derive(Debug)]
pub struct Admitted {
    id: String,
    /// The capability that admitted it.
    capability: String,
    /// What it was asked for as.
    pub(crate) request: Vec<u8>,
    access: Access,
    pub(crate) found: Found,
}

impl Admitted {
    pub(crate) fn new(capability: &Capability, request: &[u8], access: Access, found: Found) -> Self {
        Self {
            id: crate::random::hex(16),
            capability: capability.id().to_owned(),
            request: request.to_vec(),
            access,
            found,
        }
    }

    /// A random, public name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The path below its root, escaped for showing; `.` for a root itself.
    #[must_use]
    pub fn path(&self) -> String {
        if self.found.names.is_empty() {
            ".".to_owned()
        } else {
            display(&self.found.names)
        }
    }

    /// What it was admitted for.
    #[must_use]
    pub const fn access(&self) -> Access {
        self.access
    }

    /// What it is: `file`, `directory`, or `absent`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        facts(&self.found.object).map_or("absent", |facts| facts.kind.as_str())
    }

    pub(crate) fn belongs_to(&self, capability: &Capability) -> bool {
        self.capability == capability.id()
    }
}

/// Admits a path.
///
/// # Errors
/// The verdict, with what decided.
pub fn admit(capability: &Capability, asked: &[u8], want: Want, using: Use) -> Result<Found, Refused> {
    let parsed = path::parse(asked)?;
    let start = resolve::locate(capability, parsed);
    if want == Want::Name && ends_without_name(asked) {
        // `.` may be a root itself, and is then refused as one.
        let root = start
            .as_ref()
            .is_ok_and(|start| start.names.is_empty() && start.rest.is_empty());
        if !root {
            return Err(Code::InvalidPath.into());
        }
    }
    resolve::resolve(capability, start?, want, using)
}

/// Whether a path ends in `.` or `..`: such a path names no entry that could be moved or removed.
fn ends_without_name(asked: &[u8]) -> bool {
    let trimmed = asked
        .iter()
        .rposition(|byte| *byte != b'/')
        .map_or(&asked[..0], |at| &asked[..=at]);
    matches!(trimmed.rsplit(|byte| *byte == b'/').next(), Some(b"." | b".."))
}

pub(crate) const fn facts(object: &Object) -> Option<&Facts> {
    match object {
        Object::File { facts, .. } | Object::Directory { facts, .. } => Some(facts),
        Object::Entry { facts, .. } => facts.as_ref(),
    }
}

pub(crate) fn resolved(capability: &Capability, found: &Found) -> Resolved {
    let facts = facts(&found.object);
    Resolved {
        root: found.root,
        path: if found.names.is_empty() {
            ".".to_owned()
        } else {
            display(&found.names)
        },
        device: facts.map_or(capability.roots()[found.root].facts.identity.device, |facts| {
            facts.identity.device
        }),
        inode: facts.map(|facts| facts.identity.inode),
        links: facts.map(|facts| facts.links),
        symlinks: found.links,
    }
}

impl Found {
    /// The entry, for effects that change one.
    pub(crate) fn into_entry(self) -> Option<(Entry, usize, Vec<u8>)> {
        let Object::Entry {
            parent,
            missing,
            name,
            facts,
        } = self.object
        else {
            return None;
        };
        Some((
            Entry {
                parent,
                missing,
                name,
                facts,
            },
            self.root,
            self.names,
        ))
    }

    /// The open file, for reading.
    pub(crate) fn into_file(self) -> Option<(OwnedFd, Facts)> {
        let Object::File { handle, facts } = self.object else {
            return None;
        };
        Some((handle, facts))
    }

    /// The directory, for listing.
    pub(crate) fn into_directory(self) -> Option<(Arc<OwnedFd>, usize, Vec<u8>)> {
        let Object::Directory { handle, .. } = self.object else {
            return None;
        };
        Some((handle, self.root, self.names))
    }
}
