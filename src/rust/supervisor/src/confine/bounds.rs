//! Bounds on what a confined command takes.

use nix::errno::Errno;
use rhocap_core::process::confinement::Bounds;
use rhocap_core::process::errno::same;
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

/// Whether a bound cannot be enforced. The number of processes is counted for the user within a user
/// namespace (Linux 5.14), and never for root.
pub fn unenforceable(bounds: &Bounds, user_namespace: bool) -> bool {
    bounds.processes.is_some() && (!user_namespace || rustix::process::geteuid().is_root())
}

/// Sets the bounds. Last of all, because ours need memory and descriptors too.
pub fn set(bounds: &Bounds) -> Result<(), Errno> {
    // A core dump would leave the command's memory in a file, or with a program of the host's. The latter
    // the kernel starts whatever this limit is, unless it is 1, which is too short for a file as well.
    limit(Resource::Core, 1, 1)?;
    let plain = [
        // One more for the init.
        (
            Resource::Nproc,
            bounds.processes.map(|processes| processes.saturating_add(1)),
        ),
        (Resource::As, bounds.memory),
        (Resource::Fsize, bounds.file_size),
        (Resource::Nofile, bounds.open_files),
    ];
    for (resource, bound) in plain {
        if let Some(bound) = bound {
            limit(resource, bound, bound)?;
        }
    }
    if let Some(seconds) = bounds.cpu {
        // First SIGXCPU, which tells why; a second later SIGKILL, for those who ignore it.
        limit(Resource::Cpu, seconds, seconds.saturating_add(1))?;
    }
    Ok(())
}

/// Sets one limit, never above the one that R has.
fn limit(resource: Resource, soft: u64, hard: u64) -> Result<(), Errno> {
    let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let limit = Rlimit {
        current: Some(soft.min(most)),
        maximum: Some(hard.min(most)),
    };
    setrlimit(resource, limit).map_err(same)
}
