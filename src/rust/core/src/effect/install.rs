//! Putting new content at an admitted entry, in one step that others see whole or not at all.
//!
//! The bytes go to a file of a random name in the same directory, made with `O_EXCL`. A new entry is
//! renamed into a place that must be free. An existing one is *exchanged*, so that what was there
//! can be looked at after the fact: when it is not what was admitted, the two are exchanged back.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use rustix::fs::{flock, fsync, linkat, openat, renameat, renameat_with, AtFlags, FlockOperation, Mode, RenameFlags};
use rustix::io::Errno;

use super::directories::Directories;
use super::temporary::Temporary;
use super::{attributes, read, Cancel, Context, Extent};
use crate::facts::{self, Facts};
use crate::limits::Limits;
use crate::open::{FILE, NAMES};
use crate::outcome::{Code, Refusal};
use crate::parallel::both;
use crate::version;

const STEP: usize = 8 << 20;

/// From this size on, hashing and writing run beside each other.
const PARALLEL: usize = 1 << 20;

/// The admitted entry.
pub struct Entry {
    /// Its directory.
    pub parent: Arc<OwnedFd>,
    /// Directories to make below it first.
    pub missing: Vec<Vec<u8>>,
    /// Its name.
    pub name: Vec<u8>,
    /// What was there at admission.
    pub facts: Option<Facts>,
}

/// What must still be true of the old content when the new one takes its place.
pub enum Basis {
    /// Nothing: the new content does not depend on the old.
    Any,
    /// The new content was made from this version.
    Version(String),
}

/// What was installed.
pub struct Installed {
    /// Whether the entry is new.
    pub created: bool,
    /// The version of the content.
    pub version: String,
    /// Attributes of the old file that could not be kept.
    pub lost: Vec<String>,
}

/// The old file of an entry, open for reading and proven to be the admitted one.
///
/// # Errors
/// `Contended` when another object stands there now, or the error of the system.
pub fn open_old(entry: &Entry) -> Result<Option<OwnedFd>, Refusal> {
    let Some(admitted) = &entry.facts else { return Ok(None) };
    let old = match openat(&entry.parent, entry.name.as_slice(), FILE, Mode::empty()) {
        Ok(old) => old,
        Err(Errno::NOENT | Errno::LOOP | Errno::NXIO) => return Err(Code::Contended.into()),
        Err(errno) => return Err(errno.into()),
    };
    // Another kind under the same number: the file is gone and its inode was used again.
    let found = facts::of_handle(&old)?;
    if found.identity != admitted.identity || found.kind != admitted.kind {
        return Err(Code::Contended.into());
    }
    Ok(Some(old))
}

/// Installs `content`.
///
/// # Errors
/// `Contended`, `LostUpdate`, `OwnershipLost`, `WriteFailed`, `Cancelled`, or the system's. The old
/// file stands then, and nothing that was made on the way remains.
pub fn install(
    entry: &Entry,
    old: Option<&OwnedFd>,
    content: &[u8],
    basis: &Basis,
    context: &mut Context<'_>,
) -> Result<Installed, Refusal> {
    context.cancel.check()?;
    // A write beyond the limit would kill R with SIGXFSZ; there is no need to try.
    if let Some(most) = rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        if content.len() as u64 > most {
            return Err(Refusal::new(Code::WriteFailed)
                .with("errno", Errno::FBIG.raw_os_error())
                .with("limit", most));
        }
    }
    let made = Directories::make(&entry.parent, &entry.missing)?;
    let parent = made.last().map_or_else(|| Arc::clone(&entry.parent), Arc::clone);
    let stuck = Arc::default();
    let result = install_in(&parent, entry, old, content, basis, &stuck, context);
    // A directory that only takes new names keeps them too.
    if stuck.load(Ordering::Relaxed) {
        context.report.gaps.push("temporary_left".into());
        context.report.extent = context.report.extent.max(Extent::Partial);
    }
    if result.is_ok() {
        context.report.extent = Extent::Done;
        context.report.bytes = Some(content.len() as u64);
        if context.limits.fsync && !made.sync(&parent) {
            context.report.gaps.push("directory_not_synced".into());
        }
    } else if context.report.extent == Extent::None {
        made.undo();
    }
    result
}

