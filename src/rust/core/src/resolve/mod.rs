//! From a path to an open handle, beneath a root and never outside.
//!
//! Two resolvers give one answer. [`openat2`] asks the kernel to resolve a plain path in one call; it
//! only ever answers "here it is". Whatever it cannot open (a link, an error, a kernel without the
//! call, a filter that forbids it) the component [`walk`] decides, so that every verdict comes from
//! one place. That openat2 worked once is not remembered: a filter may come later.

pub mod openat2;
pub mod walk;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{openat, Mode};
use serde::Serialize;

use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::facts::{self, Facts, Identity, Kind};
use crate::limits::Limits;
use crate::open::ENTRY;
use crate::outcome::{Code, Refusal};
use crate::path::{self, Component, Parsed};
use crate::root::{Root, RootAccess};

/// Most symbolic links in one resolution: Linux's own bound (`MAXSYMLINKS`).
pub const MOST_LINKS: u32 = 40;

/// What found the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Resolver {
    /// One `openat2` call of the kernel.
    Openat2,
    /// The walk, component by component.
    Walk,
}

/// What a caller wants opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// A regular file, open for reading.
    File,
    /// A directory, to be listed.
    Directory,
    /// An entry of a directory, for writing: links at the end are followed, and it may be missing.
    Entry {
        /// Whether missing parent directories are an answer, not an error.
        create_parents: bool,
    },
    /// An entry of a directory itself, for moving or removing: a link at the end is not followed.
    Name,
}

impl Want {
    const fn access(self) -> RootAccess {
        match self {
            Self::File | Self::Directory => RootAccess::Read,
            Self::Entry { .. } | Self::Name => RootAccess::Write,
        }
    }
}

/// Where a resolution starts.
#[derive(Debug, Clone)]
pub struct Start {
    /// The root.
    pub root: usize,
    /// The names from there, joined.
    pub names: Vec<u8>,
    /// What follows, from the first `..` on.
    pub rest: Vec<Component>,
    /// Whether only a directory will do.
    pub directory: bool,
}

/// What was found.
#[derive(Debug)]
pub enum Object {
    /// A regular file, open for reading.
    File {
        /// The handle.
        handle: OwnedFd,
        /// Its facts, taken from the handle.
        facts: Facts,
    },
    /// A directory.
    Directory {
        /// The handle, by which names below are opened.
        handle: Arc<OwnedFd>,
        /// Its facts.
        facts: Facts,
    },
    /// An entry of a directory.
    Entry {
        /// The directory.
        parent: Arc<OwnedFd>,
        /// Directories below `parent` that do not exist yet.
        missing: Vec<Vec<u8>>,
        /// The entry's name.
        name: Vec<u8>,
        /// What is there now.
        facts: Option<Facts>,
    },
}

/// An object, and where it really lies.
#[derive(Debug)]
pub struct Found {
    /// The root that governs it.
    pub root: usize,
    /// Its names below that root, without links.
    pub names: Vec<u8>,
    /// How many links were followed.
    pub links: u32,
    /// What found it.
    pub resolver: Resolver,
    /// The object.
    pub object: Object,
}

/// Where a refused resolution stood, for the receipt.
#[derive(Debug)]
pub struct Refused {
    /// Why.
    pub refusal: Refusal,
    /// What decided.
    pub resolver: Option<Resolver>,
    /// The carve-out or limit that decided, if it was one.
    pub rule: Option<String>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self {
            refusal,
            resolver: None,
            rule: None,
        }
    }
}

impl From<Code> for Refused {
    fn from(code: Code) -> Self {
        Refusal::new(code).into()
    }
}

/// Which resolvers may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// The kernel's where it can answer, else the walk.
    Best,
    /// The walk alone. For tests and benchmarks.
    Walk,
}

