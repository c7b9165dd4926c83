//! What the kernel is to enforce on a command, and what it did enforce.
//!
//! R's side makes a [`Confinement`] from a capability; the supervisor builds it from the strongest
//! mechanisms that the host gives and answers with an [`Enforcement`].

use super::protocol::{Malformed, Reader, Writer};
use crate::facts::Kind;

/// The words for mechanisms. Landlock is named with the version of its interface: `landlock:7`.
pub mod mechanism {
    /// No identity outside, and no capability over what is outside.
    pub const USER_NAMESPACE: &str = "user_namespace";
    /// What is not granted is not there.
    pub const MOUNT_NAMESPACE: &str = "mount_namespace";
    /// Processes outside have no number.
    pub const PID_NAMESPACE: &str = "pid_namespace";
    /// No network interface, and no abstract socket of the host.
    pub const NETWORK_NAMESPACE: &str = "network_namespace";
    /// No System V objects and message queues of the host.
    pub const IPC_NAMESPACE: &str = "ipc_namespace";
    /// Landlock, without its version.
    pub const LANDLOCK: &str = "landlock";
    /// System calls refused.
    pub const SECCOMP: &str = "seccomp";
    /// Executing a file gives no privilege.
    pub const NO_NEW_PRIVS: &str = "no_new_privs";
    /// Every capability dropped, and none to be had again.
    pub const CAPABILITIES_DROPPED: &str = "capabilities_dropped";
    /// The bounds that were asked for.
    pub const RLIMITS: &str = "rlimits";
}

/// The words for what the mechanisms do not cover.
pub mod gap {
    /// Files outside can be looked at by `stat`, and those that the user owns changed by `chmod`,
    /// `chown`, `utime` and `setxattr`.
    pub const METADATA: &str = "metadata";
    /// Which processes the host runs can be found out, and their priorities and processors.
    pub const PROCESS_LIST: &str = "process_list";
    /// There is no /proc: programs that need one fail. No gap in what is enforced.
    pub const NO_PROC: &str = "no_proc";
}

/// What the kernel is to enforce on a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The directories that the command may see, outer ones first.
    pub places: Vec<Place>,
    /// What stays closed inside of them, outer ones first.
    pub covers: Vec<Cover>,
    /// Other spellings of places: a path, and where a symbolic link there leads.
    pub links: Vec<(Vec<u8>, Vec<u8>)>,
    /// Whether the command may use the host's network.
    pub network: bool,
    /// Bounds on what it may take.
    pub bounds: Bounds,
}

/// A directory that a command may see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Its absolute path without links.
    pub path: Vec<u8>,
    /// Its device. What stands at the path must be this directory.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Whether the command may write there.
    pub write: bool,
    /// Whether file systems mounted below it are seen.
    pub mounts: bool,
    /// Whether nothing but its names, and those in directories below, are seen. Where mounts close what
    /// is closed, no place needs that.
    pub names: bool,
}

/// Something in a place that stays closed, or at least where it is: it cannot be renamed or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// Its absolute path; what is above it is no link.
    pub path: Vec<u8>,
    /// What is closed of it.
    pub closes: Closes,
    /// What it is.
    pub kind: Standing,
}

/// What a command cannot do with something that is covered, the strictest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Closes {
    /// Anything: `deny`.
    All,
    /// Write to it: `protect`.
    Writing,
    /// Rename or remove it.
    Moving,
}

/// What stands at a path that is covered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Standing {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A link. What it leads to is covered by itself.
    Link,
}

impl Standing {
    /// What something is that is no link.
    #[must_use]
    pub fn of(kind: Kind) -> Self {
        match kind {
            Kind::Directory => Self::Directory,
            _ => Self::File,
        }
    }
}

/// Bounds on what a command may take; none where nothing is said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Most processes at once.
    pub processes: Option<u64>,
    /// Most bytes of address space of one process.
    pub memory: Option<u64>,
    /// Largest file that is written, in bytes.
    pub file_size: Option<u64>,
    /// Most seconds of CPU time of one process.
    pub cpu: Option<u64>,
    /// Most open files of one process.
    pub open_files: Option<u64>,
}

/// What was enforced, by which mechanisms, and what they do not cover: words of closed sets, as they
/// stand in receipts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Enforcement {
    /// The mechanisms.
    pub mechanisms: Vec<String>,
    /// What they do not cover.
    pub gaps: Vec<String>,
}

