//! The walk that finds what patterns cover: every name below the roots, through their descriptors.
//!
//! Judged as admission judges. A name counts, not the object: other hard links of it are other names. A
//! denied directory is not entered; in a protected one only denied names matter. A directory that is a
//! root itself is left to its own walk. No link is followed, but where a link is protected, or stands on
//! the way of a pattern of several components (`renv -> shared`, for `renv/activate.R`), a directory to
//! which it leads is walked as well, under the names that the link gives it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use rustix::fs::{accessat, openat, Access, AtFlags, Dir, FileType, Mode, OFlags, CWD};
use rustix::io::Errno;

use crate::beneath;
use crate::capability::{with_slash, Capability};
use crate::carve_out::repository::{ends, HEAD};
use crate::carve_out::{Effect, Leaf};
use crate::effect::Cancel;
use crate::facts::{self, Facts, Kind};
use crate::outcome::Refusal;
use crate::path;
use crate::root::Root;

use super::found::{Found, Hit, Object, Scope, Spot, Stop, Target, Why};
use super::links::follow;
use super::mountinfo::{any_below, walks};
use super::places::{locate, path_of, Site};

/// Walks all roots to which patterns apply, or in which other mounts are entered. With `before`, only names that are not as they were there
/// matter: such a directory is not entered, because all of it goes, and directories that are closed to
/// their owner are opened.
///
/// # Errors
/// `Cancelled`, and a covered link to an allowed directory. Whatever else stops the walk stands in what
/// was found.
pub fn scan(
    capability: &Capability,
    sites: &[Site],
    before: Option<&Found>,
    scope: Scope,
    cancel: &Cancel,
) -> Result<Found, Refusal> {
    let mut walk = Walk {
        capability,
        sites,
        before,
        unreadable: unreadable(before),
        cancel,
        left: scope.entries,
        until: Instant::now().checked_add(scope.time),
        stack: Vec::new(),
        links: VecDeque::new(),
        held: Rc::new(Cell::new(0)),
        most_held: MOST_HELD,
        found: Found::default(),
    };
    for (index, root) in capability.roots().iter().enumerate() {
        // Without patterns there is nothing to look for but what is mounted.
        let mounted = || before.is_none() && walks(root, capability.limits()) && any_below(&sites[index]);
        if !root.has_rules() && !mounted() {
            continue;
        }
        walk.stack.push(Pending {
            root: index,
            names: Vec::new(),
            via: None,
            writable: root.is_writable(),
            deny_only: !root.is_writable(),
            mount: None,
            parent: None,
        });
        let stopped = walk.run()?;
        if let Some(stop) = stopped {
            walk.found.stopped = Some(stop);
            break;
        }
    }
    if walk.found.stopped.is_none() {
        walk.found.stopped = walk.follow_links()?;
    }
    walk.found.entries = scope.entries - walk.left;
    Ok(walk.found)
}

fn unreadable(before: Option<&Found>) -> Vec<&Hit> {
    let hits = before.iter().flat_map(|before| &before.hits);
    hits.filter(|hit| hit.why == Why::Unreadable).collect()
}

/// A link that the walk went through.
#[derive(Debug)]
struct Via {
    /// How many bytes of the spelled names stand for it.
    spelled: usize,
    /// What it leads to.
    onto: Spot,
    /// What the links before it lead to.
    before: Vec<Spot>,
}

/// Most links that are followed in all: each may lead to where the others are.
const MOST_FOLLOWED: usize = 4_096;
/// Most directories that are kept open for those below them; the others are opened by their names.
const MOST_HELD: usize = 128;

/// A directory that is to be walked.
struct Pending {
    /// The root whose patterns count.
    root: usize,
    /// The names as they are spelled below that root.
    names: Vec<u8>,
    via: Option<Arc<Via>>,
    writable: bool,
    /// Whether protecting adds nothing: it is protected already, or in a place that is only readable.
    deny_only: bool,
    /// The mount on which the directory above lies; none for a root, and behind a link.
    mount: Option<u64>,
    /// The directory above, where it is still open.
    parent: Option<Rc<Held>>,
}

