//! The system calls that a confined command is refused.
//!
//! A list of what is refused, not of what is allowed: R, compilers and the programs of users make
//! any call. So what a new kernel brings does not exist for the command.

use libc::c_long;
use nix::errno::Errno;
use seccompiler::{
    sock_filter, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// What decides on some of the refusals.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The host's network may be used.
    pub network: bool,
    /// Unix sockets of the host are out of reach by other means.
    pub unix_sockets: bool,
    /// The command has a process namespace, and one of System V objects, of its own.
    pub own_processes: bool,
}

/// The first number that was not given to a system call when this list was made (Linux 6.17).
const FIRST_UNKNOWN: u32 = 470;

/// The bit of the numbers of x32: the same calls under other numbers.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// Refused whatever their arguments are.
#[rustfmt::skip]
const REFUSED: &[c_long] = &[
    // Into other processes.
    libc::SYS_ptrace, libc::SYS_process_vm_readv, libc::SYS_process_vm_writev, libc::SYS_pidfd_getfd,
    libc::SYS_kcmp, libc::SYS_process_madvise, libc::SYS_process_mrelease, libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Into other namespaces, and what is mounted.
    libc::SYS_setns, libc::SYS_mount, libc::SYS_umount2, libc::SYS_pivot_root, libc::SYS_chroot,
    libc::SYS_move_mount, libc::SYS_open_tree, libc::SYS_fsopen, libc::SYS_fsconfig, libc::SYS_fsmount,
    libc::SYS_fspick, libc::SYS_mount_setattr, SYS_OPEN_TREE_ATTR,
    // By a handle instead of a path.
    libc::SYS_open_by_handle_at,
    // Does what other calls do, unseen by this filter.
    libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register,
    // Keys of the user, which the command's processes would share with all of the user's.
    libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key,
    // Far into the kernel, with a history of holes.
    libc::SYS_bpf, libc::SYS_perf_event_open, libc::SYS_userfaultfd, libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie, libc::SYS_nfsservctl, libc::SYS_vhangup,
    // The machine's. Most need a capability; a mistake there must not matter.
    libc::SYS_kexec_load, SYS_KEXEC_FILE_LOAD, libc::SYS_init_module, libc::SYS_finit_module,
    libc::SYS_delete_module, libc::SYS_reboot, libc::SYS_swapon, libc::SYS_swapoff, libc::SYS_acct,
    libc::SYS_quotactl, libc::SYS_quotactl_fd, libc::SYS_syslog, libc::SYS_sethostname,
    libc::SYS_setdomainname, libc::SYS_settimeofday, libc::SYS_clock_settime,
];

/// Not in the C library's list yet.
const SYS_OPEN_TREE_ATTR: c_long = 467;

/// In the list of one C library only.
#[cfg(target_arch = "x86_64")]
const SYS_KEXEC_FILE_LOAD: c_long = 320;
#[cfg(not(target_arch = "x86_64"))]
const SYS_KEXEC_FILE_LOAD: c_long = 294;

/// Not in the C library's list of every processor yet.
const SYS_FCHMODAT2: c_long = 452;

/// Where a call takes the mode of a file.
#[rustfmt::skip]
const WITH_MODE: &[(c_long, u8)] = &[
    (libc::SYS_fchmod, 1), (libc::SYS_fchmodat, 2), (SYS_FCHMODAT2, 2), (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")] (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")] (libc::SYS_mknod, 1),
    #[cfg(target_arch = "x86_64")] (libc::SYS_creat, 1),
];

/// Where a call that may make a file takes its flags; the mode comes next.
const WITH_FLAGS: &[(c_long, u8)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];

#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[c_long] = &[libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_modify_ldt, libc::SYS_uselib];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[c_long] = &[];

