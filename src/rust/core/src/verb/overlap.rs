//! Commands that run at the same time on the same directories.
//!
//! What one of them makes under a closed name must not be taken for the user's by another that starts
//! meanwhile: it would stay when both have ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capability::Capability;
use crate::carve_out::{Effect, Leaf};
use crate::confine::closed::{paths, Closed};
use crate::confine::found::{Hit, Spot};
use crate::confine::places::{absolute, holds, locate, now, then, Site};
use crate::confine::Plan;
use crate::facts::{Identity, Kind};
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
    /// Its capability and those around that one, and where their roots were.
    views: Vec<View>,
    names: Mutex<Names>,
}

#[derive(Debug)]
struct View {
    capability: Arc<Capability>,
    sites: Vec<Site>,
}

impl View {
    /// The root in which something stands, and its names there: by its path, and where the same directory is a root
    /// by another mount.
    fn find<'a>(
        &'a self,
        here: &'a [Site],
        place: &Place,
    ) -> impl Iterator<Item = (&'a Root, Vec<u8>, Vec<u8>)> + use<'a> {
        let roots = self.capability.roots();
        let same = roots
            .iter()
            .zip(here)
            .filter(|(root, _)| root.facts.identity == place.root);
        let mut ways = vec![place.path.clone()];
        ways.extend(same.map(|(_, site)| absolute(site, &place.names)));
        ways.dedup();
        ways.into_iter().filter_map(|way| {
            let (index, below) = locate(here, &way)?;
            let below = below.to_vec();
            (!below.is_empty()).then(|| (&roots[index], below, way))
        })
    }
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
    /// The user made it while that one ran, or it did when the user had opened the name.
    Replaced,
}

impl Known {
    fn here(&self) -> Vec<Vec<Site>> {
        let here = |view: &View| now(&view.capability, &view.sites);
        self.views.iter().map(here).collect()
    }

    /// What it may have to do with what stands at a place, as it is spelled and where it lies; `here` is where its
    /// roots are now.
    fn doubt(&self, here: &[Vec<Site>], places: &[Place; 2], hit: &Hit) -> Option<Doubt> {
        let [_, lies] = places;
        let mut there = self.views[0].find(&here[0], lies);
        if !there.any(|(root, _, _)| root.is_writable()) {
            return None;
        }
        let views = || self.views.iter().zip(here);
        let found = || views().flat_map(|(view, here)| places.iter().flat_map(move |place| view.find(here, place)));
        let moved = |way: &[u8]| {
            let mut then = views().map(|(view, here)| then(&view.sites, here, way));
            then.find(|then| then != way).unwrap_or_else(|| way.to_vec())
        };
        let names = locked(&self.names);
        if let Some(stood) = found().find_map(|(_, _, way)| names.closed.at(&moved(&way))) {
            return (!stood.is(hit.object)).then_some(Doubt::Replaced);
        }
        // It cannot have moved here what was closed to it.
        if names.closed.moved(hit) {
            return Some(Doubt::Replaced);
        }
        // Nor put anything where nothing could be put.
        let covered = found().any(|(root, below, _)| covers(root, &below, hit.kind));
        (covered && !found().any(|(_, _, way)| names.closed.holds(&way, moved))).then_some(Doubt::Made)
    }

    fn forget(&self, taken: &[Place]) {
        let here = self.here();
        let mut gone = Vec::new();
        for (view, here) in self.views.iter().zip(&here) {
            for place in taken {
                gone.extend(view.find(here, place).map(|(_, _, way)| then(&view.sites, here, &way)));
            }
        }
        let mut names = locked(&self.names);
        names.closed.forget(|path| gone.iter().any(|gone| holds(gone, path)));
        names.taken.extend(gone);
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
        plan.before.retain(|hit| is_known(capability, sites, &others, hit));
        let mut closed = Closed::new(sites, &plan.before, &plan.hidden);
        let mut views = vec![View {
            capability: Arc::clone(capability),
            sites: sites.clone(),
        }];
        for around in &mut plan.around {
            let (capability, sites) = (&around.capability, &around.sites);
            around.before.retain(|hit| is_known(capability, sites, &others, hit));
            closed.extend(Closed::new(sites, &around.before, &[]));
            views.push(View {
                capability: Arc::clone(capability),
                sites: sites.clone(),
            });
        }
        let taken = Vec::new();
        let known = Arc::new(Known {
            views,
            names: Mutex::new(Names { closed, taken }),
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
        let own = &self.0.views[0];
        let here = now(&own.capability, &own.sites);
        let taken: Vec<_> = taken
            .iter()
            .map(|spot| Place::of(&own.capability, &here, spot))
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
            let stays = |path: Vec<u8>| !taken.iter().any(|taken| holds(taken, &path));
            plan.before.retain(|hit| paths(hit, &plan.sites).all(stays));
            for around in &mut plan.around {
                around.before.retain(|hit| paths(hit, &around.sites).all(stays));
            }
        }
    }
}

/// Whether a name is known to be the user's. Where that is not known of what stands there now, the end of the
/// command tells it.
fn is_known(capability: &Capability, sites: &[Site], others: &[(Arc<Known>, Vec<Vec<Site>>)], hit: &mut Hit) -> bool {
    let places = [&hit.spelled, &hit.lies].map(|spot| Place::of(capability, sites, spot));
    for (other, here) in others {
        match other.doubt(here, &places, hit) {
            Some(Doubt::Made) => return false,
            Some(Doubt::Replaced) => hit.doubted = true,
            None => {}
        }
    }
    true
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
