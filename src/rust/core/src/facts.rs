//! What the kernel says of an open handle or an entry: identity, mount, kind, links, owner, size.

use std::os::fd::AsFd;

use rustix::io::Errno;
use serde::Serialize;

/// Which object it is, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Identity {
    /// The device number.
    pub device: u64,
    /// The inode number.
    pub inode: u64,
}

/// The kind of a file system object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// Something else.
    Other,
}

impl Kind {
    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Directory => "directory",
            Self::Symlink => "symlink",
            Self::Fifo => "fifo",
            Self::Socket => "socket",
            Self::Device => "device",
            Self::Other => "other",
        }
    }

    fn from_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0o100_000 => Self::File,
            0o040_000 => Self::Directory,
            0o120_000 => Self::Symlink,
            0o010_000 => Self::Fifo,
            0o140_000 => Self::Socket,
            0o020_000 | 0o060_000 => Self::Device,
            _ => Self::Other,
        }
    }
}

/// What tells an object from another that has its number later. Seconds since 1970 and nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Since {
    /// When it was made: nobody can set it, and nothing that is done to the object changes it.
    Made(i64, u32),
    /// When its content, names or mode were changed last, which nobody can set either: where the file system
    /// does not tell when it was made, and of a file with several names: who may not write to it by the one
    /// may do so by another.
    Changed(i64, u32),
}

/// The facts of one object.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    /// Which object.
    pub identity: Identity,
    /// Which mount it was reached through; the device where the system has no mount numbers.
    pub mount: u64,
    /// Its kind.
    pub kind: Kind,
    /// How many names it has.
    pub links: u64,
    /// Permission bits, with set-user-id and its like.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Last change of the content, seconds since 1970.
    pub modified: f64,
    /// Since when it is this object.
    pub since: Since,
    /// When its content, names or mode were changed last, which nobody can set: seconds since 1970 and nanoseconds.
    pub changed: (i64, u32),
}

/// The facts of an open handle.
///
/// # Errors
/// The error of the system call.
pub fn of_handle(handle: impl AsFd) -> Result<Facts, Errno> {
    imp::of_handle(handle.as_fd())
}

