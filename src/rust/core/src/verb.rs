//! Verbs: a request is admitted, takes effect through the admitted handle, and leaves one receipt.

use std::borrow::Cow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{json, Value as Json};

use crate::admission::{self, admit};
use crate::capability::Capability;
use crate::effect::edit::{self, Replacement};
use crate::effect::relocate::{self, Fault, Side};
use crate::effect::{list, read, remove, write, Cancel, Context, Extent, Report};
use crate::escape::{display, display_bounded};
use crate::outcome::{Call, Code, Decision, Refusal};
use crate::policy::{Process, UNRESTRICTED_SENTENCE};
use crate::receipt::record::{EnforcedBy, EnvironmentName, Resolved};
use crate::receipt::{log, Record, SCHEMA};
use crate::resolve::{Found, Object, Refused, Resolver, Use, Want};

pub use crate::admission::{Access, Admitted};
pub use crate::effect::edit::Edited;
pub use crate::effect::list::{ListEntry, Listing};
pub use crate::effect::read::{Limit as ReadLimit, Text};
pub use crate::effect::relocate::Moved;
pub use crate::effect::remove::Removed;
pub use crate::effect::write::{Expected, Written};

/// From this size on, work runs on a thread of its own.
const LONG: u64 = 4 << 20;

/// The same for edits, which compare.
const LONG_COMPARED: u64 = 256 << 10;

/// The same for writes that do not wait for the disk: they take less than 100 ms.
const LONG_UNSYNCED: u64 = 32 << 20;

/// Most bytes of a path or command that a receipt or message shows.
const SHOWN: usize = 4096;

/// Who asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Principal {
    /// The person or program that holds the capability.
    User,
    /// A language model, through a tool.
    Model,
}

impl Principal {
    /// The word used in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Model => "model",
        }
    }
}

/// By which verb or tool, and for whom.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The verb or tool: `rho_read`, `read`.
    pub tool: String,
    /// Who asked.
    pub principal: Principal,
}

/// What a verb works on.
#[derive(Debug)]
pub enum Target {
    /// A path, to be admitted now.
    Path(Vec<u8>),
    /// An object that was admitted before.
    Admitted(Box<Admitted>),
}

impl Target {
    fn shown(&self) -> String {
        match self {
            Self::Path(path) => display_bounded(path, SHOWN),
            Self::Admitted(admitted) => display_bounded(&admitted.request, SHOWN),
        }
    }
}

/// What is asked.
#[derive(Debug)]
pub enum Request<'a> {
    /// Open, and keep for one later call.
    Admit {
        /// The path.
        path: Vec<u8>,
        /// For what.
        access: Access,
    },
    /// Read text.
    Read {
        /// The file.
        target: Target,
        /// First and last line, from 1, both included.
        lines: Option<(u64, u64)>,
        /// How much text.
        limit: ReadLimit,
    },
    /// Write a whole file.
    Write {
        /// The file.
        target: Target,
        /// The bytes.
        content: Cow<'a, [u8]>,
        /// Whether they go to the end of what is there.
        append: bool,
        /// Whether missing directories are made.
        create_parents: bool,
        /// What must be there.
        expected: Option<Expected>,
    },
    /// Replace exact text.
    Edit {
        /// The file.
        target: Target,
        /// The text to find.
        old: Vec<u8>,
        /// The text to put in its place.
        new: Vec<u8>,
        /// How often it must occur.
        count: u64,
        /// What must be there.
        expected: Option<Expected>,
    },
    /// List a directory.
    List {
        /// The directory.
        target: Target,
        /// Whether directories below are listed too.
        recursive: bool,
    },
    /// Move an entry.
    Move {
        /// The entry.
        from: Target,
        /// The new path.
        to: Vec<u8>,
        /// Whether something there is replaced.
        overwrite: bool,
    },
    /// Remove a file, a link itself, or an empty directory.
    Remove {
        /// The entry.
        target: Target,
    },
    /// Run a command. Refused or not available in this version.
    Bash {
        /// The command.
        command: Vec<u8>,
    },
    /// A tool call that fits no request.
    Reject {
        /// The arguments as they came.
        arguments: Json,
        /// What is wrong, and what would be right.
        refusal: Refusal,
    },
}

