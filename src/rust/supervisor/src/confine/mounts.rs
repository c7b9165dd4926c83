//! What a confined command sees of the file system: a new root, with nothing in it that was not put
//! there.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use rhocap_core::confine::system;
use rhocap_core::mount_table::mount_points;
use rhocap_core::process::confinement::{Closes, Confinement, Place, Standing};
use rhocap_core::process::errno::same;
use rhocap_core::process::protocol::Stage;
use rustix::fs::{
    fstat, mkdirat, openat, openat2, readlinkat, symlinkat, unlinkat, AtFlags, FileType, Mode, OFlags, ResolveFlags,
    CWD,
};
use rustix::mount::{mount_change, unmount, MountAttrFlags, MountPropagationFlags, UnmountFlags};

use super::layout::{layers, Layer};
use super::mounting::{attach, copy, file_system, in_memory, limit, set, Limits, OWN, READ};
use super::Failed;

/// Builds the new root and makes it this process's; whether there is a /proc in it.
///
/// # Errors
/// [`Stage::Namespace`] where mounts cannot be made at all, [`Stage::Mount`] where these cannot.
pub fn build(confinement: &Confinement) -> Result<bool, Failed> {
    // Modes are as they are said here; the command's own mask stays.
    let mask = rustix::process::umask(Mode::empty());
    let lacking = |errno| (Stage::Namespace, errno);
    let built = Root::new(confinement).map_err(lacking).and_then(|mut root| {
        root.fill(confinement).map_err(|errno| (Stage::Mount, errno))?;
        root.enter().map_err(lacking)
    });
    rustix::process::umask(mask);
    built
}

/// The major number of null, zero, full, random and urandom.
const MEMORY_DEVICES: u32 = 1;

struct Root {
    /// The host's root.
    host: OwnedFd,
    /// The new one: a file system in memory, read-only in the end.
    new: OwnedFd,
    /// Its device.
    device: u64,
    /// The host's mount points.
    mounted: Vec<Vec<u8>>,
    proc: bool,
}

