//! Making the command's first process.

#![allow(unsafe_code)]

use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow};
use nix::unistd::{ForkResult, Pid};
use rhocap_core::process::errno::same;
use rhocap_core::process::group::Group;
use rhocap_core::process::mark::Mark;
use rhocap_core::process::protocol::{Stage, Start, Variable, DESCRIPTORS};

use crate::fork::fork_into;

/// What a command gets beside its arguments and environment.
pub struct Descriptors {
    input: OwnedFd,
    output: OwnedFd,
    directory: OwnedFd,
}

impl Descriptors {
    /// From what came with the order.
    pub fn of(given: Vec<OwnedFd>) -> Option<Self> {
        let [input, output, directory]: [OwnedFd; DESCRIPTORS] = given.try_into().ok()?;
        Some(Self {
            input,
            output,
            directory,
        })
    }
}

type Failed = (Stage, Errno);

/// A command as it is executed.
pub struct Command {
    arguments: Vec<CString>,
    environment: Vec<CString>,
    descriptors: Descriptors,
    mark: Mark,
}

fn strings<'a>(texts: impl Iterator<Item = &'a [u8]>) -> Result<Vec<CString>, Failed> {
    texts
        .map(CString::new)
        .collect::<Result<_, _>>()
        .map_err(|_| (Stage::Order, Errno::EINVAL))
}

impl Command {
    /// From an order.
    ///
    /// # Errors
    /// A text that holds a NUL byte.
    pub fn of(order: &Start, mark: Mark, descriptors: Descriptors) -> Result<Self, Failed> {
        Ok(Self {
            arguments: strings(order.arguments.iter().map(Vec::as_slice))?,
            environment: strings(order.environment.iter().map(Variable::as_bytes))?,
            descriptors,
            mark,
        })
    }

    /// Has this process, and what comes of it, carry the command's mark.
    pub fn mark(&self) {
        self.mark.carry();
    }

    /// Enters the working directory.
    pub fn enter_directory(&self) -> Result<(), Failed> {
        nix::unistd::fchdir(&self.descriptors.directory).map_err(|errno| (Stage::WorkingDirectory, errno))
    }

    /// The working directory, for one who will see it from another root.
    #[cfg(target_os = "linux")]
    pub fn place(&self) -> Result<crate::confine::Directory, Failed> {
        self.enter_directory()?;
        let place = crate::confine::Directory::current();
        // The supervisor keeps no directory busy.
        let _ = nix::unistd::chdir(c"/");
        place.map_err(|errno| (Stage::WorkingDirectory, errno))
    }

    /// The descriptors of its input and output.
    #[cfg(target_os = "linux")]
    pub fn streams(&self) -> [RawFd; 2] {
        [self.descriptors.input.as_raw_fd(), self.descriptors.output.as_raw_fd()]
    }

    /// Sets session, signals and descriptors up.
    pub fn prepare(&self) -> Result<(), Failed> {
        let setup = |errno| (Stage::Setup, errno);
        // A session of its own: what a terminal sends to R's group does not reach it.
        nix::unistd::setsid().map_err(setup)?;
        default_signals();
        place(&self.descriptors.input, 0).map_err(setup)?;
        place(&self.descriptors.output, 1).map_err(setup)?;
        place(&self.descriptors.output, 2).map_err(setup)?;
        close_at_exec_from(3);
        Ok(())
    }

    /// Turns this process into the command; comes back only when that failed.
    pub fn execute(&self) -> Failed {
        match nix::unistd::execve(&self.arguments[0], &self.arguments, &self.environment) {
            Err(errno) => (Stage::Execute, errno),
            Ok(never) => match never {},
        }
    }
}

