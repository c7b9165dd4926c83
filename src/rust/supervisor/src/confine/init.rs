//! The first process of a confined command's namespaces.
//!
//! The kernel treats the first process of a process namespace specially: signals without a handler do
//! not reach it, so that bash would ignore `kill -9 $$`, and orphans go to it. So it is one of ours.
//! When it ends, however it ends, the kernel kills all others.

#![allow(unsafe_code)]

use std::os::fd::{AsRawFd, OwnedFd};

use nix::errno::Errno;
use nix::unistd::Pid;
use rhocap_core::process::protocol::Exit;
use rustix::process::{wait, WaitOptions};

/// How the leader ended, as it goes through the pipe to the supervisor.
pub const STATUS: usize = 5;

/// Reaps whatever ends, tells the supervisor how the leader ended, and ends when nothing is left.
pub fn run(leader: Pid, status: OwnedFd) -> ! {
    crate::descriptors::keep_only(&[status.as_raw_fd()]);
    // It can be killed from outside only, needs no privilege any more, and has nothing to show.
    if super::privileges::drop_all().is_err() {
        // Nothing that keeps its privileges stays. With this process the kernel kills the leader.
        std::process::exit(126);
    }
    let mut status = Some(status);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, ended))) if pid.as_raw_nonzero().get() == leader.as_raw() => {
                let exit = match (ended.exit_status(), ended.terminating_signal()) {
                    (Some(status), _) => Exit::Exited(status),
                    (_, Some(signal)) => Exit::Signalled(signal),
                    _ => continue,
                };
                if let Some(status) = status.take() {
                    let _ = rustix::io::write(&status, &encode(exit));
                }
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => exit(0),
        }
    }
}

/// Ends this process at once, running nothing of the one it was copied from.
pub fn exit(code: i32) -> ! {
    // SAFETY: never returns.
    unsafe { libc::_exit(code) }
}

fn encode(exit: Exit) -> [u8; STATUS] {
    let (kind, number) = match exit {
        Exit::Exited(status) => (0, status),
        Exit::Signalled(signal) => (1, signal),
    };
    let mut bytes = [kind; STATUS];
    bytes[1..].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// What the pipe holds.
pub fn decode(bytes: [u8; STATUS]) -> Result<Exit, Errno> {
    let [kind, number @ ..] = bytes;
    let number = i32::from_le_bytes(number);
    match kind {
        0 => Ok(Exit::Exited(number)),
        1 => Ok(Exit::Signalled(number)),
        _ => Err(Errno::EPROTO),
    }
}
