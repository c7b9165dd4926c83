//! Pipes and sockets that no program started beside gets: at once where the system can, else right after.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

/// A pipe: its reading and its writing end.
///
/// # Errors
/// The system's.
pub fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    #[cfg(not(target_vendor = "apple"))]
    return rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC);
    #[cfg(target_vendor = "apple")]
    return closed_at_exec(rustix::pipe::pipe()?);
}

/// Two ends of one local socket.
///
/// # Errors
/// The system's.
pub fn socket_pair(kind: SocketType) -> Result<(OwnedFd, OwnedFd), Errno> {
    use rustix::net::{socketpair, SocketFlags};
    #[cfg(not(target_vendor = "apple"))]
    return socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
    #[cfg(target_vendor = "apple")]
    return closed_at_exec(socketpair(AddressFamily::UNIX, kind, SocketFlags::empty(), None)?);
}

#[cfg(target_vendor = "apple")]
fn closed_at_exec((one, other): (OwnedFd, OwnedFd)) -> Result<(OwnedFd, OwnedFd), Errno> {
    for end in [&one, &other] {
        rustix::io::fcntl_setfd(end, rustix::io::FdFlags::CLOEXEC)?;
    }
    Ok((one, other))
}
