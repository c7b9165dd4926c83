//! Removing whatever stands at a name, however deep it is and whatever its modes say.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{renameat, unlinkat, AtFlags, Dir, FileType};
use rustix::io::Errno;

use super::spot;

/// Removes an entry, a directory with all that it holds. Needs no more than a few descriptors at any
/// depth: a directory inside is moved up beside the first one before it is emptied.
///
/// # Errors
/// The system's; some of it may be gone.
pub fn remove(parent: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let parent = parent.as_fd();
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    let top = spot::child_opened_up(parent, name)?;
    spot::open_up(&top)?;
    let mut inside = empty(&top, &top)?;
    while let Some(name) = inside.pop() {
        let directory = spot::child_opened_up(&top, &name)?;
        spot::open_up(&directory)?;
        inside.extend(empty(&directory, &top)?);
        unlinkat(&top, name.as_slice(), AtFlags::REMOVEDIR)?;
    }
    unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// Empties a directory; the directories in it are moved to `top`, and their names there returned.
fn empty(directory: &OwnedFd, top: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut moved = Vec::new();
    let mut names = Vec::new();
    // The names are read first: what is moved into a directory that is being read may be met again.
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((name.to_vec(), entry.file_type()));
        }
    }
    for (name, kind) in names {
        if kind != FileType::Directory {
            match unlinkat(directory, name.as_slice(), AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => continue,
                Err(Errno::ISDIR | Errno::PERM) => {}
                Err(errno) => return Err(errno),
            }
        }
        let new = crate::random::hex(16).into_bytes();
        match renameat(directory, name.as_slice(), top, new.as_slice()) {
            // Its own mode forbids that it gets another parent.
            Err(Errno::ACCESS) => {
                let inner = rustix::fs::openat(
                    directory,
                    name.as_slice(),
                    crate::open::DIRECTORY,
                    rustix::fs::Mode::empty(),
                )?;
                spot::open_up(&inner)?;
                renameat(directory, name.as_slice(), top, new.as_slice())?;
            }
            other => other?,
        }
        moved.push(new);
    }
    Ok(moved)
}
