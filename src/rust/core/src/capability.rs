//! The host capability: one immutable value that says what its holder may do.

use std::sync::Arc;

use serde_json::{json, Value};

use crate::carve_out::{self, CarveOuts, Effect, Leaf};
use crate::environment::{Environment, EnvironmentSpec};
use crate::escape::display;
use crate::limits::Limits;
use crate::misuse::Misuse;
use crate::path;
use crate::policy::{Network, Placement, Process, UNRESTRICTED_SENTENCE};
use crate::root::{self, Anchor, Opened, Origin, Root, RootAccess};

/// The default `deny` patterns.
#[must_use]
pub const fn deny_defaults() -> &'static [&'static str] {
    carve_out::DENY_DEFAULTS
}

/// The default `protect` patterns.
#[must_use]
pub const fn protect_defaults() -> &'static [&'static str] {
    carve_out::PROTECT_DEFAULTS
}

/// A directory that no write root may be or lie below, such as a package library: what is written
/// there would run outside the capability.
#[derive(Debug, Clone)]
pub struct Reserved {
    /// The directory.
    pub path: Vec<u8>,
    /// What it is, in words: "R's own directory".
    pub what: String,
}

/// What a user asks a capability to be.
#[derive(Debug, Clone)]
pub struct CapabilitySpec {
    /// Readable directories.
    pub read: Vec<Vec<u8>>,
    /// Readable and writable directories.
    pub write: Vec<Vec<u8>>,
    /// Where relative paths start.
    pub cwd: Vec<u8>,
    /// Readable directories without carve-outs: R's libraries.
    pub libraries: Vec<Vec<u8>>,
    /// The environment of commands.
    pub environment: EnvironmentSpec,
    /// Which processes.
    pub process: Process,
    /// Which network.
    pub network: Network,
    /// Where calls run.
    pub placement: Placement,
    /// Patterns that are neither readable nor writable.
    pub deny: Vec<String>,
    /// Patterns that are not writable.
    pub protect: Vec<String>,
    /// Bounds.
    pub limits: Limits,
    /// Directories that a write root must not be or lie below.
    pub reserved: Vec<Reserved>,
}

/// What a narrower capability keeps. `None` keeps what there is.
#[derive(Debug, Clone, Default)]
pub struct NarrowSpec {
    /// Readable directories, each inside a root.
    pub read: Option<Vec<Vec<u8>>>,
    /// Writable directories, each inside a writable root.
    pub write: Option<Vec<Vec<u8>>>,
    /// Where relative paths start.
    pub cwd: Option<Vec<u8>>,
    /// Names of the environment entries to keep beside the minimal set.
    pub environment: Option<Vec<String>>,
    /// The same policy or a smaller one.
    pub process: Option<Process>,
    /// The same policy or a smaller one.
    pub network: Option<Network>,
    /// Patterns to add.
    pub deny: Option<Vec<String>>,
    /// Patterns to add.
    pub protect: Option<Vec<String>>,
    /// Bounds, none larger.
    pub limits: Option<Limits>,
}

/// Where relative paths start.
pub struct Cwd {
    /// The directory, held open: what is renamed or replaced later does not matter.
    pub opened: Opened,
    /// The root it lies in and its joined names there; none when it lies in no root.
    pub inside: Option<(usize, Vec<u8>)>,
}

/// A host capability. Immutable; shared by reference.
pub struct Capability {
    id: String,
    digest: String,
    roots: Vec<Root>,
    cwd: Cwd,
    environment: Environment,
    process: Process,
    network: Network,
    placement: Placement,
    deny: Vec<Vec<String>>,
    protect: Vec<Vec<String>>,
    /// Protect patterns that nobody wrote: root index, pattern, why.
    added: Vec<(usize, String, String)>,
    limits: Limits,
    reserved: Vec<Reserved>,
}

struct Candidate {
    opened: Opened,
    access: RootAccess,
    origin: Origin,
    inherited: Vec<Anchor>,
}

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

