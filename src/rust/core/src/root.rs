//! The roots of a capability: directories that were there when it was made, each held open.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{openat, Mode};
use serde::Serialize;

use crate::beneath;
use crate::carve_out::{repository, CarveOuts, Effect, Leaf};
use crate::escape::display;
use crate::facts::{self, Facts, Identity, Kind};
use crate::misuse::Misuse;
use crate::open::DIRECTORY;
use crate::path;

/// What may be done below a root. Writing includes reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RootAccess {
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// Who named a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The user; carve-outs apply.
    User,
    /// A library that R needs; carve-outs do not apply.
    Library,
    /// The capability's own directory, for its commands; carve-outs do not apply.
    Private,
}

/// Carve-outs as they apply to one root: its own, or those of a root above it, whose patterns see
/// the longer path.
#[derive(Clone)]
pub struct Anchor {
    /// From the directory of the rules down to the root; empty for its own.
    pub prefix: Vec<Vec<u8>>,
    /// The rules.
    pub rules: Arc<CarveOuts>,
}

/// A directory held open, with what may be done below it.
pub struct Root {
    /// The directory as it was named; other spellings of the same directory follow.
    pub declared: Vec<Vec<Vec<u8>>>,
    /// All spellings, declared and canonical, as joined paths.
    pub spellings: Vec<Vec<u8>>,
    /// The directory's names without links, when the capability was made.
    pub canonical: Vec<Vec<u8>>,
    /// What may be done below it.
    pub access: RootAccess,
    /// Who named it.
    pub origin: Origin,
    /// Which directory it is, on which mount.
    pub facts: Facts,
    /// The descriptor. Never a path: what is renamed or replaced later does not matter.
    pub handle: Arc<OwnedFd>,
    /// Carve-outs, this root's own first.
    pub anchors: Vec<Anchor>,
    /// Whether another root lies below this one.
    pub has_inner: bool,
}

/// A directory that could be opened, before it is a root.
#[derive(Clone)]
pub struct Opened {
    /// The names as given.
    pub declared: Vec<Vec<u8>>,
    /// The names without links.
    pub canonical: Vec<Vec<u8>>,
    /// Which directory it is.
    pub facts: Facts,
    /// The descriptor.
    pub handle: Arc<OwnedFd>,
}

/// Opens a directory that a user named. This is the one place where the ambient authority of the
/// process is used; everything later starts at the descriptor.
///
/// # Errors
/// `kind` for a path that is not absolute, holds `..` or NUL, is no directory, or lies on a kernel
/// file system.
pub fn open(kind: &'static str, given: &[u8]) -> Result<Opened, Misuse> {
    let shown = display(given);
    let bad = |why: &str| Misuse::new(kind, format!("\"{shown}\" {why}")).with("path", &shown);
    let parsed = path::parse(given).map_err(|_| bad("is no path: it is empty or holds a NUL byte."))?;
    if !parsed.absolute {
        return Err(bad(
            "is not absolute. Give the full path, for example with normalizePath().",
        ));
    }
    let Some(declared) = path::names(given) else {
        return Err(bad(
            "holds `..`. Give the directory's own path, for example with normalizePath().",
        ));
    };
    let text = std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(given));
    let directory = Dir::open_ambient_dir(text, ambient_authority()).map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => "does not exist. Create it first.".to_owned(),
            std::io::ErrorKind::NotADirectory => "is not a directory.".to_owned(),
            std::io::ErrorKind::PermissionDenied => "may not be opened by this user.".to_owned(),
            _ => format!("cannot be opened: {error}."),
        };
        bad(&why)
    })?;
    let handle: OwnedFd = directory.into_std_file().into();
    let facts = facts::of_handle(&handle).map_err(|error| bad(&format!("cannot be examined: {error}.")))?;
    if facts.kind != Kind::Directory {
        return Err(bad("is not a directory."));
    }
    if facts::is_special_filesystem(&handle).map_err(|error| bad(&format!("cannot be examined: {error}.")))? {
        return Err(bad(
            "lies on a kernel file system such as proc or sysfs, where files are not stored data.",
        ));
    }
    let canonical = canonical_names(&handle, text).map_err(|error| bad(&format!("cannot be resolved: {error}.")))?;
    Ok(Opened {
        declared,
        canonical,
        facts,
        handle: Arc::new(handle),
    })
}

