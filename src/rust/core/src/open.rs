//! How handles are opened: never through a link at the end, never kept by a child, never blocking.

use rustix::fs::OFlags;

/// A handle that only names a place. Elsewhere than on Linux it needs permission to read.
#[cfg(target_os = "linux")]
const PLACE: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PLACE: OFlags = OFlags::RDONLY;

/// A directory, as a place from which names are opened.
pub const DIRECTORY: OFlags = PLACE
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// A directory whose names are read.
pub const NAMES: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// A file to be read. Without `NONBLOCK` a FIFO would hold the caller before it can be refused.
pub const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An entry of any kind, to ask for its file system.
pub const ENTRY: OFlags = PLACE
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
