//! A capability's own directory: where its commands have their `TMPDIR` and `HOME`, and where their
//! output goes that is to be kept whole.
//!
//! It lies beside R's temporary directory and outside of every root, belongs to one capability, and is
//! removed with it. What a process that was killed has left is removed by the next one.

use std::ffi::OsStr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use rustix::fs::{flock, mkdirat, openat, unlinkat, AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::escape::display;
use crate::facts;
use crate::misuse::Misuse;
use crate::open::NAMES;
use crate::remove_all::remove_all;

/// How the name of such a directory starts.
pub const PREFIX: &str = "rhocap-private-";

const MODE: Mode = Mode::RWXU;

/// Where it may lie, too, when the place beside R's temporary directory is inside a root.
pub const PLACES: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// From this age on, in seconds, a directory that nobody holds is one that was left. A younger one may
/// be about to be held.
const STALE: f64 = 60.0;

/// The directory, held and locked as long as its capability lives.
#[derive(Debug)]
pub struct Private {
    path: PathBuf,
    place: OwnedFd,
    name: String,
    handle: OwnedFd,
    owner: u32,
}

impl Private {
    /// Makes it beside `beside`, or in another place for temporary files, where `is_outside` holds.
    ///
    /// # Errors
    /// `environment` when there is no such place, or none that can be written.
    pub fn make(beside: &[u8], is_outside: impl Fn(&[Vec<u8>]) -> bool) -> Result<Self, Misuse> {
        let mut last = None;
        let places = std::iter::once(Path::new(OsStr::from_bytes(beside)));
        for place in places.chain(PLACES.iter().map(Path::new)) {
            let Ok(opened) = crate::root::open("environment", place.as_os_str().as_bytes()) else {
                continue;
            };
            if !is_outside(&opened.canonical) {
                continue;
            }
            sweep(&opened.handle);
            let place = PathBuf::from(OsStr::from_bytes(&crate::capability::with_slash(&opened.canonical)));
            match Self::make_in(&opened.handle, &place) {
                Ok(made) => return Ok(made),
                Err(errno) => last = Some((place, errno)),
            }
        }
        let why = last.map_or_else(
            || {
                "every place for temporary files lies inside a directory of the capability. Name smaller directories."
                    .to_owned()
            },
            |(place, errno)| {
                format!(
                    "\"{}\" cannot be written: {errno}.",
                    display(place.as_os_str().as_bytes())
                )
            },
        );
        Err(Misuse::new(
            "environment",
            format!("There is no place for the private TMPDIR and HOME of commands: {why}"),
        ))
    }

    fn make_in(place: &OwnedFd, path: &Path) -> Result<Self, Errno> {
        for _ in 0..16 {
            let name = format!("{PREFIX}{}", crate::random::hex(8));
            match mkdirat(place, name.as_str(), MODE) {
                Ok(()) => {}
                Err(Errno::EXIST) => continue,
                Err(errno) => return Err(errno),
            }
            let handle = match openat(place, name.as_str(), NAMES | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(handle) => handle,
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno),
            };
            flock(&handle, FlockOperation::NonBlockingLockExclusive)?;
            let made = Self {
                path: path.join(&name),
                place: rustix::io::fcntl_dupfd_cloexec(place, 3)?,
                name,
                handle,
                owner: std::process::id(),
            };
            for name in [Self::TEMPORARY, Self::HOME, Self::OUTPUT, Self::QUARANTINE] {
                mkdirat(&made.handle, name, MODE)?;
            }
            return Ok(made);
        }
        Err(Errno::EXIST)
    }

    pub(crate) const TEMPORARY: &'static str = "tmp";
    pub(crate) const HOME: &'static str = "home";
    const OUTPUT: &'static str = "output";
    const QUARANTINE: &'static str = "quarantine";

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What commands get as `TMPDIR`.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.path.join(Self::TEMPORARY)
    }

    /// What commands get as `HOME`.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path.join(Self::HOME)
    }

    /// Where output is kept, which no confined command can reach.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.path.join(Self::OUTPUT)
    }

    /// Where goes what a command left under a name that a pattern covers.
    ///
    /// # Errors
    /// The system's.
    pub fn quarantine(&self) -> Result<OwnedFd, Errno> {
        openat(&self.handle, Self::QUARANTINE, NAMES | OFlags::NOFOLLOW, Mode::empty())
    }

    /// Where that is.
    #[must_use]
    pub fn quarantine_path(&self) -> PathBuf {
        self.path.join(Self::QUARANTINE)
    }

    /// Makes a file that only its owner can read.
    ///
    /// # Errors
    /// The system's.
    pub fn create(&self, below: &Path) -> Result<std::fs::File, Errno> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(self.handle.as_fd(), below, flags, Mode::RUSR | Mode::WUSR).map(Into::into)
    }

    /// Makes a file of output under a random name; its path.
    ///
    /// # Errors
    /// The system's.
    pub fn create_output(&self) -> Result<(std::fs::File, PathBuf), Errno> {
        let below = Path::new(Self::OUTPUT).join(format!("output-{}.txt", crate::random::hex(8)));
        Ok((self.create(&below)?, self.path.join(below)))
    }

    /// Writes what git finds in the private home.
    ///
    /// # Errors
    /// The system's.
    pub fn write_home(&self, name: &str, content: &str) -> Result<(), std::io::Error> {
        use std::io::Write;
        self.create(&Path::new(Self::HOME).join(name))?
            .write_all(content.as_bytes())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // A forked R process has a copy of this value, and ends too.
        if self.owner == std::process::id() {
            remove(&self.place, self.name.as_str());
        }
    }
}

