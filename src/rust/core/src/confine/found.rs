//! What a walk of the roots found, and how far it went.

use std::collections::HashMap;
use std::time::Duration;

use rustix::io::Errno;

use crate::carve_out::Effect;
use crate::facts::{Facts, Identity, Kind, Since};
use crate::outcome::{Code, Refusal};

use super::links::Passed;

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
            Self::System(errno) => {
                let errno = Errno::from_raw_os_error(errno);
                let refusal = Refusal::from_errno(errno);
                return if matches!(errno, Errno::MFILE | Errno::NFILE) {
                    refusal.say("Too many files are open to look through the allowed directories. Run fewer commands at once, or raise the limit (ulimit -n).")
                } else {
                    refusal
                };
            }
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

/// Which object something is, told from another that has its number later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Object {
    /// The object.
    pub identity: Identity,
    /// Since when it is that; of not every one it is known.
    pub since: Option<Since>,
}

impl Object {
    /// From its facts.
    #[must_use]
    pub const fn of(found: &Facts) -> Self {
        Self {
            identity: found.identity,
            since: Some(found.since),
        }
    }

    /// The same, where what it holds may change.
    #[must_use]
    pub fn made(self) -> Self {
        Self {
            since: self.since.filter(|since| matches!(since, Since::Made(..))),
            ..self
        }
    }

    /// Whether it is the same, as far as it is known.
    #[must_use]
    pub fn is(self, other: Self) -> bool {
        let known = self.since.zip(other.since);
        self.identity == other.identity && known.is_none_or(|(one, other)| one == other)
    }
}

/// What a covered link leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// Which object.
    pub object: Object,
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
    /// Which object. Since when is not known of a directory whose mode we change ourselves to look into it, where the
    /// system does not tell when it was made.
    pub object: Object,
    /// When its content, names or mode were changed last.
    pub changed: (i64, u32),
    /// How many names it has.
    pub links: u64,
    /// Whether commands may write where it lies.
    pub writable: bool,
    /// Of a link, what it leads to; none where it leads nowhere.
    pub target: Option<Target>,
    /// Of a link, what is passed from it. The first is the link itself; none where that cannot be followed.
    pub way: Vec<Passed>,
    /// Whether it came while another command ran that knew something else there.
    pub doubted: bool,
    /// Of a link that leads nowhere, the names of the path at which that shows.
    pub nowhere: Option<Vec<Vec<u8>>>,
}

impl Hit {
    /// What a link leads to, where a command could change it.
    fn leads(&self) -> Option<Object> {
        let target = self.target.as_ref().filter(|target| target.writable)?;
        // The user may change what it leads to.
        Some(target.object.made())
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
    /// Where other mounts were entered, and which.
    pub mounts: HashMap<Spot, u64>,
    /// Whether there are other mounts now where the command could write, or none: what it made there is not seen.
    pub remounted: bool,
    index: HashMap<Spot, usize>,
}

impl Found {
    pub(super) fn keep(&mut self, hit: Hit) {
        self.index.insert(hit.spelled.clone(), self.hits.len());
        self.hits.push(hit);
    }

    /// Leaves out what is not wanted, or changes it.
    pub fn retain(&mut self, mut wanted: impl FnMut(&mut Hit) -> bool) {
        self.hits.retain_mut(|hit| wanted(hit));
        self.index.clear();
        for (index, hit) in self.hits.iter().enumerate() {
            self.index.insert(hit.spelled.clone(), index);
        }
    }

    /// What was found under this spelling.
    #[must_use]
    pub fn at(&self, spelled: &Spot) -> Option<&Hit> {
        self.index.get(spelled).map(|index| &self.hits[*index])
    }

    /// Whether what was found is what was there under this name: the same object (a command cannot write to what is
    /// closed to it, so that what changed in it is the user's doing), and a link still leads to
    /// the same by the same way, as far as a command could have changed that.
    #[must_use]
    pub fn knows(&self, hit: &Hit) -> bool {
        self.at(&hit.spelled).is_some_and(|known| {
            !known.doubted && known.object == hit.object && known.way == hit.way && known.leads() == hit.leads()
        })
    }
}
