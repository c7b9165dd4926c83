//! From a capability to what the kernel is to enforce on a command, and from what the command left
//! behind to what may stay.
//!
//! [`plan`] tells where the roots are now, which links must lead to them, and what inside of them must be
//! closed. After the command's tree is gone, [`quarantine::sweep`] looks again: a name that a pattern
//! covers and that was not there before is moved out. Where the host gives no mounts, [`grants::grants`]
//! tells what may be granted one by one instead.

pub mod closed;
pub mod copy;
pub mod covers;
pub mod found;
pub mod grants;
mod links;
mod mountinfo;
pub mod places;
pub mod quarantine;
pub mod scan;
pub mod system;

use std::sync::Arc;

use crate::capability::Capability;
use crate::effect::Cancel;
use crate::misuse::Misuse;
use crate::outcome::{Code, Refusal};
use crate::policy::Network;
use crate::process::confinement::{mechanism, Bounds, Closes, Confinement, Cover, Enforcement, Place};
use crate::process::probe;

use self::found::{Found, Scope};
use self::places::Site;

/// What is to be enforced on one command, and what was there before it.
#[derive(Debug)]
pub struct Plan {
    /// What the kernel is to enforce.
    pub confinement: Confinement,
    /// Other mounts inside the places, where the limits say that none is seen: whoever lays the places out
    /// hides them, and without mounts they are not granted.
    pub hidden: Vec<Cover>,
    /// Where each root is now, in the order of the capability's roots.
    pub sites: Vec<Site>,
    /// The carve-outs that exist now.
    pub before: Found,
    /// The same of the capabilities that this one was narrowed from.
    pub around: Vec<Around>,
}

impl Plan {
    /// Refuses what it cannot close.
    ///
    /// # Errors
    /// `CarveOut` for a link that leads nowhere, where the command could make something of it.
    pub fn check(&self, capability: &Capability) -> Result<(), Refusal> {
        let around = self.around.iter().map(|around| &around.before);
        for found in [&self.before].into_iter().chain(around) {
            covers::leads_nowhere(capability, &self.sites, found, &self.confinement.covers)?;
        }
        Ok(())
    }
}

/// A capability around one, and what is closed for its sake.
#[derive(Debug)]
pub struct Around {
    /// The capability.
    pub capability: Arc<Capability>,
    /// Where each of its roots is.
    pub sites: Vec<Site>,
    /// Its carve-outs.
    pub before: Found,
}

impl Around {
    fn all(capability: &Capability, scope: Scope, cancel: &Cancel) -> Result<Vec<Self>, Refusal> {
        let mut all = Vec::new();
        let mut next = capability.around();
        while let Some(around) = next {
            let sites = places::sites(around)?;
            let before = scanned(around, &sites, scope, cancel)?;
            all.push(Self {
                capability: Arc::clone(around),
                sites,
                before,
            });
            next = around.around();
        }
        Ok(all)
    }

    /// Closes what is closed for its sake.
    fn close(&self, places: &mut [Place], covers: &mut Vec<Cover>) -> Result<(), Refusal> {
        for cover in covers::covers(&self.capability, &self.sites, &self.before)? {
            for place in places
                .iter_mut()
                .filter(|place| places::holds(&cover.path, &place.path))
            {
                match cover.closes {
                    Closes::All => return Err(covers::denied_around(&cover.path, &place.path)),
                    Closes::Writing => place.write = false,
                    Closes::Moving => {}
                }
            }
            covers.push(cover);
        }
        Ok(())
    }
}

fn scanned(capability: &Capability, sites: &[Site], scope: Scope, cancel: &Cancel) -> Result<Found, Refusal> {
    let found = scan::scan(capability, sites, None, scope, cancel)?;
    match found.stopped {
        Some(stop) => Err(stop.refusal(scope)),
        None => Ok(found),
    }
}

/// Names that a pattern covers and that a command makes: they are looked for when it has ended.
const LATER_NAMES: &str = "later_names";

/// What is not covered while a command runs: what the kernel leaves open, and what only a look
/// afterwards closes. Receipts, capabilities and the report of the host say the same.
#[must_use]
pub fn gaps(enforcement: &Enforcement) -> Vec<String> {
    let kernel = enforcement.gaps.iter().cloned();
    kernel.chain([LATER_NAMES.to_owned()]).collect()
}

