//! The file that takes new content, under a random name beside the entry.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use rustix::fs::{openat, unlinkat, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::facts::{self, Facts};
use crate::outcome::Refusal;

/// How names of unfinished files start.
pub const TEMPORARY_PREFIX: &str = ".tmp-rhocap-";

/// A file of a random name, removed unless kept.
pub struct Temporary {
    parent: Arc<OwnedFd>,
    /// The random name.
    pub name: String,
    /// The file, open for writing.
    pub handle: OwnedFd,
    /// Which file it is.
    pub facts: Facts,
    present: bool,
    stuck: Arc<AtomicBool>,
}

impl Temporary {
    /// Makes one. `stuck` will tell whether it could not be removed.
    ///
    /// # Errors
    /// The system's.
    pub fn make(parent: &Arc<OwnedFd>, mode: Mode, stuck: &Arc<AtomicBool>) -> Result<Self, Refusal> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let name = format!("{TEMPORARY_PREFIX}{}", crate::random::hex(8));
            match openat(parent, name.as_str(), flags, mode) {
                Ok(handle) => {
                    let facts = facts::of_handle(&handle)?;
                    return Ok(Self {
                        parent: Arc::clone(parent),
                        name,
                        handle,
                        facts,
                        present: true,
                        stuck: Arc::clone(stuck),
                    });
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// It has its place now, or stays on purpose.
    pub fn keep(&mut self) {
        self.present = false;
    }

    /// Removes it.
    pub fn remove(&mut self) {
        if std::mem::take(&mut self.present) {
            let removed = unlinkat(&self.parent, self.name.as_str(), AtFlags::empty());
            if !matches!(removed, Ok(()) | Err(Errno::NOENT)) {
                self.stuck.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        self.remove();
    }
}
