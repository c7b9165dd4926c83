//! A command that the kernel confines: what is closed before it, and what it left under closed names.

use std::sync::Arc;

use crate::capability::Capability;
use crate::confine::found::{Scope, Spot};
use crate::confine::places::{absolute, locate, now};
use crate::confine::quarantine::{self, Fate, Look, Swept};
use crate::confine::{self, grants, Around, Plan};
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
    /// the paths where somebody took a cover off.
    #[must_use]
    pub fn sweep(&mut self, opened: &[&[u8]]) -> (Vec<CarveOut>, Option<&'static str>) {
        const NOT_LOOKED_FOR: &str = "carve_outs_not_looked_for";
        let Some(place) = self.capability.private().and_then(|private| private.quarantine().ok()) else {
            return (Vec::new(), Some(NOT_LOOKED_FOR));
        };
        // What another one's look took out is not what was there, whatever stands there now.
        self.overlap.forget_taken(&mut self.plan);
        let mut told = Vec::new();
        let mut gap = None;
        let mut look = |look: &Look<'_>| {
            // Not to be cancelled: a file that git would run must not stay because somebody was in a hurry.
            let swept = quarantine::sweep(look, &place, Scope::AFTER, &Cancel::default());
            let Ok(swept) = swept else {
                gap = Some(NOT_LOOKED_FOR);
                return;
            };
            self.overlap.tell_taken(&swept.taken);
            if swept.stopped.is_some() {
                gap = Some(NOT_LOOKED_FOR);
            } else if !swept.is_clean() {
                gap = gap.or(Some("carve_out_left"));
            }
            told.extend(records(swept));
        };
        let plan = &self.plan;
        look(&Look {
            capability: self.capability,
            sites: &plan.sites,
            here: &now(self.capability, &plan.sites),
            before: &plan.before,
            opened,
            within: None,
        });
        for around in &plan.around {
            look(&Look {
                capability: &around.capability,
                sites: &around.sites,
                here: &now(&around.capability, &around.sites),
                before: &around.before,
                opened,
                within: Some(&|spot| self.within(around, spot)),
            });
        }
        (told, gap)
    }

    /// The place that this capability has for one of a larger one, where the command could write.
    fn within(&self, around: &Around, spot: &Spot) -> Option<Spot> {
        let path = absolute(&around.sites[spot.root], &spot.names);
        let (root, names) = locate(&self.plan.sites, &path)?;
        let names = names.to_vec();
        self.capability.roots()[root]
            .is_writable()
            .then_some(Spot { root, names })
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
