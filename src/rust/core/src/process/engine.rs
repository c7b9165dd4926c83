//! One command from its start to its end, on the thread that calls.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use rustix::event::{poll, PollFd, PollFlags, Timespec};

use super::cloexec;
use super::confinement::Enforcement;
use super::errno::same;
use super::group::Group;
use super::lost::{sweep, Swept};
use super::output::{Capture, Kept};
use super::protocol::{End, Event, Exit, Stage, Start};
use super::supervisor::{Descriptors, Program, Said, Supervisor};
use crate::effect::{Bell, Cancel};
use crate::redact::{Redactor, Stream};

/// How long the pipes are read after the tree is gone: somebody outside of it may hold them open.
const DRAIN: Duration = Duration::from_millis(250);

/// How often it is looked whether the supervisor was stopped, of which nothing wakes us.
const LOOK: Duration = Duration::from_millis(20);

/// How much longer than the command's own times the supervisor may take before it counts as lost. One that
/// was killed or stopped is noticed at once; a thousand processes on a busy machine make it slow.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is to run.
#[derive(Debug)]
pub struct Command<'a> {
    /// Program, environment, times.
    pub start: Start,
    /// The bytes of its standard input; none is an input at its end.
    pub input: Option<&'a [u8]>,
    /// Its working directory.
    pub directory: BorrowedFd<'a>,
    /// Most bytes of output that are kept.
    pub output_bytes: u64,
    /// What masks secrets in the output, before anything else sees it.
    pub redactor: &'a Arc<Redactor>,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// It could not be started: where, and the error number.
    NotStarted(Stage, i32),
    /// It ran, and this became of it.
    Ended(End),
    /// The supervisor was killed or stopped.
    SupervisorLost(Lost),
}

/// What is known of a command whose supervisor was lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// How its leader ended, when that was still told.
    pub leader: Option<Exit>,
    /// What became of its processes.
    pub swept: Swept,
}

/// One signal that was sent: its number, to how many processes, how long after the start.
pub type Sent = (i32, u32, Duration);

/// What came of a command.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// Its output, masked.
    pub output: Kept,
    /// How many places of it were masked.
    pub masked: u64,
    /// The signals that were sent.
    pub signals: Vec<Sent>,
    /// What was enforced on it. None for an unrestricted command, and where confining it failed.
    pub enforcement: Option<Enforcement>,
    /// From the start to the end of the call.
    pub duration: Duration,
}

/// Who hears the output as it arrives: what is certain to be no secret, and what is likely to come next and may be
/// shown, see [`crate::redact::Ahead`].
pub type Hear<'a> = dyn FnMut(&[u8], &[u8]) + 'a;

/// Runs a command. `on_output` gets each piece of output as it arrives.
///
/// # Errors
/// The error of the system when there are no pipes, or the supervisor cannot be started or does not take
/// its order.
pub fn run(program: &Program, command: &Command<'_>, cancel: &Cancel, on_output: &mut Hear<'_>) -> Result<Ran, Errno> {
    let started = Instant::now();
    let pipe = || cloexec::pipe().map_err(same);
    let (input, feed) = pipe()?;
    let (output, theirs) = pipe()?;
    let descriptors = Descriptors {
        input: input.as_fd(),
        output: theirs.as_fd(),
        directory: command.directory,
    };
    let supervisor = match Supervisor::start(program, &command.start, &descriptors, cancel) {
        // Longer than a frame: the kernel would say the same of less.
        Err(Errno::E2BIG) => {
            return Ok(Ran {
                ending: Ending::NotStarted(Stage::Execute, Errno::E2BIG as i32),
                output: Capture::new(0).finish(),
                masked: 0,
                signals: Vec::new(),
                enforcement: None,
                duration: started.elapsed(),
            });
        }
        started => started?,
    };
    drop((input, theirs));
    let feed = command
        .input
        .filter(|bytes| !bytes.is_empty())
        .map(|bytes| (feed, bytes));
    for descriptor in [Some(&output), feed.as_ref().map(|(feed, _)| feed)]
        .into_iter()
        .flatten()
    {
        rustix::io::ioctl_fionbio(descriptor, true).map_err(same)?;
    }
    let mut call = Call {
        supervisor,
        output: Some(output),
        feed,
        mask: command.redactor.stream(),
        capture: Capture::new(command.output_bytes),
        buffer: vec![0; 65_536],
        signals: Vec::new(),
        enforcement: None,
        leader: None,
        cancelled: false,
        bell: cancel.bell(),
        looked: started,
        stopped: 0,
        grace: command.start.grace,
    };
    let times = command
        .start
        .timeout
        .map(|timeout| timeout + command.start.grace + PATIENCE);
    let ending = call.watch(cancel, times.map(|times| started + times), on_output);
    call.drain(on_output);
    let rest = call.mask.finish();
    call.take(&rest, on_output);
    call.supervisor.reap();
    Ok(Ran {
        ending,
        masked: call.mask.count(),
        output: call.capture.finish(),
        signals: call.signals,
        enforcement: call.enforcement,
        duration: started.elapsed(),
    })
}

/// Writes to a pipe that nobody may read any more, without the signal that would tell R of it.
fn write_quietly(pipe: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    use nix::sys::signal::{SigSet, SigmaskHow, Signal};
    let mut signal = SigSet::empty();
    signal.add(Signal::SIGPIPE);
    let before = signal.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let written = rustix::io::write(pipe, bytes);
    if let Ok(before) = before {
        // It waits for this thread now, and would come when the mask is as it was.
        if cfg!(target_os = "linux") && written == Err(rustix::io::Errno::PIPE) && !before.contains(Signal::SIGPIPE) {
            let _ = signal.wait();
        }
        let _ = before.thread_set_mask();
    }
    written
}

