//! From the order to the end of the tree.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use rhocap_core::process::confinement::{Confinement, Cover};
use rhocap_core::process::group::Group;
use rhocap_core::process::mark::Mark;
use rhocap_core::process::protocol::{Cause, End, Event, Exit, Method, Order, Stage, Start};
use rustix::io::Errno;
use rustix::process::{wait, WaitOptions};

use crate::confine::{self, Init, View};
use crate::leader::{self, Command, Descriptors};
use crate::peer::{Heard, Peer};
use crate::tree::{self, Process};
use crate::waiting;

/// How long killing is tried while processes end by it: thousands take their time on a busy machine.
const KILLING: Duration = Duration::from_secs(25);

/// How long it is tried when they do not become fewer: a process in the kernel's hands (a dead network
/// file system, say) may not end at all, and is named instead of waited for.
const STUCK: Duration = Duration::from_secs(5);

/// How long killed processes have to end before the tree is looked at again. Each look costs time that
/// they need; the end of the last one wakes us earlier.
const LOOK: Duration = Duration::from_millis(2);

/// Obeys R's side until there is nothing left to do.
pub fn run(mut peer: Peer) {
    waiting::prepare();
    let _ = nix::unistd::setsid();
    let gets_orphans = tree::become_root();
    let (mut order, mark, host) = match first_order(&mut peer) {
        Some(Order::Start(start, mark, host)) => (start, mark, host),
        Some(Order::Probe(confinement)) => return peer.tell(&probe(&confinement)),
        // Nothing was started, and nothing will be.
        Some(Order::Cancel) | None => return,
    };
    let Some(descriptors) = Descriptors::of(peer.take_descriptors()) else {
        return peer.tell(&Event::Failed(Stage::Order, Errno::BADF.raw_os_error()));
    };
    // A fork of R's may hold the socket open and hear it; R would not.
    let Ok(host) = tree::hold_host(host) else {
        return peer.tell(&Event::Failed(Stage::Order, Errno::SRCH.raw_os_error()));
    };
    let started = Instant::now();
    // What comes of this process carries it too, and should this one be stopped, it is found with them.
    mark.carry();
    let mut group = None;
    match begin(&mut peer, &order, mark, descriptors, &mut group) {
        Err((stage, errno)) => {
            let _ = group.as_ref().map(Group::remove);
            peer.tell(&Event::Failed(stage, errno as i32));
        }
        Ok((leader, init, view)) => {
            let covers = order.confinement.take().map(|confinement| confinement.covers);
            peer.tell(&Event::Started(leader.as_raw().unsigned_abs()));
            let supervision = Supervision {
                peer,
                leader,
                init,
                seen: view.zip(covers),
                group,
                host,
                gets_orphans,
                left: None,
                started,
                timeout: order.timeout,
                grace: order.grace,
                killed: HashSet::new(),
            };
            supervision.run();
        }
    }
}

/// The leader, the first process of its namespaces, and what they see.
type Begun = (Pid, Option<Init>, Option<View>);

/// Starts the command.
fn begin(
    peer: &mut Peer,
    order: &Start,
    mark: Mark,
    descriptors: Descriptors,
    group: &mut Option<Group>,
) -> Result<Begun, (Stage, nix::errno::Errno)> {
    let command = Command::of(order, mark, descriptors)?;
    match &order.confinement {
        None => {
            *group = Group::create(std::process::id(), mark);
            leader::start(command, group).map(|leader| (leader, None, None))
        }
        Some(confinement) => {
            let confined = confine::start(confinement, &order.required, Some(&command))?;
            peer.tell(&Event::Confined(confined.enforcement));
            Ok((confined.leader, confined.init, confined.view))
        }
    }
}

/// What a confinement would be made of here. Nothing was executed, and nothing is left.
fn probe(confinement: &Confinement) -> Event {
    match confine::start(confinement, &[], None) {
        Err((stage, errno)) => Event::Failed(stage, errno as i32),
        Ok(confined) => {
            while matches!(wait(WaitOptions::empty()), Ok(_) | Err(Errno::INTR)) {}
            Event::Confined(confined.enforcement)
        }
    }
}

fn first_order(peer: &mut Peer) -> Option<Order> {
    loop {
        match peer.hear() {
            Heard::Order(order) => return Some(*order),
            Heard::Gone => return None,
            Heard::Nothing => waiting::wait([peer.as_fd()], None),
        }
    }
}