impl Capability {
    /// Makes a capability: opens the roots, compiles the carve-outs, takes inherited values.
    ///
    /// # Errors
    /// `root`, `cwd`, `reserved`, `pattern`, `environment`, `limit`, or `not_enforceable` for a
    /// policy that this version or this host cannot enforce.
    pub fn new(spec: CapabilitySpec) -> Result<Arc<Self>, Misuse> {
        spec.limits.check()?;
        enforceable(spec.process, spec.network, &spec.placement)?;
        let environment = Environment::new(&spec.environment)?;
        let mut candidates = Vec::new();
        for (paths, access, origin) in [
            (&spec.read, RootAccess::Read, Origin::User),
            (&spec.write, RootAccess::Write, Origin::User),
            (&spec.libraries, RootAccess::Read, Origin::Library),
        ] {
            for given in paths {
                let opened = root::open("root", given)?;
                candidates.push(Candidate {
                    opened,
                    access,
                    origin,
                    inherited: Vec::new(),
                });
            }
        }
        let cwd = root::open("cwd", &spec.cwd)?;
        Self::assemble(
            candidates,
            cwd,
            environment,
            spec.process,
            spec.network,
            spec.placement,
            vec![spec.deny],
            vec![spec.protect],
            spec.limits,
            spec.reserved,
        )
    }

