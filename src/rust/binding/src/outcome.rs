//! Serves `R/outcome.R`: what a call gave, as `list(kind, facts)`.

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::misuse::Misuse;
use rhocap_core::outcome::{Call, Code, Refusal};
use rhocap_core::verb::{self, Caller, Principal, Request, Started, Value};

use crate::admission::Admission;
use crate::argument::{bad_word, flag, text, Texts};
use crate::condition::guard;
use crate::handle::hold;
use crate::job::Work;
use crate::sexp::{element, Element};
use crate::value::Plain;
use crate::{capability, command, list};

/// Runs one request of one caller, with the texts that it was made of.
pub fn call(handle: &Robj, tool: &Robj, principal: &Robj, texts: &Texts, request: Request) -> Result<Plain, Misuse> {
    let capability = capability::of_handle(handle)?;
    let principal = match text(principal, "principal")? {
        "model" => Principal::Model,
        "user" => Principal::User,
        _ => return Err(bad_word("principal")),
    };
    let caller = Caller {
        tool: text(tool, "tool")?.to_owned(),
        principal,
    };
    if let Some(name) = texts.invalid {
        let refusal = not_text(name, principal);
        return Ok(finished(verb::refuse(capability, &request, caller, refusal)));
    }
    match verb::start(capability, request, caller) {
        Started::Done(call) => Ok(finished(*call)),
        Started::Running(job) => Ok(pair("running", hold(Work::new(job, |call| Ok(finished(call)))))),
    }
}

fn not_text(name: &'static str, principal: Principal) -> Refusal {
    let message = match principal {
        Principal::User => format!(
            "`{name}` is not valid text in its declared encoding. Convert it with iconv(); a path or the content \
             of a file can also be given as a raw vector."
        ),
        Principal::Model => format!("The argument `{name}` is not valid Unicode text. Send it again as valid text."),
    };
    Refusal::new(Code::InvalidEncoding).say(message).with("argument", name)
}

/// A value of a kind.
pub fn pair(kind: &'static str, facts: Plain) -> Plain {
    Plain::List(vec![kind.into(), facts])
}

/// What a finished call gave.
pub fn finished(call: Call<Value>) -> Plain {
    let receipt = call.receipt.json.clone();
    let (kind, mut facts) = match call.outcome {
        Ok(value) => result(value),
        Err(refusal) => {
            let kind = refusal.code.decision().as_str();
            let more = refusal
                .facts
                .iter()
                .map(|(name, value)| (*name, value.into()))
                .collect();
            let facts = vec![
                ("code", refusal.code.as_str().into()),
                ("message", refusal.message.into()),
                ("facts", Plain::Named(more)),
            ];
            (kind, facts)
        }
    };
    facts.push(("receipt", receipt.into()));
    pair(kind, Plain::Named(facts))
}

/// The properties of a result.
pub type Facts = Vec<(&'static str, Plain)>;

fn result(value: Value) -> (&'static str, Facts) {
    match value {
        Value::Text(read) => (
            "text",
            vec![
                ("text", read.text.into()),
                ("path", read.path.into()),
                ("bytes", read.bytes.into()),
                ("lines", read.lines.into()),
                ("total_bytes", read.total_bytes.into()),
                ("total_lines", read.total_lines.into()),
                ("first_line", read.first_line.into()),
                ("first_byte", read.first_byte.into()),
                ("truncated", read.truncated.into()),
                ("version", read.version.into()),
                ("masked", read.masked.into()),
            ],
        ),
        Value::Written(written) => (
            "written",
            vec![
                ("path", written.path.into()),
                ("bytes", written.bytes.into()),
                ("created", written.created.into()),
                ("version", written.version.into()),
                ("lost", written.lost.into()),
            ],
        ),
        Value::Edited(edited) => (
            "edited",
            vec![
                ("path", edited.path.into()),
                ("bytes", edited.bytes.into()),
                ("replaced", edited.replaced.into()),
                ("diff", edited.diff.into()),
                ("truncated_diff", edited.truncated_diff.into()),
                ("version", edited.version.into()),
                ("lost", edited.lost.into()),
            ],
        ),
        Value::Listing(listing) => (
            "listing",
            vec![
                ("path", listing.path.into()),
                ("columns", list::columns(listing.entries)),
                ("truncated", listing.truncated.into()),
            ],
        ),
        Value::Command(ran) => ("command", command::facts(*ran)),
        Value::Moved(moved) => (
            "moved",
            vec![
                ("from", moved.from.into()),
                ("to", moved.to.into()),
                ("replaced", moved.replaced.into()),
            ],
        ),
        Value::Removed(removed) => (
            "removed",
            vec![("path", removed.path.into()), ("kind", removed.kind.into())],
        ),
        Value::Admitted(admitted) => (
            "admitted",
            vec![
                ("id", admitted.id().to_owned().into()),
                ("path", admitted.path().into()),
                ("access", admitted.access().as_str().into()),
                ("kind", admitted.kind().into()),
                ("handle", hold(Admission::new(admitted))),
            ],
        ),
    }
}

// The closed set of codes.
#[extendr]
fn core_codes() -> Robj {
    guard(|| {
        let column = |word: fn(Code) -> &'static str| {
            Code::ALL
                .iter()
                .map(|code| word(*code).to_owned())
                .collect::<Vec<_>>()
                .into()
        };
        Ok(Plain::Named(vec![
            ("code", column(Code::as_str)),
            ("decision", column(|code| code.decision().as_str())),
            ("meaning", column(Code::meaning)),
        ]))
    })
}

// Names, or with `as_text` lines of a text, as they may be shown.
#[extendr]
fn core_shown(texts: Robj, as_text: Robj) -> Robj {
    guard(|| {
        let show = if flag(&as_text, "as_text")? {
            escape::display_text
        } else {
            escape::display
        };
        let shown = (0..texts.len()).map(|index| match element(&texts, index) {
            Some(Element::Bytes(bytes) | Element::Other(bytes, _)) => show(bytes),
            Some(Element::Missing) => "NA".to_owned(),
            None => "?".to_owned(),
        });
        Ok(shown.collect::<Vec<_>>().into())
    })
}

extendr_module! {
    mod outcome;
    fn core_codes;
    fn core_shown;
}
