//! Commands that run at the same time on the same directories.
//!
//! What one of them makes under a closed name must not be taken for the user's by another that starts
//! meanwhile: it would stay when both have ended.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::confine::found::{Hit, Spot};
use crate::confine::places::{absolute, holds};
use crate::confine::Plan;
use crate::facts::{Identity, Since};

/// The confined commands of this process that run.
static RUNNING: Mutex<Vec<Arc<Known>>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<Arc<Known>>> {
    locked(&RUNNING)
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was closed when a command started.
#[derive(Debug)]
struct Known {
    /// Where it can write.
    places: Vec<Vec<u8>>,
    /// The names that were there, by their paths.
    names: HashMap<Vec<u8>, Object>,
    /// The paths of what others took out meanwhile.
    taken: Mutex<Vec<Vec<u8>>>,
}

/// What stood under a name.
#[derive(Debug)]
struct Object {
    identity: Identity,
    since: Option<Since>,
    /// Whether no command could put another there.
    closed: bool,
}

impl Known {
    /// Whether what stands under a name may have been made by this command.
    fn may_have_made(&self, path: &[u8], hit: &Hit) -> bool {
        let inside = |place: &Vec<u8>| place != path && holds(place, path);
        let was_there = |known: &Object| known.closed || (known.identity, known.since) == (hit.identity, hit.since);
        self.places.iter().any(inside) && !self.names.get(path).is_some_and(was_there)
    }
}

/// The commands that run now.
pub struct Others(Vec<Arc<Known>>);

impl Others {
    /// Looks.
    pub fn now() -> Self {
        Self(running().clone())
    }
}

/// A command among those that run, until it is dropped.
#[derive(Debug)]
pub struct Overlap(Arc<Known>);

impl Overlap {
    /// Enters a command, and takes from what it knows what others may have made: those that ran when its
    /// plan was begun, and those that run now.
    pub fn enter(plan: &mut Plan, before: &Others) -> Self {
        let path = |hit: &Hit| absolute(&plan.sites[hit.spelled.root], &hit.spelled.names);
        let places = plan.confinement.places.iter().filter(|place| place.write);
        let known = Arc::new(Known {
            places: places.map(|place| place.path.clone()).collect(),
            names: plan
                .before
                .hits
                .iter()
                .map(|hit| {
                    let object = Object {
                        identity: hit.identity,
                        since: hit.since,
                        closed: hit.is_closed(),
                    };
                    (path(hit), object)
                })
                .collect(),
            taken: Mutex::default(),
        });
        let mut running = running();
        let doubted: HashSet<_> = plan
            .before
            .hits
            .iter()
            .filter(|hit| {
                let path = path(hit);
                before
                    .0
                    .iter()
                    .chain(running.iter())
                    .any(|other| other.may_have_made(&path, hit))
            })
            .map(|hit| hit.spelled.clone())
            .collect();
        running.push(Arc::clone(&known));
        drop(running);
        plan.before.retain(|hit| !doubted.contains(&hit.spelled));
        Self(known)
    }

    /// Tells the commands that run what was taken out: in their view, too, the names are free from then on.
    pub fn tell_taken(&self, plan: &Plan, taken: &[Spot]) {
        if taken.is_empty() {
            return;
        }
        for other in running().iter().filter(|other| !Arc::ptr_eq(other, &self.0)) {
            let paths = taken.iter().map(|spot| absolute(&plan.sites[spot.root], &spot.names));
            locked(&other.taken).extend(paths);
        }
    }

    /// Takes from what was there before a command what others took out since.
    pub fn forget_taken(&self, plan: &mut Plan) {
        let taken = locked(&self.0.taken);
        if taken.is_empty() {
            return;
        }
        let gone = |path: &[u8]| taken.iter().any(|taken| holds(taken, path));
        plan.before.forget(&plan.sites, gone);
    }
}

impl Drop for Overlap {
    fn drop(&mut self) {
        running().retain(|known| !Arc::ptr_eq(known, &self.0));
    }
}