/// Sockets' calls that only a socket of a network or of the host needs.
const OF_SOCKETS: &[c_long] = &[
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Objects that all processes of a user share.
#[rustfmt::skip]
const OF_SYSTEM_V: &[c_long] = &[
    libc::SYS_shmget, libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_semget, libc::SYS_semctl,
    libc::SYS_semop, libc::SYS_semtimedop, libc::SYS_msgget, libc::SYS_msgsnd, libc::SYS_msgrcv,
    libc::SYS_msgctl, libc::SYS_mq_open, libc::SYS_mq_unlink,
];

/// What sets limits, priorities or processors of a process, who may be any of the user's: the argument that
/// is its number, 0 for the caller, and what the first argument must be where it says what is counted.
const OF_OTHERS: &[(c_long, u8, Option<i32>)] = &[
    (libc::SYS_prlimit64, 0, None),
    (libc::SYS_sched_setaffinity, 0, None),
    (libc::SYS_sched_setparam, 0, None),
    (libc::SYS_sched_setscheduler, 0, None),
    (libc::SYS_sched_setattr, 0, None),
    (libc::SYS_setpriority, 1, Some(PRIO_PROCESS)),
    (libc::SYS_ioprio_set, 1, Some(IOPRIO_WHO_PROCESS)),
];

// The C libraries differ in their types, and do not have the second.
const PRIO_PROCESS: i32 = 0;
const IOPRIO_WHO_PROCESS: i32 = 1;

/// The filters, ready to be set.
pub struct Filters(Vec<BpfProgram>);

impl Filters {
    /// Compiles them. Before bounds are set: it takes memory.
    pub fn compile(rules: Rules) -> Result<Self, Errno> {
        let denied = compile(denied(rules)?, libc::EPERM)?;
        // What they take stands in memory, where a filter cannot look. Without them the C library makes
        // processes and threads by clone, and programs open files by openat.
        let absent = [libc::SYS_clone3, libc::SYS_openat2].map(|call| (call, Vec::new()));
        let absent = compile(absent.to_vec(), libc::ENOSYS)?;
        Ok(Self(vec![beyond(), absent, denied]))
    }

    /// Sets them. What comes after is refused what they refuse.
    pub fn set(&self) -> Result<(), Errno> {
        for filter in &self.0 {
            seccompiler::apply_filter(filter).map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => {
                    error.raw_os_error().map_or(Errno::EIO, Errno::from_raw)
                }
                _ => Errno::EINVAL,
            })?;
        }
        Ok(())
    }
}

type Rule = (c_long, Vec<SeccompRule>);

