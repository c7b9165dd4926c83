//! Serves `R/capability.R`, and what of `R/policy.R` and `R/environment.R` goes into a capability.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::capability::{self, Capability, CapabilitySpec, CommandSpec, NarrowSpec, Reserved, Unproven};
use rhocap_core::effect::Cancel;
use rhocap_core::environment::{Entry, EnvironmentSpec, Git, Source};
use rhocap_core::limits::Limits;
use rhocap_core::misuse::Misuse;
use rhocap_core::policy::{Network, Placement, Process};
use rhocap_core::verb::Job;

use crate::argument::{bad_word, count, flag, number, paths, text, texts, Fields};
use crate::condition::guard;
use crate::handle::{held, hold};
use crate::job::Work;
use crate::outcome::pair;
use crate::secret;
use crate::sexp::{element, Element};
use crate::value::Plain;

/// The capability behind a handle.
pub fn of_handle(handle: &Robj) -> Result<&Arc<Capability>, Misuse> {
    held(
        handle,
        "capability",
        "rho_host_capability() or rho_project_capability()",
    )
}

/// A capability, once it is known whether the host enforces it: now, or by a job.
fn proven(made: Unproven) -> Result<Plain, Misuse> {
    let prove = |made: Unproven, cancel: &Cancel| {
        catch_unwind(AssertUnwindSafe(|| made.prove(cancel)))
            .unwrap_or_else(|_| Err(Misuse::new("internal", "The host could not be asked what it enforces.")))
    };
    if made.is_long() {
        match Job::start(move |cancel: &Cancel| prove(made, cancel)) {
            Ok(job) => {
                let work = Work::new(job, |made| Ok(hold(made?)));
                return Ok(pair("running", hold(work)));
            }
            Err(here) => return Ok(pair("made", hold(here(&Cancel::default())?))),
        }
    }
    Ok(pair("made", hold(prove(made, &Cancel::default())?)))
}

// Makes a capability from the list that the constructor in `R/capability.R` builds.
#[extendr]
fn core_capability_new(spec: Robj) -> Robj {
    guard(|| {
        let fields = Fields::of(&spec, "spec")?;
        let spec = CapabilitySpec {
            read: paths(fields.need("read")?, "read")?,
            write: paths(fields.need("write")?, "write")?,
            cwd: text(fields.need("cwd")?, "cwd")?.as_bytes().to_vec(),
            libraries: paths(fields.need("libraries")?, "libraries")?,
            environment: environment(fields.need("environment")?)?,
            process: fields.map("process", process)?.unwrap_or(Process::None),
            network: fields.map("network", network)?.unwrap_or(Network::None),
            placement: placement(&fields)?,
            deny: texts(fields.need("deny")?, "deny")?,
            protect: texts(fields.need("protect")?, "protect")?,
            limits: limits(fields.need("limits")?, "limits")?,
            reserved: reserved(fields.need("reserved")?)?,
            commands: CommandSpec {
                supervisor: text(fields.need("supervisor")?, "supervisor")?.as_bytes().to_vec(),
                beside: text(fields.need("beside")?, "beside")?.as_bytes().to_vec(),
            },
        };
        proven(Capability::unproven(spec)?)
    })
}

// Makes a smaller capability; what the list does not hold stays.
#[extendr]
fn core_capability_narrow(handle: Robj, spec: Robj) -> Robj {
    guard(|| {
        let fields = Fields::of(&spec, "spec")?;
        let spec = NarrowSpec {
            read: fields.map("read", paths)?,
            write: fields.map("write", paths)?,
            cwd: fields.map("cwd", text)?.map(|path| path.as_bytes().to_vec()),
            environment: fields.map("environment", texts)?,
            process: fields.map("process", process)?,
            network: fields.map("network", network)?,
            deny: fields.map("deny", texts)?,
            protect: fields.map("protect", texts)?,
            limits: fields.map("limits", limits)?,
        };
        proven(of_handle(&handle)?.narrow_unproven(spec)?)
    })
}

// Every fact of a capability.
#[extendr]
fn core_capability_describe(handle: Robj) -> Robj {
    guard(|| Ok((&of_handle(&handle)?.describe()).into()))
}

// The default deny patterns.
#[extendr]
fn core_deny_defaults() -> Robj {
    guard(|| Ok(capability::deny_defaults().into()))
}

