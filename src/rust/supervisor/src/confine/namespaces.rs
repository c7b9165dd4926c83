//! The namespaces of a confined command, and the process that makes them.

#![allow(unsafe_code)]

use nix::errno::Errno;
use nix::unistd::Pid;
use rhocap_core::process::confinement::mechanism;

/// A set of namespaces that is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespaces {
    /// Without one, root's own capabilities are needed.
    pub user: bool,
    /// Mounts, processes, System V objects, host name and cgroups; always together.
    pub files_and_processes: bool,
    /// A network without interfaces.
    pub network: bool,
}

impl Namespaces {
    /// None at all.
    pub const NONE: Self = Self {
        user: false,
        files_and_processes: false,
        network: false,
    };

    /// The sets to try, the strongest first.
    pub fn candidates(network: bool) -> Vec<Self> {
        let own_network = !network;
        let mut candidates = Vec::new();
        // Root of a container may be denied user namespaces and hold CAP_SYS_ADMIN.
        for user in [true, false] {
            for network in [own_network, false] {
                let set = Self {
                    user,
                    files_and_processes: true,
                    network,
                };
                if !candidates.contains(&set) {
                    candidates.push(set);
                }
            }
        }
        candidates.push(Self::NONE);
        candidates
    }

    /// Their words.
    pub fn words(self) -> Vec<&'static str> {
        let mut words = Vec::new();
        if self.user {
            words.push(mechanism::USER_NAMESPACE);
        }
        if self.files_and_processes {
            words.extend([
                mechanism::MOUNT_NAMESPACE,
                mechanism::PID_NAMESPACE,
                mechanism::IPC_NAMESPACE,
            ]);
        }
        if self.network {
            words.push(mechanism::NETWORK_NAMESPACE);
        }
        words
    }

    fn flags(self) -> libc::c_int {
        let mut flags = 0;
        if self.user {
            flags |= libc::CLONE_NEWUSER;
        }
        if self.files_and_processes {
            flags |= libc::CLONE_NEWNS
                | libc::CLONE_NEWPID
                | libc::CLONE_NEWIPC
                | libc::CLONE_NEWUTS
                | libc::CLONE_NEWCGROUP;
        }
        if self.network {
            flags |= libc::CLONE_NEWNET;
        }
        flags
    }
}

/// A process in new namespaces: its number for the one that asked, nothing for itself.
pub fn clone(namespaces: Namespaces) -> Result<Option<Pid>, Errno> {
    let flags = namespaces.flags() | libc::SIGCHLD;
    // SAFETY: without a stack and without shared memory this is a fork, and this program has one thread.
    // The order of the arguments differs between processors; all but the flags are zero.
    let pid = unsafe {
        libc::syscall(
            libc::SYS_clone,
            libc::c_long::from(flags),
            0_usize,
            0_usize,
            0_usize,
            0_usize,
        )
    };
    match Errno::result(pid)? {
        0 => Ok(None),
        pid => Ok(Some(Pid::from_raw(i32::try_from(pid).map_err(|_| Errno::ERANGE)?))),
    }
}

/// User and group, as they are outside.
#[derive(Debug, Clone, Copy)]
pub struct Identity {
    user: u32,
    group: u32,
}

impl Identity {
    /// This process's.
    pub fn current() -> Self {
        Self {
            user: rustix::process::geteuid().as_raw(),
            group: rustix::process::getegid().as_raw(),
        }
    }

    /// Maps both to themselves, never to root: set-user-id programs and scripts believe a root of any
    /// namespace.
    pub fn map(self) -> Result<(), Errno> {
        let Self { user, group } = self;
        let write = |file: &str, text: String| {
            std::fs::write(format!("/proc/self/{file}"), text)
                .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))
        };
        // The files belong to root while others may not look into this process.
        nix::sys::prctl::set_dumpable(true)?;
        let mapped = (|| {
            write("uid_map", format!("{user} {user} 1"))?;
            // Otherwise groups that *deny* access could be given up.
            write("setgroups", "deny".to_owned())?;
            write("gid_map", format!("{group} {group} 1"))
        })();
        nix::sys::prctl::set_dumpable(false)?;
        mapped
    }
}