fn denied(rules: Rules) -> Result<Vec<Rule>, Errno> {
    use SeccompCmpOp::{Eq, MaskedEq, Ne};
    let mut denied: Vec<Rule> = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .map(|call| (*call, Vec::new()))
        .collect();
    let mut rule = |call: c_long, conditions: &[(u8, SeccompCmpOp, i32)]| {
        let conditions = conditions.iter().map(|(argument, operator, value)| {
            #[allow(clippy::cast_sign_loss)]
            let value = u64::from(*value as u32);
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, operator.clone(), value)
        });
        let rule = conditions
            .collect::<Result<Vec<_>, _>>()
            .and_then(SeccompRule::new)
            .map_err(|_| Errno::EINVAL)?;
        match denied.iter_mut().find(|(known, _)| *known == call) {
            Some((_, rules)) => rules.push(rule),
            None => denied.push((call, vec![rule])),
        }
        Ok::<(), Errno>(())
    };

    // No namespace within: in one the command would be root, and could take the covers away.
    let made = [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];
    for flag in made {
        #[allow(clippy::cast_sign_loss)]
        let masked = MaskedEq(u64::from(flag as u32));
        rule(libc::SYS_clone, &[(0, masked.clone(), flag)])?;
        rule(libc::SYS_unshare, &[(0, masked, flag)])?;
    }
    // For clone this bit is part of a signal's number.
    rule(
        libc::SYS_unshare,
        &[(
            0,
            MaskedEq(u64::from(libc::CLONE_NEWTIME.unsigned_abs())),
            libc::CLONE_NEWTIME,
        )],
    )?;

    // No set-user-id file is left behind: it would be root's, for everybody on the host, when R is.
    for bit in [libc::S_ISUID, libc::S_ISGID] {
        let masked = MaskedEq(u64::from(bit));
        let bit = i32::try_from(bit).map_err(|_| Errno::EINVAL)?;
        for (call, argument) in WITH_MODE {
            rule(*call, &[(*argument, masked.clone(), bit)])?;
        }
        for (call, argument) in WITH_FLAGS {
            for flag in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
                let makes = MaskedEq(u64::from(flag.unsigned_abs()));
                rule(*call, &[(*argument, makes, flag), (argument + 1, masked.clone(), bit)])?;
            }
        }
    }

    // Typing into a terminal, for whoever reads there after the command.
    for request in [TIOCSTI, TIOCLINUX] {
        rule(libc::SYS_ioctl, &[(1, Eq, request)])?;
    }

    let mut families = Vec::new();
    if rules.network {
        families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if rules.network && rules.unix_sockets {
        families.push(libc::AF_UNIX);
    }
    let families: Vec<_> = families.into_iter().map(|family| (0, Ne, family)).collect();
    if !families.is_empty() {
        rule(libc::SYS_socket, &families)?;
    }
    if !families.iter().any(|(.., family)| *family == libc::AF_UNIX) {
        // One of a pair can be connected anew: to a daemon's socket of this kind.
        const KIND: u64 = 0xf;
        rule(libc::SYS_socketpair, &[(1, MaskedEq(KIND), libc::SOCK_DGRAM)])?;
        rule(libc::SYS_socketpair, &[(1, MaskedEq(KIND), libc::SOCK_RAW)])?;
    }
    if !rules.own_processes {
        for (call, process, kind) in OF_OTHERS {
            // By its own number the caller is refused too: a filter does not know it.
            rule(*call, &[(*process, Ne, 0)])?;
            if let Some(kind) = kind {
                rule(*call, &[(0, Ne, *kind)])?;
            }
        }
    }

    if families.is_empty() {
        denied.push((libc::SYS_socket, Vec::new()));
        denied.extend(OF_SOCKETS.iter().map(|call| (*call, Vec::new())));
    }
    if !rules.own_processes {
        denied.extend(OF_SYSTEM_V.iter().map(|call| (*call, Vec::new())));
    }
    Ok(denied)
}

// Of asm-generic/ioctls.h, which both processors use.
const TIOCSTI: i32 = 0x5412;
const TIOCLINUX: i32 = 0x541C;

/// A filter that lets through all but these. Calls of another processor's kind end the process.
fn compile(rules: Vec<Rule>, errno: i32) -> Result<BpfProgram, Errno> {
    let processor = std::env::consts::ARCH.try_into().map_err(|_| Errno::ENOSYS)?;
    SeccompFilter::new(
        rules.into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        processor,
    )
    .and_then(BpfProgram::try_from)
    .map_err(|_| Errno::EINVAL)
}

/// A filter for numbers beyond the known ones: those of x32 are refused, the others do not exist.
fn beyond() -> BpfProgram {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS: the number is the first field
    const AT_LEAST: u16 = 0x35; // BPF_JMP | BPF_JGE | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ALLOW: u32 = 0x7fff_0000; // SECCOMP_RET_ALLOW
    const REFUSE: u32 = 0x0005_0000; // SECCOMP_RET_ERRNO
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    #[cfg(target_arch = "x86_64")]
    let x32 = [
        step(AT_LEAST, 0, 1, X32),
        step(RETURN, 0, 0, REFUSE | libc::EPERM.unsigned_abs()),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let x32 = [];
    let mut filter = vec![step(LOAD, 0, 0, 0)];
    filter.extend(x32);
    filter.extend([
        step(AT_LEAST, 0, 1, FIRST_UNKNOWN),
        step(RETURN, 0, 0, REFUSE | libc::ENOSYS.unsigned_abs()),
        step(RETURN, 0, 0, ALLOW),
    ]);
    filter
}