    #[allow(clippy::too_many_arguments)] // One call from `new`, one from `narrow`.
    fn assemble(
        candidates: Vec<Candidate>,
        cwd: Opened,
        environment: Environment,
        process: Process,
        network: Network,
        placement: Placement,
        deny: Vec<Vec<String>>,
        protect: Vec<Vec<String>>,
        limits: Limits,
        reserved: Vec<Reserved>,
    ) -> Result<Arc<Self>, Misuse> {
        let mut merged: Vec<Candidate> = Vec::new();
        for candidate in candidates {
            let known = merged.iter_mut().find(|known| {
                known.opened.facts.identity == candidate.opened.facts.identity
                    && known.opened.facts.mount == candidate.opened.facts.mount
            });
            match known {
                Some(known) => {
                    known.access = known.access.max(candidate.access);
                    if candidate.origin == Origin::User {
                        known.origin = Origin::User;
                    }
                    // Another spelling of the same directory: kept as an alias below.
                    if known.opened.declared != candidate.opened.declared {
                        merged.push(candidate);
                    }
                }
                None => merged.push(candidate),
            }
        }
        let mut candidates: Vec<(Candidate, Vec<Vec<Vec<u8>>>)> = Vec::new();
        for candidate in merged {
            let same = candidates.iter_mut().find(|(known, _)| {
                known.opened.facts.identity == candidate.opened.facts.identity
                    && known.opened.facts.mount == candidate.opened.facts.mount
            });
            if let Some((_, spellings)) = same {
                spellings.push(candidate.opened.declared);
            } else {
                let spelling = candidate.opened.declared.clone();
                candidates.push((candidate, vec![spelling]));
            }
        }
        // The digest must not depend on the order in which roots were named.
        candidates.sort_by(|(a, _), (b, _)| a.opened.canonical.cmp(&b.opened.canonical));

        let mut added = Vec::new();
        for (index, (candidate, _)) in candidates.iter().enumerate() {
            if candidate.access == RootAccess::Write {
                reserve(index, &candidate.opened, &reserved, &mut added)?;
            }
        }
        let shared = CarveOuts::new(&deny, &protect)?;
        let nothing = CarveOuts::new(&[], &[])?;
        let mut own = Vec::new();
        for (index, (candidate, _)) in candidates.iter().enumerate() {
            let extra: Vec<String> = added
                .iter()
                .filter(|(root, _, _)| *root == index)
                .map(|(_, pattern, _)| pattern.clone())
                .collect();
            own.push(match candidate.origin {
                Origin::Library => Arc::clone(&nothing),
                Origin::User if extra.is_empty() => Arc::clone(&shared),
                Origin::User => {
                    let mut lists = protect.clone();
                    lists.push(extra);
                    CarveOuts::new(&deny, &lists)?
                }
            });
        }
        let places: Vec<(Vec<Vec<u8>>, Origin)> = candidates
            .iter()
            .map(|(candidate, _)| (candidate.opened.canonical.clone(), candidate.origin))
            .collect();
        let below = |outer: &[Vec<u8>], inner: &[Vec<u8>]| inner.len() > outer.len() && inner.starts_with(outer);
        let mut roots = Vec::new();
        for (index, (candidate, declared)) in candidates.into_iter().enumerate() {
            let mut anchors = vec![Anchor {
                prefix: Vec::new(),
                rules: Arc::clone(&own[index]),
            }];
            // A library in a directory that the user named lies under that one's carve-outs, too: a link in
            // it may lead anywhere there.
            for (outer, (canonical, origin)) in places.iter().enumerate() {
                if *origin == Origin::User && below(canonical, &places[index].0) {
                    let prefix = places[index].0[canonical.len()..].to_vec();
                    anchors.push(Anchor {
                        prefix,
                        rules: Arc::clone(&own[outer]),
                    });
                }
            }
            for anchor in candidate.inherited {
                let same =
                    |known: &Anchor| known.prefix == anchor.prefix && known.rules.source() == anchor.rules.source();
                if !anchors.iter().any(same) {
                    anchors.push(anchor);
                }
            }
            let spellings = declared
                .iter()
                .chain([&candidate.opened.canonical])
                .map(|names| path::join(names))
                .collect();
            let root = Root {
                declared,
                spellings,
                canonical: candidate.opened.canonical,
                access: candidate.access,
                origin: candidate.origin,
                facts: candidate.opened.facts,
                handle: candidate.opened.handle,
                anchors,
                has_inner: places.iter().any(|(canonical, _)| below(&places[index].0, canonical)),
            };
            if let Some(rule) = root.covering(Effect::Deny, b"", Leaf::Directory) {
                let shown = display(&with_slash(&root.canonical));
                return Err(Misuse::new("root", format!(
                    "\"{shown}\" lies in a place that the pattern \"{rule}\" of a root above it denies. Leave the root out, or the pattern."
                )).with("path", shown).with("pattern", rule));
            }
            roots.push(root);
        }
        let inside = most_specific(&roots, &cwd.canonical)
            .map(|index| (index, path::join(&cwd.canonical[roots[index].canonical.len()..])));
        let mut capability = Self {
            id: crate::random::hex(16),
            digest: String::new(),
            roots,
            cwd: Cwd { opened: cwd, inside },
            environment,
            process,
            network,
            placement,
            deny,
            protect,
            added,
            limits,
            reserved,
        };
        capability.digest = capability.compute_digest();
        Ok(Arc::new(capability))
    }

    /// Makes a capability that allows less.
    ///
    /// # Errors
    /// `wider` for anything that this capability does not allow, and the errors of [`Self::new`].
    pub fn narrow(&self, spec: NarrowSpec) -> Result<Arc<Self>, Misuse> {
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
        enforceable(process, network, &self.placement)?;
        let limits = spec.limits.unwrap_or_else(|| self.limits.clone());
        limits.check()?;
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
        let cwd = match &spec.cwd {
            Some(given) => root::open("cwd", given)?,
            None => self.cwd.opened.clone(),
        };
        let mut deny = self.deny.clone();
        deny.extend(spec.deny.filter(|list| !list.is_empty()));
        let mut protect = self.protect.clone();
        protect.extend(spec.protect.filter(|list| !list.is_empty()));
        Self::assemble(
            candidates,
            cwd,
            environment,
            process,
            network,
            self.placement.clone(),
            deny,
            protect,
            limits,
            self.reserved.clone(),
        )
    }

