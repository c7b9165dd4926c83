//! Listing a directory through its admitted handle; names below are opened from handles, never by
//! path.

use std::collections::BinaryHeap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{openat, Dir, Mode};
use rustix::io::Errno;

use super::Cancel;
use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::facts::{self, Facts, Kind};
use crate::open::{DIRECTORY, NAMES};
use crate::outcome::{Code, Refusal};
use crate::redact::Redactor;
use crate::secret::known;

/// How deep a recursive listing goes: each level holds a descriptor.
const DEEPEST: usize = 128;

/// One name.
#[derive(Debug, Clone, PartialEq)]
pub struct ListEntry {
    /// The path below the listed directory.
    pub path: Vec<u8>,
    /// The kind of object.
    pub kind: &'static str,
    /// Size in bytes; none where reading is denied, because the size of a secret is part of it.
    pub bytes: Option<u64>,
    /// Last change of the content, seconds since 1970.
    pub modified: f64,
    /// The carve-out that covers it: `deny` or `protect`.
    pub carve_out: Option<&'static str>,
    /// Whether it lies on another mount than the root.
    pub mount: bool,
}

/// The names of a directory.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing {
    /// The directory's path below its root, escaped for showing; `.` for the root.
    pub path: String,
    /// The names, sorted by their bytes, parents before what they hold.
    pub entries: Vec<ListEntry>,
    /// Whether names are missing: there are more than the limits allow, or deeper ones, or a directory
    /// could not be read.
    pub truncated: bool,
}

/// Lists. A recursive listing does not enter links, other mounts, or denied directories.
///
/// # Errors
/// The system's, and `Cancelled`.
pub fn list(
    capability: &Capability,
    root: usize,
    names: &[u8],
    handle: &Arc<OwnedFd>,
    recursive: bool,
    cancel: &Cancel,
) -> Result<Listing, Refusal> {
    let shown = if names.is_empty() {
        ".".to_owned()
    } else {
        crate::escape::display(names)
    };
    let listing = Listing {
        path: shown,
        entries: Vec::new(),
        truncated: false,
    };
    let place = Place {
        root,
        names: names.to_vec(),
    };
    let mut lister = Lister {
        capability,
        recursive,
        cancel,
        below: Vec::new(),
        listing,
    };
    lister.enter(&place, handle, 0)?;
    let mut listing = lister.listing;
    mask_names(&mut listing.entries, &known::redactor());
    Ok(listing)
}

/// Masks names that hold a secret; what such a name is of can be read where it is known.
fn mask_names(entries: &mut [ListEntry], redactor: &Redactor) {
    let joined = entries.iter().fold(Vec::new(), |mut joined, entry| {
        joined.extend_from_slice(&entry.path);
        joined.push(b'\n');
        joined
    });
    // One look for all of them: hardly any listing holds one.
    if redactor.spans(&joined).is_empty() {
        return;
    }
    for entry in entries {
        let masked = redactor.mask(&entry.path);
        if masked.count > 0 {
            entry.path = masked.text.into_owned();
        }
    }
}

/// Where a directory lies: the root that governs it and its names there.
struct Place {
    root: usize,
    names: Vec<u8>,
}

impl Place {
    fn child(&self, name: &[u8]) -> Self {
        let mut names = self.names.clone();
        if !names.is_empty() {
            names.push(b'/');
        }
        names.extend_from_slice(name);
        Self { root: self.root, names }
    }
}

/// The first `most` names of a directory in the order of their bytes, and whether there are more. Memory
/// is taken for no more than these.
fn names(directory: impl AsFd, most: usize, cancel: &Cancel) -> Result<(Vec<Vec<u8>>, bool), Refusal> {
    // The admitted handle may only name the place (`O_PATH`); reading needs one of its own.
    let readable = openat(directory.as_fd(), c".", NAMES, Mode::empty())?;
    let mut names = BinaryHeap::new();
    let mut more = false;
    for entry in Dir::new(readable)? {
        cancel.check()?;
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
            if names.len() > most {
                names.pop();
                more = true;
            }
        }
    }
    Ok((names.into_sorted_vec(), more))
}

struct Lister<'a> {
    capability: &'a Capability,
    recursive: bool,
    cancel: &'a Cancel,
    /// The names from the listed directory to where the lister is.
    below: Vec<u8>,
    listing: Listing,
}

