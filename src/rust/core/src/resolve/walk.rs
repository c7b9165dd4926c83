//! The walk: one component at a time, each opened without following links, so that nothing but the
//! entry itself can be opened. Links are read and their text takes the place of the component.
//!
//! `..` goes to the directory that was really passed, never to a text's parent. A link or `..` that
//! leaves a root may arrive in another declared root, by the names that root had when it was
//! declared; coming back to the root it left is an escape.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{openat, readlinkat, Mode};
use rustix::io::Errno;
use smallvec::SmallVec;

use super::{locate_absolute, Found, Judge, Object, Refused, Resolver, Start, Want, MOST_LINKS};
use crate::capability::{most_specific, Capability};
use crate::carve_out::{Effect, Leaf};
use crate::facts::{self, Kind};
use crate::open::{DIRECTORY, FILE};
use crate::outcome::{Code, Refusal};
use crate::path::{self, Component, Name};
use crate::root::Root;

/// A descriptor of the walk's own, or a root's.
enum Handle {
    Own(OwnedFd),
    Shared(Arc<OwnedFd>),
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Own(handle) => handle.as_fd(),
            Self::Shared(handle) => handle.as_fd(),
        }
    }
}

/// A directory on the way.
struct Level {
    handle: Handle,
    /// The root that governs here.
    root: usize,
    /// How many of the walk's names lie above that root.
    base: usize,
    /// The mount, where the walk keeps track of it.
    mount: Option<u64>,
}

struct Walk<'a> {
    capability: &'a Capability,
    judge: Judge<'a>,
    /// From the start root down; never empty.
    levels: Vec<Level>,
    /// The names from the start root to the last level.
    names: Vec<Name>,
    pending: VecDeque<Component>,
    directory: bool,
    links: u32,
    /// Roots that the path climbed out of.
    left: Vec<usize>,
    /// Whether each directory is examined, because another root may lie on the way.
    tracked: bool,
}

/// Resolves by walking.
///
/// # Errors
/// The verdict.
pub fn resolve(capability: &Capability, start: Start, want: Want) -> Result<Found, Refused> {
    let judge = Judge {
        roots: capability.roots(),
        limits: capability.limits(),
        want,
        resolver: Resolver::Walk,
    };
    let mut walk = Walk {
        capability,
        judge,
        levels: Vec::with_capacity(16),
        names: Vec::with_capacity(16),
        pending: VecDeque::new(),
        directory: start.directory,
        links: 0,
        left: Vec::new(),
        tracked: false,
    };
    walk.restart(start.root, path::steps(&start.names).chain(start.rest).collect());
    walk.run()
}

/// What stands at a name.
enum Step {
    Entered(OwnedFd),
    Link(Vec<u8>),
    Failed(Errno),
    /// Another object took its place between two calls.
    Changed,
}

