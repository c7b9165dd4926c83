//! What the kernel enforces on a confined command.
//!
//! The supervisor itself stays outside of it all, so that it sees the command's processes as it sees
//! those of any other. Where namespaces can be had there is an [`init`] between it and the command:
//!
//! ```text
//! supervisor ── init (first process of the namespaces) ── leader (the shell) ── ...
//! ```
//!
//! Sets of mechanisms are tried from the strongest down. A set that lacks what is required is not
//! tried, so that a call never has less than what a probe found.

mod bounds;
mod init;
mod landlock;
mod layout;
mod mounting;
mod mounts;
mod namespaces;
mod privileges;
mod report;
mod seccomp;
mod view;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::unistd::{ForkResult, Pid};
use rhocap_core::mount_table::mount_points;
use rhocap_core::process::confinement::{gap, mechanism, Confinement, Enforcement};
use rhocap_core::process::errno::same;
use rhocap_core::process::protocol::{Exit, Stage};
use rustix::fs::{fstat, openat, Mode, OFlags, CWD};

use self::namespaces::{Identity, Namespaces};
use self::report::{Built, Reporter};
pub use self::view::View;
use crate::leader::{self, Command};

/// Where it failed, and the error number.
pub type Failed = (Stage, Errno);

/// A confined command that runs, or a probe that was answered.
pub struct Confined {
    /// Its leader.
    pub leader: Pid,
    /// The first process of its namespaces, where it has any.
    pub init: Option<Init>,
    /// What it sees, where that is its own.
    pub view: Option<View>,
    /// What is enforced.
    pub enforcement: Enforcement,
}

/// The first process of a command's namespaces. When it ends, all others do.
pub struct Init {
    /// Its number.
    pub pid: Pid,
    status: OwnedFd,
}

impl Init {
    /// How the leader ended, once it has.
    pub fn hear(&self) -> Option<Exit> {
        let mut bytes = [0; init::STATUS];
        match rustix::io::read(&self.status, &mut bytes) {
            Ok(init::STATUS) => init::decode(bytes).ok(),
            _ => None,
        }
    }
}

impl AsFd for Init {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.status.as_fd()
    }
}

/// Confines a command and starts it, or without one only builds everything.
///
/// # Errors
/// Where it failed, and the error number. No process is left then.
pub fn start(confinement: &Confinement, required: &[String], command: Option<&Command>) -> Result<Confined, Failed> {
    // Asked for here: the descriptor is no part of what a new namespace has mounted.
    let directory = command.map(Command::place).transpose()?;
    let mut reason = None;
    for namespaces in Namespaces::candidates(confinement.network) {
        let there = namespaces.words();
        let lacks = |word: &&str| required.iter().any(|required| required == word) && !there.contains(word);
        let own = Namespaces {
            user: true,
            files_and_processes: true,
            network: true,
        };
        if own.words().iter().any(lacks) {
            continue;
        }
        // Where mounts can be had and these cannot be made, rules without mounts are not the answer.
        if let (Some(failed @ (Stage::Mount, _)), false) = (reason, namespaces.files_and_processes) {
            return Err(failed);
        }
        match attempt(confinement, required, namespaces, command, directory.as_ref()) {
            Ok(confined) => return Ok(confined),
            Err(failed) => match failed.0 {
                // Something lacks, or is not allowed to this user.
                Stage::Namespace | Stage::Mount if namespaces.files_and_processes => {
                    reason = reason.filter(|(stage, _)| *stage == Stage::Mount).or(Some(failed));
                }
                // Nothing but mounts would do.
                Stage::Namespace => return Err(reason.unwrap_or(failed)),
                _ => return Err(failed),
            },
        }
    }
    Err(reason.unwrap_or((Stage::Required, Errno::EPERM)))
}

