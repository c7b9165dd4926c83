//! What a confined command saw, for a look at it when the command has ended.
//!
//! Who removes a file, or puts another in its place, removes what is mounted on it: in the command's view the
//! name is open from then on, also when the same file comes back.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rhocap_core::process::confinement::Cover;
use rhocap_core::process::errno::same;
use rustix::fs::{openat2, statx, AtFlags, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, CWD};
use rustix::io::Errno as Failed;

/// The root of a command's mounts, which stay as long as this is held.
pub struct View {
    root: OwnedFd,
    mounts: OwnedFd,
}

/// This process's namespace of mounts, asked for where there is a /proc.
pub fn own_mounts() -> Result<OwnedFd, Errno> {
    open("/proc/self/ns/mnt", OFlags::RDONLY)
}

fn open(path: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
    let opened = rustix::fs::openat(CWD, path, flags | OFlags::CLOEXEC, Mode::empty()).map_err(same)?;
    // The lower numbers become the command's streams.
    rustix::io::fcntl_dupfd_cloexec(opened, 3).map_err(same)
}

impl View {
    /// This process's own, whose root is that of the mounts by now.
    pub fn own(mounts: OwnedFd) -> Result<Self, Errno> {
        let root = open("/", OFlags::PATH | OFlags::DIRECTORY)?;
        Ok(Self { root, mounts })
    }

    /// Another process's, from its descriptors.
    pub fn of(descriptors: Vec<OwnedFd>) -> Option<Self> {
        let [root, mounts] = descriptors.try_into().ok()?;
        Some(Self { root, mounts })
    }

    /// For another process.
    pub fn descriptors(&self) -> [BorrowedFd<'_>; 2] {
        [self.root.as_fd(), self.mounts.as_fd()]
    }

    /// Which covers are no longer over what stands there.
    pub fn opened(&self, covers: &[Cover]) -> Vec<u32> {
        (0_u32..)
            .zip(covers)
            .filter(|(_, cover)| self.is_open(cover))
            .map(|(index, _)| index)
            .collect()
    }

    fn is_open(&self, cover: &Cover) -> bool {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
        let found = match openat2(&self.root, &cover.path[1..], flags, Mode::empty(), resolve) {
            Ok(found) => found,
            // What is not there is seen by whoever looks for it.
            Err(Failed::NOENT | Failed::NOTDIR | Failed::LOOP) => return false,
            // A command could have closed a directory above so that nobody sees.
            Err(_) => return true,
        };
        statx(found, c"", AtFlags::EMPTY_PATH, StatxFlags::TYPE).map_or(true, |found| {
            !found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)
        })
    }
}