// The default protect patterns.
#[extendr]
fn core_protect_defaults() -> Robj {
    guard(|| Ok(capability::protect_defaults().into()))
}

fn process(value: &Robj, name: &str) -> Result<Process, Misuse> {
    Process::parse(text(value, name)?).ok_or_else(|| bad_word(name))
}

fn network(value: &Robj, name: &str) -> Result<Network, Misuse> {
    Network::parse(text(value, name)?).ok_or_else(|| bad_word(name))
}

fn placement(fields: &Fields) -> Result<Placement, Misuse> {
    match fields.map("placement", text)? {
        None | Some("local") => Ok(Placement::Local),
        Some("mirai") => {
            let compute = fields.map("compute", text)?.filter(|profile| !profile.is_empty());
            Ok(Placement::Mirai {
                compute: compute.map(str::to_owned),
            })
        }
        Some(_) => Err(bad_word("placement")),
    }
}

fn environment(value: &Robj) -> Result<EnvironmentSpec, Misuse> {
    let fields = Fields::of(value, "environment")?;
    let names = texts(fields.need("names")?, "environment")?;
    let values = fields.need("values")?;
    let secrets: Vec<Robj> = fields
        .need("secrets")?
        .as_list()
        .map(|list| list.values().collect())
        .unwrap_or_default();
    let mut entries = Vec::with_capacity(names.len());
    for (index, name) in names.into_iter().enumerate() {
        if let Some(handle) = secrets.get(index).filter(|handle| !handle.is_null()) {
            entries.push(Entry {
                name,
                source: Source::Secret(secret::entry(handle)?),
            });
            continue;
        }
        // NA stands for the value that the R process has.
        let source = match element(values, index) {
            Some(Element::Missing) => Source::Inherit,
            Some(Element::Bytes(bytes)) => Source::Literal(
                String::from_utf8(bytes.to_vec())
                    .map_err(|_| Misuse::new("encoding", format!("The value of `{name}` is not valid UTF-8.")))?,
            ),
            _ => return Err(Misuse::new("type", format!("`{name}` must be one string."))),
        };
        entries.push(Entry { name, source });
    }
    let git = match fields.get("git") {
        None => None,
        Some(git) => {
            let git = Fields::of(git, "git")?;
            Some(Git {
                name: text(git.need("name")?, "name")?.to_owned(),
                email: text(git.need("email")?, "email")?.to_owned(),
                safe: texts(git.need("safe")?, "safe")?,
            })
        }
    };
    Ok(EnvironmentSpec {
        entries,
        inherit_all: flag(fields.need("inherited")?, "inherited")?,
        hooks: texts(fields.need("hooks")?, "hooks")?,
        git,
    })
}

fn limits(value: &Robj, name: &str) -> Result<Limits, Misuse> {
    let fields = Fields::of(value, name)?;
    Ok(Limits {
        timeout: number(fields.need("timeout")?, "timeout")?,
        grace: number(fields.need("grace")?, "grace")?,
        output_bytes: count(fields.need("output_bytes")?, "output_bytes")?,
        read_bytes: count(fields.need("read_bytes")?, "read_bytes")?,
        symlinks: flag(fields.need("symlinks")?, "symlinks")?,
        mounts: flag(fields.need("mounts")?, "mounts")?,
        hard_links: flag(fields.need("hard_links")?, "hard_links")?,
        fsync: flag(fields.need("fsync")?, "fsync")?,
        entries: count(fields.need("entries")?, "entries")?,
        shell: text(fields.need("shell")?, "shell")?.to_owned(),
        processes: fields.map("processes", count)?,
        memory: fields.map("memory", count)?,
        file_size: fields.map("file_size", count)?,
        cpu: fields.map("cpu", count)?,
        open_files: fields.map("open_files", count)?,
    })
}

fn reserved(value: &Robj) -> Result<Vec<Reserved>, Misuse> {
    let fields = Fields::of(value, "reserved")?;
    let places = paths(fields.need("paths")?, "reserved")?;
    let what = texts(fields.need("what")?, "reserved")?;
    Ok(places
        .into_iter()
        .zip(what)
        .map(|(path, what)| Reserved { path, what })
        .collect())
}

extendr_module! {
    mod capability;
    fn core_capability_new;
    fn core_capability_narrow;
    fn core_capability_describe;
    fn core_deny_defaults;
    fn core_protect_defaults;
}
