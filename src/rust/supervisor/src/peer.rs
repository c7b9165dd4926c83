//! The socket to R's side.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};

use rhocap_core::process::protocol::{frame, Event, Frames, Order, DESCRIPTORS};
use rhocap_core::process::socket::send_all;
use rustix::io::Errno;
use rustix::net::{recvmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SocketType};

/// What came from R's side.
pub enum Heard {
    /// An order.
    Order(Box<Order>),
    /// Nothing more for now.
    Nothing,
    /// R's side hung up, or talks nonsense.
    Gone,
}

/// R's side.
pub struct Peer {
    socket: OwnedFd,
    frames: Frames,
    descriptors: Vec<OwnedFd>,
    gone: bool,
}

impl Peer {
    /// The socket that is standard input; nothing when that is none.
    pub fn on_standard_input() -> Option<Self> {
        let input = std::io::stdin();
        if rustix::net::sockopt::socket_type(&input).ok()? != SocketType::STREAM {
            return None;
        }
        // Under another number, so that 0 is free for what the command gets.
        let socket = rustix::io::fcntl_dupfd_cloexec(&input, 3).ok()?;
        rustix::io::ioctl_fionbio(&socket, true).ok()?;
        Some(Self {
            socket,
            frames: Frames::default(),
            descriptors: Vec::new(),
            gone: false,
        })
    }

    /// The number of the socket.
    pub fn number(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    /// The descriptors that came with the order, once.
    pub fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.descriptors)
    }

    /// The next order.
    pub fn hear(&mut self) -> Heard {
        loop {
            match self.frames.take() {
                Ok(Some(order)) => return Heard::Order(Box::new(order)),
                Ok(None) => {}
                Err(_) => self.gone = true,
            }
            if self.gone {
                return Heard::Gone;
            }
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
            let mut beside = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = [0; 16_384];
            #[cfg(target_os = "linux")]
            let flags = RecvFlags::CMSG_CLOEXEC;
            #[cfg(not(target_os = "linux"))]
            let flags = RecvFlags::empty();
            match recvmsg(&self.socket, &mut [IoSliceMut::new(&mut bytes)], &mut beside, flags) {
                Ok(received) if received.bytes == 0 => self.gone = true,
                Ok(received) => {
                    self.frames.push(&bytes[..received.bytes]);
                    for message in beside.drain() {
                        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                            self.descriptors.extend(descriptors);
                        }
                    }
                }
                Err(Errno::AGAIN) => return Heard::Nothing,
                Err(Errno::INTR) => {}
                Err(_) => self.gone = true,
            }
        }
    }

    /// Tells R's side. When it is gone there is nobody to tell, which is no error here.
    pub fn tell(&mut self, event: &Event) {
        let Ok(bytes) = frame(event) else { return };
        // Events are few and short; a peer that does not read even these is not waited for.
        if !self.gone && send_all(&self.socket, &bytes).is_err() {
            self.gone = true;
        }
    }
}

impl AsFd for Peer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
