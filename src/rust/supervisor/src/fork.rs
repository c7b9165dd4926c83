//! Making a process in the control group that it is to be in.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::unistd::ForkResult;
use rhocap_core::process::group::Group;

/// Forks. The child is in the group from its first moment: moving it there later takes a lock that
/// waits for all processors (19 ms, measured). Where that cannot be, the group is given up.
pub fn fork_into(group: &mut Option<Group>) -> Result<ForkResult, Errno> {
    #[cfg(target_os = "linux")]
    if let Some(into) = group {
        use std::os::fd::{AsFd, AsRawFd};
        // SAFETY: all zeros is a value of it, and says nothing.
        let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
        arguments.flags = 0x2_0000_0000; // CLONE_INTO_CGROUP, Linux 5.7
        arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
        arguments.cgroup = u64::from(into.as_fd().as_raw_fd().unsigned_abs());
        // SAFETY: this program has one thread, so that the child, which has a copy of all memory, may do
        // whatever the parent may. The C library is not told of it; nothing that the child calls asks.
        let made = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) };
        if made == 0 {
            return Ok(ForkResult::Child);
        }
        if let Some(child) = i32::try_from(made).ok().filter(|child| *child > 0) {
            let child = nix::unistd::Pid::from_raw(child);
            return Ok(ForkResult::Parent { child });
        }
        let _ = into.remove();
        *group = None;
    }
    let _ = group;
    // SAFETY: as above.
    unsafe { nix::unistd::fork() }
}