/// Finds out what the kernel enforces for a capability, by building it without executing anything.
///
/// # Errors
/// `cwd` for a working directory that commands would not see, `not_enforceable` where the host does not
/// give enough, or the answer is not wanted any more.
pub fn probe(capability: &Capability, cancel: &Cancel) -> Result<Enforcement, Misuse> {
    let refuse_what = |what: &str, why: &str| {
        Misuse::new("not_enforceable", format!("{what} cannot be enforced: {why}.")).with("policy", what)
    };
    let refuse = |why: &str| refuse_what("process = rho_process_confined()", why);
    let Some(program) = capability.program() else {
        return Err(refuse("there is no supervisor"));
    };
    if capability.cwd().inside.is_none() {
        return Err(Misuse::new(
            "cwd",
            "Confined commands see only the capability's directories, and `cwd` lies in none of them. Give it a directory in `read` or `write`.",
        ));
    }
    let refused = |refusal: Refusal| refuse(refusal.message.trim_end_matches('.'));
    let sites = places::sites(capability).map_err(refused)?;
    let confinement = Confinement {
        places: places::places(capability, &sites).map_err(refused)?,
        links: links::links(capability, &sites),
        ..confinement(capability)
    };
    let whole = match probe::probe(program, &confinement, cancel) {
        Ok(found) if found.has(mechanism::MOUNT_NAMESPACE) => return Ok(found),
        other => other,
    };
    // Without mounts, what the roots hold now must be granted one by one, without what is carved out. That
    // may do where the places as a whole did not: one may be readable inside of one that is writable.
    let plan = plan(capability, Scope::BEFORE, cancel).map_err(refused)?;
    let grants = grants::grants(capability, &plan, cancel).map_err(refused)?;
    let confinement = Confinement {
        places: grants.places(),
        ..self::confinement(capability)
    };
    probe::probe(program, &confinement, cancel).map_err(|error| {
        let error = whole.err().unwrap_or(error);
        match error.bound {
            Some(bound) => refuse_what(&format!("limits = rho_limits({bound} = )"), &error.reason).with("bound", bound),
            None => refuse(&error.reason),
        }
    })
}

/// What a capability says itself, without any place.
fn confinement(capability: &Capability) -> Confinement {
    let limits = capability.limits();
    Confinement {
        network: capability.network() == Network::Host,
        bounds: Bounds {
            processes: limits.processes,
            memory: limits.memory,
            file_size: limits.file_size,
            cpu: limits.cpu,
            open_files: limits.open_files,
        },
        ..Confinement::default()
    }
}

/// Plans the confinement of one command. The tree is looked through each time: what exists when the
/// command starts is what is closed.
///
/// # Errors
/// `RootGone` for a root that was deleted or cannot be found, `TooLarge` for a tree that cannot be looked
/// through within the bounds of `scope`, `CarveOut` for a carve-out that cannot be closed, and the system's.
pub fn plan(capability: &Capability, scope: Scope, cancel: &Cancel) -> Result<Plan, Refusal> {
    let limits = capability.limits();
    let sites = places::sites(capability)?;
    let mut places = places::places(capability, &sites)?;
    let before = scanned(capability, &sites, scope, cancel)?;
    let mut covers = covers::covers(capability, &sites, &before)?;
    let around = Around::all(capability, scope, cancel)?;
    for outer in &around {
        outer.close(&mut places, &mut covers)?;
    }
    let mut hidden = covers::mounts(&sites, &before);
    hidden.extend(mountinfo::covers(capability, &sites)?);
    if limits.mounts {
        // Kernel file systems are never seen.
        covers.append(&mut hidden);
    }
    // A link may lead to what no place shows, such as kept output.
    covers.retain(|cover| places.iter().any(|place| places::holds(&place.path, &cover.path)));
    covers::order(&mut covers);
    if covers.len() > covers::MOST {
        return Err(Refusal::new(Code::TooLarge)
            .say(format!(
                "{} files and directories are covered by deny and protect patterns, more than can be closed for one command ({}). \
                 Allow smaller directories, or leave out the pattern that covers so many.",
                covers.len(),
                covers::MOST
            ))
            .with("covers", covers.len() as u64)
            .with("most", covers::MOST as u64));
    }
    Ok(Plan {
        confinement: Confinement {
            places,
            covers,
            links: links::links(capability, &sites),
            ..confinement(capability)
        },
        hidden,
        sites,
        before,
        around,
    })
}