fn attempt(
    confinement: &Confinement,
    required: &[String],
    namespaces: Namespaces,
    command: Option<&Command>,
    directory: Option<&Directory>,
) -> Result<Confined, Failed> {
    if bounds::unenforceable(&confinement.bounds, namespaces.user) {
        return Err((Stage::Bounds, Errno::EPERM));
    }
    if !namespaces.files_and_processes && needs_mounts(confinement)? {
        return Err((Stage::Namespace, Errno::EPERM));
    }
    let plan = Plan {
        confinement,
        required,
        namespaces,
        command,
        directory,
        // In a new user namespace nobody is anybody, until it is said who they are.
        identity: Identity::current(),
    };
    let setup = |errno| (Stage::Setup, errno);
    let (reports, reporter) = report::pair().map_err(setup)?;
    let (status, tell) = rhocap_core::process::cloexec::pipe().map_err(|failed| setup(same(failed)))?;
    rustix::io::ioctl_fionbio(&status, true).map_err(|failed| setup(same(failed)))?;
    let parent = nix::unistd::getpid();
    let made = namespaces::clone(namespaces).map_err(|errno| (Stage::Namespace, errno))?;
    let Some(child) = made else {
        // A panic would go on as the supervisor's copy.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            if let Err(failed) = plan.child(&reporter, tell, parent) {
                reporter.failed(failed);
            }
        }));
        init::exit(127)
    };
    drop((reporter, tell));
    match reports.hear() {
        // Without it nobody could tell afterwards what stayed covered.
        Ok((_, _, None)) if namespaces.files_and_processes => {
            end(child);
            Err(setup(Errno::EPROTO))
        }
        Ok((leader, built, view)) => Ok(Confined {
            leader,
            init: namespaces.files_and_processes.then_some(Init { pid: child, status }),
            view,
            enforcement: plan.enforcement(built),
        }),
        Err(failed) => {
            end(child);
            Err(failed)
        }
    }
}

/// Ends a child that failed, or that hangs, with all that came of it. One in the hands of a file system
/// that does not answer is not waited for.
fn end(child: Pid) {
    const WAIT: std::time::Duration = std::time::Duration::from_millis(2);
    const TIMES: u32 = 1000;
    let _ = nix::sys::signal::kill(child, nix::sys::signal::Signal::SIGKILL);
    for _ in 0..TIMES {
        use nix::sys::wait::{waitpid, WaitPidFlag, WaitStatus};
        match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) | Err(Errno::EINTR) => std::thread::sleep(WAIT),
            _ => return,
        }
    }
}

/// Whether something can be enforced by mounts only.
fn needs_mounts(confinement: &Confinement) -> Result<bool, Failed> {
    if !confinement.covers.is_empty() {
        return Ok(true);
    }
    // Rights of Landlock add up from a directory to what is in it.
    let below = |inner: &[u8], outer: &[u8]| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(b"/"));
    let places = &confinement.places;
    let narrowed = |inner: &&rhocap_core::process::confinement::Place| {
        !inner.write
            && places
                .iter()
                .any(|outer| outer.write && below(&inner.path, &outer.path))
    };
    if places.iter().any(|place| narrowed(&place)) {
        return Ok(true);
    }
    if places.iter().all(|place| place.mounts) {
        return Ok(false);
    }
    let points = mount_points().map_err(|errno| (Stage::Mount, same(errno)))?;
    Ok(points
        .iter()
        .any(|point| places.iter().any(|place| !place.mounts && below(point, &place.path))))
}

/// What one attempt is to come to.
struct Plan<'a> {
    confinement: &'a Confinement,
    required: &'a [String],
    namespaces: Namespaces,
    command: Option<&'a Command>,
    directory: Option<&'a Directory>,
    identity: Identity,
}

