//! Where the kernel enforces nothing for us.

use std::convert::Infallible;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::unistd::Pid;
use rhocap_core::process::confinement::{Confinement, Cover, Enforcement};
use rhocap_core::process::protocol::{Exit, Stage};

use crate::leader::Command;

/// What is never there.
pub struct Confined {
    pub leader: Pid,
    pub init: Option<Init>,
    pub view: Option<View>,
    pub enforcement: Enforcement,
}

/// What is never there.
pub struct Init {
    pub pid: Pid,
    never: Infallible,
}

impl Init {
    pub fn hear(&self) -> Option<Exit> {
        match self.never {}
    }
}

/// What is never there.
pub struct View(Infallible);

impl View {
    pub fn opened(&self, _: &[Cover]) -> Vec<u32> {
        match self.0 {}
    }
}

impl AsFd for Init {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self.never {}
    }
}

/// Refuses.
pub fn start(_: &Confinement, _: &[String], _: Option<&Command>) -> Result<Confined, (Stage, Errno)> {
    Err((Stage::Namespace, Errno::ENOSYS))
}