/// Starts the command, unrestricted.
///
/// # Errors
/// Where it failed, and the error number. No process of it is left then.
pub fn start(command: Command, group: &mut Option<Group>) -> Result<Pid, Failed> {
    let (read, write) = rhocap_core::process::cloexec::pipe().map_err(|errno| (Stage::Fork, same(errno)))?;
    let parent = nix::unistd::getpid();
    match fork_into(group).map_err(|errno| (Stage::Fork, errno))? {
        ForkResult::Child => {
            let (stage, errno) = become_command(&command, parent);
            let mut report = [0; 5];
            report[0] = stage as u8;
            report[1..].copy_from_slice(&(errno as i32).to_le_bytes());
            let _ = nix::unistd::write(&write, &report);
            // SAFETY: ends this process without running anything of its parent's.
            unsafe { libc::_exit(127) }
        }
        ForkResult::Parent { child } => {
            drop((write, command));
            match report(&read) {
                None => Ok(child),
                Some(failed) => {
                    let _ = nix::sys::wait::waitpid(child, None);
                    Err(failed)
                }
            }
        }
    }
}

/// What the child says of its failure. Nothing when the pipe was closed by its exec.
fn report(pipe: &OwnedFd) -> Option<Failed> {
    let mut report = [0; 5];
    loop {
        match rustix::io::read(pipe, &mut report) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(5) => {
                let [stage, errno @ ..] = report;
                return Some((
                    Stage::of(stage).unwrap_or(Stage::Setup),
                    Errno::from_raw(i32::from_le_bytes(errno)),
                ));
            }
            _ => return None,
        }
    }
}

/// Turns the child into the command; comes back only when that failed.
fn become_command(command: &Command, parent: Pid) -> Failed {
    command.mark();
    let tried = tie_to(parent)
        .map_err(|errno| (Stage::Setup, errno))
        .and_then(|()| command.enter_directory())
        .and_then(|()| command.prepare());
    match tried {
        Err(failed) => failed,
        Ok(()) => command.execute(),
    }
}

/// Has the kernel kill the child when the supervisor dies. It must not have died before.
pub fn tie_to(parent: Pid) -> Result<(), Errno> {
    #[cfg(target_os = "linux")]
    tie()?;
    if nix::unistd::getppid() == parent {
        Ok(())
    } else {
        Err(Errno::ESRCH)
    }
}

/// Has the kernel kill this process when its parent dies.
#[cfg(target_os = "linux")]
pub fn tie() -> Result<(), Errno> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
}

/// Default actions and nothing blocked, whatever R and the supervisor set.
pub fn default_signals() {
    for signal in 1..=64 {
        // SAFETY: the default action runs no code of ours. Numbers without a signal are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
        // The C library keeps two signals to itself, and its posix_spawn leaves them ignored. The
        // kernel's own structure is all zeros for the default action.
        #[cfg(target_os = "linux")]
        // SAFETY: the structure has 32 bytes on 64-bit systems, and the set of signals 8.
        unsafe {
            let action = [0_u64; 4];
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                action.as_ptr(),
                std::ptr::null::<u64>(),
                8,
            );
        }
    }
    let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
}

/// Gives a descriptor one of the three standard numbers. Ours start at 3, so none is in the way.
fn place(descriptor: &OwnedFd, number: RawFd) -> Result<(), Errno> {
    // SAFETY: 0, 1 and 2 are owned by nobody here; the copy has no close-on-exec flag.
    Errno::result(unsafe { libc::dup2(descriptor.as_fd().as_raw_fd(), number) }).map(drop)
}

/// Marks every descriptor from `first` on to be closed by exec, whoever left it open.
fn close_at_exec_from(first: RawFd) {
    #[cfg(target_os = "linux")]
    {
        const CLOEXEC: libc::c_uint = 4; // CLOSE_RANGE_CLOEXEC, Linux 5.11
        #[allow(clippy::cast_sign_loss)]
        // SAFETY: sets a flag on descriptors.
        let set = unsafe { libc::syscall(libc::SYS_close_range, first as libc::c_uint, libc::c_uint::MAX, CLOEXEC) };
        if set == 0 {
            return;
        }
    }
    // SAFETY: asks for a number and sets flags; a number without a descriptor is refused.
    unsafe {
        let most = libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 1 << 20);
        for descriptor in first..RawFd::try_from(most).unwrap_or(RawFd::MAX) {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}
