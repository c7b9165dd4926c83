//! The host capability: one immutable value that says what its holder may do.

mod describe;
mod narrow;
mod spec;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use crate::carve_out::{self, CarveOuts, Effect, Leaf};
use crate::confine;
use crate::effect::Cancel;
use crate::environment::Environment;
use crate::escape::display;
use crate::limits::Limits;
use crate::misuse::Misuse;
use crate::path;
use crate::policy::{Network, Placement, Process};
use crate::private::{self, Private};
use crate::process::confinement::Enforcement;
use crate::process::supervisor::Program;
use crate::root::{self, Anchor, Opened, Origin, Root, RootAccess};

pub use self::spec::{CapabilitySpec, CommandSpec, NarrowSpec, Reserved};

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

/// Where relative paths start.
pub struct Cwd {
    /// The directory, held open, so that a smaller capability need not look for it again.
    pub opened: Opened,
    /// The root it lies in and its joined names there; none when it lies in no root. Relative paths start
    /// by these names, beneath the root's own descriptor.
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
    commands: Option<Commands>,
    /// The one that this one was narrowed from, where that has roots which this one has not.
    around: Option<Arc<Self>>,
}

/// What a capability has when it may run commands.
struct Commands {
    spec: CommandSpec,
    program: Arc<Program>,
    private: Private,
    /// What the kernel was found to enforce, where commands are confined.
    enforcement: Option<Enforcement>,
}

struct Candidate {
    opened: Opened,
    access: RootAccess,
    origin: Origin,
    inherited: Vec<Anchor>,
}

/// What a capability is put together from, by `new` and by `narrow`.
struct Parts {
    candidates: Vec<Candidate>,
    cwd: Opened,
    environment: Environment,
    process: Process,
    network: Network,
    placement: Placement,
    /// Each list stands for itself, see [`CarveOuts::new`].
    deny: Vec<Vec<String>>,
    protect: Vec<Vec<String>>,
    limits: Limits,
    reserved: Vec<Reserved>,
    /// The program when it is open already.
    commands: (CommandSpec, Option<Arc<Program>>),
    around: Option<Arc<Capability>>,
}

/// A capability of which it is not known yet whether the host enforces it.
#[derive(Debug)]
pub struct Unproven(Capability);

impl Unproven {
    /// Whether that is found out by trying, which takes its time where a directory is large or does not answer.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.0.process == Process::Confined
    }

    /// Finds it out, as long as it is wanted. What fails leaves nothing.
    ///
    /// # Errors
    /// `cwd`, `not_enforceable`, also when it is not wanted any more.
    pub fn prove(mut self, cancel: &Cancel) -> Result<Arc<Capability>, Misuse> {
        if self.0.process == Process::Confined {
            let enforcement = confine::probe(&self.0, cancel)?;
            if let Some(commands) = &mut self.0.commands {
                commands.enforcement = Some(enforcement);
            }
        }
        Ok(Arc::new(self.0))
    }
}

impl Capability {
    /// Makes a capability: opens the roots, compiles the carve-outs, takes inherited values.
    ///
    /// # Errors
    /// `root`, `cwd`, `reserved`, `pattern`, `environment`, `limit`, or `not_enforceable` for a
    /// policy that this version or this host cannot enforce.
    pub fn new(spec: CapabilitySpec) -> Result<Arc<Self>, Misuse> {
        Self::unproven(spec)?.prove(&Cancel::default())
    }

    /// The same, but for whether the host enforces it.
    ///
    /// # Errors
    /// Those of [`Self::new`] that do not depend on that.
    pub fn unproven(spec: CapabilitySpec) -> Result<Unproven, Misuse> {
        spec.limits.check()?;
        enforceable(spec.process, spec.network, &spec.placement, &spec.limits)?;
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
        Self::assemble(Parts {
            candidates,
            cwd,
            environment,
            process: spec.process,
            network: spec.network,
            placement: spec.placement,
            deny: vec![spec.deny],
            protect: vec![spec.protect],
            limits: spec.limits,
            reserved: spec.reserved,
            commands: (spec.commands, None),
            around: None,
        })
    }