fn install_in(
    parent: &Arc<OwnedFd>,
    entry: &Entry,
    old: Option<&OwnedFd>,
    content: &[u8],
    basis: &Basis,
    stuck: &Arc<AtomicBool>,
    context: &mut Context<'_>,
) -> Result<Installed, Refusal> {
    let mode = if entry.facts.is_some() {
        Mode::from_raw_mode(0o600)
    } else {
        Mode::from_raw_mode(0o666)
    };
    let temporary = Temporary::make(parent, mode, stuck)?;
    let version = write_and_hash(&temporary.handle, content, old, entry, context)?;
    let lost = match &entry.facts {
        Some(facts) => attributes::keep(old, facts, &temporary.handle)?,
        None => Vec::new(),
    };
    if context.limits.fsync {
        fsync(&temporary.handle).map_err(write_failed)?;
    }
    context.cancel.check()?;
    let _turn = Turn::take(parent);
    match &entry.facts {
        None => place_new(parent, temporary, &entry.name, context)?,
        Some(admitted) => {
            let replaced = Replaced {
                name: &entry.name,
                admitted,
                old,
                basis,
            };
            replaced.replace(parent, temporary, context)?;
        }
    }
    context.report.version_after = Some(version.clone());
    Ok(Installed {
        created: entry.facts.is_none(),
        version,
        lost,
    })
}

/// Writes the new bytes, and meanwhile takes the versions of old and new.
fn write_and_hash(
    file: &OwnedFd,
    content: &[u8],
    old: Option<&OwnedFd>,
    entry: &Entry,
    context: &mut Context<'_>,
) -> Result<String, Refusal> {
    let (limits, cancel, redactor) = (context.limits, context.cancel, context.redactor);
    let before = || {
        let facts = entry.facts.as_ref()?;
        let mut stream = redactor.stream();
        let found = version_of_file(old?, facts, limits, cancel, &mut |bytes| drop(stream.push(bytes))).ok();
        drop(stream.finish());
        found.filter(|_| stream.count() == 0)
    };
    let known = context.report.version_before.is_some();
    let old_size = entry.facts.as_ref().map_or(0, |facts| facts.size);
    if content.len() < PARALLEL && old_size < PARALLEL as u64 {
        write_all(file, content, cancel)?;
        if !known {
            context.report.version_before = before();
        }
        return Ok(version::of(content));
    }
    let hash = || both(|| version::of(content), || if known { None } else { before() });
    let ((after, earlier), written) = both(hash, || write_all(file, content, cancel));
    if !known {
        context.report.version_before = earlier;
    }
    written.map(|()| after)
}

/// The version of a whole file, from its start, in pieces, which somebody else looks at, too.
///
/// # Errors
/// `TooLarge`, `ReadFailed`, `Cancelled`.
pub fn version_of_file(
    file: &OwnedFd,
    facts: &Facts,
    limits: &Limits,
    cancel: &Cancel,
    look: &mut dyn FnMut(&[u8]),
) -> Result<String, Refusal> {
    if facts.size > limits.read_bytes {
        return Err(Refusal::new(Code::TooLarge)
            .with("size", facts.size)
            .with("limit", limits.read_bytes));
    }
    let mut hasher = version::Hasher::default();
    let mut buffer = vec![0_u8; usize::try_from(facts.size.clamp(1, 1 << 20)).unwrap_or(1 << 20)];
    let mut offset = 0;
    loop {
        cancel.check()?;
        let read = rustix::io::pread(file, &mut buffer, offset)
            .map_err(|errno| Refusal::new(Code::ReadFailed).with("errno", errno.raw_os_error()))?;
        if read == 0 {
            return Ok(hasher.finish());
        }
        hasher.update(&buffer[..read]);
        look(&buffer[..read]);
        offset += read as u64;
        if offset > limits.read_bytes {
            return Err(Refusal::new(Code::TooLarge).with("limit", limits.read_bytes));
        }
    }
}

/// Memory for so many bytes, or a refusal where there is none: running out would end R.
///
/// # Errors
/// `TooLarge`.
pub fn room(size: usize) -> Result<Vec<u8>, Refusal> {
    let mut room = Vec::new();
    room.try_reserve_exact(size)
        .map_err(|_| Refusal::new(Code::TooLarge).say("There is not enough memory for the file."))?;
    Ok(room)
}

fn write_all(file: &OwnedFd, content: &[u8], cancel: &Cancel) -> Result<(), Refusal> {
    let mut rest = content;
    while !rest.is_empty() {
        cancel.check()?;
        match rustix::io::write(file, &rest[..rest.len().min(STEP)]) {
            Ok(0) => return Err(Code::WriteFailed.into()),
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(errno) => return Err(write_failed(errno)),
        }
    }
    Ok(())
}

fn write_failed(errno: Errno) -> Refusal {
    Refusal::new(Code::WriteFailed).with("errno", errno.raw_os_error())
}

fn place_new(
    parent: &OwnedFd,
    mut temporary: Temporary,
    name: &[u8],
    context: &mut Context<'_>,
) -> Result<(), Refusal> {
    let placed = match renameat_with(parent, temporary.name.as_str(), parent, name, RenameFlags::NOREPLACE) {
        // The file system cannot do it; a hard link refuses an existing name too.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            linkat(parent, temporary.name.as_str(), parent, name, AtFlags::empty()).map(|()| temporary.remove())
        }
        other => other.map(|()| temporary.keep()),
    };
    match placed {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(Code::Contended.into()),
        Err(errno) => return Err(errno.into()),
    }
    context.report.extent = Extent::Partial;
    verify(parent, name, &temporary)
}