impl Pending {
    /// A directory to which a link leads has another spelling than the link.
    fn spelled_as_directory(&self) -> Spot {
        let linked = self.via.as_ref().is_some_and(|via| via.spelled == self.names.len());
        let slash: &[u8] = if linked { b"/" } else { b"" };
        Spot {
            root: self.root,
            names: [&self.names, slash].concat(),
        }
    }

    /// Where something spelled so lies.
    fn lies(&self, names: &[u8]) -> Spot {
        // What stands above the link is not behind it.
        let Some(via) = self.via.as_ref().filter(|via| names.len() >= via.spelled) else {
            return Spot {
                root: self.root,
                names: names.to_vec(),
            };
        };
        let rest = names[via.spelled..].strip_prefix(b"/").unwrap_or(&names[via.spelled..]);
        Spot {
            root: via.onto.root,
            names: path::join_onto(&via.onto.names, rest),
        }
    }
}

/// An open directory, counted.
struct Held {
    directory: Dir,
    count: Rc<Cell<usize>>,
}

impl Held {
    fn fd(&self) -> Result<BorrowedFd<'_>, Errno> {
        self.directory.fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.count.set(self.count.get() - 1);
    }
}

struct Walk<'a> {
    capability: &'a Capability,
    sites: &'a [Site],
    before: Option<&'a Found>,
    /// What could not be looked into before.
    unreadable: Vec<&'a Hit>,
    cancel: &'a Cancel,
    left: u64,
    until: Option<Instant>,
    stack: Vec<Pending>,
    /// Links that were found and not yet followed: which hit, and behind which link.
    links: VecDeque<(usize, Option<Arc<Via>>)>,
    held: Rc<Cell<usize>>,
    most_held: usize,
    found: Found,
}

