//! One call: admitted, then carried out through what was admitted.

mod receipt;

use std::borrow::Cow;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value as Json;

use super::command::{self, Ask};
use super::request::SHOWN;
use super::{Access, Admitted, Caller, Expected, ReadPart, Request, Target, Value};
use crate::admission::{self, admit};
use crate::capability::Capability;
use crate::character::floor;
use crate::effect::edit::{self, Replacement};
use crate::effect::relocate::{self, Fault, Side};
use crate::effect::{list, read, remove, write, Cancel, Context, Extent, Report};
use crate::escape::{display, display_bounded};
use crate::outcome::{Call, Code, Refusal};
use crate::policy::Process;
use crate::receipt::record::Resolved;
use crate::redact::Redactor;
use crate::resolve::{Found, Object, Refused, Resolver, Use, Want};
use crate::secret::known;

/// From this size on, work runs on a thread of its own.
const LONG: u64 = 4 << 20;

/// The same for edits, which compare.
const LONG_COMPARED: u64 = 256 << 10;

/// The same for writes that do not wait for the disk: they take less than 100 ms.
const LONG_UNSYNCED: u64 = 32 << 20;

/// What is left to do after admission.
enum Plan<'a> {
    Admit(Access),
    Read(ReadPart),
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
    Command(Ask),
    Refused,
}

/// Somebody who looks at a command's output while it runs.
pub(super) type Watcher = Box<dyn Fn(&[u8], &[u8]) + Send>;

pub(super) struct Work<'a> {
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
    watcher: Option<Watcher>,
}

impl<'a> Work<'a> {
    /// A call about which nothing is decided yet.
    pub(super) fn new(capability: &Arc<Capability>, request: &Request<'_>, caller: Caller) -> Self {
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
            command: matches!(request, Request::Bash(_)),
            watcher: None,
        }
    }

    pub(super) fn admit(capability: &Arc<Capability>, request: Request<'a>, caller: Caller, using: Use) -> Self {
        let mut work = Self::new(capability, &request, caller);
        match request {
            Request::Admit { path, access } => {
                work.take(Target::Path(path), access.want(), using);
                work.plan = Plan::Admit(access);
            }
            Request::Read { target, part } => {
                work.take(target, Want::File, using);
                work.plan = Plan::Read(part);
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
            Request::Bash(ask) => {
                if capability.process() == Process::None {
                    work.refused = Some(Code::ProcessNone.into());
                }
                work.plan = Plan::Command(ask);
            }
            Request::Reject { mut refusal, .. } => {
                if refusal.message.len() > SHOWN {
                    refusal.message.truncate(floor(&refusal.message, SHOWN));
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

    /// Copies content that is borrowed, for another thread; whether there was memory for it.
    pub(super) fn own_content(&mut self) -> bool {
        if let Plan::Write { content, .. } = &mut self.plan {
            if let Cow::Borrowed(bytes) = content {
                let mut copy = Vec::new();
                if copy.try_reserve_exact(bytes.len()).is_err() {
                    return false;
                }
                copy.extend_from_slice(bytes);
                *content = Cow::Owned(copy);
            }
        }
        true
    }

    /// The same work for another thread, when its content is its own.
    pub(super) fn owned(self) -> Work<'static> {
        let plan = match self.plan {
            Plan::Admit(access) => Plan::Admit(access),
            Plan::Read(part) => Plan::Read(part),
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
            Plan::Command(ask) => Plan::Command(ask),
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
            watcher: self.watcher,
        }
    }

    /// Whether somebody is to look at the output while the command runs.
    pub(super) fn is_live(&self) -> bool {
        matches!(&self.plan, Plan::Command(ask) if ask.live)
    }

    pub(super) fn watch(&mut self, watcher: Watcher) {
        self.watcher = Some(watcher);
    }

    pub(super) fn is_long(&self) -> bool {
        if matches!(self.plan, Plan::Command(_)) {
            return self.refused.is_none();
        }
        let Some(found) = &self.found else { return false };
        let size = admission::facts(&found.object).map_or(0, |facts| facts.size);
        match &self.plan {
            Plan::Read(_) => size > LONG,
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
            Plan::Admit(_) | Plan::Remove | Plan::Command(_) | Plan::Refused => false,
        }
    }

    /// Has the call end with this, and no effect.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        self.refused = Some(refusal.into());
    }

    pub(super) fn finish(&mut self, cancel: &Cancel) -> Call<Value> {
        let capability = Arc::clone(&self.capability);
        let redactor = known::redactor();
        let mut context = Context {
            limits: capability.limits(),
            cancel,
            redactor: &redactor,
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
                (Err(masked(&redactor, self.say(refused.refusal))), rule)
            }
        };
        let receipt = self.receipt(&outcome, rule, admitted, context.report);
        Call { outcome, receipt }
    }

    fn effect(&mut self, context: &mut Context<'_>) -> Result<Value, Refusal> {
        let lost = || Refusal::new(Code::InvalidArguments);
        if let Plan::Command(ask) = &mut self.plan {
            let watcher = self.watcher.take();
            let on_output = |bytes: &[u8], likely: &[u8]| watcher.iter().for_each(|watcher| watcher(bytes, likely));
            let ran = command::run(&self.capability, std::mem::take(ask), context, &on_output);
            return ran.map(|command| Value::Command(Box::new(command)));
        }
        let found = self.found.take().ok_or_else(lost)?;
        let shown = display(&found.names);
        match std::mem::replace(&mut self.plan, Plan::Refused) {
            Plan::Admit(access) => Ok(Value::Admitted(Admitted::new(
                &self.capability,
                &self.asked,
                access,
                found,
            ))),
            Plan::Read(part) => {
                let (handle, facts) = found.into_file().ok_or_else(lost)?;
                read::text(handle, &facts, shown, part, context).map(Value::Text)
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
            Plan::Command(_) | Plan::Refused => Err(lost()),
        }
    }
}

/// What is told of a refusal: names and texts in it can come from anywhere.
fn masked(redactor: &Redactor, mut refusal: Refusal) -> Refusal {
    let mask = |text: &mut String| {
        let masked = redactor.mask_text(text);
        if masked.count > 0 {
            *text = masked.text.into_owned();
        }
    };
    mask(&mut refusal.message);
    for (_, fact) in &mut refusal.facts {
        if let Json::String(text) = fact {
            mask(text);
        }
    }
    refusal
}

/// The outcome of a panic.
pub(super) fn defect() -> Refusal {
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