    /// A root inside a directory that is kept governs its place in the smaller capability too, with no more
    /// than both allow. Without it the rules of the directory around it would hold there, and may be wider.
    fn keep_inner(&self, candidates: &mut Vec<Candidate>) {
        let mut inner = Vec::new();
        for root in &self.roots {
            let known = |candidate: &Candidate| root.is(candidate.opened.facts.identity, candidate.opened.facts.mount);
            let around = candidates
                .iter()
                .filter(|candidate| root.canonical.starts_with(&candidate.opened.canonical))
                .max_by_key(|candidate| candidate.opened.canonical.len());
            if let (false, Some(around)) = (candidates.iter().any(known), around) {
                inner.extend(Candidate::keep(root, root.access.min(around.access)));
            }
        }
        candidates.append(&mut inner);
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

    /// A random, public name of this value.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The digest of everything that the capability allows, the same in every session.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The roots.
    #[must_use]
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Where relative paths start.
    #[must_use]
    pub const fn cwd(&self) -> &Cwd {
        &self.cwd
    }

    /// The bounds.
    #[must_use]
    pub const fn limits(&self) -> &Limits {
        &self.limits
    }

    /// The environment of commands.
    #[must_use]
    pub const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Which processes.
    #[must_use]
    pub const fn process(&self) -> Process {
        self.process
    }

    /// Where calls run.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }

    /// Everything that print shows.
    #[must_use]
    pub fn describe(&self) -> Value {
        let mut shown = self.facts();
        shown["id"] = self.id.clone().into();
        shown["digest"] = self.digest.clone().into();
        shown["added"] = self
            .added
            .iter()
            .map(|(root, pattern, why)| {
                json!({"root": display(&with_slash(&self.roots[*root].canonical)), "pattern": pattern, "why": why})
            })
            .collect();
        if self.process == Process::Unrestricted {
            shown["sentence"] = UNRESTRICTED_SENTENCE.into();
        }
        shown
    }

    fn facts(&self) -> Value {
        let roots: Vec<Value> = self
            .roots
            .iter()
            .map(|root| {
                json!({
                    "path": display(&with_slash(&root.canonical)),
                    "declared": root.declared.iter().map(|names| display(&with_slash(names))).collect::<Vec<_>>(),
                    "access": root.access,
                    "origin": root.origin,
                })
            })
            .collect();
        json!({
            "roots": roots,
            "cwd": display(&with_slash(&self.cwd.opened.canonical)),
            "cwd_inside": self.cwd.inside.is_some(),
            "deny": self.deny.concat(),
            "protect": self.protect.concat(),
            // Each list stands for itself: a `!` of one opens nothing of another.
            "deny_lists": self.deny,
            "protect_lists": self.protect,
            "environment": self.environment.describe(),
            "environment_inherited": self.environment.is_inherited(),
            "git": self.environment.describe_git(),
            "process": self.process,
            "network": self.network,
            "placement": self.placement,
            "limits": self.limits,
        })
    }

    fn compute_digest(&self) -> String {
        let mut facts = self.facts();
        // Other spellings of a root change nothing of what is allowed; carve-outs that it has from a
        // root above it do, also when that root is gone.
        if let Some(shown) = facts["roots"].as_array_mut() {
            for (shown, root) in shown.iter_mut().zip(&self.roots) {
                if let Some(shown) = shown.as_object_mut() {
                    shown.remove("declared");
                }
                let mut anchors: Vec<_> = root
                    .anchors
                    .iter()
                    .map(|anchor| (display(&path::join(&anchor.prefix)), anchor.rules.source()))
                    .collect();
                anchors.sort_unstable();
                shown["anchors"] = json!(anchors);
            }
        }
        facts["added"] = self
            .added
            .iter()
            .map(|(root, pattern, _)| json!([root, pattern]))
            .collect();
        // An inherited environment has another set of names in each session.
        if self.environment.is_inherited() {
            facts["environment"] = self
                .environment
                .describe()
                .as_array()
                .into_iter()
                .flatten()
                .filter(|entry| entry["kind"] != "inherited")
                .cloned()
                .collect();
        }
        facts["schema"] = "rhocap.capability/1".into();
        blake3::hash(facts.to_string().as_bytes()).to_hex()[..32].to_owned()
    }
}

/// The index of the root that holds a path without links; the most specific one.
#[must_use]
pub fn most_specific(roots: &[Root], canonical: &[Vec<u8>]) -> Option<usize> {
    roots
        .iter()
        .enumerate()
        .filter(|(_, root)| canonical.starts_with(&root.canonical))
        .max_by_key(|(_, root)| root.canonical.len())
        .map(|(index, _)| index)
}

/// An absolute path from its names.
#[must_use]
pub fn with_slash(names: &[Vec<u8>]) -> Vec<u8> {
    let mut whole = vec![b'/'];
    whole.extend_from_slice(&path::join(names));
    whole
}

fn reserve(
    index: usize,
    opened: &Opened,
    reserved: &[Reserved],
    added: &mut Vec<(usize, String, String)>,
) -> Result<(), Misuse> {
    let above = root::identities_above(&opened.handle);
    for place in reserved {
        // What does not exist, or what this user cannot open, cannot be written to through a root.
        let Ok(found) = root::open("reserved", &place.path) else {
            continue;
        };
        // By identity too: a directory of a library may be mounted in another place.
        if opened.canonical.starts_with(&found.canonical) || above.contains(&found.facts.identity) {
            let shown = display(&with_slash(&opened.declared));
            return Err(Misuse::new("reserved", format!(
                "\"{shown}\" cannot be writable: it is, or lies in, {} (\"{}\"), whose files run outside the capability. Choose another directory.",
                place.what, display(&place.path)
            )).with("path", shown).with("reserved", &place.what));
        }
        if found.canonical.starts_with(&opened.canonical) {
            let Some(pattern) = carve_out::pattern::exact_directory(&found.canonical[opened.canonical.len()..]) else {
                let shown = display(&with_slash(&opened.declared));
                return Err(Misuse::new("reserved", format!(
                    "\"{shown}\" cannot be writable: it holds {} (\"{}\"), whose name no pattern can protect. Rename that directory, or choose another.",
                    place.what, display(&place.path)
                )).with("path", shown).with("reserved", &place.what));
            };
            if !added.iter().any(|(root, known, _)| *root == index && *known == pattern) {
                added.push((index, pattern, place.what.clone()));
            }
        }
    }
    Ok(())
}

fn enforceable(process: Process, network: Network, placement: &Placement) -> Result<(), Misuse> {
    let refuse = |what: &str, why: &str, way: &str| {
        Err(Misuse::new("not_enforceable", format!("{what} cannot be enforced: {why}\n{way}")).with("policy", what))
    };
    if let Placement::Mirai { .. } = placement {
        return refuse(
            "Placement on a mirai daemon",
            "this version of rhocap runs calls in this R process only.",
            "This works: rho_host_capability(..., placement = rho_placement_local())",
        );
    }
    match (process, network) {
        (Process::Confined, _) => refuse(
            "process = rho_process_confined()",
            "this version of rhocap does not start confined commands yet.",
            "Without commands:  rho_project_capability(path, process = rho_process_none())\n\
             Or by name, with the full authority of this user:  rho_project_capability(path, process = rho_process_unrestricted(), network = rho_network_host())",
        ),
        (Process::Unrestricted, Network::None) => refuse(
            "network = rho_network_none() with process = rho_process_unrestricted()",
            "an unrestricted command can use every network that this user can.",
            "This works: rho_host_capability(..., process = rho_process_unrestricted(), network = rho_network_host())",
        ),
        _ => Ok(()),
    }
}

impl std::fmt::Debug for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Capability")
            .field("digest", &self.digest)
            .finish_non_exhaustive()
    }
}