impl Walk<'_> {
    fn root(&self, at: &Pending) -> &Root {
        &self.capability.roots()[at.root]
    }

    fn run(&mut self) -> Result<Option<Stop>, Refusal> {
        while let Some(at) = self.stack.pop() {
            self.cancel.check()?;
            if self.until.is_some_and(|until| Instant::now() > until) {
                return Ok(Some(Stop::Time));
            }
            if let Err(stop) = self.enter(at)? {
                self.stack.clear();
                return Ok(Some(stop));
            }
        }
        Ok(None)
    }

    fn open(&self, at: &Pending) -> Result<Dir, Errno> {
        let opened = if let Some(parent) = &at.parent {
            let name = at.names.rsplit(|byte| *byte == b'/').next().unwrap_or(&at.names);
            beneath::child(parent.fd()?, name)
        } else {
            let lies = at.lies(&at.names);
            beneath::open(&self.capability.roots()[lies.root], &lies.names)
        };
        Dir::new(opened?)
    }

    /// Opens a directory that is closed to its owner; only after a command, which may have made it so.
    fn open_anyway(&mut self, at: &Pending) -> Result<Dir, Errno> {
        let lies = at.lies(&at.names);
        let root = &self.capability.roots()[lies.root];
        let (mode, opened) = if lies.names.is_empty() {
            let mode = facts::of_handle(&root.handle)?.mode;
            beneath::open_up(&root.handle)?;
            (mode, beneath::open(root, b"")?)
        } else {
            let (above, name) = path::split(&lies.names);
            let above = beneath::open(root, above)?;
            (
                facts::of_entry(&above, name)?.mode,
                beneath::child_opened_up(&above, name)?,
            )
        };
        self.found.opened.push((lies, mode));
        Dir::new(opened)
    }

    /// Whether a directory lies on the mount on which it lay before the command, which sees no other: what somebody
    /// mounted since, or what lay below a mount that is gone, is none of its making.
    fn is_mounted_as_before(&mut self, at: &Pending, mount: u64) -> bool {
        let lies = at.lies(&at.names);
        let mounted = at.mount.filter(|above| *above != mount).map(|_| mount);
        let known = self.before.map(|before| before.mounts.get(&lies).copied());
        if let Some(mount) = mounted {
            self.found.mounts.insert(lies, mount);
        }
        let same = at.mount.is_none() || known.is_none_or(|known| known == mounted);
        self.found.remounted |= !same && self.was_closed(at).is_none();
        same
    }

    /// What cannot be looked into stays closed as a whole: its owner could open it to a command.
    fn unreadable(&mut self, at: &Pending, errno: Errno) -> Result<(), Stop> {
        if self.closed(at, Why::Unreadable) {
            return Ok(());
        }
        Err(Stop::System(errno.raw_os_error()))
    }

    /// Looks at the names of one directory.
    fn enter(&mut self, mut at: Pending) -> Result<Result<(), Stop>, Refusal> {
        let mut directory = match self.open(&at) {
            Ok(directory) => directory,
            // It is gone, or something else by now, which the next walk will find.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(Ok(())),
            Err(errno @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::INTR)) => {
                // Many commands at once: with none kept open, a walk needs few.
                if self.most_held > 0 {
                    self.most_held = 0;
                    self.stack.iter_mut().for_each(|pending| pending.parent = None);
                    at.parent = None;
                    self.stack.push(at);
                    return Ok(Ok(()));
                }
                return Ok(Err(Stop::System(errno.raw_os_error())));
            }
            Err(errno) => {
                let opened = match self.before {
                    Some(_) if errno == Errno::ACCESS && self.was_closed(&at).is_none() => {
                        let lies = at.lies(&at.names);
                        let place = beneath::place(&self.capability.roots()[lies.root], &lies.names);
                        let found = place.and_then(facts::of_handle);
                        let opens = !found.is_ok_and(|found| self.was_unreadable(&found));
                        opens.then(|| self.open_anyway(&at).ok()).flatten()
                    }
                    _ => None,
                };
                let Some(opened) = opened else {
                    return Ok(self.unreadable(&at, errno));
                };
                opened
            }
        };
        let found = facts::of_handle(directory.fd()?)?;
        if !self.is_mounted_as_before(&at, found.mount) || !self.governs(&mut at, &found, directory.fd()?)? {
            return Ok(Ok(()));
        }
        if self.was_unreadable(&found) {
            // It was closed to the command as a whole, and somebody else has opened it since, or moved it.
            self.closed(&at, Why::Unreadable);
            return Ok(Ok(()));
        }
        if !is_searchable(&found, directory.fd()?) {
            if self.before.is_none() || self.was_closed(&at).is_some() {
                return Ok(self.unreadable(&at, Errno::ACCESS));
            }
            if let Err(errno) = beneath::open_up(directory.fd()?) {
                return Ok(self.unreadable(&at, errno));
            }
            self.found.opened.push((at.lies(&at.names), found.mode));
        }
        let mut inner = Vec::new();
        while let Some(entry) = directory.read() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => return Ok(Err(Stop::System(errno.raw_os_error()))),
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.left == 0 {
                return Ok(Err(Stop::Entries));
            }
            self.left -= 1;
            if self.left % 4096 == 0 {
                self.cancel.check()?;
            }
            let may = self.root(&at).may_cover(name);
            let mut kind = kind(entry.file_type());
            if kind.is_none() {
                // Not every file system tells the kind with the name.
                kind = facts::of_entry(directory.fd()?, name).ok().map(|found| found.kind);
            }
            // A name that went away since is none.
            let Some(kind) = kind else { continue };
            if may || kind == Kind::Symlink {
                let names = path::join_onto(&at.names, name);
                if self.judge(&at, directory.fd()?, &names, kind) == Next::Stay {
                    continue;
                }
            }
            if kind == Kind::Directory {
                inner.push(name.to_vec());
            }
        }
        if inner.is_empty() {
            return Ok(Ok(()));
        }
        // Kept open for those below, within bounds.
        let parent = (self.held.get() < self.most_held).then(|| {
            self.held.set(self.held.get() + 1);
            Rc::new(Held {
                directory,
                count: Rc::clone(&self.held),
            })
        });
        for name in inner {
            let names = path::join_onto(&at.names, &name);
            let spelled = Spot { root: at.root, names };
            // Protected itself: what lies in it can only be denied.
            let protected = self
                .found
                .at(&spelled)
                .is_some_and(|hit| hit.why == Why::Pattern && hit.effect == Effect::Protect);
            self.stack.push(Pending {
                root: at.root,
                names: spelled.names,
                via: at.via.clone(),
                writable: at.writable,
                deny_only: at.deny_only || protected,
                mount: Some(found.mount),
                parent: parent.clone(),
            });
        }
        Ok(Ok(()))
    }

    /// Whether the patterns of the walk's root hold in a directory that was opened, and may be looked into.
    fn governs(&mut self, at: &mut Pending, found: &Facts, directory: BorrowedFd<'_>) -> Result<bool, Refusal> {
        let roots = self.capability.roots();
        let lies = at.lies(&at.names);
        let inner = roots.iter().position(|root| root.is(found.identity, found.mount));
        if let Some(inner) = inner {
            if at.via.is_some() {
                // What the link gives a name to may lie in a place of another access.
                at.writable = roots[inner].is_writable();
                at.deny_only = !at.writable;
                return Ok(true);
            }
            return Ok(at.names.is_empty() && inner == at.root);
        }
        if found.mount == roots[lies.root].facts.mount {
            return Ok(true);
        }
        // The directory of a root, mounted once more, would have to be judged by that root's rules.
        let again = roots.iter().any(|root| root.facts.identity == found.identity);
        if again || !self.capability.limits().mounts || facts::is_special_filesystem(directory)? {
            if self.has_roots(&lies) {
                self.close_around(at, directory)?;
            } else {
                self.closed(at, Why::Mount);
            }
            return Ok(false);
        }
        Ok(true)
    }

    /// The names of the absolute path of something.
    fn place(&self, lies: &Spot) -> Vec<Vec<u8>> {
        let mut names = self.sites[lies.root].names.clone();
        names.extend(path::names(&lies.names).unwrap_or_default());
        names
    }

    /// Whether roots lie below a directory, or are it.
    fn has_roots(&self, lies: &Spot) -> bool {
        let names = self.place(lies);
        self.sites.iter().any(|site| site.names.starts_with(&names))
    }

    /// Closes what a directory of another mount holds, but for the way to the roots that lie in it.
    fn close_around(&mut self, at: &Pending, directory: BorrowedFd<'_>) -> Result<(), Refusal> {
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let names = path::join_onto(&at.names, name);
            if name == b"." || name == b".." {
                continue;
            }
            let inner = Pending {
                root: at.root,
                names,
                via: at.via.clone(),
                writable: at.writable,
                deny_only: at.deny_only,
                mount: None,
                parent: None,
            };
            self.left = self.left.saturating_sub(1);
            if self.has_roots(&inner.lies(&inner.names)) {
                self.stack.push(inner);
            } else {
                self.closed(&inner, Why::Mount);
            }
        }
        Ok(())
    }

    /// Whether a directory could not be looked into before, under whatever name.
    fn was_unreadable(&self, found: &Facts) -> bool {
        let found = Object::of(found);
        self.unreadable.iter().any(|known| known.object.is(found))
    }

    /// What was found before in place of a directory that stays closed as a whole.
    fn was_closed(&self, at: &Pending) -> Option<&Hit> {
        let known = self.before?.at(&at.spelled_as_directory())?;
        matches!(known.why, Why::Unreadable | Why::Mount).then_some(known)
    }

    /// Keeps a directory that stays closed as a whole. False where that is a root itself, or it cannot be
    /// told what it is.
    fn closed(&mut self, at: &Pending, why: Why) -> bool {
        let lies = at.lies(&at.names);
        let (above, name) = path::split(&lies.names);
        let found =
            beneath::open(&self.capability.roots()[lies.root], above).and_then(|above| facts::of_entry(&above, name));
        let Some(found) = found.ok().filter(|_| !lies.names.is_empty()) else {
            return false;
        };
        let object = Object::of(&found);
        let object = if why == Why::Unreadable { object.made() } else { object };
        self.found.keep(Hit {
            spelled: at.spelled_as_directory(),
            lies,
            effect: Effect::Deny,
            rule: String::new(),
            why,
            kind: found.kind,
            object,
            changed: found.changed,
            links: found.links,
            writable: at.writable,
            target: None,
            way: Vec::new(),
            nowhere: None,
            doubted: false,
        });
        true
    }

    /// Judges one name. Whether a directory of this name is to be walked.
    fn judge(&mut self, at: &Pending, parent: BorrowedFd<'_>, names: &[u8], kind: Kind) -> Next {
        let capability = self.capability;
        let root = &capability.roots()[at.root];
        let leaf = Leaf::of(kind);
        // What a link leads to may be open though the link is not.
        let effects: &[Effect] = if at.deny_only && kind != Kind::Symlink {
            &[Effect::Deny]
        } else {
            &[Effect::Deny, Effect::Protect]
        };
        let covering = effects
            .iter()
            .find_map(|effect| Some((*effect, self.covering(at, parent, *effect, names, leaf)?, Why::Pattern)));
        let above = || {
            let link = kind == Kind::Symlink;
            let rule = link.then(|| root.leading(names, |above| self.has_head(at, parent, above)));
            Some((Effect::Protect, rule.flatten()?, Why::LinkAbove))
        };
        let Some((effect, rule, why)) = covering.or_else(above) else {
            return Next::Enter;
        };
        let (_, name) = path::split(names);
        let Ok(found) = facts::of_entry(parent, name) else {
            return Next::Stay;
        };
        if found.kind == Kind::Directory && self.is_root(&found) {
            return Next::Stay;
        }
        let hit = Hit {
            spelled: Spot {
                root: at.root,
                names: names.to_vec(),
            },
            lies: at.lies(names),
            effect,
            rule: rule.to_owned(),
            why,
            kind: found.kind,
            object: Object::of(&found),
            changed: found.changed,
            links: found.links,
            writable: at.writable,
            target: None,
            way: Vec::new(),
            nowhere: None,
            doubted: false,
        };
        if found.kind == Kind::Symlink {
            self.links.push_back((self.found.hits.len(), at.via.clone()));
            self.found.keep(hit);
            return Next::Stay;
        }
        // What is new goes as a whole.
        let enters = self.enters(&hit);
        self.found.keep(hit);
        if enters && effect == Effect::Protect && why == Why::Pattern {
            Next::Enter
        } else {
            Next::Stay
        }
    }

    /// As admission judges, but where a link led here, `HEAD` is looked for where the names lie. What is above
    /// has been judged already.
    fn covering(&self, at: &Pending, parent: BorrowedFd<'_>, effect: Effect, names: &[u8], leaf: Leaf) -> Option<&str> {
        let root = self.root(at);
        root.matching(effect, names, leaf)
            .or_else(|| root.governing(effect, ends(names), |above| self.has_head(at, parent, above)))
    }

    /// Whether git takes a directory, above what `at` holds or `at` itself, for a repository. A `HEAD` that
    /// the command made goes, and makes none: what stands beside it may be the user's.
    fn has_head(&self, at: &Pending, parent: BorrowedFd<'_>, above: &[u8]) -> bool {
        if let Some(before) = self.before {
            let root = at.root;
            let names = path::join_onto(above, HEAD);
            let goes = self.root(at).matching(Effect::Protect, &names, Leaf::File).is_some()
                && before.at(&Spot { root, names }).is_none();
            if goes {
                return false;
            }
        }
        if *above == *at.names {
            return facts::of_entry(parent, HEAD).is_ok();
        }
        let lies = at.lies(above);
        self.capability.roots()[lies.root].has(&lies.names, HEAD)
    }

    fn is_root(&self, found: &Facts) -> bool {
        let mut roots = self.capability.roots().iter();
        roots.any(|root| root.is(found.identity, found.mount))
    }

    /// Whether what a name holds is looked at. What is new goes as a whole; behind a new link all would be new.
    fn enters(&self, hit: &Hit) -> bool {
        let read = !hit.writable && hit.kind != Kind::Symlink;
        self.before.is_none_or(|before| read || before.knows(hit))
    }

    /// Finds out where the links lead that were found, and walks what the protected ones and those on the way of a
    /// pattern lead to. Last of all: by then every directory that a command closed by its mode is open.
    fn follow_links(&mut self) -> Result<Option<Stop>, Refusal> {
        let mut followed = 0;
        while let Some((index, via)) = self.links.pop_front() {
            self.lead(index);
            let hit = &self.found.hits[index];
            let Some(target) = hit.target.clone() else { continue };
            let closed = hit.why == Why::Pattern && hit.effect == Effect::Deny;
            if target.kind != Kind::Directory || closed || !self.enters(hit) {
                continue;
            }
            followed += 1;
            if followed > MOST_FOLLOWED {
                return Ok(Some(Stop::Links));
            }
            self.through(index, via.as_deref(), &target);
            let stopped = self.run()?;
            if stopped.is_some() {
                return Ok(stopped);
            }
        }
        Ok(None)
    }

    /// Finds out where a link leads: by its place, as whoever opens it does, and by its path, for what is passed.
    fn lead(&mut self, index: usize) {
        let lies = &self.found.hits[index].lies;
        let (above, name) = path::split(&lies.names);
        let root = &self.capability.roots()[lies.root];
        let Ok(target) = beneath::place(root, above)
            .map_err(Refusal::from_errno)
            .and_then(|parent| self.target(parent.as_fd(), name))
        else {
            return;
        };
        let Some((way, end)) = follow(&self.place(lies)) else {
            return;
        };
        let there = |target: &Target| {
            facts::of_entry(CWD, &with_slash(&end)).is_ok_and(|found| found.identity == target.object.identity)
        };
        // Both must come to the same.
        if target.as_ref().is_none_or(there) {
            let hit = &mut self.found.hits[index];
            hit.nowhere = target.is_none().then_some(end);
            (hit.target, hit.way) = (target, way);
        }
    }

    /// What a link leads to. The link is opened as a mere place, which has no effect on what it names.
    ///
    /// # Errors
    /// The system's, where it leads somewhere and it cannot be told where.
    fn target(&self, parent: BorrowedFd<'_>, name: &[u8]) -> Result<Option<Target>, Refusal> {
        #[cfg(target_os = "linux")]
        const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);
        #[cfg(not(target_os = "linux"))]
        const PLACE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);
        let Ok(handle) = openat(parent, name, PLACE, Mode::empty()) else {
            return Ok(None);
        };
        let found = facts::of_handle(handle.as_fd())?;
        let Some(path) = path::names(&path_of(&handle)?) else {
            return Ok(None);
        };
        let spot = locate(self.sites, &with_slash(&path)).map(|(root, names)| Spot {
            root,
            names: names.to_vec(),
        });
        let writable = spot
            .as_ref()
            .is_some_and(|spot| self.capability.roots()[spot.root].is_writable());
        Ok(Some(Target {
            writable,
            object: Object::of(&found),
            kind: found.kind,
            path,
            spot,
        }))
    }

    /// Walks the directory to which a link leads.
    fn through(&mut self, index: usize, via: Option<&Via>, target: &Target) {
        let hit = &self.found.hits[index];
        let Some(onto) = target.spot.clone() else { return };
        let before: Vec<Spot> =
            via.map_or_else(Vec::new, |via| via.before.iter().chain([&via.onto]).cloned().collect());
        // A link to where one before it led adds nothing but longer spellings.
        if before.contains(&onto) {
            return;
        }
        let writable = target.writable;
        self.stack.push(Pending {
            root: hit.spelled.root,
            via: Some(Arc::new(Via {
                spelled: hit.spelled.names.len(),
                onto,
                before,
            })),
            names: hit.spelled.names.clone(),
            writable,
            deny_only: !writable || hit.why == Why::Pattern,
            mount: None,
            parent: None,
        });
    }
}

/// Whether a directory of a judged name is walked.
#[derive(PartialEq, Eq)]
enum Next {
    Enter,
    Stay,
}

/// Whether what lies in a directory can be reached. For nearly all directories the mode tells.
fn is_searchable(found: &Facts, directory: BorrowedFd<'_>) -> bool {
    found.mode & 0o111 == 0o111 || accessat(directory, c".", Access::EXEC_OK, AtFlags::EACCESS) != Err(Errno::ACCESS)
}

fn kind(told: FileType) -> Option<Kind> {
    Some(match told {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => return None,
    })
}
