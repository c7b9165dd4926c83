//! Sending over the socket between R's side and a supervisor.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{send, SendFlags};

/// A peer that died must not end the sender by SIGPIPE; R itself ignores it, other hosts may not.
#[must_use]
pub const fn quietly() -> SendFlags {
    #[cfg(target_os = "linux")]
    return SendFlags::NOSIGNAL;
    #[cfg(not(target_os = "linux"))]
    return SendFlags::empty();
}

/// Sends all bytes.
///
/// # Errors
/// The error of the system. A part may have been sent then.
pub fn send_all(socket: impl AsFd, bytes: &[u8]) -> Result<(), Errno> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match send(&socket, rest, quietly()) {
            Ok(sent) => rest = &rest[sent..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}
