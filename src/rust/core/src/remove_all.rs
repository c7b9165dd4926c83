//! Removing a directory with all that is in it.
//!
//! What commands leave may be nested deeper than there are descriptors or than a stack holds, and its
//! directories may be closed to their owner. So nothing here recurses: what a directory holds is moved
//! up until all of it lies at the top. No link is followed, and no mount entered.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::{openat, renameat, unlinkat, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::facts;
use crate::open::NAMES;

/// How long it is tried.
const LONGEST: Duration = Duration::from_secs(20);

/// Removes the directory `name` of `place`. What cannot be removed stays.
pub fn remove_all(place: impl AsFd, name: impl Arg + Copy) {
    let place = place.as_fd();
    let Some(top) = open_directory(place, name) else { return };
    let mut moved = 0_u64;
    let begun = Instant::now();
    // Somebody may still write there; and R must not stand still for a tree of millions.
    while begun.elapsed() < LONGEST {
        let mut changed = false;
        for entry in names(&top) {
            if begun.elapsed() >= LONGEST {
                break;
            }
            if unlinkat(&top, &entry, AtFlags::empty()).is_ok() || unlinkat(&top, &entry, AtFlags::REMOVEDIR).is_ok() {
                changed = true;
            } else if let Some(inner) = open_directory(top.as_fd(), &*entry) {
                for below in names(&inner) {
                    changed |= unlinkat(&inner, &below, AtFlags::empty()).is_ok()
                        || unlinkat(&inner, &below, AtFlags::REMOVEDIR).is_ok()
                        || lift(&inner, &below, &top, &mut moved);
                }
                changed |= unlinkat(&top, &entry, AtFlags::REMOVEDIR).is_ok();
            }
        }
        if !changed {
            break;
        }
    }
    let _ = unlinkat(place, name, AtFlags::REMOVEDIR);
}

/// Moves a directory up to the top, under a name that nothing has there.
fn lift(from: &OwnedFd, name: &CStr, top: &OwnedFd, moved: &mut u64) -> bool {
    // A directory that is moved is written to: its `..` changes.
    if open_directory(from.as_fd(), name).is_none() {
        return false;
    }
    loop {
        *moved += 1;
        let free = format!(".rhocap-removed-{moved}");
        match renameat(from, name, top, free.as_str()) {
            Ok(()) => return true,
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            Err(_) => return false,
        }
    }
}

fn names(directory: &OwnedFd) -> Vec<std::ffi::CString> {
    let Ok(entries) = Dir::read_from(directory) else {
        return Vec::new();
    };
    entries
        .flatten()
        .map(|entry| entry.file_name().to_owned())
        .filter(|name| !matches!(name.to_bytes(), b"." | b".."))
        .collect()
}

/// Opens a directory, and gives its owner the access that it may lack.
fn open_directory(place: impl AsFd, name: impl Arg + Copy) -> Option<OwnedFd> {
    let place = place.as_fd();
    let mount = facts::of_handle(place).ok()?.mount;
    let flags = NAMES | OFlags::NOFOLLOW;
    match openat(place, name, flags, Mode::empty()) {
        Ok(handle) => {
            let found = facts::of_handle(&handle).ok().filter(|found| found.mount == mount)?;
            if found.mode & 0o700 != 0o700 {
                rustix::fs::fchmod(&handle, Mode::RWXU).ok()?;
            }
            return Some(handle);
        }
        Err(Errno::ACCESS) => {}
        Err(_) => return None,
    }
    // It cannot be opened for reading yet, so that its mode is changed by name: through the descriptor of
    // exactly this entry where the system has paths of descriptors.
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let entry = openat(
            place,
            name,
            OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .ok()
        .filter(|entry| facts::of_handle(entry).is_ok_and(|found| found.mount == mount))?;
        let path = format!("/proc/self/fd/{}", entry.as_raw_fd());
        rustix::fs::chmod(path.as_str(), Mode::RWXU).ok()?;
    }
    #[cfg(not(target_os = "linux"))]
    rustix::fs::chmodat(place, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    openat(place, name, flags, Mode::empty()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_deeper_than_descriptors_go_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("file"), "").unwrap();
        let top = std::fs::File::open(place.path()).unwrap();
        rustix::fs::mkdirat(&top, "gone", Mode::RWXU).unwrap();
        let mut at: OwnedFd = openat(&top, "gone", NAMES, Mode::empty()).unwrap();
        // More than there are descriptors, and than a path can name.
        for _ in 0..3000 {
            rustix::fs::mkdirat(&at, "d", Mode::RWXU).unwrap();
            let next = openat(&at, "d", NAMES, Mode::empty()).unwrap();
            at = next;
        }
        rustix::fs::symlinkat(&outside, &at, "link").unwrap();
        rustix::fs::fchmod(&at, Mode::empty()).unwrap();
        remove_all(&top, "gone");
        assert!(!place.path().join("gone").exists());
        assert!(outside.join("file").exists());
    }
}
