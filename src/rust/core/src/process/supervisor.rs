//! R's side of a supervisor: the program, started by `posix_spawn`, and the socket to it.
//!
//! R may be large and has handlers of its own; `posix_spawn` shares its memory until the exec, so that
//! the start takes the same time however large R is, and no handler of R's runs in the child.

use std::ffi::{CString, OsStr};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::spawn::{posix_spawn, PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags};
use nix::sys::signal::SigSet;
use nix::unistd::Pid;
use rustix::event::PollFlags;
use rustix::fs::{openat, Mode, OFlags, CWD};
use rustix::net::{recv, sendmsg, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SocketType};
use rustix::process::{waitid, WaitId, WaitIdOptions};

use super::cloexec::socket_pair;
use super::confinement::Confinement;
use super::errno::same;
use super::mark::Mark;
use super::protocol::{frame, frame_probe, frame_start, Event, Frames, Order, Start, DESCRIPTORS};
use super::socket::{quietly, send_all};
use crate::effect::Cancel;
use crate::facts::{self, Facts, Kind};

/// How long a supervisor may take to take its order, which it does first of all.
const TAKING: Duration = Duration::from_secs(20);

/// The installed supervisor, opened once: what is replaced later does not matter.
#[derive(Debug)]
pub struct Program {
    handle: OwnedFd,
    size: u64,
    modified: f64,
    path: PathBuf,
}

fn check(handle: &OwnedFd) -> Result<Facts, Unusable> {
    let found = facts::of_handle(handle).map_err(Unusable::Missing)?;
    if found.kind != Kind::File {
        return Err(Unusable::NotRegular);
    }
    let ours = found.uid == 0 || found.uid == rustix::process::geteuid().as_raw();
    if !ours || found.mode & 0o022 != 0 {
        return Err(Unusable::Writable {
            uid: found.uid,
            mode: found.mode,
        });
    }
    Ok(found)
}

/// Why the supervisor cannot be used.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// It cannot be opened.
    #[error("it cannot be opened: {0}")]
    Missing(rustix::io::Errno),
    /// It is no regular file.
    #[error("it is no regular file")]
    NotRegular,
    /// Its content is another than when it was opened.
    #[error("it was changed after the capability was made")]
    Changed,
    /// Somebody else could change it.
    #[error("another user owns it or may write to it (owner {uid}, mode {mode:o})")]
    Writable {
        /// Its owner.
        uid: u32,
        /// Its permission bits.
        mode: u32,
    },
}

impl Program {
    /// Opens the program and checks that nobody else can have changed it.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn open(path: &Path) -> Result<Self, Unusable> {
        let handle = openat(
            CWD,
            path,
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK,
            Mode::empty(),
        )
        .map_err(Unusable::Missing)?;
        let found = check(&handle)?;
        Ok(Self {
            handle,
            size: found.size,
            modified: found.modified,
            path: path.to_owned(),
        })
    }

    /// Whether it is still what it was when it was opened.
    ///
    /// # Errors
    /// [`Unusable`].
    pub fn check(&self) -> Result<(), Unusable> {
        let found = check(&self.handle)?;
        if (found.size, found.modified) == (self.size, self.modified) {
            Ok(())
        } else {
            Err(Unusable::Changed)
        }
    }

    /// The path by which exactly this file is executed.
    fn executable(&self) -> CString {
        let by_descriptor = format!("/proc/self/fd/{}", self.handle.as_raw_fd());
        let path = if cfg!(target_os = "linux") && Path::new("/proc/self/fd").is_dir() {
            OsStr::new(&by_descriptor).as_bytes().to_vec()
        } else {
            self.path.as_os_str().as_bytes().to_vec()
        };
        // A path that was opened holds no NUL byte.
        CString::new(path).unwrap_or_default()
    }
}

/// What a command gets beside its arguments and environment.
pub struct Descriptors<'a> {
    /// Its standard input.
    pub input: BorrowedFd<'a>,
    /// Its standard output and standard error: one, so that what is written stays in order.
    pub output: BorrowedFd<'a>,
    /// Its working directory.
    pub directory: BorrowedFd<'a>,
}

/// A running supervisor.
#[derive(Debug)]
pub struct Supervisor {
    pid: Pid,
    socket: OwnedFd,
    frames: Frames,
    mark: Mark,
    reaped: bool,
}

/// What a supervisor said.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    /// This.
    Event(Event),
    /// Nothing more for now.
    Nothing,
    /// It is gone, or talks nonsense.
    Gone,
}

impl Supervisor {
    /// Starts a supervisor and gives it its order.
    ///
    /// # Errors
    /// The error of the system, also when the order is too long (`E2BIG`), is not taken in time
    /// (`ETIMEDOUT`) or not wanted any more (`ECANCELED`). Nothing runs then.
    pub fn start(
        program: &Program,
        order: &Start,
        descriptors: &Descriptors<'_>,
        cancel: &Cancel,
    ) -> Result<Self, Errno> {
        let mark = Mark::new();
        // Of the process that starts it: after a fork of R's that is the fork.
        let host = std::process::id();
        let order = frame_start(order, mark, host).map_err(|_| Errno::E2BIG)?;
        let sent = [descriptors.input, descriptors.output, descriptors.directory];
        Self::begin(program, &order, mark, &sent, cancel)
    }

