//! What a confined command's processes tell the supervisor before the command is executed.
//!
//! A socket that keeps messages apart, and that names the sender of each by its number *here*: inside
//! a namespace of its own the leader knows only its number there.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::Pid;
use rhocap_core::process::errno::same;
use rhocap_core::process::protocol::Stage;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketType,
};

use super::view::View;
use super::Failed;

/// How long building may take: a directory may lie on a file system that does not answer.
const PATIENCE: Duration = Duration::from_secs(10);

const LENGTH: usize = 8;
const FAILED: u8 = 1;
const READY: u8 = 2;

/// What the leader found when all was built.
#[derive(Debug, Clone, Copy, Default)]
pub struct Built {
    /// The version of Landlock's interface; 0 without Landlock.
    pub landlock: u8,
    /// Whether there is a /proc.
    pub proc: bool,
}

/// The sending end.
pub struct Reporter(OwnedFd);

/// The receiving end.
pub struct Reports(OwnedFd);

/// Both ends.
pub fn pair() -> Result<(Reports, Reporter), Errno> {
    let (ours, theirs) = rhocap_core::process::cloexec::socket_pair(SocketType::SEQPACKET).map_err(same)?;
    rustix::net::sockopt::set_socket_passcred(&ours, true).map_err(same)?;
    Ok((Reports(ours), Reporter(theirs)))
}

impl Reporter {
    /// Tells of a failure.
    pub fn failed(&self, (stage, errno): Failed) {
        let mut message = [FAILED, stage as u8, 0, 0, 0, 0, 0, 0];
        message[4..].copy_from_slice(&(errno as i32).to_le_bytes());
        let _ = self.send(message);
    }

    /// Tells that all is built, and waits for nothing: what remains is the exec.
    pub fn ready(&self, built: Built, view: Option<&View>) -> Result<(), Errno> {
        let message = [READY, built.landlock, u8::from(built.proc), 0, 0, 0, 0, 0];
        let descriptors = view.map(View::descriptors);
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if let Some(descriptors) = &descriptors {
            beside.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        sendmsg(&self.0, &[IoSlice::new(&message)], &mut beside, SendFlags::NOSIGNAL)
            .map(drop)
            .map_err(same)
    }

    fn send(&self, message: [u8; LENGTH]) -> Result<(), Errno> {
        // Its reader is the supervisor: without one the command must not start.
        rustix::net::send(&self.0, &message, SendFlags::NOSIGNAL)
            .map(drop)
            .map_err(same)
    }
}

impl AsFd for Reporter {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Reports {
    /// Hears all of it, until the exec closed the other end: the leader's number here, what was built, and what the
    /// leader sees, where that is its own.
    pub fn hear(&self) -> Result<(Pid, Built, Option<View>), Failed> {
        let begun = Instant::now();
        let setup = |errno| (Stage::Setup, errno);
        let mut ready = None;
        loop {
            let rest = PATIENCE.checked_sub(begun.elapsed()).ok_or(setup(Errno::ETIMEDOUT))?;
            let rest = Timespec::try_from(rest).map_err(|_| setup(Errno::EINVAL))?;
            let mut socket = [PollFd::new(&self.0, PollFlags::IN)];
            if poll(&mut socket, Some(&rest)).is_err() {
                continue;
            }
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmCredentials(1), ScmRights(2))];
            let mut beside = RecvAncillaryBuffer::new(&mut space);
            let mut message = [0; LENGTH];
            let received = recvmsg(
                &self.0,
                &mut [IoSliceMut::new(&mut message)],
                &mut beside,
                RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC,
            );
            let (mut sender, mut descriptors) = (None, Vec::new());
            for message in beside.drain() {
                match message {
                    RecvAncillaryMessage::ScmCredentials(credentials) => sender = Some(credentials.pid),
                    RecvAncillaryMessage::ScmRights(rights) => descriptors.extend(rights),
                    _ => {}
                }
            }
            let [kind, first, second, _, number @ ..] = message;
            match (received, kind) {
                (Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR), _) => {}
                (Err(failed), _) => return Err(setup(same(failed))),
                // Closed without a word: whoever was to speak is dead.
                (Ok(received), _) if received.bytes == 0 => return ready.ok_or(setup(Errno::ECHILD)),
                (Ok(_), READY) => {
                    let leader = sender.ok_or(setup(Errno::EPROTO))?;
                    let built = Built {
                        landlock: first,
                        proc: second != 0,
                    };
                    ready = Some((
                        Pid::from_raw(leader.as_raw_nonzero().get()),
                        built,
                        View::of(descriptors),
                    ));
                }
                (Ok(_), FAILED) => {
                    return Err((
                        Stage::of(first).unwrap_or(Stage::Setup),
                        Errno::from_raw(i32::from_le_bytes(number)),
                    ));
                }
                (Ok(_), _) => return Err(setup(Errno::EPROTO)),
            }
        }
    }
}
