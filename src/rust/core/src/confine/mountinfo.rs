//! Files on which another file is mounted. Directories of other mounts are met by the scan; of a file
//! only its facts would tell, and asking for those of every file takes longer than the whole scan.

use rustix::fs::{openat, Mode};

use crate::capability::Capability;
use crate::facts::{self, Kind};
use crate::mount_table::mount_points;
use crate::open::ENTRY;
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::process::confinement::Cover;

use super::places::{absolute, locate, Site};

/// Covers of the mounted files that a command may not see: of kernel file systems always, of others
/// where the limits say that mounts are not entered.
pub(super) fn covers(capability: &Capability, sites: &[Site]) -> Result<Vec<Cover>, Refusal> {
    let points = mount_points()
        .map_err(|_| Refusal::new(Code::SystemError).say("Without /proc it cannot be told what is mounted."))?;
    let mut covers = Vec::new();
    for names in points.iter().filter_map(|point| path::names(point)) {
        let Some((index, below)) = locate(sites, &names).filter(|(_, below)| !below.is_empty()) else {
            continue;
        };
        let root = &capability.roots()[index];
        // What cannot be opened is hidden under another mount, or above a directory closed to this user.
        let Ok(handle) = openat(&root.handle, below.as_slice(), ENTRY, Mode::empty()) else {
            continue;
        };
        let found = facts::of_handle(&handle)?;
        if found.kind == Kind::Directory || found.mount == root.facts.mount {
            continue;
        }
        if !capability.limits().mounts || facts::is_special_filesystem(&handle)? {
            covers.push(Cover {
                path: absolute(&sites[index], &below),
                read: false,
                directory: false,
            });
        }
    }
    Ok(covers)
}
