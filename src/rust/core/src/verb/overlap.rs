//! Commands that run at the same time on the same directories.
//!
//! What one of them makes under a closed name must not be taken for the user's by another that starts
//! meanwhile: it would stay when both have ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::confine::closed::{paths, Closed, Object};
use crate::confine::found::{Hit, Spot};
use crate::confine::places::{absolute, holds, sites, Site};
use crate::confine::Plan;
use crate::facts::{Identity, Kind};
use crate::path;
use crate::per_process::PerProcess;
use crate::root::Root;

/// The confined commands of this process.
static REGISTER: PerProcess<Mutex<Register>> = PerProcess::new();

#[derive(Default)]
struct Register {
    /// Those that run.
    running: Vec<Arc<Known>>,
    /// For each that is planned, those that ran since its plan was begun.
    planned: Vec<Arc<Mutex<Vec<Arc<Known>>>>>,
}

fn register() -> MutexGuard<'static, Register> {
    locked(REGISTER.get())
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command, and what was closed when it started.
#[derive(Debug)]
struct Known {
    capability: Arc<Capability>,
    sites: Vec<Site>,
    names: Mutex<Names>,
}

#[derive(Debug)]
struct Names {
    closed: Closed,
    /// The paths of what others took out meanwhile.
    taken: Vec<Vec<u8>>,
}

/// What another command may have to do with what stands under a name.
enum Doubt {
    /// It was not there when that one started, which may not make it.
    Made,
    /// The user made it while that one ran, or it did when the user had opened the name; this stood there.
    Replaced(Object),
}

impl Known {
    /// What it may have to do with what stands at a place; `here` is where its roots are now.
    fn doubt(&self, here: &[Site], place: &Place, hit: &Hit) -> Option<Doubt> {
        place.ways(&self.capability, here).find_map(|way| {
            let (index, below) = locate(here, &way)?;
            let root = &self.capability.roots()[index];
            if !root.is_writable() || below.is_empty() {
                return None;
            }
            let names = locked(&self.names);
            match names.closed.at(&absolute(&self.sites[index], below)) {
                Some(stood) => (!stood.is(Object::of(hit))).then_some(Doubt::Replaced(stood)),
                // Nor can it have moved here what was closed to it.
                None if names.closed.has(Object::of(hit)) => None,
                None => (covers(root, below, hit.kind) && !names.closed.holds(&way, |now| self.then(here, now)))
                    .then_some(Doubt::Made),
            }
        })
    }

    /// Where its roots are now. The user may have renamed a directory above.
    fn here(&self) -> Vec<Site> {
        sites(&self.capability).unwrap_or_else(|_| self.sites.clone())
    }

    /// What the path of something was when it started.
    fn then(&self, here: &[Site], now: &[u8]) -> Vec<u8> {
        locate(here, now).map_or_else(|| now.to_vec(), |(index, below)| absolute(&self.sites[index], below))
    }

    fn forget(&self, taken: &[Place]) {
        let here = self.here();
        let ways = taken.iter().flat_map(|place| place.ways(&self.capability, &here));
        let taken: Vec<_> = ways.map(|way| self.then(&here, &way)).collect();
        let mut names = locked(&self.names);
        names.closed.forget(|path| taken.iter().any(|taken| holds(taken, path)));
        names.taken.extend(taken);
    }
}

/// Where something stands: a root, and its names there.
struct Place {
    root: Identity,
    names: Vec<u8>,
    path: Vec<u8>,
}

impl Place {
    fn of(capability: &Capability, sites: &[Site], spot: &Spot) -> Self {
        Self {
            root: capability.roots()[spot.root].facts.identity,
            names: spot.names.clone(),
            path: absolute(&sites[spot.root], &spot.names),
        }
    }

    /// The paths by which another capability may know it: this one, and where the same directory is a root by
    /// another mount.
    fn ways<'a>(&'a self, other: &'a Capability, here: &'a [Site]) -> impl Iterator<Item = Vec<u8>> + 'a {
        let same = other
            .roots()
            .iter()
            .zip(here)
            .filter(|(root, _)| root.facts.identity == self.root);
        let others = same.map(|(_, site)| absolute(site, &self.names));
        std::iter::once(self.path.clone()).chain(others.filter(|path| *path != self.path))
    }
}

