//! The kernel's resolver, for plain paths: no `..`, no link, no other mount.

use super::{Found, Refused, Start, Want};
use crate::capability::Capability;

/// Resolves a plain path, or says nothing when the walk must decide.
#[cfg(target_os = "linux")]
#[must_use]
pub fn resolve(capability: &Capability, start: &mut Start, want: Want) -> Option<Result<Found, Refused>> {
    use std::os::fd::{AsFd, OwnedFd};
    use std::sync::Arc;

    use rustix::fs::{openat2, Mode, OFlags, ResolveFlags};
    use rustix::io::Errno;

    use super::{Judge, Object, Resolver};
    use crate::facts::{self, Kind};
    use crate::open::{DIRECTORY, FILE};

    const BENEATH: ResolveFlags = ResolveFlags::BENEATH
        .union(ResolveFlags::NO_SYMLINKS)
        .union(ResolveFlags::NO_MAGICLINKS)
        .union(ResolveFlags::NO_XDEV);

    let root = &capability.roots()[start.root];
    if !start.rest.is_empty() || start.names.is_empty() {
        return None;
    }
    let names = start.names.as_slice();
    let judge = Judge {
        roots: capability.roots(),
        limits: capability.limits(),
        want,
        resolver: Resolver::Openat2,
    };
    let open = |path: &[u8], flags: OFlags| openat2(&root.handle, path, flags, Mode::empty(), BENEATH);
    let object = match want {
        Want::File => {
            let handle = open(names, FILE).ok()?;
            let found = facts::of_handle(&handle).ok()?;
            if let Err(refused) = judge.file(root, names, &found, &handle, start.directory) {
                return Some(Err(refused));
            }
            Object::File { handle, facts: found }
        }
        Want::Directory => {
            let handle = open(names, DIRECTORY).ok()?;
            let found = facts::of_handle(&handle).ok()?;
            if let Err(refused) = judge.carve_outs(root, names, crate::carve_out::Leaf::Directory) {
                return Some(Err(refused));
            }
            Object::Directory {
                handle: Arc::new(handle),
                facts: found,
            }
        }
        Want::Entry { .. } | Want::Name => {
            // An entry of the root itself leaves nothing to look up; a receipt that named openat2 would
            // name a call that was not made.
            let at = memchr::memrchr(b'/', names)?;
            let (above, name) = (&names[..at], &names[at + 1..]);
            let parent: Arc<OwnedFd> = Arc::new(open(above, DIRECTORY).ok()?);
            let found = match facts::of_entry(parent.as_fd(), name) {
                Ok(found) if found.kind == Kind::Symlink && want != Want::Name => return None,
                Ok(found) => Some(found),
                Err(Errno::NOENT) => {
                    // The walk tells a missing file from a deleted root.
                    if facts::of_handle(&root.handle).map_or(true, |root| root.links == 0) {
                        return None;
                    }
                    None
                }
                Err(_) => return None,
            };
            if let Err(refused) = judge.entry(root, names, found.as_ref(), parent.as_fd(), start.directory) {
                return Some(Err(refused));
            }
            Object::Entry {
                parent,
                missing: Vec::new(),
                name: name.to_vec(),
                facts: found,
            }
        }
    };
    Some(Ok(Found {
        root: start.root,
        names: std::mem::take(&mut start.names),
        links: 0,
        resolver: Resolver::Openat2,
        object,
    }))
}

/// Resolves a plain path, or says nothing when the walk must decide.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn resolve(_: &Capability, _: &mut Start, _: Want) -> Option<Result<Found, Refused>> {
    None
}
