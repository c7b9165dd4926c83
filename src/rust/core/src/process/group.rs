//! A control group of a command's own, where the host gives one (cgroup v2).
//!
//! Members cannot leave by forking, nor by anything that hides them from who walks the tree, and all of
//! them are killed by one write. It is taken where this process may make groups without disturbing
//! anybody: at the root of what it sees, as in a container or a virtual machine, and as an ordinary user
//! in a group that was delegated to it. A privileged process elsewhere could make one too, but there the
//! hierarchy has another owner (systemd), and is left alone. Without one nothing is lost but that second
//! way.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::mark::Mark;

/// What the names of all of them start with.
const PREFIX: &str = "rhocap-";

/// A control group.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    directory: File,
}

impl Group {
    /// Makes the group of a supervisor's command; none where that cannot be.
    #[must_use]
    pub fn create(supervisor: u32, mark: Mark) -> Option<Self> {
        let parent = parent()?;
        let path = parent.join(name(supervisor, mark));
        std::fs::create_dir(&path).ok()?;
        // Now and then, what others left who were killed.
        if mark.number() % 16 == 0 {
            remove_stale(&parent);
        }
        Self::open(path)
    }

    /// The group that a supervisor made, if it did.
    #[must_use]
    pub fn find(supervisor: u32, mark: Mark) -> Option<Self> {
        Self::open(parent()?.join(name(supervisor, mark)))
    }

    fn open(path: PathBuf) -> Option<Self> {
        let directory = File::open(&path).ok()?;
        Some(Self { path, directory })
    }

    /// Kills all members at once; whether that could be done. It needs Linux 5.14.
    #[must_use]
    pub fn kill(&self) -> bool {
        let opened = File::options().write(true).open(self.path.join("cgroup.kill"));
        opened.and_then(|mut file| file.write_all(b"1")).is_ok()
    }

    /// Holds all members where they are, or lets them go on. It needs Linux 5.2. What is held can be killed.
    pub fn hold(&self, hold: bool) {
        let opened = File::options().write(true).open(self.path.join("cgroup.freeze"));
        let _ = opened.and_then(|mut file| file.write_all(if hold { b"1" } else { b"0" }));
    }

    /// The members, those of groups below it too.
    #[must_use]
    pub fn members(&self) -> Vec<i32> {
        let mut found = Vec::new();
        members(&self.path, &mut found);
        found
    }

    /// Removes the group, if it has no members any more; whether it is gone.
    #[must_use]
    pub fn remove(&self) -> bool {
        remove(&self.path)
    }
}

impl AsFd for Group {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

fn name(supervisor: u32, mark: Mark) -> String {
    format!("{PREFIX}{supervisor}-{:x}", mark.number())
}

/// The group of this process, if it may make others in it.
fn parent() -> Option<PathBuf> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    if rustix::process::geteuid().is_root() && !own.is_empty() {
        return None;
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    Some(mount(&mounts)?.join(own))
}

/// Where the hierarchy is mounted, from its root on (`man 5 proc_pid_mountinfo`).
fn mount(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, path) = (fields.next()?, fields.next()?);
        // A path with a space or so is written with an escape; nobody mounts it there.
        let plain = kind.starts_with("cgroup2 ") && root == "/" && !path.contains('\\');
        plain.then(|| PathBuf::from(path))
    })
}

fn members(group: &Path, found: &mut Vec<i32>) {
    let own = std::fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
    // A process of another pid namespace is shown as 0.
    found.extend(
        own.lines()
            .filter_map(|line| line.parse::<i32>().ok())
            .filter(|pid| *pid > 0),
    );
    for below in below(group) {
        members(&below, found);
    }
}

fn remove(group: &Path) -> bool {
    match rustix::fs::rmdir(group) {
        Ok(()) | Err(Errno::NOENT) => true,
        // It has members, or groups of its own: a command that was allowed to may have made some.
        Err(_) => {
            let below = below(group);
            !below.is_empty() && below.iter().all(|below| remove(below)) && rustix::fs::rmdir(group).is_ok()
        }
    }
}

fn below(group: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(group).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

/// Removes the groups of supervisors that are no more. One with members cannot be removed; one whose
/// supervisor only looks dead from here is missed by it, and its command runs without.
fn remove_stale(parent: &Path) {
    for group in below(parent) {
        let name = group.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let supervisor = name
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        if supervisor.is_some_and(|supervisor| !Path::new(&format!("/proc/{supervisor}")).exists()) {
            let _ = remove(&group);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_is_found_where_it_is_mounted_whole() {
        for (mounts, path) in [
            ("30 22 0:27 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw", None),
            ("31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu", None),
            (
                "31 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                 40 30 0:37 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate",
                Some("/sys/fs/cgroup/unified"),
            ),
            ("40 30 0:37 /a /sys/fs/cgroup rw - cgroup2 cgroup2 rw", None),
            ("40 30 0:37 / /a\\040b rw - cgroup2 cgroup2 rw", None),
            ("", None),
        ] {
            assert_eq!(mount(mounts), path.map(PathBuf::from), "{mounts}");
        }
    }
}