impl Enforcement {
    /// Whether a mechanism is among them.
    #[must_use]
    pub fn has(&self, mechanism: &str) -> bool {
        self.mechanisms.iter().any(|known| known == mechanism)
    }
}

impl Confinement {
    pub(super) fn write(&self, body: &mut Writer) {
        body.count(self.places.len());
        for place in &self.places {
            body.bytes(&place.path);
            body.long(place.device);
            body.long(place.inode);
            body.flag(place.write);
            body.flag(place.mounts);
            body.flag(place.names);
        }
        body.count(self.covers.len());
        for cover in &self.covers {
            body.bytes(&cover.path);
            body.byte(cover.closes as u8);
            body.byte(cover.kind as u8);
        }
        body.count(self.links.len());
        for (path, target) in &self.links {
            body.bytes(path);
            body.bytes(target);
        }
        body.flag(self.network);
        for bound in self.bounds.all() {
            body.optional(bound);
        }
    }

    pub(super) fn read(body: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut places = Vec::new();
        for _ in 0..body.count()? {
            places.push(Place {
                path: path(body)?,
                device: body.long()?,
                inode: body.long()?,
                write: body.flag()?,
                mounts: body.flag()?,
                names: body.flag()?,
            });
        }
        let mut covers = Vec::new();
        for _ in 0..body.count()? {
            covers.push(Cover {
                path: path(body)?,
                closes: match body.byte()? {
                    0 => Closes::All,
                    1 => Closes::Writing,
                    2 => Closes::Moving,
                    _ => return Err(Malformed("a cover closes no such thing")),
                },
                kind: match body.byte()? {
                    0 => Standing::File,
                    1 => Standing::Directory,
                    2 => Standing::Link,
                    _ => return Err(Malformed("a cover is of no such kind")),
                },
            });
        }
        let mut links = Vec::new();
        for _ in 0..body.count()? {
            let from = path(body)?;
            let target = body.text()?;
            if target.is_empty() {
                return Err(Malformed("a link leads nowhere"));
            }
            links.push((from, target));
        }
        let network = body.flag()?;
        let bounds = Bounds {
            processes: body.optional()?,
            memory: body.optional()?,
            file_size: body.optional()?,
            cpu: body.optional()?,
            open_files: body.optional()?,
        };
        Ok(Self {
            places,
            covers,
            links,
            network,
            bounds,
        })
    }
}

/// An absolute path of plain names: what is mounted must not depend on what `..` means there.
fn path(body: &mut Reader<'_>) -> Result<Vec<u8>, Malformed> {
    let path = body.text()?;
    let refused = Err(Malformed("a path is not absolute and plain"));
    match path.split_first() {
        Some((b'/', [])) => Ok(path),
        Some((b'/', rest))
            if rest
                .split(|byte| *byte == b'/')
                .all(|name| !matches!(name, b"" | b"." | b"..")) =>
        {
            Ok(path)
        }
        _ => refused,
    }
}

impl Bounds {
    /// All of them, in the order of the wire.
    #[must_use]
    pub const fn all(&self) -> [Option<u64>; 5] {
        [self.processes, self.memory, self.file_size, self.cpu, self.open_files]
    }
}

impl Enforcement {
    pub(super) fn write(&self, body: &mut Writer) {
        words(&self.mechanisms, body);
        words(&self.gaps, body);
    }

    pub(super) fn read(body: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            mechanisms: read_words(body)?,
            gaps: read_words(body)?,
        })
    }
}

pub(super) fn words(words: &[String], body: &mut Writer) {
    body.count(words.len());
    for word in words {
        body.bytes(word.as_bytes());
    }
}

/// Words as the sets have them: they go into receipts as they are.
pub(super) fn read_words(body: &mut Reader<'_>) -> Result<Vec<String>, Malformed> {
    let plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':');
    let mut words = Vec::new();
    for _ in 0..body.count()? {
        let word = body.text()?;
        if word.is_empty() || word.len() > 64 || !word.iter().all(plain) {
            return Err(Malformed("a word is none"));
        }
        words.push(String::from_utf8(word).map_err(|_| Malformed("a word is none"))?);
    }
    Ok(words)
}