/// The facts of the entry `name` of a directory; a symbolic link is not followed.
///
/// # Errors
/// The error of the system call.
pub fn of_entry(directory: impl AsFd, name: &[u8]) -> Result<Facts, Errno> {
    imp::of_entry(directory.as_fd(), name)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::os::fd::{AsRawFd, BorrowedFd};

    use rustix::fs::{statx, AtFlags, Statx, StatxFlags};
    use rustix::io::Errno;

    use super::{Facts, Identity, Kind, Since};

    const WANTED: StatxFlags = StatxFlags::BASIC_STATS
        .union(StatxFlags::MNT_ID)
        .union(StatxFlags::BTIME);

    pub fn of_handle(handle: BorrowedFd<'_>) -> Result<Facts, Errno> {
        let found = statx(handle, c"", AtFlags::EMPTY_PATH | AtFlags::NO_AUTOMOUNT, WANTED)?;
        if StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID) {
            return Ok(facts(&found, found.stx_mnt_id));
        }
        // Before Linux 5.8 only fdinfo tells the mount.
        Ok(facts(&found, mount_of_descriptor(handle).ok_or(Errno::OPNOTSUPP)?))
    }

    pub fn of_entry(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Facts, Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let found = statx(directory, name, flags, WANTED)?;
        if StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::MNT_ID) {
            return Ok(facts(&found, found.stx_mnt_id));
        }
        let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::CLOEXEC;
        let entry = rustix::fs::openat(directory, name, flags, rustix::fs::Mode::empty())?;
        of_handle(std::os::fd::AsFd::as_fd(&entry))
    }

    fn mount_of_descriptor(handle: BorrowedFd<'_>) -> Option<u64> {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{}", handle.as_raw_fd())).ok()?;
        info.lines()
            .find_map(|line| line.strip_prefix("mnt_id:"))?
            .trim()
            .parse()
            .ok()
    }

    fn since(found: &Statx) -> Since {
        let told = StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::BTIME);
        let several = found.stx_nlink > 1 && Kind::from_mode(u32::from(found.stx_mode)) != Kind::Directory;
        if told && !several {
            Since::Made(found.stx_btime.tv_sec, found.stx_btime.tv_nsec)
        } else {
            Since::Changed(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec)
        }
    }

    fn facts(found: &Statx, mount: u64) -> Facts {
        #[allow(clippy::cast_precision_loss)]
        let seconds = |at: &rustix::fs::StatxTimestamp| at.tv_sec as f64 + f64::from(at.tv_nsec) / 1_000_000_000.0;
        Facts {
            identity: Identity {
                device: rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor),
                inode: found.stx_ino,
            },
            mount,
            kind: Kind::from_mode(u32::from(found.stx_mode)),
            links: u64::from(found.stx_nlink),
            mode: u32::from(found.stx_mode) & 0o7777,
            uid: found.stx_uid,
            gid: found.stx_gid,
            size: found.stx_size,
            modified: seconds(&found.stx_mtime),
            since: since(found),
            changed: (found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::os::fd::BorrowedFd;

    use rustix::fs::{fstat, statat, AtFlags, Stat};
    use rustix::io::Errno;

    use super::{Facts, Identity, Kind, Since};

    pub fn of_handle(handle: BorrowedFd<'_>) -> Result<Facts, Errno> {
        fstat(handle).map(|found| facts(&found))
    }

    pub fn of_entry(directory: BorrowedFd<'_>, name: &[u8]) -> Result<Facts, Errno> {
        statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(|found| facts(&found))
    }

    // Field types differ between systems; a bound keeps each conversion in one place.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        clippy::cast_lossless,
        clippy::unnecessary_cast
    )]
    fn facts(found: &Stat) -> Facts {
        Facts {
            identity: Identity {
                device: found.st_dev as u64,
                inode: found.st_ino as u64,
            },
            mount: found.st_dev as u64,
            kind: Kind::from_mode(found.st_mode as u32),
            links: found.st_nlink as u64,
            mode: found.st_mode as u32 & 0o7777,
            uid: found.st_uid,
            gid: found.st_gid,
            size: found.st_size as u64,
            modified: found.st_mtime as f64 + found.st_mtime_nsec as f64 / 1_000_000_000.0,
            since: Since::Changed(found.st_ctime as i64, found.st_ctime_nsec as u32),
            changed: (found.st_ctime as i64, found.st_ctime_nsec as u32),
        }
    }
}

/// Whether the handle lies on a file system that shows kernel state instead of stored files.
///
/// # Errors
/// The error of the system call.
#[cfg(target_os = "linux")]
pub fn is_special_filesystem(handle: impl AsFd) -> Result<bool, Errno> {
    // linux/magic.h and the file systems' own sources.
    const SPECIAL: &[u32] = &[
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0x7472_6163, // tracefs
        0x6462_6720, // debugfs
        0x7363_6673, // securityfs
        0xf97c_ff8c, // selinuxfs
        0x4346_5346, // smackfs
        0x5a3c_69f0, // apparmorfs
        0xcafe_4a11, // bpf
        0x6165_676c, // pstore
        0xde5e_81e4, // efivarfs
        0x6265_6570, // configfs
        0x1cd1,      // devpts
        0x1980_0202, // mqueue
        0x4249_4e4d, // binfmt_misc
        0x6759_6969, // rpc_pipefs
        0x6573_5543, // fusectl
        0x6e73_6673, // nsfs
        0xabba_1974, // xenfs
        0x0187,      // autofs
    ];
    let found = rustix::fs::fstatfs(handle)?;
    // The width of f_type differs between architectures; magic numbers have 32 bits.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let magic = found.f_type as u32;
    Ok(SPECIAL.contains(&magic))
}

/// Whether the handle lies on a file system that shows kernel state instead of stored files.
///
/// # Errors
/// The error of the system call.
#[cfg(target_vendor = "apple")]
pub fn is_special_filesystem(handle: impl AsFd) -> Result<bool, Errno> {
    let found = rustix::fs::fstatfs(handle)?;
    let name: Vec<u8> = found
        .f_fstypename
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| byte.to_ne_bytes()[0])
        .collect();
    Ok(matches!(name.as_slice(), b"devfs" | b"autofs"))
}

/// Whether the handle lies on a file system that shows kernel state instead of stored files.
///
/// # Errors
/// The error of the system call.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn is_special_filesystem(_handle: impl AsFd) -> Result<bool, Errno> {
    Ok(false)
}
