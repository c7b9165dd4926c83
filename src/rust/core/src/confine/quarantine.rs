//! What a command left behind under names that patterns cover goes out of the roots.
//!
//! Called when the command's tree is gone. The roots are walked as before the command; a name that was
//! not there is moved by descriptor into a directory that the caller keeps outside of all roots, and one
//! that is another object than it was is told. Nothing here follows a link.

use std::collections::HashSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{openat, renameat, unlinkat, AtFlags, Mode};
use rustix::io::Errno;
use serde::Serialize;

use crate::beneath;
use crate::capability::{with_slash, Capability};
use crate::carve_out::{Effect, Leaf};
use crate::effect::Cancel;
use crate::escape::display;
use crate::facts;
use crate::open::DIRECTORY;
use crate::outcome::Refusal;
use crate::path;
use crate::remove_all::remove_all;

use super::closed::Closed;
use super::copy::Copier;
use super::found::{Found, Hit, Scope, Spot, Stop, Why};
use super::places::{absolute, then, Site};
use super::scan::scan;

/// How the names begin of what is moved aside: of what is protected, and of what is denied.
pub const ASIDE: [&str; 2] = ["rhocap-quarantine-", "rhocap-denied-"];

/// What became of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It is in the quarantine, under this name.
    Kept(String),
    /// It has this name beside its own one: the quarantine is on another file system, and it is too large to be
    /// copied, or of another kind than files, directories and links.
    Aside(String),
    /// It is still there: the system gave this error number; `XDEV` of what would have been moved aside under a name
    /// that is not denied.
    Left(i32),
    /// It was there before and is another object now (see [`crate::facts::Since`]), or leads elsewhere, or it was there
    /// under another name, or was open to the command for a while. A command cannot do that; the user can, with git or
    /// an editor, and what is the user's is not taken away. From then on it was open to the command as well, so that
    /// who made what is there is not known.
    Replaced,
}

/// A name that a pattern covers and that a command made or replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CarveOutCreated {
    /// The root whose pattern it is.
    pub root: usize,
    /// The path below that root, escaped for showing.
    pub path: String,
    /// The pattern; for a link on the way of one, `a link above: ` and the pattern; empty for a
    /// directory that cannot be looked into.
    pub pattern: String,
    /// What the pattern does: `deny` or `protect`.
    pub effect: &'static str,
    /// What it is.
    pub kind: &'static str,
    /// What became of it.
    pub fate: Fate,
}

impl CarveOutCreated {
    /// Its new name, if it has one.
    #[must_use]
    pub fn kept_as(&self) -> Option<&str> {
        match &self.fate {
            Fate::Kept(name) | Fate::Aside(name) => Some(name),
            _ => None,
        }
    }
}

/// A name that a pattern covers and that was there before the command, and is no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CarveOutRemoved {
    /// The root whose pattern it is.
    pub root: usize,
    /// The path below that root, escaped for showing.
    pub path: String,
    /// The pattern.
    pub pattern: String,
    /// What the pattern does.
    pub effect: &'static str,
}

/// What was found after a command.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Names that the command made or replaced, and what became of each.
    pub created: Vec<CarveOutCreated>,
    /// Names that it removed.
    pub removed: Vec<CarveOutRemoved>,
    /// Where stood what was taken out, in the roots of the command's capability.
    #[serde(skip)]
    pub taken: Vec<Spot>,
    /// Why not everything was looked at: a word of [`Stop`], or `mounts` where there are others than before. A receipt
    /// must tell it.
    pub stopped: Option<&'static str>,
    /// How many names were looked at.
    pub entries: u64,
}

impl Swept {
    /// Whether all was looked at and nothing is left under a covered name.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let left = |made: &CarveOutCreated| !matches!(made.fate, Fate::Kept(_));
        self.stopped.is_none() && !self.created.iter().any(left)
    }
}

/// From a place in the roots of a capability around to the same in those of the command's.
pub type Within<'a> = &'a dyn Fn(&Spot) -> Option<Spot>;