/// Finds the root in which a path lies and the steps from there. No system call.
///
/// # Errors
/// `NotUnderRoot`.
pub fn locate(capability: &Capability, parsed: Parsed) -> Result<Start, Refused> {
    let Parsed {
        absolute,
        mut names,
        rest,
        directory,
    } = parsed;
    if absolute {
        let (root, below) = locate_absolute(capability.roots(), &names).ok_or(Code::NotUnderRoot)?;
        names.drain(..names.len() - below);
        return Ok(Start {
            root,
            names,
            rest,
            directory,
        });
    }
    let Some((root, cwd)) = capability.cwd().inside.as_ref() else {
        // A directory that grants nothing may still hold a root.
        let names = path::join_onto(&path::join(&capability.cwd().opened.canonical), &names);
        let (root, below) = locate_absolute(capability.roots(), &names).ok_or(Code::NotUnderRoot)?;
        let names = names[names.len() - below..].to_vec();
        return Ok(Start {
            root,
            names,
            rest,
            directory,
        });
    };
    if !cwd.is_empty() {
        names = path::join_onto(cwd, &names);
    }
    Ok(Start {
        root: *root,
        names,
        rest,
        directory,
    })
}

/// The root of an absolute path, and how many bytes of its joined names lie below.
fn locate_absolute(roots: &[Root], names: &[u8]) -> Option<(usize, usize)> {
    roots
        .iter()
        .enumerate()
        .filter_map(|(index, root)| Some((index, root.strip(names)?.len())))
        // A tie can only be two spellings of nested roots; the more restrictive one counts.
        .min_by_key(|(index, below)| (*below, roots[*index].access))
}

/// Resolves.
///
/// # Errors
/// The verdict, with what decided.
pub fn resolve(capability: &Capability, mut start: Start, want: Want, using: Use) -> Result<Found, Refused> {
    let root = &capability.roots()[start.root];
    let tracked = root.has_inner || capability.limits().mounts;
    if using == Use::Best && !tracked {
        if let Some(found) = openat2::resolve(capability, &mut start, want) {
            return found;
        }
    }
    walk::resolve(capability, start, want)
}

/// The facts of a directory by its names below a root, for comparing identities.
///
/// # Errors
/// The verdict of the resolution.
pub fn directory(capability: &Capability, root: usize, names: &[Vec<u8>]) -> Result<Facts, Refusal> {
    let start = Start {
        root,
        names: crate::path::join(names),
        rest: Vec::new(),
        directory: true,
    };
    match walk::resolve(capability, start, Want::Directory) {
        Ok(Found {
            object: Object::Directory { facts, .. },
            ..
        }) => Ok(facts),
        Ok(_) => Err(Code::NotADirectory.into()),
        Err(refused) => Err(refused.refusal),
    }
}

/// The refusal of what is no regular file.
fn not_regular(kind: Kind) -> Refusal {
    let refusal = Refusal::new(Code::NotRegular).with("kind", kind.as_str());
    if kind == Kind::Directory {
        return refusal.say("The path is a directory, not a file. rho_list() or the tool `list` shows what is in it.");
    }
    refusal
}

/// The checks on what was reached, the same for both resolvers: mount, access, carve-outs, kind.
struct Judge<'a> {
    roots: &'a [Root],
    limits: &'a Limits,
    want: Want,
    resolver: Resolver,
}