impl Walk<'_> {
    fn roots(&self) -> &[Root] {
        self.capability.roots()
    }

    fn last(&self) -> &Level {
        &self.levels[self.levels.len() - 1]
    }

    fn root(&self) -> &Root {
        &self.roots()[self.last().root]
    }

    /// The names below the governing root, and some more.
    fn relative(&self, more: &[&[u8]]) -> Vec<u8> {
        let mut whole = Vec::with_capacity(64);
        for name in self.names[self.last().base..]
            .iter()
            .map(SmallVec::as_slice)
            .chain(more.iter().copied())
        {
            if !whole.is_empty() {
                whole.push(b'/');
            }
            whole.extend_from_slice(name);
        }
        whole
    }

    /// The last level's handle, to be kept beyond the walk.
    fn share(&mut self) -> Arc<OwnedFd> {
        let root = Arc::clone(&self.root().handle);
        let last = self.levels.len() - 1;
        let shared = match std::mem::replace(&mut self.levels[last].handle, Handle::Shared(root)) {
            Handle::Own(handle) => Arc::new(handle),
            Handle::Shared(handle) => handle,
        };
        self.levels[last].handle = Handle::Shared(Arc::clone(&shared));
        shared
    }

    fn restart(&mut self, root: usize, pending: VecDeque<Component>) {
        let start = &self.capability.roots()[root];
        self.tracked = start.has_inner || self.judge.limits.mounts;
        self.levels.clear();
        self.names.clear();
        self.levels.push(Level {
            handle: Handle::Shared(Arc::clone(&start.handle)),
            root,
            base: 0,
            mount: Some(start.facts.mount),
        });
        self.pending = pending;
    }

    fn run(mut self) -> Result<Found, Refused> {
        loop {
            match self.pending.pop_front() {
                None => return self.arrive_at_directory(),
                Some(Component::Parent) => self.up()?,
                Some(Component::Name(name)) => {
                    if self.pending.is_empty() && self.judge.want != Want::Directory {
                        if let Some(found) = self.arrive(&name)? {
                            return Ok(found);
                        }
                    } else if let Some(found) = self.down(name)? {
                        return Ok(found);
                    }
                }
            }
        }
    }

    /// Enters a directory, or takes up a link in its place.
    fn down(&mut self, name: Name) -> Result<Option<Found>, Refused> {
        match self.step(&name) {
            Step::Entered(handle) => {
                self.enter(handle, name)?;
                Ok(None)
            }
            Step::Link(text) => {
                self.follow(&name, &text)?;
                Ok(None)
            }
            Step::Failed(Errno::NOENT) if matches!(self.judge.want, Want::Entry { create_parents: true }) => {
                self.creatable(&name).map(Some)
            }
            Step::Failed(errno) => Err(self.missing(&name, errno)),
            Step::Changed => Err(self.judge.refuse(Code::Contended)),
        }
    }

    fn step(&self, name: &[u8]) -> Step {
        let at = self.last().handle.as_fd();
        match openat(at, name, DIRECTORY, Mode::empty()) {
            Ok(handle) => Step::Entered(handle),
            Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => match readlinkat(at, name, Vec::new()) {
                Ok(text) => Step::Link(text.into_bytes()),
                Err(Errno::INVAL) if errno == Errno::NOTDIR => Step::Failed(errno),
                Err(Errno::INVAL | Errno::NOENT) => Step::Changed,
                Err(other) => Step::Failed(other),
            },
            Err(errno) => Step::Failed(errno),
        }
    }

    fn enter(&mut self, handle: OwnedFd, name: Name) -> Result<(), Refused> {
        let (mut root, mut base) = (self.last().root, self.last().base);
        let mut mount = None;
        if self.tracked {
            let found = facts::of_handle(&handle).map_err(|errno| self.judge.refuse(errno))?;
            mount = Some(found.mount);
            if let Some(inner) = self.judge.root_of(found.identity, found.mount) {
                root = inner;
                base = self.names.len() + 1;
            } else if self.last().mount != mount {
                self.judge.mount(&self.roots()[root], found.mount, &handle)?;
            }
        }
        self.names.push(name);
        self.levels.push(Level {
            handle: Handle::Own(handle),
            root,
            base,
            mount,
        });
        Ok(())
    }

    /// Before a directory is left by `..` or by a link, and before its names are told to be missing:
    /// the directory itself must be one that the capability lets pass. Otherwise the answers would
    /// tell what lies in a denied directory or behind a mount.
    fn passage(&self) -> Result<(), Refused> {
        let level = self.last();
        let root = self.root();
        let mount = match level.mount {
            Some(mount) => mount,
            None => {
                facts::of_handle(&level.handle)
                    .map_err(|errno| self.judge.refuse(errno))?
                    .mount
            }
        };
        self.judge.mount(root, mount, &level.handle)?;
        let names = self.relative(&[]);
        if let Some(rule) = root.covering(Effect::Deny, &names, Leaf::Directory) {
            return Err(self.denied(rule));
        }
        Ok(())
    }

    fn denied(&self, rule: &str) -> Refused {
        let mut refused = self.judge.refuse_by(Code::CarveOut, format!("deny: {rule}"));
        refused.refusal = refused.refusal.with("carve_out", "deny");
        refused
    }

    fn up(&mut self) -> Result<(), Refused> {
        self.passage()?;
        if self.levels.len() > 1 {
            self.levels.pop();
            self.names.pop();
            return Ok(());
        }
        // Above the start root: only another declared root can be reached from here, by its name.
        let from = self.last().root;
        let mut place = self.roots()[from].canonical.clone();
        self.left.push(from);
        if place.pop().is_none() {
            return Err(self.judge.refuse(Code::Escape));
        }
        loop {
            if let Some(outer) = most_specific(self.roots(), &place).filter(|outer| !self.left.contains(outer)) {
                let names = place[self.roots()[outer].canonical.len()..].to_vec();
                let mut pending: VecDeque<_> = names
                    .iter()
                    .map(|name| Component::Name(name.as_slice().into()))
                    .collect();
                pending.append(&mut self.pending);
                self.restart(outer, pending);
                return Ok(());
            }
            match self.pending.pop_front() {
                None => return Err(self.judge.refuse(Code::Escape)),
                Some(Component::Parent) => {
                    if place.pop().is_none() {
                        return Err(self.judge.refuse(Code::Escape));
                    }
                }
                Some(Component::Name(name)) => {
                    place.push(name.to_vec());
                    let arrived = self
                        .roots()
                        .iter()
                        .position(|root| root.canonical == place || root.declared.contains(&place));
                    if let Some(root) = arrived {
                        if self.left.contains(&root) {
                            return Err(self.judge.refuse(Code::Escape));
                        }
                        let pending = std::mem::take(&mut self.pending);
                        self.restart(root, pending);
                        return Ok(());
                    }
                }
            }
        }
    }

    fn follow(&mut self, name: &[u8], text: &[u8]) -> Result<(), Refused> {
        self.passage()?;
        // A link of a carved-out name is what others will use: `.Rprofile -> dotfiles/Rprofile`.
        self.judge.carve_outs(self.root(), &self.spelled(name), Leaf::Unknown)?;
        if !self.judge.limits.symlinks {
            return Err(self.judge.refuse_by(Code::SymlinkRefused, "symlinks = FALSE"));
        }
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(self.judge.refuse(Code::TooManyLinks));
        }
        let target = path::parse(text).map_err(|_| self.judge.refuse(Code::NotFound))?;
        if self.pending.is_empty() {
            self.directory |= target.directory;
        }
        let mut pending: VecDeque<_>;
        if target.absolute {
            let (root, below) =
                locate_absolute(self.roots(), &target.names).ok_or_else(|| self.judge.refuse(Code::Escape))?;
            let names = &target.names[target.names.len() - below..];
            pending = path::steps(names).chain(target.rest).collect();
            pending.append(&mut self.pending);
            self.restart(root, pending);
        } else {
            pending = path::steps(&target.names).chain(target.rest).collect();
            pending.append(&mut self.pending);
            self.pending = pending;
        }
        Ok(())
    }

    /// The last name of a file or an entry. Nothing when it was a link.
    fn arrive(&mut self, name: &[u8]) -> Result<Option<Found>, Refused> {
        match self.judge.want {
            Want::File => self.arrive_at_file(name),
            _ => self.arrive_at_entry(name),
        }
    }

    fn arrive_at_file(&mut self, name: &[u8]) -> Result<Option<Found>, Refused> {
        let at = self.last().handle.as_fd();
        let handle = match openat(at, name, FILE, Mode::empty()) {
            Ok(handle) => handle,
            Err(Errno::LOOP) => {
                let text = match readlinkat(at, name, Vec::new()) {
                    Ok(text) => text.into_bytes(),
                    Err(Errno::INVAL | Errno::NOENT) => return Err(self.judge.refuse(Code::Contended)),
                    Err(errno) => return Err(self.missing(name, errno)),
                };
                self.follow(name, &text)?;
                return Ok(None);
            }
            Err(errno) => return Err(self.missing(name, errno)),
        };
        let found = facts::of_handle(&handle).map_err(|errno| self.judge.refuse(errno))?;
        if self.tracked && self.judge.root_of(found.identity, found.mount).is_some() {
            return Err(self
                .judge
                .refuse(Refusal::new(Code::NotRegular).with("kind", "directory")));
        }
        let names = self.relative(&[name]);
        self.judge.file(self.root(), &names, &found, &handle, self.directory)?;
        Ok(Some(self.found(names, Object::File { handle, facts: found })))
    }

    fn arrive_at_entry(&mut self, name: &[u8]) -> Result<Option<Found>, Refused> {
        let at = self.share();
        let found = match facts::of_entry(&at, name) {
            Ok(found) if found.kind == Kind::Symlink && self.judge.want != Want::Name => {
                let text = readlinkat(&at, name, Vec::new())
                    .map_err(|_| self.judge.refuse(Code::Contended))?
                    .into_bytes();
                self.follow(name, &text)?;
                return Ok(None);
            }
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(self.missing(name, errno)),
        };
        if found.is_none() {
            self.passage()?;
            self.root_is_there()?;
        }
        if let Some(found) = &found {
            if self.judge.root_of(found.identity, found.mount).is_some() {
                return Err(self.judge.refuse(if self.judge.want == Want::Name {
                    Code::RootItself
                } else {
                    Code::IsDirectory
                }));
            }
        }
        let names = self.relative(&[name]);
        self.judge
            .entry(self.root(), &names, found.as_ref(), at.as_fd(), self.directory)?;
        Ok(Some(self.found(
            names,
            Object::Entry {
                parent: at,
                missing: Vec::new(),
                name: name.to_vec(),
                facts: found,
            },
        )))
    }

    /// A directory is missing and may be created: what follows must be names only.
    fn creatable(&mut self, name: &[u8]) -> Result<Found, Refused> {
        self.passage()?;
        self.root_is_there()?;
        let mut missing = vec![name.to_vec()];
        let mut depth = self.levels.len();
        let mut climbs = false;
        let steps: Vec<Component> = self.pending.drain(..).collect();
        for step in steps {
            match step {
                Component::Name(name) => {
                    depth += 1;
                    missing.push(name.to_vec());
                }
                Component::Parent => {
                    climbs = true;
                    depth = depth.checked_sub(1).ok_or_else(|| self.judge.refuse(Code::Escape))?;
                }
            }
        }
        if climbs {
            // The kernel cannot go up from a directory that is not there; neither do we make it first.
            return Err(self.judge.refuse(Code::NotFound));
        }
        let Some(name) = missing.pop() else {
            return Err(self.judge.refuse(Code::NotFound));
        };
        let whole: Vec<&[u8]> = missing.iter().map(Vec::as_slice).chain([name.as_slice()]).collect();
        let names = self.relative(&whole);
        if self.directory {
            return Err(self.judge.refuse(Code::IsDirectory));
        }
        self.judge
            .entry(self.root(), &names, None, self.last().handle.as_fd(), false)?;
        let parent = self.share();
        Ok(self.found(
            names,
            Object::Entry {
                parent,
                missing,
                name,
                facts: None,
            },
        ))
    }

    /// The path ended at a directory.
    fn arrive_at_directory(mut self) -> Result<Found, Refused> {
        let level = self.last();
        let root = self.root();
        let found = facts::of_handle(&level.handle).map_err(|errno| self.judge.refuse(errno))?;
        self.judge.mount(root, found.mount, &level.handle)?;
        self.judge.access(root)?;
        let names = self.relative(&[]);
        self.judge.carve_outs(root, &names, Leaf::Directory)?;
        if found.links == 0 {
            self.root_is_there()?;
        }
        match self.judge.want {
            Want::Directory => {
                let handle = self.share();
                Ok(self.found(names, Object::Directory { handle, facts: found }))
            }
            Want::File => Err(self.judge.refuse(super::not_regular(Kind::Directory))),
            Want::Entry { .. } => Err(self.judge.refuse(Code::IsDirectory)),
            Want::Name if names.is_empty() => Err(self.judge.refuse(Code::RootItself)),
            Want::Name => Err(self.judge.refuse(Code::InvalidPath)),
        }
    }

    fn found(&self, names: Vec<u8>, object: Object) -> Found {
        Found {
            root: self.last().root,
            names,
            links: self.links,
            resolver: Resolver::Walk,
            object,
        }
    }

    /// The path as it is spelled from here: this name, and the names that are left up to a `..`.
    fn spelled(&self, name: &[u8]) -> Vec<u8> {
        let rest = self.pending.iter().map_while(|step| match step {
            Component::Name(name) => Some(name.as_slice()),
            Component::Parent => None,
        });
        let more: Vec<&[u8]> = std::iter::once(name).chain(rest).collect();
        self.relative(&more)
    }

    fn root_is_there(&self) -> Result<(), Refused> {
        match facts::of_handle(&self.root().handle) {
            Ok(found) if found.links > 0 => Ok(()),
            _ => Err(self.judge.refuse(Code::RootGone)),
        }
    }

    /// The verdict on a name that could not be opened. What the capability says of the place comes
    /// before what the file system says.
    fn missing(&self, name: &[u8], errno: Errno) -> Refused {
        let verdict = || {
            self.passage()?;
            let root = self.root();
            self.judge.access(root)?;
            self.judge.carve_outs(root, &self.spelled(name), Leaf::Unknown)?;
            if errno == Errno::NOENT {
                self.root_is_there()?;
            }
            Ok(())
        };
        match verdict() {
            Err(refused) => refused,
            Ok(()) if errno == Errno::NXIO => self.judge.refuse(Refusal::new(Code::NotRegular).with("kind", "socket")),
            Ok(()) => self.judge.refuse(errno),
        }
    }
}
