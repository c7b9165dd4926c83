//! Landlock: the same places once more, by another mechanism of the kernel.
//!
//! Where there are namespaces it is the second wall. Where there are none it is the only one, and must
//! hold signals and abstract sockets as well, which it does since version 6.

use std::os::fd::OwnedFd;

use landlock::{
    Access, AccessFs, AccessNet, BitFlags, LandlockStatus, PathBeneath, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetStatus, Scope, ABI,
};
use nix::errno::Errno;
use rhocap_core::confine::system;
use rhocap_core::process::confinement::{Confinement, Place};
use rhocap_core::process::errno::same;
use rhocap_core::process::protocol::Stage;
use rustix::fs::{fstat, openat, FileType, Mode, OFlags, CWD};

use super::Failed;

/// The newest version whose rights are known here.
const KNOWN: ABI = ABI::V10;

/// The oldest one that will do alone: with scopes for signals and abstract sockets.
pub const ALONE: u8 = 6;

/// Rules that were made and not yet enforced.
pub struct Rules(RulesetCreated);

/// Makes the rules, as the file system is seen now.
pub fn prepare(confinement: &Confinement, own_root: bool) -> Result<Rules, Failed> {
    let opened = confinement.places.iter().map(open_place).collect::<Result<Vec<_>, _>>();
    let opened = opened.map_err(|errno| (Stage::Mount, errno))?;
    rules(confinement, opened, own_root).map_err(|errno| (Stage::Landlock, errno))
}

fn rules(confinement: &Confinement, opened: Vec<OwnedFd>, own_root: bool) -> Result<Rules, Errno> {
    let mut ruleset = landlock::Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))
        .map_err(refused)?
        .scope(Scope::from_all(KNOWN))
        .map_err(refused)?;
    if !confinement.network {
        ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN)).map_err(refused)?;
    }
    let mut rules = ruleset.create().map_err(refused)?;

    let read = AccessFs::from_read(KNOWN);
    let configuration = read & !BitFlags::from(AccessFs::Execute);
    let network: &[&str] = if confinement.network { &system::NETWORK } else { &[] };
    for path in system::PROGRAMS {
        rules = allow_path(rules, path, read)?;
    }
    for path in system::CONFIGURATION.iter().chain(network) {
        rules = allow_path(rules, path, configuration)?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for name in system::DEVICES {
        rules = allow_path(rules, &format!("/dev/{name}"), device)?;
    }
    // Making devices needs a capability, which is dropped; controlling them nobody asked for.
    let never = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    let write = AccessFs::from_all(KNOWN) & !never;
    if own_root {
        // All that is there was put there by us, but what is covered cannot be listed anyhow.
        rules = allow_path(rules, "/", AccessFs::ReadDir.into())?;
        rules = allow_path(rules, "/proc", configuration)?;
        rules = allow_path(rules, "/dev/shm", write & !BitFlags::from(AccessFs::Execute))?;
        rules = allow_path(rules, "/dev/pts", device | AccessFs::ReadDir)?;
    } else {
        // What tells of the machine; what tells of its processes does not come with it.
        for name in [
            "cpuinfo",
            "meminfo",
            "stat",
            "loadavg",
            "uptime",
            "version",
            "filesystems",
        ] {
            rules = allow_path(rules, &format!("/proc/{name}"), configuration)?;
        }
    }
    for (place, opened) in confinement.places.iter().zip(opened) {
        let access = match place {
            Place { names: true, .. } => AccessFs::ReadDir.into(),
            Place { write: true, .. } => write,
            _ => read,
        };
        rules = allow(rules, opened, access)?;
    }
    Ok(Rules(rules))
}

/// The directory of a place, which must be the one that was admitted.
fn open_place(place: &Place) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(CWD, place.path.as_slice(), flags, Mode::empty()).map_err(same)?;
    let stat = fstat(&found).map_err(same)?;
    if (stat.st_dev, stat.st_ino) == (place.device, place.inode) {
        Ok(found)
    } else {
        Err(Errno::ESTALE)
    }
}

fn allow_path(rules: RulesetCreated, path: &str, access: BitFlags<AccessFs>) -> Result<RulesetCreated, Errno> {
    match openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(found) => allow(rules, found, access),
        // What is not there, or not for this user, needs no rule.
        Err(_) => Ok(rules),
    }
}

fn allow(rules: RulesetCreated, found: OwnedFd, access: BitFlags<AccessFs>) -> Result<RulesetCreated, Errno> {
    let kind = FileType::from_raw_mode(fstat(&found).map_err(same)?.st_mode);
    let access = match kind {
        FileType::Directory => access,
        // The kernel refuses what has no meaning for a file.
        _ => access & AccessFs::from_file(KNOWN),
    };
    rules.add_rule(PathBeneath::new(found, access)).map_err(refused)
}

impl Rules {
    /// Enforces the rules; the version of the interface, 0 where there is no Landlock.
    pub fn enforce(self) -> Result<u8, Errno> {
        let status = self.0.restrict_self().map_err(refused)?;
        match status.landlock {
            LandlockStatus::Available { effective_abi, .. } if status.ruleset != RulesetStatus::NotEnforced => {
                Ok(effective_abi as u8)
            }
            _ => Ok(0),
        }
    }
}

/// The crate's errors carry the system's where there is one.
fn refused(error: impl std::error::Error + 'static) -> Errno {
    let mut at: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(error) = at {
        if let Some(number) = error
            .downcast_ref::<std::io::Error>()
            .and_then(std::io::Error::raw_os_error)
        {
            return Errno::from_raw(number);
        }
        at = error.source();
    }
    Errno::EINVAL
}