impl Lister<'_> {
    fn enter(&mut self, place: &Place, handle: &Arc<OwnedFd>, depth: usize) -> Result<(), Refusal> {
        let capability = self.capability;
        let most = usize::try_from(capability.limits().entries).unwrap_or(usize::MAX);
        let room = most.saturating_sub(self.listing.entries.len());
        let (names, more) = names(handle, room, self.cancel)?;
        self.listing.truncated |= more;
        for name in names {
            self.cancel.check()?;
            if self.listing.entries.len() >= most {
                self.listing.truncated = true;
                return Ok(());
            }
            // A name that went away since is no entry.
            let Ok(found) = facts::of_entry(handle, &name) else {
                continue;
            };
            let child = governing(capability, place, &name, &found);
            let root = &capability.roots()[child.root];
            let leaf = Leaf::of(found.kind);
            let carve_out = [Effect::Deny, Effect::Protect]
                .into_iter()
                .find(|effect| root.covering(*effect, &child.names, leaf).is_some())
                .map(Effect::as_str);
            let mount = found.mount != root.facts.mount;
            let length = self.below.len();
            if length > 0 {
                self.below.push(b'/');
            }
            self.below.extend_from_slice(&name);
            self.listing.entries.push(ListEntry {
                path: self.below.clone(),
                kind: found.kind.as_str(),
                bytes: (carve_out != Some(Effect::Deny.as_str())).then_some(found.size),
                modified: found.modified,
                carve_out,
                mount,
            });
            let admitted = carve_out != Some(Effect::Deny.as_str()) && (!mount || capability.limits().mounts);
            if self.recursive && found.kind == Kind::Directory && admitted {
                if depth + 1 >= DEEPEST {
                    self.listing.truncated = true;
                } else {
                    let entered = open_child(handle, &name, &found)
                        .and_then(|inner| inner.map_or(Ok(()), |inner| self.enter(&child, &inner, depth + 1)));
                    // What could not be read is left out, as `ls -R` does it, and the listing says that it is not whole.
                    match entered {
                        Err(refusal) if refusal.code == Code::Cancelled => return Err(refusal),
                        Err(_) => self.listing.truncated = true,
                        Ok(()) => {}
                    }
                }
            }
            self.below.truncate(length);
        }
        Ok(())
    }
}

/// A child directory; nothing where it is a kernel file system.
fn open_child(parent: &OwnedFd, name: &[u8], seen: &Facts) -> Result<Option<Arc<OwnedFd>>, Refusal> {
    let inner = match openat(parent, name, DIRECTORY, Mode::empty()) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(Code::Contended.into()),
        other => other?,
    };
    let found = facts::of_handle(&inner)?;
    if found.identity != seen.identity || found.mount != seen.mount {
        return Err(Code::Contended.into());
    }
    Ok((!facts::is_special_filesystem(&inner)?).then(|| Arc::new(inner)))
}

/// Where a child lies: in the root of its parent, unless it is a root itself.
fn governing(capability: &Capability, parent: &Place, name: &[u8], found: &Facts) -> Place {
    capability
        .roots()
        .iter()
        .position(|root| root.is(found.identity, found.mount))
        .map_or_else(
            || parent.child(name),
            |root| Place {
                root,
                names: Vec::new(),
            },
        )
}

/// Is given the names below a directory, and what is there.
pub type Visitor<'a> = dyn FnMut(&[u8], &Facts) -> Result<(), Refusal> + 'a;

/// Visits every name below a directory, without entering links or other mounts. The visitor gets the
/// names below the directory, and what is there; it stops the walk by an error.
///
/// # Errors
/// The visitor's, the system's, and `Cancelled`. More than `most` names, and deeper trees than
/// [`DEEPEST`], are an error, because a check that stopped early would be none.
pub fn visit(handle: &OwnedFd, most: u64, cancel: &Cancel, visitor: &mut Visitor<'_>) -> Result<(), Refusal> {
    let mut left = usize::try_from(most).unwrap_or(usize::MAX);
    descend(handle, &mut left, &mut Vec::new(), 0, cancel, visitor)
}

fn descend(
    handle: &OwnedFd,
    left: &mut usize,
    below: &mut Vec<u8>,
    depth: usize,
    cancel: &Cancel,
    visitor: &mut Visitor<'_>,
) -> Result<(), Refusal> {
    let too_large = |what: &str| {
        Refusal::new(Code::TooLarge).say(format!(
            "The directory holds {what}, so that they cannot all be checked."
        ))
    };
    if depth >= DEEPEST {
        return Err(too_large("directories too deep in each other").with("deepest", DEEPEST as u64));
    }
    let (names, more) = names(handle, *left, cancel)?;
    if more {
        return Err(too_large("more entries than the capability's `entries`"));
    }
    *left -= names.len();
    for name in names {
        cancel.check()?;
        let found = facts::of_entry(handle, &name)?;
        let length = below.len();
        if length > 0 {
            below.push(b'/');
        }
        below.extend_from_slice(&name);
        visitor(below, &found)?;
        if found.kind == Kind::Directory {
            if let Some(inner) = open_child(handle, &name, &found)? {
                descend(&inner, left, below, depth + 1, cancel, visitor)?;
            }
        }
        below.truncate(length);
    }
    Ok(())
}
