//! Missing directories above a new file: made one by one from the admitted one, removed again when the
//! file does not come to be.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{fsync, mkdirat, openat, unlinkat, AtFlags, Mode};
use rustix::io::Errno;

use crate::facts::{self, Kind};
use crate::open::{DIRECTORY, NAMES};
use crate::outcome::{Code, Refusal};

/// Directories made for a new file, from the top down.
#[derive(Default)]
pub struct Directories {
    made: Vec<(Arc<OwnedFd>, Vec<u8>)>,
    handles: Vec<Arc<OwnedFd>>,
}

impl Directories {
    /// Makes what is missing, or nothing.
    ///
    /// # Errors
    /// `Contended`, or the system's.
    pub fn make(parent: &Arc<OwnedFd>, names: &[Vec<u8>]) -> Result<Self, Refusal> {
        let mut directories = Self {
            made: Vec::new(),
            handles: Vec::new(),
        };
        let mut at = Arc::clone(parent);
        for name in names {
            match directories.step(&at, name) {
                Ok(handle) => at = handle,
                Err(refusal) => {
                    directories.undo();
                    return Err(refusal);
                }
            }
        }
        Ok(directories)
    }

    fn step(&mut self, at: &Arc<OwnedFd>, name: &[u8]) -> Result<Arc<OwnedFd>, Refusal> {
        match mkdirat(at, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => self.made.push((Arc::clone(at), name.to_vec())),
            // Another writer makes the same tree; that is no contention.
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        // A link that was put there meanwhile was not admitted.
        let handle = match openat(at, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(Code::Contended.into()),
            other => other?,
        };
        let (above, here) = (facts::of_handle(at)?, facts::of_handle(&handle)?);
        if here.kind != Kind::Directory || here.mount != above.mount {
            return Err(Code::Contended.into());
        }
        let handle = Arc::new(handle);
        self.handles.push(Arc::clone(&handle));
        Ok(handle)
    }

    /// The innermost, in which the file will be.
    pub fn last(&self) -> Option<&Arc<OwnedFd>> {
        self.handles.last()
    }

    /// Removes what was made and is still empty.
    pub fn undo(&self) {
        for (at, name) in self.made.iter().rev() {
            let _ = unlinkat(at, name.as_slice(), AtFlags::REMOVEDIR);
        }
    }

    /// Writes the changed directories to stable storage; whether all could be.
    pub fn sync(&self, parent: &OwnedFd) -> bool {
        std::iter::once(parent)
            .chain(self.made.iter().map(|(at, _)| at.as_ref()))
            .all(|directory| {
                openat(directory.as_fd(), c".", NAMES, Mode::empty())
                    .and_then(fsync)
                    .is_ok()
            })
    }
}
