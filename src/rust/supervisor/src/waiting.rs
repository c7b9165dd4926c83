//! Waiting for the socket, a child's end, or a time, whichever is first.

#![allow(unsafe_code)]

use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::sys::signal::{sigaction, SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal};

static ASKED_TO_END: AtomicBool = AtomicBool::new(false);

extern "C" fn note(signal: i32) {
    if signal == Signal::SIGTERM as i32 {
        ASKED_TO_END.store(true, Ordering::Relaxed);
    }
}

/// Sets signals up: a child's end and SIGTERM are only noticed while we wait, so that none is missed
/// between looking and waiting; what a terminal sends is not for us.
pub fn prepare() {
    let handle = |handler, signals: &[Signal]| {
        let action = SigAction::new(handler, SaFlags::SA_NOCLDSTOP, SigSet::empty());
        for signal in signals {
            // SAFETY: the handler only stores a flag, which a signal handler may do.
            let _ = unsafe { sigaction(*signal, &action) };
        }
    };
    handle(SigHandler::Handler(note), &[Signal::SIGCHLD, Signal::SIGTERM]);
    handle(
        SigHandler::SigIgn,
        &[Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT, Signal::SIGPIPE],
    );
    let mut blocked = SigSet::empty();
    blocked.add(Signal::SIGCHLD);
    blocked.add(Signal::SIGTERM);
    let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None);
}

/// Whether somebody sent us SIGTERM: a wish to end, as an order to cancel is.
pub fn asked_to_end() -> bool {
    ASKED_TO_END.load(Ordering::Relaxed)
}

/// Waits until one of the descriptors can be read, a signal came, or the time is over.
pub fn wait<'a>(watched: impl IntoIterator<Item = BorrowedFd<'a>>, most: Option<Duration>) {
    use nix::poll::{PollFd, PollFlags};
    let mut sockets: Vec<PollFd<'_>> = watched
        .into_iter()
        .map(|watched| PollFd::new(watched, PollFlags::POLLIN))
        .collect();
    #[cfg(target_os = "linux")]
    {
        let most = most.map(nix::sys::time::TimeSpec::from_duration);
        let _ = nix::poll::ppoll(&mut sockets, most, Some(SigSet::empty()));
    }
    #[cfg(not(target_os = "linux"))]
    {
        // There is no ppoll: signals are let in for a moment, and looked for often.
        const SLICE: Duration = Duration::from_millis(5);
        let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
        let slice = most.unwrap_or(SLICE).min(SLICE);
        let milliseconds = u16::try_from(slice.as_millis()).unwrap_or(u16::MAX);
        let _ = nix::poll::poll(&mut sockets, milliseconds);
        let mut blocked = SigSet::empty();
        blocked.add(Signal::SIGCHLD);
        blocked.add(Signal::SIGTERM);
        let _ = nix::sys::signal::sigprocmask(SigmaskHow::SIG_SETMASK, Some(&blocked), None);
    }
}