impl Request<'_> {
    /// What a receipt shows: what was asked, and no content.
    fn described(&self) -> Json {
        let mut described = match self {
            Self::Admit { path, access } => {
                json!({"path": display_bounded(path, SHOWN), "access": access.as_str()})
            }
            Self::Read { target, lines, limit } => {
                let mut described = json!({"path": target.shown()});
                if let Some((first, last)) = lines {
                    described["lines"] = json!([first, last]);
                }
                match limit {
                    ReadLimit::Default => {}
                    ReadLimit::Bytes(bytes) => described["limit"] = (*bytes).into(),
                    ReadLimit::Capability => described["limit"] = "capability".into(),
                }
                described
            }
            Self::Write {
                target,
                append,
                create_parents,
                ..
            } => json!({"path": target.shown(), "append": append, "create_parents": create_parents}),
            Self::Edit { target, count, .. } => json!({"path": target.shown(), "count": count}),
            Self::List { target, recursive } => json!({"path": target.shown(), "recursive": recursive}),
            Self::Move { from, to, overwrite } => {
                json!({"path": from.shown(), "to": display_bounded(to, SHOWN), "overwrite": overwrite})
            }
            Self::Remove { target } => json!({"path": target.shown()}),
            Self::Bash { command } => json!({"command": display_bounded(command, SHOWN)}),
            Self::Reject { arguments, .. } => json!({"arguments": escape_json(arguments)}),
        };
        if let Self::Write { expected, .. } | Self::Edit { expected, .. } = self {
            match expected {
                None => {}
                Some(Expected::Absent) => described["expected"] = "absent".into(),
                Some(Expected::Version(version)) => {
                    described["expected"] = display_bounded(version.as_bytes(), SHOWN).into();
                }
            }
        }
        described
    }
}

/// What comes of a request.
#[derive(Debug)]
pub enum Value {
    /// Of an admission.
    Admitted(Admitted),
    /// Of reading.
    Text(Text),
    /// Of writing.
    Written(Written),
    /// Of editing.
    Edited(Edited),
    /// Of listing.
    Listing(Listing),
    /// Of moving.
    Moved(Moved),
    /// Of removing.
    Removed(Removed),
}

/// A call that is done, or still at work.
#[derive(Debug)]
pub enum Started {
    /// Done.
    Done(Box<Call<Value>>),
    /// At work on a thread of its own.
    Running(Job),
}

/// A call at work on a thread of its own.
#[derive(Debug)]
pub struct Job {
    shared: Arc<(Mutex<Option<Call<Value>>>, Condvar)>,
    cancel: Cancel,
}