    fn assemble(parts: Parts) -> Result<Unproven, Misuse> {
        let Parts {
            mut candidates,
            cwd,
            environment,
            process,
            network,
            placement,
            deny,
            protect,
            limits,
            reserved,
            commands,
            around,
        } = parts;
        let beside = commands.0.beside.clone();
        let commands = if process == Process::None {
            None
        } else {
            let commands = Commands::new(commands, &candidates, &environment)?;
            candidates.push(commands.private_root()?);
            Some(commands)
        };
        // One directory is one root, with every spelling it was given by.
        let mut merged: Vec<(Candidate, Vec<Vec<Vec<u8>>>)> = Vec::new();
        for candidate in candidates {
            let found = &candidate.opened.facts;
            let same = |(known, _): &&mut (Candidate, Vec<_>)| {
                known.opened.facts.identity == found.identity && known.opened.facts.mount == found.mount
            };
            if let Some((known, spellings)) = merged.iter_mut().find(same) {
                known.access = known.access.max(candidate.access);
                if candidate.origin == Origin::User {
                    known.origin = Origin::User;
                }
                known.inherited.extend(candidate.inherited);
                if !spellings.contains(&candidate.opened.declared) {
                    spellings.push(candidate.opened.declared);
                }
            } else {
                let spelling = candidate.opened.declared.clone();
                merged.push((candidate, vec![spelling]));
            }
        }
        let mut candidates = merged;
        // The digest must not depend on the order in which roots were named.
        // The private one comes last: its name differs in each session.
        candidates.sort_by(|(a, _), (b, _)| {
            let place = |candidate: &Candidate| candidate.origin == Origin::Private;
            (place(a), &a.opened.canonical).cmp(&(place(b), &b.opened.canonical))
        });

        let mut added = Vec::new();
        for (index, (candidate, _)) in candidates.iter().enumerate() {
            if candidate.access == RootAccess::Write {
                reserve(index, &candidate.opened, &reserved, &mut added)?;
                protect_private(index, &candidate.opened.canonical, &beside, &mut added);
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
                Origin::Library | Origin::Private => Arc::clone(&nothing),
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
            commands,
            around,
        };
        capability.digest = capability.compute_digest();
        Ok(Unproven(capability))
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

    /// The one that this one was narrowed from, where that has roots which this one has not: what is closed to its
    /// commands for the sake of a name there is closed to this one's.
    #[must_use]
    pub const fn around(&self) -> Option<&Arc<Self>> {
        self.around.as_ref()
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

    /// Which network.
    #[must_use]
    pub const fn network(&self) -> Network {
        self.network
    }

    /// The program that owns a command's processes; none where there are no commands.
    #[must_use]
    pub fn program(&self) -> Option<&Program> {
        Some(&*self.commands.as_ref()?.program)
    }

    /// What the kernel was found to enforce on commands; none where they are not confined.
    #[must_use]
    pub fn enforcement(&self) -> Option<&Enforcement> {
        self.commands.as_ref()?.enforcement.as_ref()
    }

    /// The capability's own directory; none where there are no commands.
    #[must_use]
    pub fn private(&self) -> Option<&Private> {
        Some(&self.commands.as_ref()?.private)
    }

    /// Where calls run.
    #[must_use]
    pub const fn placement(&self) -> &Placement {
        &self.placement
    }
}

impl Commands {
    fn new(
        (spec, program): (CommandSpec, Option<Arc<Program>>),
        candidates: &[Candidate],
        environment: &Environment,
    ) -> Result<Self, Misuse> {
        let program = match program {
            Some(program) => program,
            None => Arc::new(open_program(&spec.supervisor)?),
        };
        let private = Private::make(&spec.beside, |place| {
            let mut roots = candidates.iter().map(|candidate| &candidate.opened.canonical);
            !roots.any(|root| place.starts_with(root))
        })?;
        if let Some(configuration) = environment.git_configuration() {
            private.write_home(".gitconfig", &configuration).map_err(|error| {
                Misuse::new(
                    "environment",
                    format!("The private .gitconfig cannot be written: {error}."),
                )
            })?;
        }
        Ok(Self {
            spec,
            program,
            private,
            enforcement: None,
        })
    }

    fn private_root(&self) -> Result<Candidate, Misuse> {
        let path = self.private.path().as_os_str();
        Ok(Candidate {
            opened: root::open("environment", path.as_bytes())?,
            access: RootAccess::Read,
            origin: Origin::Private,
            inherited: Vec::new(),
        })
    }
}

fn open_program(path: &[u8]) -> Result<Program, Misuse> {
    Program::open(Path::new(OsStr::from_bytes(path))).map_err(|error| {
        let shown = display(path);
        Misuse::new("supervisor", format!(
            "rhocap's supervisor \"{shown}\", which owns the processes of commands, cannot be used: {error}. Install rhocap again."
        ))
        .with("path", shown)
    })
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
    if let Some(name) = opened
        .canonical
        .iter()
        .find(|name| name.starts_with(private::PREFIX.as_bytes()))
    {
        let shown = display(&with_slash(&opened.declared));
        return Err(Misuse::new("reserved", format!(
            "\"{shown}\" cannot be writable: it lies in \"{}\", the private directory of a capability. Choose another directory.",
            display(name)
        )).with("path", shown).with("reserved", "a private directory"));
    }
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

/// Protects the private directories of capabilities below a root that holds places of temporary files.
fn protect_private(index: usize, canonical: &[Vec<u8>], beside: &[u8], added: &mut Vec<(usize, String, String)>) {
    let beside = Path::new(OsStr::from_bytes(beside));
    for place in private::PLACES.iter().map(Path::new).chain([beside]) {
        let place = std::fs::canonicalize(place).ok();
        let names = place.and_then(|place| path::names(place.as_os_str().as_bytes()));
        let below = names.as_ref().and_then(|names| names.strip_prefix(canonical));
        let Some(directory) = below.and_then(carve_out::pattern::exact_directory) else {
            continue;
        };
        let pattern = format!("{directory}{}*/", private::PREFIX);
        if !added.iter().any(|(root, known, _)| *root == index && *known == pattern) {
            added.push((index, pattern, "private directories of capabilities".to_owned()));
        }
    }
}

fn enforceable(process: Process, network: Network, placement: &Placement, limits: &Limits) -> Result<(), Misuse> {
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
    if let (Process::Unrestricted, Some(name)) = (process, limits.bound()) {
        return refuse(
            &format!("limits = rho_limits({name} = ) with process = rho_process_unrestricted()"),
            "an unrestricted command can take as much as this user can.",
            "Leave the bound out, or confine commands.",
        );
    }
    match (process, network) {
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
