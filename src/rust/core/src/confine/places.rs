//! Where the roots are now. A root is a descriptor: its directory may have been renamed since.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{openat, Mode, CWD};

use crate::capability::{with_slash, Capability};
use crate::facts::{self, Identity, Kind};
use crate::open::DIRECTORY;
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::private::Private;
use crate::process::confinement::Place;
use crate::root::{Origin, Root};

/// Where one root is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Its absolute path without links.
    pub path: Vec<u8>,
    /// The names of the path.
    pub names: Vec<Vec<u8>>,
}

/// Where each root is, in their order.
///
/// # Errors
/// `RootGone` for a root that no path leads to any more.
pub fn sites(capability: &Capability) -> Result<Vec<Site>, Refusal> {
    capability.roots().iter().map(site).collect()
}

fn site(root: &Root) -> Result<Site, Refusal> {
    let gone = || Refusal::from(Code::RootGone);
    if facts::of_handle(&root.handle)?.links == 0 {
        return Err(gone());
    }
    let path = path_of(&root.handle)?;
    // A path that is not true to its directory ("(unreachable)/x", "x (deleted)") leads elsewhere.
    let names = path::names(&path).filter(|_| path.starts_with(b"/")).ok_or_else(gone)?;
    let there = openat(CWD, path.as_slice(), DIRECTORY, Mode::empty()).map_err(|_| gone())?;
    let found = facts::of_handle(&there)?;
    if !root.is(found.identity, found.mount) {
        return Err(gone());
    }
    Ok(Site { path, names })
}

/// The kernel's own answer to where a descriptor's object is.
pub(super) fn path_of(handle: impl AsFd) -> Result<Vec<u8>, Refusal> {
    let link = format!("/proc/self/fd/{}", handle.as_fd().as_raw_fd());
    let path = std::fs::read_link(link).map_err(|_| {
        Refusal::new(Code::SystemError).say("Without /proc it cannot be told where an allowed directory is.")
    })?;
    Ok(path.as_os_str().as_bytes().to_vec())
}

/// The roots as places, outer ones first. Of the private one only `TMPDIR` and `HOME` are: kept output lies
/// beside them.
///
/// # Errors
/// The system's.
pub(super) fn places(capability: &Capability, sites: &[Site]) -> Result<Vec<Place>, Refusal> {
    let mut sorted: Vec<(&Site, &Root)> = sites.iter().zip(capability.roots()).collect();
    sorted.sort_by(|(a, _), (b, _)| a.names.cmp(&b.names));
    let place = |path: Vec<u8>, identity: Identity, write| Place {
        path,
        device: identity.device,
        inode: identity.inode,
        write,
        mounts: capability.limits().mounts,
        names: false,
    };
    let mut places = Vec::new();
    for (site, root) in sorted {
        if root.origin != Origin::Private {
            places.push(place(site.path.clone(), root.facts.identity, root.is_writable()));
            continue;
        }
        for name in [Private::HOME, Private::TEMPORARY] {
            let found = facts::of_entry(&root.handle, name.as_bytes())?;
            if found.kind != Kind::Directory {
                return Err(Code::RootGone.into());
            }
            places.push(place(absolute(site, name.as_bytes()), found.identity, true));
        }
    }
    Ok(places)
}

/// The root in which a path without links lies, and its names there.
#[must_use]
pub fn locate<'a>(sites: &[Site], path: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let below = |site: &Site| {
        if site.names.is_empty() {
            path.get(1..)
        } else {
            path::below(path, &site.path)
        }
    };
    let inside = |(index, site)| Some((index, below(site)?));
    sites
        .iter()
        .enumerate()
        .filter_map(inside)
        .min_by_key(|(_, below)| below.len())
}

/// Where the roots are now, which were at `sites` before: the user may have renamed a directory above.
#[must_use]
pub fn now(capability: &Capability, before: &[Site]) -> Vec<Site> {
    sites(capability).unwrap_or_else(|_| before.to_vec())
}

/// The path that something had before, when the roots were at `sites` that are `here` now.
#[must_use]
pub fn then(sites: &[Site], here: &[Site], path: &[u8]) -> Vec<u8> {
    locate(here, path).map_or_else(|| path.to_vec(), |(index, below)| absolute(&sites[index], below))
}

/// Whether one absolute path is another, or lies below it.
#[must_use]
pub fn holds(outer: &[u8], inner: &[u8]) -> bool {
    outer == b"/" || path::below(inner, outer).is_some()
}

/// The absolute path of names below a root.
#[must_use]
pub fn absolute(site: &Site, names: &[u8]) -> Vec<u8> {
    join(&site.path, names)
}

/// An absolute path, and names below it.
pub(super) fn join(path: &[u8], names: &[u8]) -> Vec<u8> {
    let slash: &[u8] = if path.ends_with(b"/") || names.is_empty() {
        b""
    } else {
        b"/"
    };
    [path, slash, names].concat()
}

/// The path that the capability's working directory has inside of its root now, or its own.
#[must_use]
pub fn working_directory(capability: &Capability, sites: &[Site]) -> Vec<u8> {
    let cwd = capability.cwd();
    path_of(&cwd.opened.handle).unwrap_or_else(|_| match &cwd.inside {
        Some((root, names)) => absolute(&sites[*root], names),
        None => with_slash(&cwd.opened.canonical),
    })
}