/// Which directory this is, and which ones it lies in.
#[must_use]
pub fn identities_above(handle: &OwnedFd) -> Vec<Identity> {
    let mut identities = Vec::new();
    let mut at = facts::of_handle(handle).ok();
    let mut directory = None;
    while let Some(found) = at {
        // Above the top stands the top.
        if identities.last() == Some(&found.identity) {
            break;
        }
        identities.push(found.identity);
        let from = directory.as_ref().unwrap_or(handle);
        directory = openat(from, c"..", DIRECTORY, Mode::empty()).ok();
        at = directory.as_ref().and_then(|above| facts::of_handle(above).ok());
    }
    identities
}

#[cfg(target_os = "linux")]
fn canonical_names(handle: &OwnedFd, _: &std::path::Path) -> Result<Vec<Vec<u8>>, std::io::Error> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    // The kernel's own answer for the descriptor: no second lookup by path.
    let link = std::fs::read_link(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
    path::names(link.as_os_str().as_bytes()).ok_or_else(|| std::io::ErrorKind::InvalidInput.into())
}

#[cfg(not(target_os = "linux"))]
fn canonical_names(handle: &OwnedFd, given: &std::path::Path) -> Result<Vec<Vec<u8>>, std::io::Error> {
    use std::os::unix::ffi::OsStrExt;
    let found = std::fs::canonicalize(given)?;
    let again = Dir::open_ambient_dir(&found, ambient_authority())?.into_std_file();
    let (ours, theirs) = (facts::of_handle(handle)?, facts::of_handle(&again)?);
    if ours.identity != theirs.identity {
        return Err(std::io::Error::other("the directory was replaced while it was opened"));
    }
    path::names(found.as_os_str().as_bytes()).ok_or_else(|| std::io::ErrorKind::InvalidInput.into())
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl Root {
    /// Whether this root is that directory, reached through the same mount.
    #[must_use]
    pub fn is(&self, identity: Identity, mount: u64) -> bool {
        self.facts.identity == identity && self.facts.mount == mount
    }

    /// The carve-out that covers a path below the root: by its names, or because it tells git what to run in
    /// a repository that stands there.
    #[must_use]
    pub fn covering(&self, effect: Effect, names: &[u8], leaf: Leaf) -> Option<&str> {
        self.matching(effect, names, leaf)
            .or_else(|| self.governing(effect, repository::candidates(names), |above| self.has_head(above)))
            .or_else(|| self.would_govern(effect, names))
    }

    /// The pattern of `HEAD`, for a new one that would make git obey what stands beside it: also where git may
    /// write one.
    fn would_govern(&self, effect: Effect, names: &[u8]) -> Option<&str> {
        let above = repository::above_head(names).filter(|_| effect == Effect::Protect)?;
        let rule = self.matching(effect, repository::HEAD, Leaf::File)?;
        let makes = repository::governed(above).any(|(directory, name)| self.has(&directory, name));
        (makes && !self.has_head(above)).then_some(rule)
    }

    /// The pattern of `HEAD`, for what git runs or obeys beside one: in one of these directories below the root,
    /// into which `has_head` looks.
    #[must_use]
    pub fn governing<'a>(
        &self,
        effect: Effect,
        mut directories: impl Iterator<Item = &'a [u8]>,
        has_head: impl Fn(&[u8]) -> bool,
    ) -> Option<&str> {
        if effect == Effect::Deny {
            return None;
        }
        // Where a pattern lets git write a `HEAD`, what stands beside it is protected all the same.
        let rule = self.matching(effect, repository::HEAD, Leaf::File)?;
        directories.any(has_head).then_some(rule)
    }

    /// The pattern of something below a path, were the path a link to a directory.
    #[must_use]
    pub fn leading_to(&self, names: &[u8]) -> Option<&str> {
        self.leading(names, |above| self.has_head(above))
    }

    /// The same, where `has_head` looks into a directory below the root.
    #[must_use]
    pub fn leading(&self, names: &[u8], has_head: impl Fn(&[u8]) -> bool) -> Option<&str> {
        let matching = self.anchors.iter().find_map(|anchor| {
            let longer = path::join_onto(&path::join(&anchor.prefix), names);
            anchor.rules.leading_to(&longer)
        });
        matching.or_else(|| self.leading_beside(names, has_head))
    }

    /// Those of them that stand beside a `HEAD`.
    fn leading_beside(&self, names: &[u8], has_head: impl Fn(&[u8]) -> bool) -> Option<&str> {
        let rule = self.matching(Effect::Protect, repository::HEAD, Leaf::File)?;
        has_head(repository::leading(names)?).then_some(rule)
    }

    /// The pattern that protects a directory below the root, or something in it, for the sake of a `HEAD` above.
    #[must_use]
    pub fn beside_head(&self, names: &[u8]) -> Option<&str> {
        self.governing(Effect::Protect, repository::candidates(names), |above| {
            self.has_head(above)
        })
        .or_else(|| self.leading_beside(names, |above| self.has_head(above)))
    }

    /// Whether git takes a directory below the root for a repository.
    fn has_head(&self, directory: &[u8]) -> bool {
        self.has(directory, repository::HEAD)
    }

    /// Whether an entry of this name stands in a directory below the root.
    #[must_use]
    pub fn has(&self, directory: &[u8], name: &[u8]) -> bool {
        beneath::place(self, directory).is_ok_and(|directory| facts::of_entry(&directory, name).is_ok())
    }

    /// The pattern that matches a path below the root.
    #[must_use]
    pub fn matching(&self, effect: Effect, names: &[u8], leaf: Leaf) -> Option<&str> {
        self.anchors.iter().find_map(|anchor| {
            if anchor.prefix.is_empty() {
                return anchor.rules.covering(effect, names, leaf);
            }
            let mut longer = path::join(&anchor.prefix);
            if !names.is_empty() {
                longer.push(b'/');
                longer.extend_from_slice(names);
            }
            anchor
                .rules
                .covering(effect, &longer, if names.is_empty() { Leaf::Directory } else { leaf })
        })
    }

    /// Whether a pattern could cover an entry of this name, whatever lies above it. `true` may be wrong,
    /// `false` never is.
    #[must_use]
    pub fn may_cover(&self, name: &[u8]) -> bool {
        self.anchors.iter().any(|anchor| anchor.rules.may_cover(name)) || repository::may_govern(name)
    }

    /// Whether any pattern applies below the root.
    #[must_use]
    pub fn has_rules(&self) -> bool {
        self.anchors.iter().any(|anchor| !anchor.rules.is_empty())
    }

    /// Whether commands may write below the root. A root in a protected directory of one above is protected
    /// as a whole; the private one is theirs.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        if self.origin == Origin::Private {
            return true;
        }
        self.access == RootAccess::Write && self.covering(Effect::Protect, b"", Leaf::Directory).is_none()
    }

    /// The carve-outs of roots above this one. Its own are compiled anew when it is kept.
    #[must_use]
    pub fn anchors_above(&self) -> Vec<Anchor> {
        self.anchors
            .iter()
            .filter(|anchor| !anchor.prefix.is_empty())
            .cloned()
            .collect()
    }

    /// What is left of a joined absolute path below this root, by one of the root's spellings; the
    /// longest spelling that fits leaves least.
    #[must_use]
    pub fn strip<'a>(&self, names: &'a [u8]) -> Option<&'a [u8]> {
        self.spellings
            .iter()
            .filter_map(|spelling| path::below(names, spelling))
            .min_by_key(|rest| rest.len())
    }
}
