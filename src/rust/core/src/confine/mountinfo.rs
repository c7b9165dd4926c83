//! Other mounts that the scan does not meet: files on which another file is mounted (only the facts of a file
//! would tell, and asking for those of every file takes longer than the whole scan), and directories in
//! roots that are not walked, because no pattern applies to them.

use rustix::fs::{openat, Mode};

use crate::capability::{with_slash, Capability};
use crate::facts::{self, Kind};
use crate::limits::Limits;
use crate::mount_table::mount_points;
use crate::open::ENTRY;
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::process::confinement::{Closes, Cover, Standing};
use crate::root::Root;

use super::places::{absolute, locate, Site};

/// Whether the scan meets the directories that are mounted in a root: what other mounts hold that are entered
/// must be looked at, because a root may be mounted there once more.
pub(super) fn walks(root: &Root, limits: &Limits) -> bool {
    root.has_rules() || limits.mounts
}

/// Whether anything is mounted below a root.
pub(super) fn any_below(site: &Site) -> bool {
    // What cannot be told is looked for.
    mount_points().map_or(true, |points| {
        let mut points = points.iter().filter_map(|point| path::names(point));
        points.any(|names| names.len() > site.names.len() && names.starts_with(&site.names))
    })
}

/// Covers of what is mounted and a command may not see: of kernel file systems always, of others where the
/// limits say that mounts are not entered.
pub(super) fn covers(capability: &Capability, sites: &[Site]) -> Result<Vec<Cover>, Refusal> {
    let points = mount_points()
        .map_err(|_| Refusal::new(Code::SystemError).say("Without /proc it cannot be told what is mounted."))?;
    let mut covers = Vec::new();
    for names in points.iter().filter_map(|point| path::names(point)) {
        let point = with_slash(&names);
        let Some((index, below)) = locate(sites, &point).filter(|(_, below)| !below.is_empty()) else {
            continue;
        };
        let root = &capability.roots()[index];
        // What cannot be opened is hidden under another mount, or above a directory closed to this user.
        let Ok(handle) = openat(&root.handle, below, ENTRY, Mode::empty()) else {
            continue;
        };
        let found = facts::of_handle(&handle)?;
        let directory = found.kind == Kind::Directory;
        if found.mount == root.facts.mount || (directory && walks(root, capability.limits())) {
            continue;
        }
        if !capability.limits().mounts || facts::is_special_filesystem(&handle)? {
            covers.push(Cover {
                path: absolute(&sites[index], below),
                closes: Closes::All,
                kind: Standing::of(found.kind),
            });
        }
    }
    Ok(covers)
}
