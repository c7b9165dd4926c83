//! Moving an entry: one rename, between two admitted directories.

use rustix::fs::{openat, renameat, renameat_with, Mode, RenameFlags};
use rustix::io::Errno;

use super::install::Entry;
use super::{list, Cancel, Context, Extent};
use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::facts::{self, Facts, Kind};
use crate::open::DIRECTORY;
use crate::outcome::{Code, Refusal};
use crate::path;

/// One side of a move.
pub struct Side {
    /// The root.
    pub root: usize,
    /// The entry's names below the root.
    pub names: Vec<u8>,
    /// The entry.
    pub entry: Entry,
}

/// What was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Where it was, below its root, escaped for showing.
    pub from: String,
    /// Where it is, below its root, escaped for showing.
    pub to: String,
    /// What it is.
    pub kind: &'static str,
    /// Whether something that was there is gone.
    pub replaced: bool,
}

/// Why nothing was moved, and which of the two paths is at fault.
#[derive(Debug)]
pub enum Fault {
    /// The one that was to be moved.
    Source(Refusal),
    /// The one that it was to get.
    Destination(Refusal),
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Source(refusal)
    }
}

impl From<Code> for Fault {
    fn from(code: Code) -> Self {
        Self::Source(code.into())
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        Self::Source(errno.into())
    }
}

/// Moves.
///
/// # Errors
/// `NotFound`, `AlreadyExists`, `CarveOut` for something inside a directory, `CrossDevice`,
/// `Contended`, or the system's.
pub fn relocate(
    capability: &Capability,
    from: &Side,
    to: &Side,
    overwrite: bool,
    context: &mut Context<'_>,
) -> Result<Moved, Fault> {
    let Some(source) = &from.entry.facts else {
        return Err(Code::NotFound.into());
    };
    if let Some(there) = to.entry.facts.filter(|_| !overwrite) {
        return Err(Fault::Destination(Refusal::new(Code::AlreadyExists).say(
            if there.kind == Kind::Directory {
                "The destination is a directory. Give the whole new path, with the new name at its end."
            } else {
                "The destination exists already. Choose another name, or replace it with overwrite = TRUE."
            },
        )));
    }
    arrives(capability, to.root, &to.names, source.kind).map_err(Fault::Destination)?;
    if source.kind == Kind::Directory {
        inside(capability, from, to, source, context.cancel)?;
    }
    context.cancel.check()?;
    if facts::of_entry(&from.entry.parent, &from.entry.name)?.identity != source.identity {
        return Err(Code::Contended.into());
    }
    let (at, name) = (&from.entry.parent, from.entry.name.as_slice());
    let (onto, new) = (&to.entry.parent, to.entry.name.as_slice());
    let renamed = if overwrite {
        renameat(at, name, onto, new)
    } else {
        match renameat_with(at, name, onto, new, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL) if starts_inside(&from.names, &to.names) && from.root == to.root => Err(Errno::INVAL),
            // No such rename here; an entry that appears now would be replaced, so look once more.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
                context.report.gaps.push("rename_without_noreplace".into());
                match facts::of_entry(onto, new) {
                    Err(Errno::NOENT) => renameat(at, name, onto, new),
                    Ok(_) => Err(Errno::EXIST),
                    Err(errno) => Err(errno),
                }
            }
            other => other,
        }
    };
    match renamed {
        Ok(()) => context.report.extent = Extent::Partial,
        Err(Errno::EXIST) if !overwrite => return Err(Code::Contended.into()),
        Err(Errno::INVAL) => {
            return Err(Fault::Destination(
                Refusal::new(Code::InvalidPath).say("A directory cannot be moved into itself."),
            ));
        }
        Err(Errno::EXIST | Errno::NOTEMPTY) => return Err(Fault::Destination(Code::NotEmpty.into())),
        // Of two kinds of entry the one that is there does not fit.
        Err(errno @ (Errno::ISDIR | Errno::NOTDIR)) => return Err(Fault::Destination(errno.into())),
        Err(errno) => return Err(errno.into()),
    }
    if !facts::of_entry(onto, new).is_ok_and(|found| found.identity == source.identity) {
        return Err(Code::Contended.into());
    }
    context.report.extent = Extent::Done;
    let replaced = to
        .entry
        .facts
        .as_ref()
        .is_some_and(|old| old.identity != source.identity);
    Ok(Moved {
        from: crate::escape::display(&from.names),
        to: crate::escape::display(&to.names),
        kind: source.kind.as_str(),
        replaced,
    })
}

fn starts_inside(from: &[u8], to: &[u8]) -> bool {
    to.strip_prefix(from).is_some_and(|rest| rest.first() == Some(&b'/'))
}

fn carve_outs(capability: &Capability, root: usize, names: &[u8], leaf: Leaf) -> Result<(), Refusal> {
    for effect in [Effect::Deny, Effect::Protect] {
        if let Some(rule) = capability.roots()[root].covering(effect, names, leaf) {
            return Err(Refusal::new(Code::CarveOut)
                .with("rule", format!("{}: {rule}", effect.as_str()))
                .with("carve_out", effect.as_str()));
        }
    }
    Ok(())
}

/// Whether something of this kind may get this name.
fn arrives(capability: &Capability, root: usize, names: &[u8], kind: Kind) -> Result<(), Refusal> {
    carve_outs(capability, root, names, Leaf::of(kind))?;
    if kind == Kind::Symlink {
        // Under the name `.git`, a link would give its target's `hooks` to git.
        if let Some(rule) = capability.roots()[root].leading_to(names) {
            return Err(Refusal::new(Code::CarveOut).with("rule", format!("a link above: {rule}")));
        }
    }
    Ok(())
}

/// A directory takes along what it holds: nothing in it may be carved out, neither where it is nor
/// where it goes, and no root of ours may lie in it.
fn inside(capability: &Capability, from: &Side, to: &Side, source: &Facts, cancel: &Cancel) -> Result<(), Refusal> {
    let handle = openat(&from.entry.parent, from.entry.name.as_slice(), DIRECTORY, Mode::empty())?;
    if facts::of_handle(&handle)?.identity != source.identity {
        return Err(Code::Contended.into());
    }
    list::visit(&handle, capability.limits().entries, cancel, &mut |below, found| {
        if capability
            .roots()
            .iter()
            .any(|root| root.is(found.identity, found.mount))
        {
            return Err(Code::RootItself.into());
        }
        let joined = |side: &Side| path::join_onto(&side.names, below);
        carve_outs(capability, from.root, &joined(from), Leaf::of(found.kind))?;
        arrives(capability, to.root, &joined(to), found.kind)?;
        Ok(())
    })
}
