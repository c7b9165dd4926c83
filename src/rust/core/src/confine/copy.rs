//! Copying to a quarantine on another file system: small trees only, because a command may have made
//! one of any size.

use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{mkdirat, openat, readlinkat, symlinkat, unlinkat, AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

use crate::beneath;
use crate::facts::{self, Kind};
use crate::open::{ENTRY, FILE};
use crate::remove_all::remove_all;

/// Most bytes of all files of one tree.
pub const MOST_BYTES: u64 = 1 << 24;
/// Most bytes of all that one command left.
const MOST_IN_ALL: u64 = 1 << 28;
/// Most entries of one tree.
const MOST_ENTRIES: usize = 1_000;
/// How deep directories may lie in each other: each level holds descriptors.
const DEEPEST: usize = 32;

/// Copies what one command left, within bounds.
pub(super) struct Copier {
    in_all: u64,
    bytes: u64,
    entries: usize,
}

impl Default for Copier {
    fn default() -> Self {
        Self {
            in_all: MOST_IN_ALL,
            bytes: 0,
            entries: 0,
        }
    }
}

impl Copier {
    /// Copies an entry of a directory, and what it holds, to `into` under a name that nothing has there. Links
    /// are copied as links; of modes and owners nothing is kept.
    ///
    /// # Errors
    /// `FBIG` for too much, `OPNOTSUPP` for other kinds than files, directories and links, `XDEV` for what is mounted,
    /// and the system's.
    /// Nothing is left in `into` then.
    pub(super) fn copy(&mut self, from: impl AsFd, name: &[u8], into: BorrowedFd<'_>, new: &str) -> Result<(), Errno> {
        let most = MOST_BYTES.min(self.in_all);
        (self.bytes, self.entries) = (most, MOST_ENTRIES);
        let copied = self.entry(from.as_fd(), name, into, new.as_bytes(), DEEPEST);
        self.in_all -= most - self.bytes;
        if copied.is_err() && unlinkat(into, new, AtFlags::empty()).is_err() {
            remove_all(into, new);
        }
        copied
    }

    fn entry(
        &mut self,
        from: BorrowedFd<'_>,
        name: &[u8],
        into: BorrowedFd<'_>,
        new: &[u8],
        deeper: usize,
    ) -> Result<(), Errno> {
        self.entries = self.entries.checked_sub(1).ok_or(Errno::FBIG)?;
        let found = facts::of_entry(from, name)?;
        // What is mounted is not the command's.
        if found.mount != facts::of_handle(from)?.mount {
            return Err(Errno::XDEV);
        }
        match found.kind {
            Kind::File => self.file(from, name, into, new),
            Kind::Symlink => symlinkat(readlinkat(from, name, Vec::new())?, into, new),
            Kind::Directory => {
                let deeper = deeper.checked_sub(1).ok_or(Errno::FBIG)?;
                // All of it goes: its modes do not matter any more.
                let inside = beneath::child_opened_up(from, name)?;
                beneath::open_up(&inside)?;
                mkdirat(into, new, Mode::RWXU)?;
                let copy = beneath::child(into, new)?;
                for entry in Dir::read_from(&inside)? {
                    let entry = entry?;
                    let name = entry.file_name().to_bytes();
                    if name != b"." && name != b".." {
                        self.entry(inside.as_fd(), name, copy.as_fd(), name, deeper)?;
                    }
                }
                Ok(())
            }
            _ => Err(Errno::OPNOTSUPP),
        }
    }

    fn file(&mut self, from: BorrowedFd<'_>, name: &[u8], into: BorrowedFd<'_>, new: &[u8]) -> Result<(), Errno> {
        let failed = |error: std::io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let file = match openat(from, name, FILE, Mode::empty()) {
            Err(Errno::ACCESS) => {
                beneath::open_up(openat(from, name, ENTRY, Mode::empty())?)?;
                openat(from, name, FILE, Mode::empty())
            }
            other => other,
        };
        let file = std::fs::File::from(file?);
        if file.metadata().map_err(failed)?.len() > self.bytes {
            return Err(Errno::FBIG);
        }
        let mut bytes = Vec::new();
        file.take(self.bytes + 1).read_to_end(&mut bytes).map_err(failed)?;
        self.bytes = self.bytes.checked_sub(bytes.len() as u64).ok_or(Errno::FBIG)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = std::fs::File::from(openat(into, new, flags, Mode::RUSR | Mode::WUSR)?);
        copy.write_all(&bytes).map_err(failed)
    }
}