/// What is looked through after a command, and what is known of it.
#[derive(Clone, Copy)]
pub struct Look<'a> {
    /// The capability whose patterns count.
    pub capability: &'a Capability,
    /// Where each of its roots was.
    pub sites: &'a [Site],
    /// Where each is now: the user may have renamed a directory above.
    pub here: &'a [Site],
    /// What was there before.
    pub before: &'a Found,
    /// The paths at which nothing was closed any more when the command ended.
    pub opened: &'a [&'a [u8]],
    /// Where the capability is one around the command's: the place that the command's knows, for what it could
    /// reach. That is what it is told by then.
    pub within: Option<Within<'a>>,
}

/// Looks through the roots again and moves what is new under a covered name to `quarantine`, an open
/// directory outside of all roots.
///
/// # Errors
/// `Cancelled`.
pub fn sweep(look: &Look<'_>, quarantine: impl AsFd, scope: Scope, cancel: &Cancel) -> Result<Swept, Refusal> {
    let Look {
        capability,
        sites,
        here,
        before,
        opened,
        within,
    } = *look;
    let after = scan(capability, sites, Some(before), scope, cancel)?;
    let mut swept = Swept {
        stopped: after.stopped.map(Stop::as_str).or(after.remounted.then_some("mounts")),
        entries: after.entries,
        ..Swept::default()
    };
    let opened: HashSet<&[u8]> = opened.iter().copied().collect();
    let mut closed = Closed::new(sites, before, &[]);
    closed.open(|path| opened.contains(path));
    let is_closed = |hit: &Hit| {
        let path = absolute(&here[hit.lies.root], &hit.lies.names);
        closed.holds(&path, |path| then(sites, here, path))
    };
    let mut seen = HashSet::new();
    let mut taker = Taker {
        capability,
        quarantine: quarantine.as_fd(),
        copier: Copier::default(),
    };
    for hit in &after.hits {
        // A mount is none of the command's making.
        let opened = was_opened(sites, &opened, hit);
        if hit.why == Why::Mount || before.knows(hit) && !opened {
            continue;
        }
        let known = before.at(&hit.spelled);
        let (told, taken) = match within.map(|within| within(&hit.lies)) {
            None => (hit.spelled.clone(), hit.lies.clone()),
            Some(Some(spot)) => (spot.clone(), spot),
            Some(None) => continue,
        };
        // A link leads from where nothing can be written to where a command writes.
        let leads = known.is_some_and(|known| known.object == hit.object);
        // Two links may lead to one place.
        if !hit.writable && !leads || !seen.insert(hit.lies.clone()) {
            continue;
        }
        if !opened && !leads && is_closed(hit) {
            continue;
        }
        let fate = if known.is_some() || closed.moved(hit) {
            Fate::Replaced
        } else {
            match taker.take_out(hit) {
                Ok(Some(fate)) => {
                    swept.taken.push(taken);
                    fate
                }
                // It is gone by itself.
                Ok(None) => continue,
                Err(errno) => Fate::Left(errno.raw_os_error()),
            }
        };
        swept.created.push(CarveOutCreated {
            root: told.root,
            path: display(&told.names),
            pattern: rule(hit),
            effect: hit.effect.as_str(),
            kind: hit.kind.as_str(),
            fate,
        });
    }
    if after.stopped.is_none() && within.is_none() {
        // What lies behind a link is closed where it lies, and may only have lost the way to it.
        let told = |hit: &Hit| matches!(hit.why, Why::Pattern | Why::LinkAbove) && hit.spelled == hit.lies;
        let gone = |hit: &&Hit| told(hit) && after.at(&hit.spelled).is_none() && hit.writable && !is_closed(hit);
        swept.removed = before
            .hits
            .iter()
            .filter(gone)
            .map(|hit| CarveOutRemoved {
                root: hit.spelled.root,
                path: display(&hit.spelled.names),
                pattern: rule(hit),
                effect: hit.effect.as_str(),
            })
            .collect();
    }
    close_again(capability, &after);
    Ok(swept)
}