impl Job {
    /// Waits; whether the call is done.
    #[must_use]
    pub fn wait(&self, most: Duration) -> bool {
        let (done, signal) = &*self.shared;
        let done = done.lock().unwrap_or_else(PoisonError::into_inner);
        let (done, _) = signal
            .wait_timeout_while(done, most, |done| done.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        done.is_some()
    }

    /// Asks the call to stop. Its outcome is `Cancelled`, unless it was done before.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// The call, once it is done; only once.
    #[must_use]
    pub fn take(&self) -> Option<Call<Value>> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Starts a call: admits here, and goes on here or, for long work, on a thread of its own.
#[must_use]
pub fn start(capability: &Arc<Capability>, request: Request<'_>, caller: Caller) -> Started {
    let mut work = Work::admit(capability, request, caller, Use::Best);
    if !work.is_long() {
        return Started::Done(Box::new(work.finish(&Cancel::default())));
    }
    let shared = Arc::new((Mutex::new(None), Condvar::new()));
    let job = Job {
        shared: Arc::clone(&shared),
        cancel: Cancel::default(),
    };
    let cancel = job.cancel.clone();
    let slot = Arc::new(Mutex::new(Some(work.owned())));
    let theirs = Arc::clone(&slot);
    let spawned = std::thread::Builder::new().name("rhocap".to_owned()).spawn(move || {
        let Some(mut work) = theirs.lock().unwrap_or_else(PoisonError::into_inner).take() else {
            return;
        };
        // A caller that waits must not wait for ever, whatever happens here.
        let call = catch_unwind(AssertUnwindSafe(|| work.finish(&cancel))).unwrap_or_else(|_| {
            work.refused = Some(defect().into());
            work.finish(&cancel)
        });
        *shared.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(call);
        shared.1.notify_all();
    });
    if spawned.is_ok() {
        return Started::Running(job);
    }
    // No thread to be had: the work is done here.
    let work = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
    match work {
        Some(mut work) => Started::Done(Box::new(work.finish(&Cancel::default()))),
        None => Started::Running(job),
    }
}

/// Runs a call to its end on this thread.
#[must_use]
pub fn run(capability: &Arc<Capability>, request: Request<'_>, caller: Caller, using: Use) -> Call<Value> {
    Work::admit(capability, request, caller, using).finish(&Cancel::default())
}

/// Answers a request before any path is looked at: what was given is not what a request is made of.
#[must_use]
pub fn refuse(capability: &Arc<Capability>, request: &Request<'_>, caller: Caller, refusal: Refusal) -> Call<Value> {
    let mut work = Work::new(capability, request, caller);
    work.refused = Some(refusal.into());
    work.finish(&Cancel::default())
}

/// What is left to do after admission.
enum Plan<'a> {
    Admit(Access),
    Read {
        lines: Option<(u64, u64)>,
        limit: ReadLimit,
    },
    Write {
        content: Cow<'a, [u8]>,
        append: bool,
        expected: Option<Expected>,
    },
    Edit {
        replacement: Replacement,
        expected: Option<Expected>,
    },
    List {
        recursive: bool,
    },
    Move {
        to: Option<Found>,
        overwrite: bool,
        directory: bool,
    },
    Remove,
    Refused,
}

struct Work<'a> {
    capability: Arc<Capability>,
    caller: Caller,
    started: Instant,
    request: Json,
    asked: Vec<u8>,
    shown: String,
    plan: Plan<'a>,
    found: Option<Found>,
    refused: Option<Refused>,
    resolved: Option<Resolved>,
    resolved_to: Option<Resolved>,
    resolver: Option<Resolver>,
    command: bool,
}

impl<'a> Work<'a> {
    /// A call about which nothing is decided yet.
    fn new(capability: &Arc<Capability>, request: &Request<'_>, caller: Caller) -> Self {
        let described = request.described();
        Self {
            capability: Arc::clone(capability),
            caller,
            started: Instant::now(),
            shown: described["path"].as_str().unwrap_or_default().to_owned(),
            request: described,
            asked: Vec::new(),
            plan: Plan::Refused,
            found: None,
            refused: None,
            resolved: None,
            resolved_to: None,
            resolver: None,
            command: matches!(request, Request::Bash { .. }),
        }
    }

    fn admit(capability: &Arc<Capability>, request: Request<'a>, caller: Caller, using: Use) -> Self {
        let mut work = Self::new(capability, &request, caller);
        match request {
            Request::Admit { path, access } => {
                work.take(Target::Path(path), access.want(), using);
                work.plan = Plan::Admit(access);
            }
            Request::Read { target, lines, limit } => {
                work.take(target, Want::File, using);
                work.plan = Plan::Read { lines, limit };
            }
            Request::Write {
                target,
                content,
                append,
                create_parents,
                expected,
            } => {
                let link = matches!(expected, Some(Expected::Absent))
                    .then(|| work.link_at(&target, using))
                    .flatten();
                work.take(target, Want::Entry { create_parents }, using);
                if !create_parents {
                    work.offer_parents(using);
                }
                if link.is_some() {
                    (work.found, work.resolved, work.resolver) = (None, None, link);
                    work.refused = Some(Code::AlreadyExists.into());
                }
                work.plan = Plan::Write {
                    content,
                    append,
                    expected,
                };
            }
            Request::Edit {
                target,
                old,
                new,
                count,
                expected,
            } => {
                work.take(target, Want::Entry { create_parents: false }, using);
                work.plan = Plan::Edit {
                    replacement: Replacement { old, new, count },
                    expected,
                };
            }
            Request::List { target, recursive } => {
                work.take(target, Want::Directory, using);
                work.plan = Plan::List { recursive };
            }
            Request::Move { from, to, overwrite } => {
                work.take(from, Want::Name, using);
                let mut arrived = None;
                if work.refused.is_none() {
                    match admit(capability, &to, Want::Name, using) {
                        Ok(found) => {
                            work.resolved_to = Some(admission::resolved(capability, &found));
                            arrived = Some(found);
                        }
                        Err(refused) => {
                            work.shown = display_bounded(&to, SHOWN);
                            work.resolver = refused.resolver;
                            work.refused = Some(refused);
                        }
                    }
                }
                work.plan = Plan::Move {
                    to: arrived,
                    overwrite,
                    directory: to.ends_with(b"/"),
                };
            }
            Request::Remove { target } => {
                work.take(target, Want::Name, using);
                work.plan = Plan::Remove;
            }
            Request::Bash { .. } => {
                let refusal = match capability.process() {
                    Process::None => Code::ProcessNone.into(),
                    Process::Confined => Code::NotAvailable.into(),
                    Process::Unrestricted => Refusal::new(Code::NotAvailable)
                        .say(format!("{} {UNRESTRICTED_SENTENCE}", Code::NotAvailable.meaning())),
                };
                work.refused = Some(refusal.into());
            }
            Request::Reject { mut refusal, .. } => {
                if refusal.message.len() > SHOWN {
                    let end = (0..=SHOWN).rev().find(|at| refusal.message.is_char_boundary(*at));
                    refusal.message.truncate(end.unwrap_or(0));
                    refusal.message.push_str("...");
                }
                work.refused = Some(refusal.into());
            }
        }
        work
    }