/// Removes a private directory, but for a quarantine that holds something: that may be the user's own,
/// made while a command ran.
fn remove(place: &OwnedFd, name: impl rustix::path::Arg + Copy) {
    let Ok(handle) = openat(place, name, NAMES | OFlags::NOFOLLOW, Mode::empty()) else {
        return;
    };
    for entry in Dir::read_from(&handle).into_iter().flatten().flatten() {
        match entry.file_name().to_bytes() {
            b"." | b".." => {}
            name if name == Private::QUARANTINE.as_bytes() => {
                let _ = unlinkat(&handle, Private::QUARANTINE, AtFlags::REMOVEDIR);
            }
            _ => {
                let file = unlinkat(&handle, entry.file_name(), AtFlags::empty());
                if file.is_err() {
                    remove_all(&handle, entry.file_name());
                }
            }
        }
    }
    let _ = unlinkat(place, name, AtFlags::REMOVEDIR);
}

/// Removes what processes have left that were killed; once in each process.
fn sweep(place: &OwnedFd) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The descriptor of a root may be one that only names a place.
        let opened = openat(place, ".", NAMES, Mode::empty()).and_then(Dir::new);
        let Ok(names) = opened else { return };
        for name in names.flatten() {
            if name.file_name().to_bytes().starts_with(PREFIX.as_bytes()) {
                sweep_one(place, name.file_name());
            }
        }
    });
}

fn sweep_one(place: &OwnedFd, name: &std::ffi::CStr) {
    let Ok(handle) = openat(place, name, NAMES | OFlags::NOFOLLOW, Mode::empty()) else {
        return;
    };
    let Ok(found) = facts::of_handle(&handle) else { return };
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let age = now.map_or(0.0, |now| now.as_secs_f64()) - found.modified;
    if found.uid != rustix::process::geteuid().as_raw() || age < STALE {
        return;
    }
    if flock(&handle, FlockOperation::NonBlockingLockExclusive).is_ok() {
        remove(place, name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::CWD;

    use super::*;

    fn mode(path: &Path) -> u32 {
        std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn it_is_for_its_owner_only_and_goes_with_its_value() {
        let place = tempfile::tempdir().unwrap();
        let beside = place.path().as_os_str().as_bytes();
        let made = Private::make(beside, |_| true).unwrap();
        let path = made.path().to_owned();
        assert!(path.starts_with(place.path().canonicalize().unwrap()));
        for directory in [path.clone(), made.temporary(), made.home(), made.output()] {
            assert_eq!(mode(&directory), 0o700, "{directory:?}");
        }
        let kept = made.path().join("quarantine/kept");
        std::fs::write(&kept, "").unwrap();
        let (_, output) = made.create_output().unwrap();
        assert_eq!(mode(&output), 0o600);
        let locked = made.temporary().join("locked/in");
        std::fs::create_dir_all(&locked).unwrap();
        std::fs::write(locked.join("file"), "").unwrap();
        std::fs::set_permissions(locked.parent().unwrap(), std::fs::Permissions::from_mode(0o0)).unwrap();
        std::os::unix::fs::symlink(place.path(), made.temporary().join("link")).unwrap();
        drop(made);
        // What is in the quarantine may be the user's own.
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
        assert!(kept.exists());
        assert!(place.path().exists());
        let made = Private::make(beside, |_| true).unwrap();
        let path = made.path().to_owned();
        drop(made);
        assert!(!path.exists());
    }

    #[test]
    fn it_lies_outside_of_the_roots_or_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let beside = place.path().as_os_str().as_bytes();
        let canonical = crate::path::names(place.path().canonicalize().unwrap().as_os_str().as_bytes()).unwrap();
        let made = Private::make(beside, |names| !names.starts_with(&canonical)).unwrap();
        assert!(!made.path().starts_with(place.path()));
        assert_eq!(Private::make(beside, |_| false).unwrap_err().kind, "environment");
    }

    #[test]
    fn what_nobody_holds_any_more_is_swept_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let handle = crate::root::open("root", place.path().as_os_str().as_bytes())
            .unwrap()
            .handle;
        let old = |name: &str| {
            let path = place.path().join(name);
            std::fs::create_dir(&path).unwrap();
            std::fs::write(path.join("x"), "").unwrap();
            let long_ago = rustix::fs::Timespec { tv_sec: 1, tv_nsec: 0 };
            let times = rustix::fs::Timestamps {
                last_access: long_ago,
                last_modification: long_ago,
            };
            rustix::fs::utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).unwrap();
            path
        };
        let (left, held, other) = (old("rhocap-private-1"), old("rhocap-private-2"), old("else"));
        let young = place.path().join("rhocap-private-3");
        std::fs::create_dir(&young).unwrap();
        let lock = std::fs::File::open(&held).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        for path in [&left, &held, &young] {
            let name = path.file_name().unwrap().as_bytes().to_vec();
            sweep_one(&handle, &std::ffi::CString::new(name).unwrap());
        }
        assert_eq!(
            [left.exists(), held.exists(), other.exists(), young.exists()],
            [false, true, true, true]
        );
    }
}