/// The commands that run while a plan is made.
pub struct Others(Arc<Mutex<Vec<Arc<Known>>>>);

impl Others {
    /// Looks, and goes on looking until the command is entered.
    pub fn now() -> Self {
        let mut register = register();
        let others = Arc::new(Mutex::new(register.running.clone()));
        register.planned.push(Arc::clone(&others));
        Self(others)
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        register().planned.retain(|others| !Arc::ptr_eq(others, &self.0));
    }
}

/// A command among those that run, until it is dropped.
#[derive(Debug)]
pub struct Overlap(Arc<Known>);

impl Overlap {
    /// Enters a command, and takes from what it knows what others may have made that ran while its plan was made.
    /// What was open to them is not doubted.
    pub fn enter(capability: &Arc<Capability>, plan: &mut Plan, others: &Others) -> Self {
        let sites = &plan.sites;
        // Nobody sees it before what it knows is complete: he would take the user's for its making.
        let mut register = register();
        let others: Vec<_> = locked(&others.0)
            .iter()
            .map(|other| (Arc::clone(other), other.here()))
            .collect();
        plan.before.retain(|hit| {
            for spot in [hit.spelled.clone(), hit.lies.clone()] {
                let place = Place::of(capability, sites, &spot);
                for doubt in others
                    .iter()
                    .filter_map(|(other, here)| other.doubt(here, &place, hit))
                    .collect::<Vec<_>>()
                {
                    match doubt {
                        Doubt::Made => return false,
                        // The end of the command tells it.
                        Doubt::Replaced(stood) => (hit.identity, hit.since) = (stood.identity, stood.since),
                    }
                }
            }
            true
        });
        let known = Arc::new(Known {
            capability: Arc::clone(capability),
            sites: sites.clone(),
            names: Mutex::new(Names {
                closed: Closed::new(sites, &plan.before, &plan.hidden),
                taken: Vec::new(),
            }),
        });
        for planned in &register.planned {
            locked(planned).push(Arc::clone(&known));
        }
        register.running.push(Arc::clone(&known));
        Self(known)
    }

    /// Tells the commands that run what was taken out: in their view, too, the names are free from then on.
    pub fn tell_taken(&self, taken: &[Spot]) {
        if taken.is_empty() {
            return;
        }
        let capability = &self.0.capability;
        let here = self.0.here();
        let taken: Vec<_> = taken.iter().map(|spot| Place::of(capability, &here, spot)).collect();
        let running = register().running.clone();
        for other in running.iter().filter(|other| !Arc::ptr_eq(other, &self.0)) {
            other.forget(&taken);
        }
    }

    /// Takes from what was there before a command what others took out since.
    pub fn forget_taken(&self, plan: &mut Plan) {
        let taken = std::mem::take(&mut locked(&self.0.names).taken);
        if !taken.is_empty() {
            let sites = &plan.sites;
            let stays = |path: Vec<u8>| !taken.iter().any(|taken| holds(taken, &path));
            plan.before.retain(|hit| paths(hit, sites).all(stays));
        }
    }
}

/// The root in which a path lies, and its names there.
fn locate<'a>(sites: &[Site], path: &'a [u8]) -> Option<(usize, &'a [u8])> {
    let below = |site: &Site| {
        if site.names.is_empty() {
            path.get(1..)
        } else {
            path::below(path, &site.path)
        }
    };
    let inside = |(index, site)| Some((index, below(site)?));
    sites
        .iter()
        .enumerate()
        .filter_map(inside)
        .min_by_key(|(_, below)| below.len())
}

/// Whether a pattern covers a name, or it is a link on the way of one.
fn covers(root: &Root, names: &[u8], kind: Kind) -> bool {
    let covering = |effect: &Effect| root.covering(*effect, names, Leaf::of(kind)).is_some();
    [Effect::Deny, Effect::Protect].iter().any(covering) || kind == Kind::Symlink && root.leading_to(names).is_some()
}

impl Drop for Overlap {
    fn drop(&mut self) {
        register().running.retain(|known| !Arc::ptr_eq(known, &self.0));
    }
}
