//! Where the host gives no mounts: what may be granted one by one.
//!
//! Without mounts nothing in a granted directory can be closed again. So a directory that holds a
//! carve-out is not granted; its entries are, except those that are carved out. New names cannot be made
//! directly in such a directory then, and names in it can be neither removed nor renamed.

use std::collections::{HashMap, HashSet};

use rustix::fs::Dir;

use crate::beneath;
use crate::capability::Capability;
use crate::effect::Cancel;
use crate::facts::{self, Kind};
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::process::confinement::{Closes, Cover, Place, Standing};
use crate::root::{Origin, Root};

use super::places::{holds, join};
use super::Plan;

/// Most grants of one command.
pub const MOST: usize = 10_000;

/// What a grant gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The names of a directory and of those below it, not their content.
    Names,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// A file or a directory, with all below it, that a command may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Its absolute path without links.
    pub path: Vec<u8>,
    /// Its device. What stands at the path must be this object.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// What may be done.
    pub access: Access,
    /// Whether it is a directory.
    pub directory: bool,
}

impl Grant {
    fn new(path: &[u8], found: &facts::Facts, access: Access) -> Self {
        Self {
            path: path.to_vec(),
            device: found.identity.device,
            inode: found.identity.inode,
            access,
            directory: found.kind == Kind::Directory,
        }
    }
}

/// What may be granted, and what cannot be done under it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The grants, outer ones first.
    pub grants: Vec<Grant>,
    /// Directories that hold carve-outs, by their absolute paths: no name can be made, removed or renamed
    /// directly in them.
    pub fixed: Vec<Vec<u8>>,
    /// Those whose names cannot be listed either, because a denied directory lies below them.
    pub unlisted: Vec<Vec<u8>>,
}

impl Grants {
    /// The grants as places.
    #[must_use]
    pub fn places(&self) -> Vec<Place> {
        self.grants
            .iter()
            .map(|grant| Place {
                path: grant.path.clone(),
                device: grant.device,
                inode: grant.inode,
                write: grant.access == Access::Write,
                mounts: true,
                names: grant.access == Access::Names,
            })
            .collect()
    }

    /// The restrictions as words of a receipt: `new_names`, `listing`.
    #[must_use]
    pub fn restrictions(&self) -> Vec<&'static str> {
        let mut words = Vec::new();
        if !self.fixed.is_empty() {
            words.push("new_names");
        }
        if !self.unlisted.is_empty() {
            words.push("listing");
        }
        words
    }
}

/// Splits the places of a plan so that no cover lies in what is granted.
///
/// # Errors
/// `TooLarge` for more than [`MOST`] grants, and the system's.
pub fn grants(capability: &Capability, plan: &Plan, cancel: &Cancel) -> Result<Grants, Refusal> {
    let closed = || plan.confinement.covers.iter().chain(&plan.hidden);
    let mut splitter = Splitter {
        cancel,
        covered: closed().map(|cover| (cover.path.as_slice(), cover)).collect(),
        placed: plan.sites.iter().map(|site| site.path.as_slice()).collect(),
        holds: HashSet::new(),
        holds_denied: HashSet::new(),
        out: Grants::default(),
    };
    // What lies on the way to a cover cannot be granted as a whole.
    for cover in closed() {
        let denied = cover.closes == Closes::All && cover.kind == Standing::Directory;
        for above in parents(&cover.path) {
            splitter.holds.insert(above);
            if denied {
                splitter.holds_denied.insert(above);
            }
        }
    }
    // So does a place that is only readable, inside of one that is not.
    let places = &plan.confinement.places;
    for place in places.iter().filter(|place| !place.write) {
        let writable = |above: &&[u8]| places.iter().any(|outer| outer.write && holds(&outer.path, above));
        splitter.holds.extend(parents(&place.path).filter(writable));
    }
    let mut order: Vec<usize> = (0..plan.sites.len()).collect();
    order.sort_by(|a, b| plan.sites[*a].names.cmp(&plan.sites[*b].names));
    for index in order {
        let root = &capability.roots()[index];
        if root.origin == Origin::Private {
            continue;
        }
        let found = &root.facts;
        let site = &plan.sites[index].path;
        let access = if places.iter().any(|place| place.write && place.path == *site) {
            Access::Write
        } else {
            Access::Read
        };
        splitter.split(root, site, b"", found, access)?;
    }
    // Of the private directory there are places, which hold no carve-outs.
    let placed: HashSet<&[u8]> = plan.sites.iter().map(|site| site.path.as_slice()).collect();
    for place in places.iter().filter(|place| !placed.contains(place.path.as_slice())) {
        splitter.give(Grant {
            path: place.path.clone(),
            device: place.device,
            inode: place.inode,
            access: Access::Write,
            directory: true,
        })?;
    }
    Ok(splitter.out)
}

/// The paths of all directories above an absolute path.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    memchr::memchr_iter(b'/', path)
        .filter(|_| path.len() > 1)
        .map(|end| &path[..end.max(1)])
}

struct Splitter<'a> {
    cancel: &'a Cancel,
    covered: HashMap<&'a [u8], &'a Cover>,
    placed: HashSet<&'a [u8]>,
    holds: HashSet<&'a [u8]>,
    holds_denied: HashSet<&'a [u8]>,
    out: Grants,
}

impl Splitter<'_> {
    fn give(&mut self, grant: Grant) -> Result<(), Refusal> {
        if self.out.grants.len() >= MOST {
            return Err(Refusal::new(Code::TooLarge)
                .say(format!(
                    "Without mount namespaces, each entry beside a denied or protected name must be granted by itself, and here are more than {MOST}. \
                     Allow smaller directories, move such names out of large directories, or leave out their patterns."
                ))
                .with("most", MOST as u64));
        }
        self.out.grants.push(grant);
        Ok(())
    }

    fn split(
        &mut self,
        root: &Root,
        path: &[u8],
        names: &[u8],
        found: &facts::Facts,
        access: Access,
    ) -> Result<(), Refusal> {
        if !self.holds.contains(path) {
            return self.give(Grant::new(path, found, access));
        }
        self.cancel.check()?;
        self.out.fixed.push(path.to_vec());
        // A right to list holds for all directories below.
        if self.holds_denied.contains(path) {
            self.out.unlisted.push(path.to_vec());
        } else {
            self.give(Grant::new(path, found, Access::Names))?;
        }
        let directory = beneath::open(root, names)?;
        let mut inner = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                inner.push(name.to_vec());
            }
        }
        inner.sort();
        for name in inner {
            let whole = path::join_onto(names, &name);
            let at = join(path, &name);
            // A name that went away since is none; a link gives what it leads to, which is granted by itself.
            let Ok(entry) = facts::of_entry(&directory, &name) else {
                continue;
            };
            if entry.kind == Kind::Symlink {
                continue;
            }
            let access = match self.covered.get(at.as_slice()) {
                Some(cover) if cover.closes == Closes::All => continue,
                Some(cover) if cover.closes == Closes::Writing => Access::Read,
                _ => access,
            };
            // A root has a place of its own.
            if self.placed.contains(at.as_slice()) {
                continue;
            }
            self.split(root, &at, &whole, &entry, access)?;
        }
        Ok(())
    }
}
