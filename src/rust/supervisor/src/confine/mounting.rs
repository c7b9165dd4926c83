//! The calls by which mounts are made, limited and attached. All go by descriptor: nothing is looked up by
//! a path that could lead elsewhere by then.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rhocap_core::process::errno::same;
use rustix::mount::{
    fsconfig_create, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, FsMountFlags, FsOpenFlags,
    MountAttrFlags, MoveMountFlags, OpenTreeFlags,
};

/// What may be done through a mount. Never does a file there change who executes it.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Nothing can be changed.
    pub read_only: bool,
    /// Devices can be opened.
    pub devices: bool,
    /// Files can be executed.
    pub execute: bool,
}

/// For what is only read, and programs.
pub const READ: Limits = Limits {
    read_only: true,
    devices: false,
    execute: true,
};

/// For what is the command's own.
pub const OWN: Limits = Limits {
    read_only: false,
    devices: false,
    execute: false,
};

/// Options of a file system.
pub type Options<'a> = &'a [(&'a CStr, &'a CStr)];

/// A new file system in memory, mounted nowhere yet.
pub fn in_memory(options: Options<'_>) -> Result<OwnedFd, Errno> {
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    file_system(c"tmpfs", options, flags).map_err(same)
}

/// A new file system, mounted nowhere yet.
pub fn file_system(kind: &CStr, options: Options<'_>, flags: MountAttrFlags) -> rustix::io::Result<OwnedFd> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (name, value) in options {
        fsconfig_set_string(&context, *name, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, flags)
}

/// A copy of the mounts at and below something. All of them: in a user namespace the kernel does not
/// let show what a mount hides.
pub fn copy(found: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(found, c"", flags).map_err(same)
}

/// Mounts a tree on something.
pub fn attach(tree: BorrowedFd<'_>, target: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", target, c"", flags).map_err(same)
}

/// Limits all mounts of a tree.
pub fn limit(tree: BorrowedFd<'_>, limits: Limits) -> Result<(), Errno> {
    let mut attributes = libc::MOUNT_ATTR_NOSUID;
    for (set, attribute) in [
        (limits.read_only, libc::MOUNT_ATTR_RDONLY),
        (!limits.devices, libc::MOUNT_ATTR_NODEV),
        (!limits.execute, libc::MOUNT_ATTR_NOEXEC),
    ] {
        if set {
            attributes |= attribute;
        }
    }
    set(tree, attributes, true)
}

/// Adds attributes to a mount, or to all of a tree.
pub fn set(tree: BorrowedFd<'_>, attributes: u64, all: bool) -> Result<(), Errno> {
    let mut flags = libc::AT_EMPTY_PATH;
    if all {
        flags |= libc::AT_RECURSIVE;
    }
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: an empty path, and a structure of the size that is said.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            std::mem::size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(done).map(drop)
}