struct Call<'a> {
    supervisor: Supervisor,
    output: Option<OwnedFd>,
    feed: Option<(OwnedFd, &'a [u8])>,
    mask: Stream,
    capture: Capture,
    buffer: Vec<u8>,
    signals: Vec<Sent>,
    enforcement: Option<Enforcement>,
    leader: Option<Exit>,
    cancelled: bool,
    /// Rings at the wish to cancel. Where there is none it is noticed when we look.
    bell: Option<Arc<Bell>>,
    looked: Instant,
    stopped: u32,
    grace: Duration,
}

impl Call<'_> {
    fn watch(&mut self, cancel: &Cancel, mut last: Option<Instant>, on_output: &mut Hear<'_>) -> Ending {
        loop {
            if cancel.check().is_err() && !std::mem::replace(&mut self.cancelled, true) {
                self.supervisor.cancel();
                // One that does not obey is not waited for until the command's own time is over.
                let soon = Instant::now() + self.grace + PATIENCE;
                last = Some(last.map_or(soon, |last| last.min(soon)));
            }
            self.wait(LOOK, true);
            self.feed();
            self.read(on_output);
            loop {
                match self.supervisor.hear() {
                    Said::Event(Event::Started(_)) => {}
                    Said::Event(Event::Sent(signal, processes, at)) => self.signals.push((signal, processes, at)),
                    Said::Event(Event::Confined(enforcement)) => self.enforcement = Some(enforcement),
                    Said::Event(Event::Left(exit)) => self.leader = Some(exit),
                    Said::Event(Event::Failed(stage, errno)) => return Ending::NotStarted(stage, errno),
                    Said::Event(Event::Ended(end)) => return Ending::Ended(end),
                    Said::Nothing => break,
                    Said::Gone => return self.lost(),
                }
            }
            if self.has_stopped() || last.is_some_and(|last| Instant::now() > last) {
                return self.lost();
            }
        }
    }

    /// Whether the supervisor was stopped, looked at now and then. Who stops R in a terminal stops a
    /// supervisor that has no session yet with it, and continues both: only twice in a row counts.
    fn has_stopped(&mut self) -> bool {
        if self.looked.elapsed() >= LOOK {
            self.looked = Instant::now();
            self.stopped = if self.supervisor.is_stopped() {
                self.stopped + 1
            } else {
                0
            };
        }
        self.stopped >= 2
    }

    /// Does what the supervisor would have done. Its leader dies with it.
    fn lost(&mut self) -> Ending {
        let (supervisor, mark) = (self.supervisor.pid(), self.supervisor.mark());
        self.supervisor.kill();
        self.supervisor.reap();
        Ending::SupervisorLost(Lost {
            leader: self.leader,
            swept: sweep(mark, Group::find(supervisor, mark).as_ref()),
        })
    }

    /// Reads what is left in the pipe.
    fn drain(&mut self, on_output: &mut Hear<'_>) {
        let begun = Instant::now();
        self.feed = None;
        self.read(on_output);
        while let (Some(rest), true) = (DRAIN.checked_sub(begun.elapsed()), self.output.is_some()) {
            self.wait(rest, false);
            self.read(on_output);
        }
    }

    /// Waits for any of the descriptors.
    fn wait(&self, most: Duration, events: bool) {
        let mut descriptors = Vec::with_capacity(4);
        if events {
            descriptors.push(PollFd::from_borrowed_fd(self.supervisor.as_fd(), PollFlags::IN));
            // It rings on.
            if let Some(bell) = self.bell.as_deref().filter(|_| !self.cancelled) {
                descriptors.push(PollFd::new(bell, PollFlags::IN));
            }
        }
        if let Some(output) = &self.output {
            descriptors.push(PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN));
        }
        if let Some((feed, _)) = &self.feed {
            descriptors.push(PollFd::from_borrowed_fd(feed.as_fd(), PollFlags::OUT));
        }
        if let Ok(most) = Timespec::try_from(most) {
            let _ = poll(&mut descriptors, Some(&most));
        }
    }

    /// Reads what has arrived, at most so much that the events are looked at too.
    fn read(&mut self, on_output: &mut Hear<'_>) {
        const STEPS: usize = 16;
        let Some(output) = &self.output else { return };
        let bytes = &mut self.buffer;
        for _ in 0..STEPS {
            match rustix::io::read(output, bytes.as_mut_slice()) {
                Ok(0) => {
                    self.output = None;
                    return;
                }
                Ok(read) => {
                    let masked = self.mask.push(&bytes[..read]);
                    self.capture.push(&masked);
                    on_output(&masked, self.mask.likely());
                }
                Err(rustix::io::Errno::INTR) => {}
                // Nothing more for now, or nothing more ever.
                Err(_) => return,
            }
        }
    }

    /// Keeps and tells output that was masked.
    fn take(&mut self, masked: &[u8], on_output: &mut Hear<'_>) {
        self.capture.push(masked);
        on_output(masked, &[]);
    }

    /// Writes what the command takes of its input. A command that does not want it is no error.
    fn feed(&mut self) {
        let Some((feed, bytes)) = &mut self.feed else { return };
        match write_quietly(feed, bytes) {
            Ok(written) => *bytes = &bytes[written..],
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => return,
            Err(_) => *bytes = b"",
        }
        if bytes.is_empty() {
            self.feed = None;
        }
    }
}