struct Supervision {
    peer: Peer,
    leader: Pid,
    /// None for an unrestricted command, and when it has ended.
    init: Option<Init>,
    /// Of a confined command, what it saw, and what was covered there.
    seen: Option<(View, Vec<Cover>)>,
    /// Of an unrestricted command, where the host gives one.
    group: Option<Group>,
    /// R, where it can be watched: a fork of R's holds the socket open when R is gone.
    host: Option<OwnedFd>,
    /// Whether orphans become children of this process.
    gets_orphans: bool,
    left: Option<(Exit, Duration)>,
    started: Instant,
    timeout: Option<Duration>,
    grace: Duration,
    killed: HashSet<Pid>,
}

impl Supervision {
    fn run(mut self) {
        let confined = self.init.is_some();
        let cause = self.watch();
        let ending = Instant::now();
        let method = if confined {
            Method::Namespace
        } else if self.group.is_some() {
            Method::Group
        } else if self.gets_orphans {
            Method::Descent
        } else {
            Method::Children
        };
        let ask = matches!(cause, Cause::TimedOut | Cause::Cancelled);
        // All are asked, and a thousand that keep the processors busy do not keep us from asking.
        self.group.iter().filter(|_| ask).for_each(|group| group.hold(true));
        let found = if self.is_gone() { Vec::new() } else { self.found() };
        let beside = found
            .iter()
            .filter(|process| process.pid != self.leader && !self.is_init(process.pid))
            .count();
        if ask {
            self.ask(&found);
        }
        let survivors = self.kill();
        let (leader, ran) = match self.left {
            Some((exit, ran)) => (Some(exit), ran),
            None => (None, self.started.elapsed()),
        };
        self.peer.tell(&Event::Ended(End {
            cause,
            method,
            leader,
            found: u32::try_from(beside).unwrap_or(u32::MAX),
            killed: u32::try_from(self.killed.len()).unwrap_or(u32::MAX),
            opened: self
                .seen
                .as_ref()
                .map_or_else(Vec::new, |(view, covers)| view.opened(covers)),
            survivors: survivors.iter().map(|pid| pid.as_raw().unsigned_abs()).collect(),
            ran,
            ending: ending.elapsed(),
        }));
    }

    /// Waits until there is a reason to end the tree.
    fn watch(&mut self) -> Cause {
        loop {
            self.reap();
            if self.left.is_some() {
                return Cause::Natural;
            }
            match self.peer.hear() {
                Heard::Order(_) => return Cause::Cancelled,
                Heard::Gone => return Cause::Orphaned,
                Heard::Nothing => {}
            }
            if self.host_ended() {
                return Cause::Orphaned;
            }
            if waiting::asked_to_end() {
                return Cause::Cancelled;
            }
            let rest = match self.timeout.map(|timeout| timeout.checked_sub(self.started.elapsed())) {
                Some(None) => return Cause::TimedOut,
                Some(rest) => rest,
                None => None,
            };
            waiting::wait(self.watched(), rest);
        }
    }

    /// Asks every process to end, and gives them their grace.
    fn ask(&mut self, processes: &[Process]) {
        let asked = Instant::now();
        let sent = processes
            .iter()
            .filter(|process| !self.is_init(process.pid))
            // A stopped process would not see the first alone.
            .filter(|process| tree::send(**process, &[Signal::SIGTERM, Signal::SIGCONT]))
            .count();
        self.group.iter().for_each(|group| group.hold(false));
        self.say_sent(Signal::SIGTERM, sent);
        while let Some(rest) = self.grace.checked_sub(asked.elapsed()) {
            if self.is_gone() || self.host_ended() || matches!(self.peer.hear(), Heard::Gone) {
                return;
            }
            waiting::wait(self.watched(), Some(rest));
        }
    }

    /// Kills until nothing is left, or nothing more can be done. Reaping belongs into the loop: only
    /// then do the orphans of what was killed become ours and are found.
    fn kill(&mut self) -> Vec<Pid> {
        let begun = Instant::now();
        let (mut fewest, mut fewer) = (usize::MAX, begun);
        let mut told = false;
        while !self.is_gone() {
            let found = self.strike();
            if !told && !self.killed.is_empty() {
                told = true;
                self.say_sent(Signal::SIGKILL, self.killed.len());
            }
            if found.len() < fewest {
                (fewest, fewer) = (found.len(), Instant::now());
            }
            if begun.elapsed() > KILLING || fewer.elapsed() > STUCK {
                return found.into_iter().collect::<HashSet<Pid>>().into_iter().collect();
            }
            let struck = Instant::now();
            while let Some(rest) = LOOK.checked_sub(struck.elapsed()) {
                if self.is_gone() {
                    return Vec::new();
                }
                waiting::wait([], Some(rest));
            }
        }
        Vec::new()
    }