impl Root {
    fn new(confinement: &Confinement) -> Result<Self, Errno> {
        let host = openat(
            CWD,
            c"/",
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(same)?;
        let mounted = if confinement.places.iter().all(|place| place.mounts) {
            Vec::new()
        } else {
            mount_points().map_err(same)?
        };
        // Nothing that is mounted from now on reaches the host, or comes from there.
        mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(same)?;
        let new = in_memory(&[(c"mode", c"0755")])?;
        let device = fstat(&new).map_err(same)?.st_dev;
        attach(new.as_fd(), host.as_fd())?;
        // Linux 5.12 and later: what cannot be limited is not shown.
        limit(
            new.as_fd(),
            Limits {
                read_only: false,
                ..READ
            },
        )?;
        Ok(Self {
            host,
            new,
            device,
            mounted,
            proc: false,
        })
    }

    fn fill(&mut self, confinement: &Confinement) -> Result<(), Errno> {
        self.system(confinement.network)?;
        self.devices()?;
        self.own_devices(confinement)?;
        self.proc = self.proc()?;
        let closed = Closed::new(&self.new)?;
        for (path, layer) in layers(confinement, &self.mounted) {
            match layer {
                Layer::Place(place) => self.place(&path, place)?,
                Layer::Pin => self.again(&path, Standing::Directory, None)?,
                Layer::Cover(cover) => match cover.closes {
                    Closes::All => self.cover(&path, &closed.file, &closed.directory)?,
                    Closes::Writing => self.again(&path, cover.kind, Some(READ))?,
                    Closes::Moving => self.again(&path, cover.kind, None)?,
                },
                Layer::Hidden => self.hide(&path, &closed, &confinement.places)?,
            }
        }
        Closed::unname(&self.new)?;
        for (path, target) in &confinement.links {
            self.link(path, target)?;
        }
        Ok(())
    }

    /// The system's files, read-only.
    fn system(&self, network: bool) -> Result<(), Errno> {
        let network: &[&str] = if network { &system::NETWORK } else { &[] };
        for path in system::PROGRAMS {
            let path = &path.as_bytes()[1..];
            let Some(found) = self.on_host(path, ResolveFlags::NO_SYMLINKS)? else {
                // `/bin` is a link to `usr/bin` on most systems, and stays one.
                if let Ok(target) = readlinkat(&self.host, path, Vec::new()) {
                    symlinkat(target.as_c_str(), &self.new, path).map_err(same)?;
                }
                continue;
            };
            self.bind(found.as_fd(), path, READ)?;
        }
        for path in system::CONFIGURATION.iter().chain(network) {
            let path = &path.as_bytes()[1..];
            let found = match self.on_host(path, ResolveFlags::NO_SYMLINKS)? {
                Some(found) => found,
                None => match self.linked(path)? {
                    Some(found) => found,
                    None => continue,
                },
            };
            let limits = Limits { execute: false, ..READ };
            self.bind(found.as_fd(), path, limits)?;
        }
        Ok(())
    }

    /// A file of /etc that is a link. One into /usr stays a link: its name tells the time zone, say.
    /// Of another the file itself stands at its place, because where it leads (/run) is not there.
    fn linked(&self, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
        let Ok(target) = readlinkat(&self.host, path, Vec::new()) else {
            return Ok(None);
        };
        if target.to_bytes().starts_with(b"/usr/") || target.to_bytes().starts_with(b"../usr/") {
            let (parent, name) = self.parent(path)?;
            symlinkat(target.as_c_str(), parent, name).map_err(same)?;
            return Ok(None);
        }
        self.on_host(path, ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS)
    }

    /// The few devices that hold nothing.
    fn devices(&self) -> Result<(), Errno> {
        for name in system::DEVICES {
            let path = format!("dev/{name}");
            let Some(found) = self.on_host(path.as_bytes(), ResolveFlags::NO_SYMLINKS)? else {
                continue;
            };
            // Another thing under this name would be another thing in the command's hands.
            let stat = fstat(&found).map_err(same)?;
            let device = FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice;
            if device && rustix::fs::major(stat.st_rdev) == MEMORY_DEVICES {
                let limits = Limits {
                    read_only: true,
                    devices: true,
                    execute: false,
                };
                self.bind(found.as_fd(), path.as_bytes(), limits)?;
            }
        }
        let devices = self.directory(b"dev")?;
        for (name, target) in [
            (c"fd", c"/proc/self/fd"),
            (c"stdin", c"/proc/self/fd/0"),
            (c"stdout", c"/proc/self/fd/1"),
            (c"stderr", c"/proc/self/fd/2"),
        ] {
            symlinkat(target, &devices, name).map_err(same)?;
        }
        Ok(())
    }

    /// Shared memory and terminals of the command's own, which end with it. Without them some programs
    /// fail, which is all that comes of a host that does not allow them.
    fn own_devices(&self, confinement: &Confinement) -> Result<(), Errno> {
        let shared = b"/dev/shm";
        let taken = |place: &Place| place.path.starts_with(shared);
        if !confinement.places.iter().any(taken) {
            let memory = in_memory(&[(c"mode", c"1777"), (c"size", c"64m")])?;
            limit(memory.as_fd(), OWN)?;
            attach(memory.as_fd(), self.directory(&shared[1..])?.as_fd())?;
        }
        // A new instance: no terminal of the host is in it.
        let options = [(c"mode", c"0620"), (c"ptmxmode", c"0666")];
        if let Ok(terminals) = file_system(c"devpts", &options, MountAttrFlags::MOUNT_ATTR_NOSUID) {
            attach(terminals.as_fd(), self.directory(b"dev/pts")?.as_fd())?;
            symlinkat(c"pts/ptmx", self.directory(b"dev")?, c"ptmx").map_err(same)?;
        }
        Ok(())
    }

    /// A /proc of the new processes alone. Read-only: what root writes to /proc/sys is the host's.
    fn proc(&self) -> Result<bool, Errno> {
        let target = self.directory(b"proc")?;
        let flags = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        match file_system(c"proc", &[], flags) {
            Ok(tree) => attach(tree.as_fd(), target.as_fd()).map(|()| true),
            // Where the host's own is partly hidden (in containers), no fresh one may be had.
            Err(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => Ok(false),
            Err(failed) => Err(same(failed)),
        }
    }

    /// A directory of the host, if it is the one that was admitted.
    fn place(&self, path: &[u8], place: &Place) -> Result<(), Errno> {
        // The processes that the host's /proc shows are not the command's, nor is its root.
        // Nor do mounts show names without what they stand for.
        if path.is_empty() || path == b"proc" || path.starts_with(b"proc/") || place.names {
            return Err(Errno::EINVAL);
        }
        let found = self.on_host(path, ResolveFlags::NO_SYMLINKS)?.ok_or(Errno::ENOENT)?;
        let stat = fstat(&found).map_err(same)?;
        if (stat.st_dev, stat.st_ino) != (place.device, place.inode) {
            return Err(Errno::ESTALE);
        }
        let limits = Limits {
            read_only: !place.write,
            ..READ
        };
        self.bind(found.as_fd(), path, limits)
    }

    /// Something of the new root on itself: it cannot be renamed or removed then. A link, too: by its
    /// descriptor, one can be mounted on, and is followed as before.
    fn again(&self, path: &[u8], kind: Standing, limits: Option<Limits>) -> Result<(), Errno> {
        let found = if kind == Standing::Link {
            self.link_in_new(path)?
        } else {
            self.in_new(path)?
        };
        let Some(found) = found else { return Ok(()) };
        let tree = copy(found.as_fd())?;
        if let Some(limits) = limits {
            limit(tree.as_fd(), limits)?;
        }
        attach(tree.as_fd(), found.as_fd())
    }

    /// An empty thing over something.
    fn cover(&self, path: &[u8], file: &OwnedFd, directory: &OwnedFd) -> Result<(), Errno> {
        let Some(found) = self.in_new(path)? else { return Ok(()) };
        let kind = FileType::from_raw_mode(fstat(&found).map_err(same)?.st_mode);
        let tree = copy(if kind == FileType::Directory {
            directory.as_fd()
        } else {
            file.as_fd()
        })?;
        let limits = Limits { execute: false, ..READ };
        limit(tree.as_fd(), limits)?;
        attach(tree.as_fd(), found.as_fd())
    }

    /// A directory of nothing over what the host has mounted somewhere, with the way to the places in it.
    fn hide(&self, path: &[u8], closed: &Closed, places: &[Place]) -> Result<(), Errno> {
        let below = |place: &'_ Place| {
            place.path[1..]
                .strip_prefix(path)?
                .strip_prefix(b"/")
                .map(<[u8]>::to_vec)
        };
        let ways: Vec<Vec<u8>> = places.iter().filter_map(below).collect();
        if ways.is_empty() {
            return self.cover(path, &closed.file, &closed.hidden);
        }
        let Some(found) = self.in_new(path)? else { return Ok(()) };
        // One of its own: what other mounts are hidden by has no such names.
        let tree = in_memory(&[(c"mode", c"0555")])?;
        for way in ways {
            for end in (1..=way.len()).filter(|end| *end == way.len() || way[*end] == b'/') {
                match mkdirat(&tree, &way[..end], Mode::from_raw_mode(0o555)) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => {}
                    Err(failed) => return Err(same(failed)),
                }
            }
        }
        let limits = Limits { execute: false, ..READ };
        limit(tree.as_fd(), limits)?;
        attach(tree.as_fd(), found.as_fd())
    }