/// Whether a cover was off of what is closed for the sake of a name.
fn was_opened(sites: &[Site], opened: &HashSet<&[u8]>, hit: &Hit) -> bool {
    if opened.is_empty() {
        return false;
    }
    let passed = hit.way.iter().map(|passed| &passed.place);
    let led = hit.target.as_ref().map(|target| &target.path);
    let lies = absolute(&sites[hit.lies.root], &hit.lies.names);
    opened.contains(lies.as_slice())
        || passed
            .chain(led)
            .any(|names| opened.contains(with_slash(names).as_slice()))
}

fn rule(hit: &Hit) -> String {
    match hit.why {
        Why::LinkAbove => format!("a link above: {}", hit.rule),
        _ => hit.rule.clone(),
    }
}

/// Directories that were opened to look into them get their mode back, inner ones first.
fn close_again(capability: &Capability, after: &Found) {
    for (lies, mode) in after.opened.iter().rev() {
        // One that was moved away, or that another one closed again hides, keeps what it has.
        if let Ok(directory) = beneath::open(&capability.roots()[lies.root], &lies.names) {
            let _ = beneath::set_mode(&directory, *mode);
        }
    }
}

/// Takes names out of their directories.
struct Taker<'a> {
    capability: &'a Capability,
    quarantine: BorrowedFd<'a>,
    copier: Copier,
}

impl Taker<'_> {
    /// Takes one. Nothing when it is not there any more.
    fn take_out(&mut self, hit: &Hit) -> Result<Option<Fate>, Errno> {
        let (above, name) = path::split(&hit.lies.names);
        let parent = match beneath::open(&self.capability.roots()[hit.lies.root], above) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
            other => other?,
        };
        let held = facts::of_handle(&parent)?.mode;
        let taken = match self.move_out(&parent, name, hit) {
            // The directory's mode, or the entry's own when it is a directory, forbids the move to their owner.
            Err(Errno::ACCESS | Errno::PERM) => {
                beneath::open_up(&parent)?;
                let own = openat(&parent, name, DIRECTORY, Mode::empty());
                own.and_then(|own| beneath::open_up(&own)).ok();
                let taken = self.move_out(&parent, name, hit);
                let _ = beneath::set_mode(&parent, held);
                taken
            }
            other => other,
        };
        match taken {
            Ok(fate) => Ok(Some(fate)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn move_out(&mut self, parent: &OwnedFd, name: &[u8], hit: &Hit) -> Result<Fate, Errno> {
        // A name of ours: the command's could be anything.
        let kept = crate::random::hex(16);
        match renameat(parent, name, self.quarantine, kept.as_str()) {
            Err(Errno::XDEV) => {}
            moved => return moved.map(|()| Fate::Kept(kept)),
        }
        if self.copier.copy(parent, name, self.quarantine, &kept).is_ok() {
            remove(parent, name)?;
            return Ok(Fate::Kept(kept));
        }
        // Nothing is destroyed: it may be somebody else's after all.
        let aside = format!("{}{kept}", self.aside(hit).ok_or(Errno::XDEV)?);
        renameat(parent, name, parent, aside.as_str())?;
        Ok(Fate::Aside(aside))
    }

    /// How the name may begin that something gets where it is. What is denied must be denied by that one, too.
    fn aside(&self, hit: &Hit) -> Option<&'static str> {
        let [protected, denied] = ASIDE;
        if hit.effect == Effect::Protect {
            return Some(protected);
        }
        let root = &self.capability.roots()[hit.lies.root];
        let name = path::join_onto(path::split(&hit.lies.names).0, denied.as_bytes());
        let covered = root.matching(Effect::Deny, &name, Leaf::of(hit.kind)).is_some();
        covered.then_some(denied)
    }
}

fn remove(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => {}
        other => return other,
    }
    remove_all(parent, name);
    match facts::of_entry(parent, name) {
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
        Ok(_) => Err(Errno::NOTEMPTY),
    }
}
