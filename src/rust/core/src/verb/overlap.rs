//! Commands that run at the same time on the same directories.
//!
//! What one of them makes under a closed name must not be taken for the user's by another that starts
//! meanwhile: it would stay when both have ended.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::capability::with_slash;
use crate::confine::found::{Hit, Spot};
use crate::confine::places::{absolute, holds};
use crate::confine::Plan;

/// The confined commands of this process.
static REGISTER: Mutex<Register> = Mutex::new(Register {
    running: Vec::new(),
    planned: Vec::new(),
});

struct Register {
    /// Those that run.
    running: Vec<Arc<Known>>,
    /// For each that is planned, those that ran since its plan was begun.
    planned: Vec<Arc<Mutex<Vec<Arc<Known>>>>>,
}

fn register() -> MutexGuard<'static, Register> {
    locked(&REGISTER)
}

fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was closed when a command started.
#[derive(Debug)]
struct Known {
    /// Where it can write.
    places: Vec<Vec<u8>>,
    names: Mutex<Names>,
}

#[derive(Debug, Default)]
struct Names {
    /// The paths where no command could put anything else.
    closed: HashSet<Vec<u8>>,
    /// The paths of what others took out meanwhile.
    taken: Vec<Vec<u8>>,
}

impl Known {
    /// Whether what stands at a path may have been made by this command.
    fn may_have_made(&self, path: &[u8]) -> bool {
        let inside = |place: &Vec<u8>| place != path && holds(place, path);
        self.places.iter().any(inside) && !locked(&self.names).closed.contains(path)
    }

    fn forget(&self, taken: &[Vec<u8>]) {
        let mut names = locked(&self.names);
        names
            .closed
            .retain(|path| !taken.iter().any(|taken| holds(taken, path)));
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
    pub fn enter(plan: &mut Plan, others: &Others) -> Self {
        let places = plan.confinement.places.iter().filter(|place| place.write);
        let path = |spot: &Spot| absolute(&plan.sites[spot.root], &spot.names);
        let led = |hit: &Hit| hit.target.as_ref().map(|target| with_slash(&target.path));
        let paths = |hit: &Hit| [Some(path(&hit.spelled)), Some(path(&hit.lies)), led(hit)];
        let closed = plan.before.hits.iter().flat_map(paths).flatten().collect();
        let known = Arc::new(Known {
            places: places.map(|place| place.path.clone()).collect(),
            names: Mutex::new(Names {
                closed,
                ..Names::default()
            }),
        });
        let others = {
            let mut register = register();
            for planned in &register.planned {
                locked(planned).push(Arc::clone(&known));
            }
            register.running.push(Arc::clone(&known));
            locked(&others.0).clone()
        };
        let doubted = |path: &[u8]| {
            others
                .iter()
                .any(|other| !Arc::ptr_eq(other, &known) && other.may_have_made(path))
        };
        plan.before.forget(&plan.sites, doubted);
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
            let gone = |path: &[u8]| taken.iter().any(|taken| holds(taken, path));
            plan.before.forget(&plan.sites, gone);
        }
    }
}

impl Drop for Overlap {
    fn drop(&mut self) {
        register().running.retain(|known| !Arc::ptr_eq(known, &self.0));
    }
}
