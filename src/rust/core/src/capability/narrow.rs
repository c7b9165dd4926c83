//! Making a smaller capability from one.

use std::sync::Arc;

use super::{enforceable, most_specific, with_slash, Candidate, Capability, NarrowSpec, Parts, Unproven};
use crate::effect::Cancel;
use crate::escape::display;
use crate::limits::Limits;
use crate::misuse::Misuse;
use crate::path;
use crate::policy::{Network, Process};
use crate::root::{self, Anchor, Opened, Origin, Root, RootAccess};

impl Candidate {
    /// A root as it is, through the descriptor that is open already: one candidate for each spelling.
    fn keep(root: &Root, access: RootAccess) -> impl Iterator<Item = Self> + '_ {
        root.declared.iter().map(move |declared| Self {
            opened: Opened {
                declared: declared.clone(),
                canonical: root.canonical.clone(),
                facts: root.facts,
                handle: Arc::clone(&root.handle),
            },
            access,
            origin: root.origin,
            inherited: root.anchors_above(),
        })
    }
}

/// Whether a root is among the candidates, by any spelling.
fn is_kept(root: &Root, candidates: &[Candidate]) -> bool {
    let mut opened = candidates.iter().map(|candidate| &candidate.opened.facts);
    opened.any(|found| root.is(found.identity, found.mount))
}

impl Capability {
    /// Makes a capability that allows less.
    ///
    /// # Errors
    /// `wider` for anything that this capability does not allow, and the errors of [`Self::new`].
    pub fn narrow(self: &Arc<Self>, spec: NarrowSpec) -> Result<Arc<Self>, Misuse> {
        self.narrow_unproven(spec)?.prove(&Cancel::default())
    }

    /// The same, but for whether the host enforces it.
    ///
    /// # Errors
    /// Those of [`Self::narrow`] that do not depend on that.
    pub fn narrow_unproven(self: &Arc<Self>, spec: NarrowSpec) -> Result<Unproven, Misuse> {
        let wider = |what: &str, shown: &str| {
            Misuse::new(
                "wider",
                format!("{shown} is more than the capability allows; rho_narrow() only takes away."),
            )
            .with("what", what)
        };
        let process = spec.process.unwrap_or(self.process);
        if process > self.process {
            return Err(wider("process", &format!("process = {}", process.as_str())));
        }
        let network = spec.network.unwrap_or(self.network);
        if network > self.network {
            return Err(wider("network", &format!("network = {}", network.as_str())));
        }
        // Without processes there is no use for a network; taking both away is one step.
        let network = if process < self.process && spec.network.is_none() {
            Network::None
        } else {
            network
        };
        let mut limits = spec.limits.unwrap_or_else(|| self.limits.clone());
        // Only where they hold: without confined commands there is nothing to bound.
        if process == Process::Confined {
            limits.keep_bounds(&self.limits);
        }
        limits.check()?;
        enforceable(process, network, &self.placement, &limits)?;
        if let Some(name) = limits.wider_than(&self.limits) {
            return Err(wider("limits", &format!("limits: `{name}`")));
        }
        let environment = match &spec.environment {
            Some(keep) => self.environment.narrow(keep)?,
            None => self.environment.clone(),
        };
        let mut candidates = Vec::new();
        for (access, asked) in [(RootAccess::Read, &spec.read), (RootAccess::Write, &spec.write)] {
            let named = |root: &&Root| root.access == access && root.origin == Origin::User;
            match asked {
                None => {
                    candidates.extend(
                        self.roots
                            .iter()
                            .filter(named)
                            .flat_map(|root| Candidate::keep(root, access)),
                    );
                }
                Some(paths) => {
                    for given in paths {
                        candidates.push(self.inner_candidate(given, access)?);
                    }
                    // A directory that was writable and is not named stays readable only if it is
                    // named in `read`, or `read` was left as it was.
                    if access == RootAccess::Write && spec.read.is_none() {
                        let demoted = self.roots.iter().filter(named);
                        candidates.extend(demoted.flat_map(|root| Candidate::keep(root, RootAccess::Read)));
                    }
                }
            }
        }
        // R's libraries belong to the entry that tells R of them, and go with it.
        if spec
            .environment
            .as_ref()
            .is_none_or(|keep| keep.iter().any(|name| name == "R_LIBS"))
        {
            let libraries = self.roots.iter().filter(|root| root.origin == Origin::Library);
            candidates.extend(libraries.flat_map(|root| Candidate::keep(root, root.access)));
        }
        self.keep_inner(&mut candidates);
        self.leave_no_mount(&candidates, &limits)?;
        let around = if self.has_the_same_roots(&candidates) {
            self.around.clone()
        } else {
            Some(Arc::clone(self))
        };
        let cwd = match &spec.cwd {
            Some(given) => root::open("cwd", given)?,
            None => self.cwd.opened.clone(),
        };
        let mut deny = self.deny.clone();
        deny.extend(spec.deny.filter(|list| !list.is_empty()));
        let mut protect = self.protect.clone();
        protect.extend(spec.protect.filter(|list| !list.is_empty()));
        Self::assemble(Parts {
            candidates,
            cwd,
            environment,
            process,
            network,
            placement: self.placement.clone(),
            deny,
            protect,
            limits,
            reserved: self.reserved.clone(),
            commands: self.commands.as_ref().map_or_else(Default::default, |commands| {
                (commands.spec.clone(), Some(Arc::clone(&commands.program)))
            }),
            around,
        })
    }

