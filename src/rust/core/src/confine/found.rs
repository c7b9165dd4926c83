//! What a walk of the roots found, and how far it went.

use std::collections::HashMap;
use std::time::Duration;

use rustix::io::Errno;

use crate::capability::with_slash;
use crate::carve_out::Effect;
use crate::facts::{Identity, Kind, Since};
use crate::outcome::{Code, Refusal};
use crate::path;

use super::links::Passed;
use super::places::{absolute, locate, Site};

/// Bounds on one walk.
#[derive(Debug, Clone, Copy)]
pub struct Scope {
    /// Most names.
    pub entries: u64,
    /// Longest time.
    pub time: Duration,
}

impl Scope {
    /// Before a command: it waits for this.
    pub const BEFORE: Self = Self {
        entries: 1_000_000,
        time: Duration::from_secs(30),
    };
    /// After a command, which may have made names in order not to be looked through.
    pub const AFTER: Self = Self {
        entries: 20_000_000,
        time: Duration::from_secs(600),
    };
}

/// Why a walk did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// There are more names.
    Entries,
    /// It took too long.
    Time,
    /// More links lead to directories.
    Links,
    /// The system gave this error number.
    System(i32),
}

impl Stop {
    /// The word used in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Entries => "entries",
            Self::Time => "time",
            Self::Links => "links",
            Self::System(_) => "system",
        }
    }

    pub(super) fn refusal(self, scope: Scope) -> Refusal {
        let what = match self {
            Self::Entries => format!("hold more than {} names", scope.entries),
            Self::Time => format!("cannot be looked through within {} s", scope.time.as_secs()),
            Self::Links => "hold too many links to directories".to_owned(),
            Self::System(errno) => return Refusal::from_errno(Errno::from_raw_os_error(errno)),
        };
        Refusal::new(Code::TooLarge)
            .say(format!(
                "The allowed directories {what}, so that it cannot be told what the deny and protect patterns cover there. \
                 Allow smaller directories, or leave out the patterns: deny = character(), protect = character()."
            ))
            .with("bound", self.as_str())
    }
}

/// Where something lies: a root, and the joined names below it, without links.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Spot {
    /// The root.
    pub root: usize,
    /// The names.
    pub names: Vec<u8>,
}

/// Why a name was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A pattern covers it.
    Pattern,
    /// It is a link on the way of a pattern. As long as it is the same, it may stay.
    LinkAbove,
    /// It is a directory that cannot be looked into.
    Unreadable,
    /// Another mount, which is not to be seen.
    Mount,
}

/// What a covered link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Which object.
    pub identity: Identity,
    /// What it is.
    pub kind: Kind,
    /// The names of its path.
    pub path: Vec<Vec<u8>>,
    /// Where it lies; none outside of all roots, where no command sees it.
    pub spot: Option<Spot>,
    /// Whether commands may write there.
    pub writable: bool,
}

/// A name that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// The name as it is spelled, below the root whose patterns it meets.
    pub spelled: Spot,
    /// Where it lies; another place than `spelled` only behind a link.
    pub lies: Spot,
    /// What the pattern does.
    pub effect: Effect,
    /// The pattern.
    pub rule: String,
    /// Why it was found.
    pub why: Why,
    /// What it is.
    pub kind: Kind,
    /// Which object.
    pub identity: Identity,
    /// Since when: the number of one that is gone may be another's. None for a directory whose mode we change
    /// ourselves to look into it.
    pub since: Option<Since>,
    /// Whether commands may write where it lies.
    pub writable: bool,
    /// Of a link, what it leads to.
    pub target: Option<Target>,
    /// Of a link, what is passed from it. The first is the link itself; none where that cannot be read.
    pub way: Vec<Passed>,
}

