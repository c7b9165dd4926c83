//! Files on which another file is mounted. Directories of other mounts are met by the scan; of a file
//! only its facts would tell, and asking for those of every file takes longer than the whole scan.

use rustix::fs::{openat, Mode};

use crate::capability::Capability;
use crate::facts::{self, Kind};
use crate::open::ENTRY;
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::process::confinement::Cover;

use super::places::{absolute, locate, Site};

/// Covers of the mounted files that a command may not see: of kernel file systems always, of others
/// where the limits say that mounts are not entered.
pub(super) fn covers(capability: &Capability, sites: &[Site]) -> Result<Vec<Cover>, Refusal> {
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|_| Refusal::new(Code::SystemError).say("Without /proc it cannot be told what is mounted."))?;
    let mut covers = Vec::new();
    for names in points(&table) {
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

/// The mount points of a table in the form of `/proc/self/mountinfo` (`man 5 proc_pid_mountinfo`).
fn points(table: &[u8]) -> impl Iterator<Item = Vec<Vec<u8>>> + '_ {
    table.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        path::names(&unescape(point))
    })
}

/// Blanks, line ends and backslashes stand in the table as three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let digits = text.get(at + 1..at + 4).filter(|_| *byte == b'\\');
        let code = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(code.unwrap_or(*byte));
        at += if code.is_some() { 4 } else { 1 };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::points;

    #[test]
    fn mount_points_are_read_with_their_escapes() {
        let table = b"22 1 0:5 / / rw - ext4 /dev/x rw\n30 22 0:9 /f /a\\040b/c\\134d rw shared:1 - tmpfs t rw\n\n";
        let found: Vec<_> = points(table).collect();
        assert_eq!(found, [vec![], vec![b"a b".to_vec(), b"c\\d".to_vec()]]);
    }
}
