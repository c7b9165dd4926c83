//! A command that the kernel confines: what is closed before it, and what it left under closed names.

use std::sync::Arc;

use crate::capability::Capability;
use crate::confine::found::{Scope, Spot};
use crate::confine::places::{absolute, locate, sites as sites_now, Site};
use crate::confine::quarantine::{self, Fate, Look, Swept};
use crate::confine::{self, grants, Plan};
use crate::effect::Cancel;
use crate::outcome::{Code, Refusal};
use crate::process::confinement::{mechanism, Confinement, Enforcement};
use crate::receipt::record::CarveOut;

use super::overlap::{Others, Overlap};

/// The confinement of one command.
pub struct Confined<'a> {
    capability: &'a Capability,
    enforcement: &'a Enforcement,
    plan: Plan,
    /// What the command cannot do though the capability would allow it.
    pub restrictions: Vec<&'static str>,
    /// The paths of the covers, in their order.
    covers: Vec<Vec<u8>>,
    overlap: Overlap,
}

impl<'a> Confined<'a> {
    /// Looks through the roots and plans what is closed.
    ///
    /// # Errors
    /// Those of [`confine::plan`] and [`grants::grants`].
    pub fn plan(capability: &'a Arc<Capability>, cancel: &Cancel) -> Result<Self, Refusal> {
        let enforcement = capability.enforcement().ok_or(Code::SystemError)?;
        let others = Others::now();
        let mut plan = confine::plan(capability, Scope::BEFORE, cancel)?;
        let overlap = Overlap::enter(capability, &mut plan, &others);
        // Not for the sake of what another command made, and what goes.
        plan.check(capability)?;
        let mut restrictions = Vec::new();
        if !enforcement.has(mechanism::MOUNT_NAMESPACE) {
            let grants = grants::grants(capability, &plan, cancel)?;
            plan.confinement.places = grants.places();
            plan.confinement.covers.clear();
            restrictions = grants.restrictions();
        }
        Ok(Self {
            capability,
            enforcement,
            covers: plan.confinement.covers.iter().map(|cover| cover.path.clone()).collect(),
            plan,
            restrictions,
            overlap,
        })
    }

    /// What the kernel is to enforce, and by which mechanisms at least; once, because it may be long.
    #[must_use]
    pub fn take_order(&mut self) -> (Confinement, Vec<String>) {
        let confinement = std::mem::take(&mut self.plan.confinement);
        (confinement, self.enforcement.mechanisms.clone())
    }

    /// Looks again, when nothing of the command is left, and moves what is new under a closed name away. `opened` are
    /// the covers that somebody took off.
    #[must_use]
    pub fn sweep(&mut self, opened: &[u32]) -> (Vec<CarveOut>, Option<&'static str>) {
        let nothing_swept = |why| (Vec::new(), Some(why));
        let Some(place) = self.capability.private().and_then(|private| private.quarantine().ok()) else {
            return nothing_swept("carve_outs_not_looked_for");
        };
        // What another one's look took out is not what was there, whatever stands there now.
        self.overlap.forget_taken(&mut self.plan);
        let cover = |index: &u32| self.covers.get(usize::try_from(*index).ok()?).map(Vec::as_slice);
        let opened: Vec<&[u8]> = opened.iter().filter_map(cover).collect();
        let plan = &self.plan;
        let now = |capability, sites: &[Site]| sites_now(capability).unwrap_or_else(|_| sites.to_vec());
        let here = now(self.capability, &plan.sites);
        let own = Look {
            capability: self.capability,
            sites: &plan.sites,
            here: &here,
            before: &plan.before,
            opened: &opened,
            within: None,
        };
        let mut gap = None;
        let mut told = Vec::new();
        for index in 0..=plan.around.len() {
            let around = index.checked_sub(1).map(|index| &plan.around[index]);
            let here_around = around.map_or_else(Vec::new, |around| now(&around.capability, &around.sites));
            let within = |spot: &Spot| {
                let path = absolute(&around?.sites[spot.root], &spot.names);
                let (root, names) = locate(&plan.sites, &path)?;
                let names = names.to_vec();
                self.capability.roots()[root]
                    .is_writable()
                    .then_some(Spot { root, names })
            };
            let look = around.map_or(own, |around| Look {
                capability: &around.capability,
                sites: &around.sites,
                here: &here_around,
                before: &around.before,
                within: Some(&within),
                ..own
            });
            // Not to be cancelled: a file that git would run must not stay because somebody was in a hurry.
            let Ok(swept) = quarantine::sweep(&look, &place, Scope::AFTER, &Cancel::default()) else {
                return (told, Some("carve_outs_not_looked_for"));
            };
            self.overlap.tell_taken(&swept.taken);
            gap = if swept.stopped.is_some() {
                Some("carve_outs_not_looked_for")
            } else if swept.is_clean() {
                gap
            } else {
                gap.or(Some("carve_out_left"))
            };
            told.extend(records(swept));
        }
        (told, gap)
    }
}

fn records(swept: Swept) -> impl Iterator<Item = CarveOut> {
    let created = swept.created.into_iter().map(|made| CarveOut {
        fate: match made.fate {
            Fate::Kept(_) => "kept",
            Fate::Aside(_) => "aside",
            Fate::Left(_) => "left",
            Fate::Replaced => "replaced",
        },
        kept_as: made.kept_as().map(str::to_owned),
        root: made.root,
        path: made.path,
        pattern: made.pattern,
        effect: made.effect,
    });
    let removed = swept.removed.into_iter().map(|gone| CarveOut {
        root: gone.root,
        path: gone.path,
        pattern: gone.pattern,
        effect: gone.effect,
        fate: "gone",
        kept_as: None,
    });
    created.chain(removed)
}
