//! Commands that run at the same time on the same directories.
//!
//! What one of them makes under a closed name must not be taken for the user's by another that starts
//! meanwhile: it would stay when both have ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::confine::closed::{paths, Closed, Object};
use crate::confine::found::{Hit, Spot};
use crate::confine::places::{absolute, holds, Site};
use crate::confine::Plan;
use crate::facts::Kind;
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
    fn doubt(&self, path: &[u8], hit: &Hit) -> Option<Doubt> {
        let (root, below) = locate(&self.sites, path)?;
        let root = &self.capability.roots()[root];
        if !root.is_writable() || below.is_empty() {
            return None;
        }
        let names = locked(&self.names);
        match names.closed.at(path) {
            Some(stood) => (!stood.is(Object::of(hit))).then_some(Doubt::Replaced(stood)),
            None => (covers(root, below, hit.kind) && !names.closed.holds(path)).then_some(Doubt::Made),
        }
    }

    fn forget(&self, taken: &[Vec<u8>]) {
        let mut names = locked(&self.names);
        names.closed.forget(|path| taken.iter().any(|taken| holds(taken, path)));
        names.taken.extend_from_slice(taken);
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
        let others = locked(&others.0).clone();
        plan.before.retain(|hit| {
            for path in paths(hit, sites) {
                for doubt in others
                    .iter()
                    .filter_map(|other| other.doubt(&path, hit))
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
    pub fn tell_taken(&self, plan: &Plan, taken: &[Spot]) {
        if taken.is_empty() {
            return;
        }
        let taken: Vec<_> = taken
            .iter()
            .map(|spot| absolute(&plan.sites[spot.root], &spot.names))
            .collect();
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