    /// Another spelling of a place.
    fn link(&self, path: &[u8], target: &[u8]) -> Result<(), Errno> {
        let path = &path[1..];
        // Within a place the host's own link is there already; nothing is ever made on the host.
        match self.parent(path) {
            Ok((parent, name)) if fstat(&parent).map_err(same)?.st_dev == self.device => {
                match symlinkat(target, parent, name) {
                    Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
                    Err(failed) => Err(same(failed)),
                }
            }
            _ => Ok(()),
        }
    }

    /// Something of the host; nothing where it does not exist, or is a link and those were refused.
    fn on_host(&self, path: &[u8], resolve: ResolveFlags) -> Result<Option<OwnedFd>, Errno> {
        match openat2(
            &self.host,
            path,
            OFlags::PATH | OFlags::CLOEXEC,
            Mode::empty(),
            resolve | ResolveFlags::NO_MAGICLINKS,
        ) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => Ok(None),
            Err(failed) => Err(same(failed)),
        }
    }

    /// Something of the new root; nothing where it does not exist (any more). A link in its place is an
    /// error: it could not be covered.
    fn in_new(&self, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
        self.open_in_new(path, OFlags::PATH | OFlags::CLOEXEC)
    }

    /// A link of the new root; an error where something else stands in its place.
    fn link_in_new(&self, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
        let Some(found) = self.open_in_new(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC)? else {
            return Ok(None);
        };
        let kind = FileType::from_raw_mode(fstat(&found).map_err(same)?.st_mode);
        if kind == FileType::Symlink {
            Ok(Some(found))
        } else {
            Err(Errno::ESTALE)
        }
    }

    fn open_in_new(&self, path: &[u8], flags: OFlags) -> Result<Option<OwnedFd>, Errno> {
        match openat2(
            &self.new,
            path,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH,
        ) {
            Ok(found) => Ok(Some(found)),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
            Err(failed) => Err(same(failed)),
        }
    }

    /// Mounts something of the host in the new root.
    fn bind(&self, found: BorrowedFd<'_>, path: &[u8], limits: Limits) -> Result<(), Errno> {
        let kind = FileType::from_raw_mode(fstat(found).map_err(same)?.st_mode);
        let tree = copy(found)?;
        limit(tree.as_fd(), limits)?;
        let target = if kind == FileType::Directory {
            self.directory(path)?
        } else {
            self.file(path)?
        };
        attach(tree.as_fd(), target.as_fd())
    }

    /// A directory in the new root, made where it does not exist and the root is still ours.
    fn directory(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let mut at = self.new.try_clone().map_err(|_| Errno::EMFILE)?;
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            at = match openat(&at, name, flags, Mode::empty()) {
                Err(rustix::io::Errno::NOENT) => {
                    self.ours(&at)?;
                    mkdirat(&at, name, Mode::from_raw_mode(0o755)).map_err(same)?;
                    openat(&at, name, flags, Mode::empty()).map_err(same)?
                }
                found => found.map_err(same)?,
            };
        }
        Ok(at)
    }

    /// A file in the new root, as [`Self::directory`].
    fn file(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let (parent, name) = self.parent(path)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&parent, name, flags, Mode::empty()) {
            Err(rustix::io::Errno::NOENT) => {
                self.ours(&parent)?;
                empty_file(&parent, name, 0o444)?;
                openat(&parent, name, flags, Mode::empty()).map_err(same)
            }
            found => found.map_err(same),
        }
    }

    fn parent<'a>(&self, path: &'a [u8]) -> Result<(OwnedFd, &'a [u8]), Errno> {
        let at = path.iter().rposition(|byte| *byte == b'/');
        let (parent, name) = at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..]));
        Ok((self.directory(parent)?, name))
    }

    /// Nothing is ever made in what was mounted.
    fn ours(&self, directory: &OwnedFd) -> Result<(), Errno> {
        let ours = fstat(directory).map_err(same)?.st_dev == self.device;
        ours.then_some(()).ok_or(Errno::ENOENT)
    }

    /// Makes the new root this process's, and lets the host's go.
    fn enter(self) -> Result<bool, Errno> {
        let here = self.new.as_fd();
        rustix::process::fchdir(here).map_err(same)?;
        // With the same directory for both, the old root comes to lie over the new one
        // (`man 2 pivot_root`), and is taken off.
        rustix::process::pivot_root(c".", c".").map_err(same)?;
        unmount(c".", UnmountFlags::DETACH).map_err(same)?;
        rustix::process::chdir(c"/").map_err(same)?;
        let root = openat(CWD, c"/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(same)?;
        if fstat(&root).map_err(same)?.st_dev != self.device {
            return Err(Errno::ESTALE);
        }
        set(root.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        Ok(self.proc)
    }
}

/// What covers are made of: entries of the new root that lose their names when all is covered.
struct Closed {
    /// A file that nobody may open.
    file: OwnedFd,
    /// A directory that nobody may open.
    directory: OwnedFd,
    /// An empty directory.
    hidden: OwnedFd,
}

impl Closed {
    const NAMES: [&'static str; 3] = [".closed-file", ".closed-directory", ".hidden"];

    fn new(root: &OwnedFd) -> Result<Self, Errno> {
        let [file, directory, hidden] = Self::NAMES;
        empty_file(root, file.as_bytes(), 0)?;
        mkdirat(root, directory, Mode::empty()).map_err(same)?;
        mkdirat(root, hidden, Mode::from_raw_mode(0o555)).map_err(same)?;
        let open = |name| openat(root, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(same);
        Ok(Self {
            file: open(file)?,
            directory: open(directory)?,
            hidden: open(hidden)?,
        })
    }

    fn unname(root: &OwnedFd) -> Result<(), Errno> {
        let [file, directories @ ..] = Self::NAMES;
        unlinkat(root, file, AtFlags::empty()).map_err(same)?;
        for name in directories {
            unlinkat(root, name, AtFlags::REMOVEDIR).map_err(same)?;
        }
        Ok(())
    }
}

fn empty_file(parent: &OwnedFd, name: &[u8], mode: u32) -> Result<(), Errno> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    openat(parent, name, flags, Mode::from_raw_mode(mode))
        .map(drop)
        .map_err(same)
}