impl Plan<'_> {
    /// The child: comes back only with a failure, or when there is nothing to execute.
    fn child(&self, reporter: &Reporter, status: OwnedFd, parent: Pid) -> Result<(), Failed> {
        let setup = |errno| (Stage::Setup, errno);
        if let Some(command) = self.command {
            command.mark();
        }
        if !self.namespaces.files_and_processes {
            leader::tie_to(parent).map_err(setup)?;
            return self.become_leader(None, reporter, false, None);
        }
        // The parent has no number here. Whether it died meanwhile is seen when it is reported to.
        leader::tie().map_err(setup)?;
        nix::unistd::setsid().map_err(setup)?;
        leader::default_signals();
        let mut kept = vec![reporter.as_fd().as_raw_fd(), status.as_raw_fd()];
        kept.extend(self.command.into_iter().flat_map(Command::streams));
        let mounts = view::own_mounts().map_err(setup)?;
        kept.push(mounts.as_raw_fd());
        crate::descriptors::keep_only(&kept);
        if self.namespaces.user {
            self.identity.map().map_err(|errno| (Stage::Namespace, errno))?;
        }
        let proc = mounts::build(self.confinement)?;
        let view = View::own(mounts).map_err(setup)?;
        // SAFETY: this program has one thread.
        #[allow(unsafe_code)]
        let forked = unsafe { nix::unistd::fork() };
        match forked.map_err(|errno| (Stage::Fork, errno))? {
            ForkResult::Parent { child } => init::run(child, status),
            ForkResult::Child => self.become_leader(self.directory, reporter, proc, Some(&view)),
        }
    }

    /// Turns the child into the command.
    fn become_leader(
        &self,
        directory: Option<&Directory>,
        reporter: &Reporter,
        proc: bool,
        view: Option<&View>,
    ) -> Result<(), Failed> {
        let own_root = self.namespaces.files_and_processes;
        if let Some(command) = self.command {
            match directory {
                Some(directory) => directory.enter()?,
                None => command.enter_directory()?,
            }
            command.prepare()?;
        }
        let rules = landlock::prepare(self.confinement, own_root)?;
        privileges::drop_all().map_err(|errno| (Stage::Privileges, errno))?;
        let version = rules.enforce().map_err(|errno| (Stage::Landlock, errno))?;
        if !own_root && version < landlock::ALONE {
            let lacking = if version == 0 { Errno::ENOSYS } else { Errno::EOPNOTSUPP };
            return Err((Stage::Landlock, lacking));
        }
        let built = Built {
            landlock: version,
            proc,
        };
        let there = self.enforcement(built).mechanisms;
        if !self.required.iter().all(|word| there.contains(word)) {
            return Err((Stage::Required, Errno::EPERM));
        }
        let filters = seccomp::Filters::compile(seccomp::Rules {
            network: self.confinement.network,
            // By path the mounts hide them, and abstract ones Landlock's scope.
            unix_sockets: own_root && version >= landlock::ALONE,
            own_processes: own_root,
        })
        .map_err(|errno| (Stage::Seccomp, errno))?;
        bounds::set(&self.confinement.bounds).map_err(|errno| (Stage::Bounds, errno))?;
        filters.set().map_err(|errno| (Stage::Seccomp, errno))?;
        reporter.ready(built, view).map_err(|errno| (Stage::Setup, errno))?;
        match self.command {
            Some(command) => Err(command.execute()),
            None => Ok(()),
        }
    }

    fn enforcement(&self, built: Built) -> Enforcement {
        let words = self.namespaces.words().into_iter();
        let mut mechanisms: Vec<String> = words.map(str::to_owned).collect();
        if built.landlock > 0 {
            mechanisms.push(format!("{}:{}", mechanism::LANDLOCK, built.landlock));
        }
        mechanisms.extend(
            [
                mechanism::SECCOMP,
                mechanism::NO_NEW_PRIVS,
                mechanism::CAPABILITIES_DROPPED,
            ]
            .map(str::to_owned),
        );
        if self.confinement.bounds.all().iter().any(Option::is_some) {
            mechanisms.push(mechanism::RLIMITS.to_owned());
        }
        let mut gaps = Vec::new();
        if !self.namespaces.files_and_processes {
            gaps.extend([gap::METADATA, gap::PROCESS_LIST]);
        }
        if !built.proc {
            gaps.push(gap::NO_PROC);
        }
        Enforcement {
            mechanisms,
            gaps: gaps.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// A directory by its name and identity, for one who sees it from another root.
pub struct Directory {
    path: std::ffi::CString,
    device: u64,
    inode: u64,
}

impl Directory {
    /// The one that this process is in. The kernel tells its name also where no directory above it may be read.
    pub fn current() -> Result<Self, Errno> {
        let path = rustix::process::getcwd(Vec::new()).map_err(same)?;
        let stat = rustix::fs::stat(c".").map_err(same)?;
        Ok(Self {
            path,
            device: stat.st_dev,
            inode: stat.st_ino,
        })
    }

    /// Enters it. A descriptor of the host's would lead out of the root, by `..`.
    fn enter(&self) -> Result<(), Failed> {
        let failed = |errno| (Stage::WorkingDirectory, errno);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let found = openat(CWD, self.path.as_c_str(), flags, Mode::empty())
            .map_err(same)
            .map_err(failed)?;
        let stat = fstat(&found).map_err(same).map_err(failed)?;
        if (stat.st_dev, stat.st_ino) != (self.device, self.inode) {
            return Err(failed(Errno::ESTALE));
        }
        rustix::process::fchdir(&found).map_err(same).map_err(failed)
    }
}