    /// The roots but for the private one, of which a smaller capability gets its own.
    fn shared_roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(|root| root.origin != Origin::Private)
    }

    /// Whether candidates are the roots of this capability, with the same access.
    fn has_the_same_roots(&self, candidates: &[Candidate]) -> bool {
        let is = |root: &Root, candidate: &Candidate| {
            let found = &candidate.opened.facts;
            root.is(found.identity, found.mount)
        };
        // One that is named for reading as well is writable.
        let kept = |root: &Root| {
            let mut same = candidates.iter().filter(|candidate| is(root, candidate));
            same.any(|candidate| candidate.access == root.access)
        };
        let known = |candidate: &Candidate| self.shared_roots().any(|root| is(root, candidate));
        self.shared_roots().all(kept) && candidates.iter().all(known)
    }

    /// A root inside a directory that is kept governs its place in the smaller capability too, with no more
    /// than both allow. Without it the rules of the directory around it would hold there, and may be wider.
    fn keep_inner(&self, candidates: &mut Vec<Candidate>) {
        let mut inner = Vec::new();
        for root in self.shared_roots() {
            let around = candidates
                .iter()
                .filter(|candidate| root.canonical.starts_with(&candidate.opened.canonical))
                .max_by_key(|candidate| candidate.opened.canonical.len());
            if let (false, Some(around)) = (is_kept(root, candidates), around) {
                inner.extend(Candidate::keep(root, root.access.min(around.access)));
            }
        }
        candidates.append(&mut inner);
    }

    /// Where other mounts are entered, the directory of a root may be mounted once more inside another. While
    /// the root is there, its rules hold in both places; without it, those of the place around would.
    fn leave_no_mount(&self, candidates: &[Candidate], limits: &Limits) -> Result<(), Misuse> {
        match self.shared_roots().find(|root| !is_kept(root, candidates)) {
            Some(root) if limits.mounts && !candidates.is_empty() => {
                let shown = display(&with_slash(&root.canonical));
                Err(Misuse::new("wider", format!(
                    "\"{shown}\" cannot be left out while other mounts are entered: it may be mounted inside a directory that is kept. Give limits = rho_limits(mounts = FALSE) too."
                )).with("path", shown))
            }
            _ => Ok(()),
        }
    }

    fn inner_candidate(&self, given: &[u8], access: RootAccess) -> Result<Candidate, Misuse> {
        let opened = root::open("root", given)?;
        let shown = display(given);
        let wider = |why: &str| {
            Misuse::new("wider", format!("\"{shown}\" {why}; rho_narrow() only takes away.")).with("path", &shown)
        };
        let Some(index) = most_specific(&self.roots, &opened.canonical) else {
            return Err(wider("lies in no root of the capability"));
        };
        let outer = &self.roots[index];
        if outer.origin == Origin::Private {
            return Err(wider(
                "is the capability's private directory, of which a smaller one gets its own",
            ));
        }
        if access > outer.access {
            return Err(wider("lies in a root that is only readable"));
        }
        let prefix = opened.canonical[outer.canonical.len()..].to_vec();
        // The new root must be what the old capability would have reached there: the same object,
        // over the same mounts, not a directory that was put in the place of a root meanwhile.
        let reached = crate::resolve::directory(self, index, &prefix).map_err(|refusal| {
            wider(&format!(
                "cannot be reached inside the capability ({})",
                refusal.code.as_str()
            ))
        })?;
        if reached.identity != opened.facts.identity || reached.mount != opened.facts.mount {
            return Err(wider(
                "is not the directory that the capability reaches under this name",
            ));
        }
        let names = path::join(&prefix);
        // A smaller one could not see that this stands beside a `HEAD`.
        if let (RootAccess::Write, Some(rule)) = (access, outer.beside_head(&names)) {
            return Err(wider(&format!(
                "belongs to a git repository and is protected (\"{rule}\"); only reading can be given"
            )));
        }
        let inherited = outer
            .anchors
            .iter()
            // Of the root itself, its own are compiled anew.
            .filter(|anchor| !(prefix.is_empty() && anchor.prefix.is_empty()))
            .map(|anchor| Anchor {
                prefix: anchor.prefix.iter().chain(&prefix).cloned().collect(),
                rules: Arc::clone(&anchor.rules),
            })
            .collect();
        Ok(Candidate {
            opened,
            access,
            origin: outer.origin,
            inherited,
        })
    }
}