    /// Kills every process that is there now; which ones there were.
    fn strike(&mut self) -> Vec<Pid> {
        let mut found = Vec::new();
        if self.init.is_some() {
            // With its first process the kernel kills all of a process namespace, at once.
            for process in tree::descendants() {
                found.push(process.pid);
                if self.is_init(process.pid) {
                    tree::send(process, &[Signal::SIGKILL]);
                } else {
                    self.killed.insert(process.pid);
                }
            }
            return found;
        }
        // At once, however many there are and however fast they fork: walking takes the longer the more
        // they keep the processors busy. So it is left for the next time.
        if let Some(group) = &self.group {
            found.extend(group.members().into_iter().map(Pid::from_raw));
            if !found.is_empty() && group.kill() {
                let first = self.killed.is_empty();
                self.killed.extend(&found);
                if first {
                    return found;
                }
            }
        }
        tree::walk(&mut |process| {
            found.push(process.pid);
            if tree::send(process, &[Signal::SIGKILL]) {
                self.killed.insert(process.pid);
            }
        });
        found
    }

    /// All processes of the tree.
    fn found(&self) -> Vec<Process> {
        let mut found = tree::descendants();
        let known: HashSet<Pid> = found.iter().map(|process| process.pid).collect();
        let members = self.group.iter().flat_map(Group::members).map(Pid::from_raw);
        found.extend(members.filter(|pid| !known.contains(pid)).filter_map(Process::look));
        found
    }

    /// Whether nothing of the tree is left. An empty group is removed then.
    fn is_gone(&mut self) -> bool {
        if !self.reap() {
            return false;
        }
        let _ = self.group.take_if(|group| group.remove());
        self.group.is_none()
    }

    /// Takes the status of every child that ended; whether there is no child left, and so, because every
    /// orphan below this process becomes its child, no process of the tree.
    fn reap(&mut self) -> bool {
        if let Some(exit) = self.init.as_ref().and_then(Init::hear) {
            self.leave(exit);
        }
        loop {
            let (pid, status) = match wait(WaitOptions::NOHANG) {
                Ok(Some(ended)) => ended,
                Ok(None) => return false,
                Err(Errno::INTR) => continue,
                Err(_) => return true,
            };
            let exit = match (status.exit_status(), status.terminating_signal()) {
                (Some(status), _) => Exit::Exited(status),
                (_, Some(signal)) => Exit::Signalled(signal),
                _ => continue,
            };
            let pid = Pid::from_raw(pid.as_raw_nonzero().get());
            if pid == self.leader {
                self.leave(exit);
            } else if let Some(init) = self.init.take_if(|init| init.pid == pid) {
                // It may have told and ended since we looked. If it did not tell, the kernel killed the
                // leader with it.
                self.leave(init.hear().unwrap_or(Exit::Signalled(Signal::SIGKILL as i32)));
            }
        }
    }

    fn leave(&mut self, exit: Exit) {
        if self.left.is_none() {
            self.left = Some((exit, self.started.elapsed()));
            self.peer.tell(&Event::Left(exit));
        }
    }

    fn host_ended(&self) -> bool {
        self.host.as_ref().is_some_and(tree::has_ended)
    }

    fn is_init(&self, pid: Pid) -> bool {
        self.init.as_ref().is_some_and(|init| init.pid == pid)
    }

    /// What may have something to tell.
    fn watched(&self) -> Vec<BorrowedFd<'_>> {
        // A pipe that has told all it had to tell would wake us for ever.
        let init = self.init.as_ref().filter(|_| self.left.is_none()).map(Init::as_fd);
        let host = self.host.as_ref().map(AsFd::as_fd);
        std::iter::once(self.peer.as_fd()).chain(init).chain(host).collect()
    }

    fn say_sent(&mut self, signal: Signal, processes: usize) {
        let processes = u32::try_from(processes).unwrap_or(u32::MAX);
        let event = Event::Sent(signal as i32, processes, self.started.elapsed());
        self.peer.tell(&event);
    }
}
