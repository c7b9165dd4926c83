//! What a replaced file keeps: mode, owner, group, extended attributes.

use std::os::fd::AsFd;

use rustix::fs::{
    fchmod, fchown, fgetxattr, fgetxattr_query, flistxattr, flistxattr_query, fremovexattr, fsetxattr, Gid, Mode, Uid,
    XattrFlags,
};
use rustix::io::Errno;

use crate::facts::{self, Facts};
use crate::outcome::{Code, Refusal};

/// Attributes that new content must not carry: a file capability is authority given to the old
/// bytes, as a set-user-id bit is.
const NOT_CARRIED: &[&str] = &["security.capability", "security.ima", "security.evm"];

/// The access list. A directory may give one to each new file, and so to one that takes the place of a
/// file that had none: others could read it then.
const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// Gives the new file the owner, mode and extended attributes of the old one. The set-user-id,
/// set-group-id and sticky bits are not carried onto new content.
///
/// Returns the names of attributes that could not be kept.
///
/// # Errors
/// `OwnershipLost` when owner or group cannot be kept.
pub fn keep(old: Option<impl AsFd>, facts: &Facts, new: impl AsFd) -> Result<Vec<String>, Refusal> {
    let new = new.as_fd();
    let fresh = facts::of_handle(new)?;
    if (fresh.uid, fresh.gid) != (facts.uid, facts.gid) {
        let uid = (fresh.uid != facts.uid).then(|| Uid::from_raw(facts.uid));
        let gid = (fresh.gid != facts.gid).then(|| Gid::from_raw(facts.gid));
        fchown(new, uid, gid).map_err(|errno| Refusal::new(Code::OwnershipLost).with("errno", errno.raw_os_error()))?;
    }
    fchmod(new, Mode::from_raw_mode((facts.mode & 0o777) as rustix::fs::RawMode))?;
    let Some(old) = old else {
        return Ok(vec!["extended attributes".to_owned()]);
    };
    Ok(copy_extended(old.as_fd(), new))
}

fn copy_extended(old: std::os::fd::BorrowedFd<'_>, new: std::os::fd::BorrowedFd<'_>) -> Vec<String> {
    let names = match list(old) {
        Ok(names) => names,
        Err(Errno::NOTSUP | Errno::NOSYS) => return Vec::new(),
        Err(_) => return vec!["extended attributes".to_owned()],
    };
    let mut lost = Vec::new();
    if cfg!(target_os = "linux") && !names.split(|byte| *byte == 0).any(|name| name == ACCESS_LIST) {
        match fremovexattr(new, ACCESS_LIST) {
            Ok(()) | Err(Errno::NODATA | Errno::NOTSUP | Errno::NOSYS) => {}
            Err(_) => lost.push(String::from_utf8_lossy(ACCESS_LIST).into_owned()),
        }
    }
    for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        let shown = String::from_utf8_lossy(name).into_owned();
        if NOT_CARRIED.contains(&shown.as_str()) {
            lost.push(shown);
            continue;
        }
        let kept = value(old, name).and_then(|value| fsetxattr(new, name, &value, XattrFlags::empty()));
        if kept.is_err() {
            lost.push(shown);
        }
    }
    lost
}

fn list(file: std::os::fd::BorrowedFd<'_>) -> Result<Vec<u8>, Errno> {
    // Most files have none: one call tells.
    let needed = flistxattr_query(file)?;
    if needed == 0 {
        return Ok(Vec::new());
    }
    let mut names = vec![0_u8; needed];
    let found = flistxattr(file, &mut names)?;
    names.truncate(found);
    Ok(names)
}

fn value(file: std::os::fd::BorrowedFd<'_>, name: &[u8]) -> Result<Vec<u8>, Errno> {
    let needed = fgetxattr_query(file, name)?;
    if needed == 0 {
        return Ok(Vec::new());
    }
    let mut value = vec![0_u8; needed];
    let found = fgetxattr(file, name, &mut value)?;
    value.truncate(found);
    Ok(value)
}
