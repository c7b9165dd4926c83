//! Where a command could put nothing: names that were closed to it, and directories that were as a whole.

use std::collections::HashMap;

use crate::capability::with_slash;
use crate::facts::{self, Kind};
use crate::path;
use crate::process::confinement::Cover;

use super::found::{Found, Hit, Object, Spot, Why};
use super::places::{absolute, Site};

/// What is closed to a command, by absolute paths.
#[derive(Debug, Default)]
pub struct Closed {
    names: HashMap<Vec<u8>, Object>,
    /// All objects, and when each was changed last.
    objects: HashMap<Object, (i64, u32)>,
    /// Directories with all that they hold, and which ones they are; of other mounts that does not matter.
    whole: HashMap<Vec<u8>, Option<Object>>,
}

impl Closed {
    /// What the names close that were found, and the directories of other mounts that are hidden.
    #[must_use]
    pub fn new(sites: &[Site], found: &Found, hidden: &[Cover]) -> Self {
        let mut closed = Self::default();
        for cover in hidden {
            closed.whole.insert(cover.path.clone(), None);
        }
        for hit in &found.hits {
            closed.objects.insert(hit.object, hit.changed);
            for path in paths(hit, sites) {
                closed.names.insert(path, hit.object);
            }
            if hit.why == Why::LinkAbove {
                continue;
            }
            if hit.kind == Kind::Directory {
                let path = absolute(&sites[hit.lies.root], &hit.lies.names);
                // What lies below a mount is not seen either.
                let known = (hit.why != Why::Mount).then(|| hit.object.made());
                closed.whole.insert(path, known);
            }
            if let Some(target) = hit.target.as_ref().filter(|target| target.kind == Kind::Directory) {
                closed
                    .whole
                    .insert(with_slash(&target.path), Some(target.object.made()));
            }
        }
        closed
    }

    /// Adds what is closed for another's sake.
    pub fn extend(&mut self, other: Self) {
        self.names.extend(other.names);
        self.objects.extend(other.objects);
        self.whole.extend(other.whole);
    }

    /// Whether it is what was closed under another name, which a command cannot have moved. It may have been open
    /// to the command here: what is mounted on something does not go with it everywhere.
    #[must_use]
    pub fn moved(&self, hit: &Hit) -> bool {
        let known = self.objects.get(&hit.object);
        // By another name of its own it could have been open all along.
        known.is_some_and(|changed| hit.links <= 1 || hit.kind == Kind::Directory || *changed == hit.changed)
    }

    /// What stood at a path.
    #[must_use]
    pub fn at(&self, path: &[u8]) -> Option<Object> {
        self.names.get(path).copied()
    }

    /// Whether a path lies in a directory that is closed as a whole and is still what it was. `then` gives the
    /// path that one had.
    #[must_use]
    pub fn holds(&self, path: &[u8], then: impl Fn(&[u8]) -> Vec<u8>) -> bool {
        let mut above = path::split(path).0;
        while !above.is_empty() {
            if let Some(object) = self.whole.get(&then(above)) {
                let found = || facts::of_entry(rustix::fs::CWD, above).map(|found| Object::of(&found).made());
                if object.is_none_or(|object| found().is_ok_and(|found| object.is(found))) {
                    return true;
                }
            }
            above = path::split(above).0;
        }
        false
    }

    /// Leaves out directories at certain paths, which were closed for a while only.
    pub fn open(&mut self, opened: impl Fn(&[u8]) -> bool) {
        self.whole.retain(|path, _| !opened(path));
    }

    /// Leaves out what stands at certain paths, or below them.
    pub fn forget(&mut self, gone: impl Fn(&[u8]) -> bool) {
        self.names.retain(|path, _| !gone(path));
        self.whole.retain(|path, _| !gone(path));
    }
}

/// The paths of a name, as it is spelled and where it lies.
pub fn paths(hit: &Hit, sites: &[Site]) -> impl Iterator<Item = Vec<u8>> + use<> {
    let path = |spot: &Spot| absolute(&sites[spot.root], &spot.names);
    [path(&hit.spelled), path(&hit.lies)].into_iter()
}