    /// Starts a supervisor that builds a confinement and executes nothing.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn probe(program: &Program, confinement: &Confinement, cancel: &Cancel) -> Result<Self, Errno> {
        let order = frame_probe(confinement).map_err(|_| Errno::E2BIG)?;
        Self::begin(program, &order, Mark::new(), &[], cancel)
    }

    fn begin(
        program: &Program,
        order: &[u8],
        mark: Mark,
        descriptors: &[BorrowedFd<'_>],
        cancel: &Cancel,
    ) -> Result<Self, Errno> {
        let (ours, theirs) = socket_pair(SocketType::STREAM).map_err(same)?;
        rustix::io::ioctl_fionbio(&ours, true).map_err(same)?;
        let pid = spawn(program, theirs.as_fd())?;
        drop(theirs);
        let supervisor = Self {
            pid,
            socket: ours,
            frames: Frames::default(),
            mark,
            reaped: false,
        };
        // Dropping it hangs up, and the supervisor ends without having started anything.
        supervisor.order(order, descriptors, cancel)?;
        Ok(supervisor)
    }

    /// Sends the order. A long one goes as fast as it is taken; a supervisor that takes none is not waited
    /// for without end.
    fn order(&self, order: &[u8], descriptors: &[BorrowedFd<'_>], cancel: &Cancel) -> Result<(), Errno> {
        let begun = Instant::now();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
        let mut rest = order;
        while !rest.is_empty() {
            let mut beside = SendAncillaryBuffer::new(&mut space);
            // They come with the first byte.
            if rest.len() == order.len() && !descriptors.is_empty() {
                beside.push(SendAncillaryMessage::ScmRights(descriptors));
            }
            match sendmsg(&self.socket, &[IoSlice::new(rest)], &mut beside, quietly()) {
                Ok(sent) => rest = &rest[sent..],
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => {
                    cancel.check().map_err(|_| Errno::ECANCELED)?;
                    let left = TAKING.checked_sub(begun.elapsed()).ok_or(Errno::ETIMEDOUT)?;
                    cancel.wait_beside(&self.socket, PollFlags::OUT, left);
                }
                Err(errno) => return Err(same(errno)),
            }
        }
        Ok(())
    }

    /// The supervisor's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// What the command's processes carry.
    #[must_use]
    pub const fn mark(&self) -> Mark {
        self.mark
    }

    /// Asks it to end the command. It may have ended already, which is no error.
    pub fn cancel(&self) {
        if let Ok(order) = frame(&Order::Cancel) {
            let _ = send_all(&self.socket, &order);
        }
    }

    /// The next event.
    pub fn hear(&mut self) -> Said {
        loop {
            match self.frames.take() {
                Ok(Some(event)) => return Said::Event(event),
                Ok(None) => {}
                Err(_) => return Said::Gone,
            }
            let mut bytes = [0; 4096];
            match recv(&self.socket, &mut bytes, RecvFlags::empty()) {
                Ok((_, 0)) => return Said::Gone,
                Ok((_, received)) => self.frames.push(&bytes[..received]),
                Err(rustix::io::Errno::AGAIN) => return Said::Nothing,
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return Said::Gone,
            }
        }
    }

    /// Whether it is stopped: it sees no deadline then, and no order.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        let look = WaitIdOptions::STOPPED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.ask(look)
            .is_ok_and(|status| status.is_some_and(|status| status.stopped()))
    }

    /// Ends a supervisor that is of no use any more.
    pub fn kill(&mut self) {
        // A number that another process may have by now, because somebody else took the status of our
        // child, is not ours to signal.
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !self.reaped && self.ask(look).is_ok() {
            let _ = nix::sys::signal::kill(self.pid, nix::sys::signal::SIGKILL);
        }
    }

    fn ask(&self, look: WaitIdOptions) -> rustix::io::Result<Option<rustix::process::WaitIdStatus>> {
        let pid = rustix::process::Pid::from_raw(self.pid.as_raw()).ok_or(rustix::io::Errno::SRCH)?;
        waitid(WaitId::Pid(pid), look)
    }

    /// Tells it that nobody listens any more, so that it ends.
    pub fn hang_up(&self) {
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    /// Waits for its end and takes its status, so that no zombie stays.
    pub fn reap(&mut self) {
        if !std::mem::replace(&mut self.reaped, true) {
            // Another package's handler may have been faster.
            while nix::sys::wait::waitpid(self.pid, None) == Err(Errno::EINTR) {}
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        // One that did not come as far as its end: it must not stay as a zombie of R's.
        if !self.reaped {
            self.hang_up();
            self.kill();
            self.reap();
        }
    }
}

impl AsFd for Supervisor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn spawn(program: &Program, socket: BorrowedFd<'_>) -> Result<Pid, Errno> {
    let null = openat(CWD, c"/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()).map_err(same)?;
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_dup2(socket.as_raw_fd(), 0)?;
    for number in [1, 2] {
        actions.add_dup2(null.as_raw_fd(), number)?;
    }
    let mut attributes = PosixSpawnAttr::init()?;
    attributes.set_sigdefault(&SigSet::all())?;
    attributes.set_sigmask(&SigSet::empty())?;
    attributes.set_flags(PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK)?;
    let executable = program.executable();
    // Its environment is empty, because the command can read its parent's.
    let environment: [&CString; 0] = [];
    posix_spawn(
        executable.as_c_str(),
        &actions,
        &attributes,
        &[c"rhocap-supervisor"],
        &environment,
    )
}
