//! Directories by their names beneath another, opened through no link, however deep they lie.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{chmod, openat, Mode, OFlags};
use rustix::io::Errno;

use crate::open::{DIRECTORY, NAMES};

/// A directory whose names are read, never through a link.
const OPEN: OFlags = NAMES.union(OFlags::NOFOLLOW);
/// One call takes a path shorter than `PATH_MAX`.
const LONGEST: usize = 4_000;

/// Opens the directory of the joined names beneath another, to read its names.
///
/// # Errors
/// The system's; of a link, `NOTDIR` or `LOOP`.
pub fn open(at: impl AsFd, names: &[u8]) -> Result<OwnedFd, Errno> {
    open_as(at, names, OPEN)
}

/// The same as a mere place, which takes no right to read it.
///
/// # Errors
/// The system's; of a link, `NOTDIR` or `LOOP`.
pub fn place(at: impl AsFd, names: &[u8]) -> Result<OwnedFd, Errno> {
    open_as(at, names, DIRECTORY)
}

fn open_as(at: impl AsFd, names: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut at = openat(at, c".", flags, Mode::empty())?;
    let mut rest = names;
    while !rest.is_empty() {
        let end = if rest.len() <= LONGEST {
            rest.len()
        } else {
            memchr::memrchr(b'/', &rest[..LONGEST]).ok_or(Errno::NAMETOOLONG)?
        };
        at = beneath(&at, &rest[..end], flags)?;
        rest = rest.get(end + 1..).unwrap_or(&[]);
    }
    Ok(at)
}

/// Opens a directory by its name in another.
pub fn child(at: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    openat(at, name, OPEN, Mode::empty())
}

#[cfg(target_os = "linux")]
fn beneath(at: &OwnedFd, names: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    use rustix::fs::{openat2, ResolveFlags};
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(at, names, flags, Mode::empty(), how) {
        // No such call, a filter that forbids it, or a rename somewhere meanwhile.
        Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => step_by_step(at, names, flags),
        other => other,
    }
}

#[cfg(not(target_os = "linux"))]
fn beneath(at: &OwnedFd, names: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    step_by_step(at, names, flags)
}

fn step_by_step(at: &OwnedFd, names: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut steps = names.split(|byte| *byte == b'/');
    let mut here = openat(at, steps.next().unwrap_or(b"."), flags, Mode::empty())?;
    for name in steps {
        here = openat(&here, name, flags, Mode::empty())?;
    }
    Ok(here)
}

/// Opens a directory by its name in another, also when its mode forbids that to its owner: the mode is
/// widened. What a command closed by its mode must still be looked through.
///
/// # Errors
/// The system's.
pub fn child_opened_up(at: impl AsFd + Copy, name: &[u8]) -> Result<OwnedFd, Errno> {
    match child(at, name) {
        Err(Errno::ACCESS) => {
            let place = openat(at, name, DIRECTORY, Mode::empty())?;
            open_up(&place)?;
            child(at, name)
        }
        other => other,
    }
}

/// Gives the owner of a directory all rights to it. By the descriptor: the name may be a link by now.
///
/// # Errors
/// The system's.
pub fn open_up(directory: impl AsFd) -> Result<(), Errno> {
    let mode = crate::facts::of_handle(directory.as_fd())?.mode;
    set_mode(directory, mode | 0o700)
}

/// Sets the mode of an open directory.
///
/// # Errors
/// The system's.
pub fn set_mode(directory: impl AsFd, mode: u32) -> Result<(), Errno> {
    // A descriptor that only names a place takes no `fchmod`.
    let path = format!("/proc/self/fd/{}", directory.as_fd().as_raw_fd());
    // The width of a mode differs between systems.
    #[allow(clippy::useless_conversion)]
    let mode = (mode & 0o7777).try_into().map_err(|_| Errno::INVAL)?;
    chmod(path, Mode::from_raw_mode(mode))
}