    fn take(&mut self, target: Target, want: Want, using: Use) {
        let result = match target {
            Target::Path(path) => {
                let result = admit(&self.capability, &path, want, using);
                self.asked = path;
                result
            }
            Target::Admitted(admitted) => {
                self.asked.clone_from(&admitted.request);
                let refuse = |why: &str| Err(Refusal::new(Code::InvalidArguments).say(why).into());
                if !admitted.belongs_to(&self.capability) || !fits(want, &admitted.found.object) {
                    refuse(
                        "it was admitted by another capability or for another access; admit it again with rho_admit()",
                    )
                } else if want == Want::Name && admitted.found.links > 0 {
                    // Admission for writing follows links; moving and removing is of the link itself.
                    refuse("it was admitted through a symbolic link, which this verb does not follow; give the path")
                } else {
                    Ok(admitted.found)
                }
            }
        };
        match result {
            Ok(found) => {
                self.resolved = Some(admission::resolved(&self.capability, &found));
                self.resolver = Some(found.resolver);
                self.found = Some(found);
            }
            Err(refused) => {
                self.resolver = refused.resolver;
                self.refused = Some(refused);
            }
        }
    }

    /// Says how to go on where nothing but a directory is missing.
    fn offer_parents(&mut self, using: Use) {
        let Some(refused) = &mut self.refused else { return };
        let made = Want::Entry { create_parents: true };
        if refused.refusal.code == Code::NotFound && admit(&self.capability, &self.asked, made, using).is_ok() {
            "Its directory does not exist. create_parents = TRUE makes it.".clone_into(&mut refused.refusal.message);
        }
    }

    /// What found that a link stands at a path. Where a file is expected to be absent even a link to
    /// nothing is one too many, as for `O_EXCL`.
    fn link_at(&self, target: &Target, using: Use) -> Option<Resolver> {
        let Target::Path(path) = target else { return None };
        let found = admit(&self.capability, path, Want::Name, using).ok()?;
        let facts = admission::facts(&found.object)?;
        (facts.kind == crate::facts::Kind::Symlink).then_some(found.resolver)
    }

