//! A file that takes a command's output whole, up to a bound: a command that never stops must not fill
//! the disk.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::private::Private;

/// Most bytes in one file.
const MOST: u64 = 1 << 30;

/// The file.
#[derive(Debug)]
pub struct Spill {
    file: File,
    /// Where it is.
    pub path: PathBuf,
    /// How many bytes it has.
    pub bytes: u64,
    most: u64,
}

impl Spill {
    /// Makes it in a capability's private directory.
    ///
    /// # Errors
    /// The system's.
    pub fn create(private: &Private) -> Result<Self, Errno> {
        let (file, path) = private.create_output()?;
        Ok(Self {
            file,
            path,
            bytes: 0,
            most: MOST,
        })
    }

    /// Takes what arrived. What cannot be written, on a full disk, say, ends the file.
    pub fn take(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.most - self.bytes).unwrap_or(usize::MAX);
        let mut rest = &bytes[..room.min(bytes.len())];
        while !rest.is_empty() {
            match self.file.write(rest) {
                Ok(written) if written > 0 => {
                    self.bytes += written as u64;
                    rest = &rest[written..];
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                _ => {
                    self.most = self.bytes;
                    return;
                }
            }
        }
    }

    /// Removes it: there is no output that it could have.
    pub fn discard(self) {
        let _ = std::fs::remove_file(self.path);
    }
}