impl Hit {
    /// Whether a command could not put another object under this name. Where a link led nowhere, it could
    /// make what it leads to.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.kind != Kind::Symlink || self.target.is_some()
    }

    /// Whether it is the same object. A command cannot write to what is closed to it, so that what changed in
    /// it is the user's doing.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (self.identity, self.since) == (other.identity, other.since)
    }
}

/// What a walk found.
#[derive(Debug, Default)]
pub struct Found {
    /// The names, parents before what they hold.
    pub hits: Vec<Hit>,
    /// How many names were looked at.
    pub entries: u64,
    /// Why it is not all.
    pub stopped: Option<Stop>,
    /// Directories that were opened to their owner to look into them, with their mode.
    pub opened: Vec<(Spot, u32)>,
    index: HashMap<Spot, usize>,
}

impl Found {
    pub(super) fn keep(&mut self, hit: Hit) {
        self.index.insert(hit.spelled.clone(), self.hits.len());
        self.hits.push(hit);
    }

    /// Leaves out what is not wanted.
    pub fn retain(&mut self, wanted: impl Fn(&Hit) -> bool) {
        let hits = std::mem::take(&mut self.hits);
        self.index.clear();
        hits.into_iter().filter(wanted).for_each(|hit| self.keep(hit));
    }

    /// Takes out what stood at certain paths: names, and what links led to, which lead nowhere then.
    pub fn forget(&mut self, sites: &[Site], gone: impl Fn(&[u8]) -> bool) {
        let stays = |spot: &Spot| !gone(&absolute(&sites[spot.root], &spot.names));
        self.retain(|hit| stays(&hit.spelled) && stays(&hit.lies));
        for hit in &mut self.hits {
            let passed = hit.way.iter().position(|passed| gone(&with_slash(&passed.place)));
            hit.way.truncate(passed.unwrap_or(hit.way.len()));
            let leads = |target: &Target| passed.is_none() && !gone(&with_slash(&target.path));
            hit.target = hit.target.take().filter(leads);
        }
    }

    /// What was found under this spelling.
    #[must_use]
    pub fn at(&self, spelled: &Spot) -> Option<&Hit> {
        self.index.get(spelled).map(|index| &self.hits[*index])
    }

    /// Whether what was found is what was there under this name: the same object, and a link still leads to
    /// the same by the same way, as far as a command could have changed that. What came to where a link on the
    /// way of a pattern leads is walked, and judged by itself.
    #[must_use]
    pub fn knows(&self, hit: &Hit) -> bool {
        fn leads(hit: &Hit) -> Option<Identity> {
            let target = hit.target.as_ref().filter(|target| target.writable)?;
            Some(target.identity)
        }
        self.at(&hit.spelled).is_some_and(|known| {
            let came = hit.why == Why::LinkAbove && known.target.is_none();
            known.is(hit) && known.way == hit.way && (came || leads(known) == leads(hit))
        })
    }

    /// What came to where a link led nowhere, or else it: where it stands, or nothing where no root holds it.
    /// A link or directory that is passed now comes before what it leads to.
    #[must_use]
    pub(super) fn came(&self, hit: &Hit, sites: &[Site]) -> Option<Spot> {
        let known = self.at(&hit.spelled)?;
        let mut passed = hit.way.iter().enumerate();
        let came = match passed.find(|(index, passed)| known.way.get(*index) != Some(*passed)) {
            Some((_, passed)) => locate(sites, &passed.place).map(|(root, names)| Spot { root, names }),
            // Behind a directory that was missing and is left again, it may have been there: the link goes then.
            None if hit.way.iter().any(|passed| passed.text.is_none()) => Some(hit.lies.clone()),
            None => hit.target.as_ref()?.spot.clone(),
        };
        // Where it could not be looked into, it was there all along.
        let hidden = |known: &Hit, spot: &Spot| {
            known.why == Why::Unreadable
                && known.lies.root == spot.root
                && path::below(&spot.names, &known.lies.names).is_some()
        };
        came.filter(|spot| !self.hits.iter().any(|known| hidden(known, spot)))
    }
}
