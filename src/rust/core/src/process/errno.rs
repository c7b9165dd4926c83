//! Error numbers of the two libraries that this package calls the system by.

/// The same number in the other library's type.
#[must_use]
pub fn same(errno: rustix::io::Errno) -> nix::errno::Errno {
    nix::errno::Errno::from_raw(errno.raw_os_error())
}