impl Judge<'_> {
    fn refuse(&self, refusal: impl Into<Refusal>) -> Refused {
        Refused {
            refusal: refusal.into(),
            resolver: Some(self.resolver),
            rule: None,
        }
    }

    fn refuse_by(&self, code: Code, rule: impl Into<String>) -> Refused {
        let rule = rule.into();
        Refused {
            refusal: Refusal::new(code).with("rule", rule.clone()),
            resolver: Some(self.resolver),
            rule: Some(rule),
        }
    }

    /// Whether an object reached from `root` over `mount` is still where the root allows it to be.
    fn mount(&self, root: &Root, mount: u64, on: impl std::os::fd::AsFd) -> Result<(), Refused> {
        if mount == root.facts.mount {
            return Ok(());
        }
        if facts::is_special_filesystem(on).map_err(|errno| self.refuse(errno))? {
            return Err(self.refuse(Code::SpecialFilesystem));
        }
        if self.limits.mounts {
            return Ok(());
        }
        Err(self.refuse_by(Code::MountCrossing, "mounts = FALSE"))
    }

    /// Whether the root allows the access at all.
    fn access(&self, root: &Root) -> Result<(), Refused> {
        if self.want.access() > root.access {
            return Err(self.refuse(Code::NotWritable));
        }
        Ok(())
    }

    fn carve_outs(&self, root: &Root, names: &[u8], leaf: Leaf) -> Result<(), Refused> {
        let effects: &[Effect] = match self.want.access() {
            RootAccess::Read => &[Effect::Deny],
            RootAccess::Write => &[Effect::Deny, Effect::Protect],
        };
        for effect in effects {
            if let Some(rule) = root.covering(*effect, names, leaf) {
                let mut refused = self.refuse_by(Code::CarveOut, format!("{}: {rule}", effect.as_str()));
                refused.refusal = refused.refusal.with("carve_out", effect.as_str());
                return Err(refused);
            }
        }
        Ok(())
    }

    /// The last check of a regular file that is to be read.
    fn file(&self, root: &Root, names: &[u8], found: &Facts, handle: &OwnedFd, directory: bool) -> Result<(), Refused> {
        self.mount(root, found.mount, handle)?;
        self.carve_outs(root, names, Leaf::of(found.kind))?;
        if directory && found.kind != Kind::Directory {
            return Err(self.refuse(Code::NotADirectory));
        }
        if found.kind != Kind::File {
            return Err(self.refuse(not_regular(found.kind)));
        }
        Ok(())
    }

    /// The last check of an entry that is to be written, moved or removed.
    fn entry(
        &self,
        root: &Root,
        names: &[u8],
        found: Option<&Facts>,
        parent: std::os::fd::BorrowedFd<'_>,
        directory: bool,
    ) -> Result<(), Refused> {
        if let Some(found) = found.filter(|found| found.mount != root.facts.mount) {
            // One file may be bound from a kernel file system into an ordinary directory.
            let name = names.rsplit(|byte| *byte == b'/').next().unwrap_or(names);
            let handle = openat(parent, name, ENTRY, Mode::empty()).map_err(|errno| self.refuse(errno))?;
            self.mount(root, found.mount, handle)?;
        }
        self.access(root)?;
        let leaf = match found.map(|found| found.kind) {
            Some(kind) => Leaf::of(kind),
            None if self.want == Want::Name => Leaf::Unknown,
            None => Leaf::File,
        };
        self.carve_outs(root, names, leaf)?;
        let Some(found) = found else {
            let missing = if matches!(self.want, Want::Entry { .. }) && directory {
                Some(Code::IsDirectory)
            } else {
                None
            };
            return missing.map_or(Ok(()), |code| Err(self.refuse(code)));
        };
        if directory && found.kind != Kind::Directory {
            return Err(self.refuse(Code::NotADirectory));
        }
        if matches!(self.want, Want::Name) {
            return Ok(());
        }
        match found.kind {
            Kind::File if found.links > 1 && !self.limits.hard_links => {
                Err(self.refuse_by(Code::HardLinked, "hard_links = FALSE"))
            }
            Kind::File => Ok(()),
            Kind::Directory => Err(self.refuse(Code::IsDirectory)),
            kind => Err(self.refuse(not_regular(kind))),
        }
    }

    /// The root that a directory is, if it is one. Where other mounts are entered, the directory of a root
    /// may be mounted once more; its own rules hold there too.
    fn root_of(&self, identity: Identity, mount: u64) -> Option<usize> {
        let same = |root: &Root| root.is(identity, mount);
        let again = |root: &Root| self.limits.mounts && root.facts.identity == identity;
        let found = self.roots.iter().position(same);
        found.or_else(|| self.roots.iter().position(again))
    }
}