/// An existing file that new content is to replace.
struct Replaced<'a> {
    name: &'a [u8],
    admitted: &'a Facts,
    old: Option<&'a OwnedFd>,
    basis: &'a Basis,
}

impl Replaced<'_> {
    /// Whether the entry is the object that was admitted.
    fn is_admitted(&self, parent: &OwnedFd, entry: &[u8]) -> bool {
        facts::of_entry(parent, entry)
            .is_ok_and(|found| found.identity == self.admitted.identity && found.kind == self.admitted.kind)
    }

    /// Whether the old content is still the one that the new content was made from.
    fn is_basis(&self, limits: &Limits) -> bool {
        match (self.basis, self.old) {
            (Basis::Any, _) => true,
            (Basis::Version(_), None) => false,
            (Basis::Version(wanted), Some(old)) => facts::of_handle(old).is_ok_and(|facts| {
                version_of_file(old, &facts, limits, &Cancel::default(), &mut |_| {})
                    .is_ok_and(|found| found == *wanted)
            }),
        }
    }

    fn replace(&self, parent: &OwnedFd, mut temporary: Temporary, context: &mut Context<'_>) -> Result<(), Refusal> {
        let name = self.name;
        match renameat_with(parent, temporary.name.as_str(), parent, name, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                // No exchange here: look first, then rename. Between the two another program has a moment.
                context.report.gaps.push("rename_without_exchange".into());
                if !self.is_admitted(parent, name) {
                    return Err(Code::Contended.into());
                }
                if !self.is_basis(context.limits) {
                    return Err(Code::LostUpdate.into());
                }
                renameat(parent, temporary.name.as_str(), parent, name).map_err(Refusal::from)?;
                temporary.keep();
                context.report.extent = Extent::Partial;
                return verify(parent, name, &temporary);
            }
            // The entry went away.
            Err(Errno::NOENT) => return Err(Code::Contended.into()),
            Err(errno) => return Err(errno.into()),
        }
        // Now the new file has the name, and what was there has the temporary one.
        let verdict = if !self.is_admitted(parent, temporary.name.as_bytes()) {
            Some(Code::Contended)
        } else if !self.is_basis(context.limits) {
            Some(Code::LostUpdate)
        } else {
            None
        };
        if let Some(code) = verdict {
            let ours = facts::of_entry(parent, name).is_ok_and(|found| found.identity == temporary.facts.identity);
            let restored = ours
                && renameat_with(parent, temporary.name.as_str(), parent, name, RenameFlags::EXCHANGE).is_ok()
                && facts::of_entry(parent, temporary.name.as_bytes())
                    .is_ok_and(|found| found.identity == temporary.facts.identity);
            if !restored {
                // Somebody else is at work on both names. What we moved away stays under the temporary
                // name: losing it would be worse than leaving it.
                temporary.keep();
                context.report.extent = Extent::Partial;
                context.report.gaps.push("displaced_entry_left".into());
                return Err(Refusal::new(code).with("left", temporary.name.clone()));
            }
            return Err(code.into());
        }
        context.report.extent = Extent::Partial;
        // The old file, under the temporary name, goes away with it.
        temporary.remove();
        verify(parent, name, &temporary)
    }
}

fn verify(parent: &OwnedFd, name: &[u8], temporary: &Temporary) -> Result<(), Refusal> {
    match facts::of_entry(parent, name) {
        Ok(found) if found.identity == temporary.facts.identity => Ok(()),
        _ => Err(Code::Contended.into()),
    }
}

/// A lock on a directory while a name in it is exchanged and looked at, so that writers of ours do not
/// meet in between. Other programs need not care, and what they do is found by looking; so a lock that
/// is not to be had soon is gone without.
struct Turn {
    _lock: Option<OwnedFd>,
}

impl Turn {
    fn take(directory: &OwnedFd) -> Self {
        const TRIES: u32 = 100;
        let lock = openat(directory, c".", NAMES, Mode::empty()).ok().filter(|lock| {
            (0..TRIES).any(|_| match flock(lock, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK | Errno::INTR) => {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                    false
                }
                result => result.is_ok(),
            })
        });
        Self { _lock: lock }
    }
}

/// The content of the old file, for edits and appends.
///
/// # Errors
/// `TooLarge`, `ReadFailed`, `Cancelled`.
pub fn old_content(old: &OwnedFd, context: &Context<'_>) -> Result<Vec<u8>, Refusal> {
    let copy = rustix::io::fcntl_dupfd_cloexec(old, 0)?;
    rustix::fs::seek(&copy, rustix::fs::SeekFrom::Start(0))?;
    let facts = facts::of_handle(&copy)?;
    read::bytes(copy, &facts, context.limits.read_bytes, context.cancel)
}