    /// The same work with no borrowed content, for another thread.
    fn owned(self) -> Work<'static> {
        let plan = match self.plan {
            Plan::Admit(access) => Plan::Admit(access),
            Plan::Read { lines, limit } => Plan::Read { lines, limit },
            Plan::Write {
                content,
                append,
                expected,
            } => Plan::Write {
                content: Cow::Owned(content.into_owned()),
                append,
                expected,
            },
            Plan::Edit { replacement, expected } => Plan::Edit { replacement, expected },
            Plan::List { recursive } => Plan::List { recursive },
            Plan::Move {
                to,
                overwrite,
                directory,
            } => Plan::Move {
                to,
                overwrite,
                directory,
            },
            Plan::Remove => Plan::Remove,
            Plan::Refused => Plan::Refused,
        };
        Work {
            plan,
            capability: self.capability,
            caller: self.caller,
            started: self.started,
            request: self.request,
            asked: self.asked,
            shown: self.shown,
            found: self.found,
            refused: self.refused,
            resolved: self.resolved,
            resolved_to: self.resolved_to,
            resolver: self.resolver,
            command: self.command,
        }
    }

    fn is_long(&self) -> bool {
        let Some(found) = &self.found else { return false };
        let size = admission::facts(&found.object).map_or(0, |facts| facts.size);
        match &self.plan {
            Plan::Read { .. } => size > LONG,
            // Comparing takes longer than reading.
            Plan::Edit { .. } => self.capability.limits().fsync || size > LONG_COMPARED,
            Plan::Write {
                content,
                append,
                expected,
            } => {
                // A disk takes its time; without waiting for it, the old content counts when it is read.
                let reads = *append || expected.is_some();
                self.capability.limits().fsync
                    || content.len() as u64 > if reads { LONG } else { LONG_UNSYNCED }
                    || (reads && size > LONG)
            }
            // How many names there are is known at the end.
            Plan::List { .. } => true,
            Plan::Move { .. } => {
                admission::facts(&found.object).is_some_and(|facts| facts.kind == crate::facts::Kind::Directory)
            }
            Plan::Admit(_) | Plan::Remove | Plan::Refused => false,
        }
    }

    fn finish(&mut self, cancel: &Cancel) -> Call<Value> {
        let capability = Arc::clone(&self.capability);
        let mut context = Context {
            limits: capability.limits(),
            cancel,
            report: Report::default(),
        };
        let admitted = self.refused.is_none();
        let outcome = match self.refused.take() {
            Some(refused) => Err(refused),
            // A panic becomes an outcome with its receipt; a caller that waits for it must not wait for ever.
            None => catch_unwind(AssertUnwindSafe(|| self.effect(&mut context)))
                .unwrap_or_else(|_| {
                    context.report.extent = Extent::Partial;
                    Err(defect())
                })
                .map_err(Refused::from),
        };
        let (outcome, rule) = match outcome {
            Ok(value) => (Ok(value), None),
            Err(refused) => {
                let rule = refused
                    .rule
                    .or_else(|| refused.refusal.fact("rule").and_then(Json::as_str).map(str::to_owned));
                (Err(self.say(refused.refusal)), rule)
            }
        };
        let receipt = self.receipt(&outcome, rule, admitted, context.report);
        Call { outcome, receipt }
    }

    fn effect(&mut self, context: &mut Context<'_>) -> Result<Value, Refusal> {
        let lost = || Refusal::new(Code::InvalidArguments);
        let found = self.found.take().ok_or_else(lost)?;
        let shown = display(&found.names);
        match std::mem::replace(&mut self.plan, Plan::Refused) {
            Plan::Admit(access) => Ok(Value::Admitted(Admitted::new(
                &self.capability,
                &self.asked,
                access,
                found,
            ))),
            Plan::Read { lines, limit } => {
                let (handle, facts) = found.into_file().ok_or_else(lost)?;
                read::text(handle, &facts, shown, lines, limit, context).map(Value::Text)
            }
            Plan::Write {
                content,
                append,
                expected,
            } => {
                let (entry, ..) = found.into_entry().ok_or_else(lost)?;
                write::write(&entry, shown, &content, append, expected.as_ref(), context).map(Value::Written)
            }
            Plan::Edit { replacement, expected } => {
                let (entry, ..) = found.into_entry().ok_or_else(lost)?;
                let expected = edit::expected_version(expected.as_ref())?;
                edit::edit(&entry, shown, &replacement, expected, context).map(Value::Edited)
            }
            Plan::List { recursive } => {
                let (handle, root, names) = found.into_directory().ok_or_else(lost)?;
                list::list(&self.capability, root, &names, &handle, recursive, context.cancel).map(Value::Listing)
            }
            Plan::Move {
                to,
                overwrite,
                directory,
            } => {
                let side = |found: Found| {
                    let (entry, root, names) = found.into_entry().ok_or_else(lost)?;
                    Ok::<_, Refusal>(Side { root, names, entry })
                };
                let (from, to) = (side(found)?, side(to.ok_or_else(lost)?)?);
                let moves_directory = from
                    .entry
                    .facts
                    .is_some_and(|facts| facts.kind == crate::facts::Kind::Directory);
                let moved = if directory && from.entry.facts.is_some() && !moves_directory {
                    Err(Fault::Destination(Refusal::new(Code::NotADirectory).say(
                        "A file cannot get a path that ends in a slash. Give the whole new path, with the new name at \
                         its end.",
                    )))
                } else {
                    relocate::relocate(&self.capability, &from, &to, overwrite, context)
                };
                moved.map(Value::Moved).map_err(|fault| match fault {
                    Fault::Source(refusal) => refusal,
                    Fault::Destination(refusal) => {
                        self.request["to"]
                            .as_str()
                            .unwrap_or_default()
                            .clone_into(&mut self.shown);
                        refusal
                    }
                })
            }
            Plan::Remove => {
                let (entry, ..) = found.into_entry().ok_or_else(lost)?;
                remove::remove(&entry, shown, context).map(Value::Removed)
            }
            Plan::Refused => Err(lost()),
        }
    }

    /// Names what was asked for, never what it resolved to.
    fn say(&self, refusal: Refusal) -> Refusal {
        if self.shown.is_empty() && self.request.get("path").is_none() {
            return refusal;
        }
        // Without telling what the allowed directories are.
        let next = match refusal.code {
            _ if self.capability.cwd().inside.is_none() => "",
            Code::Escape => " Give a path that stays below the working directory.",
            Code::NotUnderRoot => " Give a path below the working directory.",
            _ => "",
        };
        let message = format!("\"{}\": {}{next}", self.shown, refusal.message);
        refusal.say(message)
    }

    fn receipt(
        &mut self,
        outcome: &Result<Value, Refusal>,
        rule: Option<String>,
        admitted: bool,
        report: Report,
    ) -> Arc<crate::receipt::Receipt> {
        let refusal = outcome.as_ref().err();
        let decided = refusal.map(|refusal| refusal.code.decision());
        let decision = match (decided, admitted) {
            (Some(Decision::Denied), _) => "denied",
            (None | Some(Decision::Failed), true) => "allowed",
            (_, false) => "undecided",
        };
        let environment = if self.command {
            self.capability
                .environment()
                .names()
                .map(|(name, kind)| EnvironmentName {
                    name,
                    kind: kind.as_str(),
                })
                .collect()
        } else {
            Vec::new()
        };
        let unrestricted = self.command && self.capability.process() == Process::Unrestricted;
        let mechanism = if unrestricted { "none" } else { "admission" };
        log().append(Record {
            schema: SCHEMA,
            id: crate::random::hex(16),
            seq: 0,
            time: now(),
            tool: &self.caller.tool,
            principal: self.caller.principal.as_str(),
            capability: self.capability.digest(),
            placement: self.capability.placement().label(),
            request: &self.request,
            resolved: self.resolved.take(),
            resolved_to: self.resolved_to.take(),
            decision,
            outcome: decided.map_or("ok", Decision::as_str),
            code: refusal.map(|refusal| refusal.code.as_str()),
            message: refusal.map(|refusal| refusal.message.as_str()),
            // What the capability denies was never begun, also where that is known late: of what lies in a
            // directory that is to be moved, or of a file's size.
            stage: refusal.map(|refusal| {
                if admitted && refusal.code.decision() == Decision::Failed {
                    "effect"
                } else {
                    "admit"
                }
            }),
            effect: report.extent.as_str(),
            rule,
            enforced_by: EnforcedBy {
                mechanism,
                resolver: self.resolver,
                gaps: report.gaps,
            },
            environment,
            version_before: report.version_before,
            version_after: report.version_after,
            bytes: report.bytes,
            duration_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            previous: String::new(),
        })
    }
}

/// The outcome of a panic.
fn defect() -> Refusal {
    Refusal::new(Code::SystemError).say("rhocap failed inside; please report this.")
}

fn fits(want: Want, object: &Object) -> bool {
    matches!(
        (want, object),
        (Want::File, Object::File { .. })
            | (Want::Directory, Object::Directory { .. })
            | (Want::Entry { .. } | Want::Name, Object::Entry { .. })
    )
}

/// The arguments of a rejected call: shown, bounded and escaped.
fn escape_json(arguments: &Json) -> Json {
    display_bounded(arguments.to_string().as_bytes(), SHOWN).into()
}

fn now() -> String {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    time::OffsetDateTime::now_utc().format(&format).unwrap_or_default()
}
