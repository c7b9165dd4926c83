//! What the kernel is to enforce on a command, and what it did enforce.
//!
//! R's side makes a [`Confinement`] from a capability; the supervisor builds it from the strongest
//! mechanisms that the host gives and answers with an [`Enforcement`].

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
}

/// Something in a place that stays closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cover {
    /// Its absolute path without links.
    pub path: Vec<u8>,
    /// Whether it can be read: `protect` leaves that, `deny` does not.
    pub read: bool,
    /// Whether it is a directory.
    pub directory: bool,
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
