//! Serves `R/outcome.R`: what a call gave, as `list(kind, facts)`.

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::misuse::Misuse;
use rhocap_core::outcome::{Call, Code, Decision};
use rhocap_core::verb::{self, Caller, Principal, Request, Started, Target, Value};

use crate::admission::Admission;
use crate::argument::{bytes, text};
use crate::condition::guard;
use crate::handle::hold;
use crate::job::Work;
use crate::sexp::{element, string, Element};
use crate::value::{from_json, from_text, named_list, number};
use crate::{admission, capability, list};

/// Runs one request of one caller.
pub fn call(handle: &Robj, tool: &Robj, principal: &Robj, request: Request) -> Result<Robj, Misuse> {
    let capability = capability::of_handle(handle)?;
    let principal = match text(principal, "principal")? {
        "model" => Principal::Model,
        _ => Principal::User,
    };
    let caller = Caller {
        tool: text(tool, "tool")?.to_owned(),
        principal,
    };
    match verb::start(capability, request, caller) {
        Started::Done(call) => finished(*call),
        Started::Running(job) => Ok(pair("running", hold(Work::new(job)))),
    }
}

/// A path, or the handle of an admission, which is used up.
pub fn target(value: &Robj) -> Result<Target, Misuse> {
    if value.is_external_pointer() {
        return Ok(Target::Admitted(Box::new(admission::take(value)?)));
    }
    Ok(Target::Path(bytes(value, "path")?))
}

fn pair(kind: &str, facts: Robj) -> Robj {
    List::from_values([Robj::from(kind), facts]).into()
}

/// What a finished call gave.
pub fn finished(call: Call<Value>) -> Result<Robj, Misuse> {
    let receipt = Robj::from(call.receipt.json.as_str());
    let (kind, mut facts) = match call.outcome {
        Ok(value) => result(value)?,
        Err(refusal) => {
            let kind = match refusal.code.decision() {
                Decision::Denied => "denied",
                Decision::Failed => "failed",
            };
            let more = refusal
                .facts
                .iter()
                .map(|(name, value)| (*name, from_json(value)))
                .collect();
            (
                kind,
                vec![
                    ("code", refusal.code.as_str().into()),
                    ("message", from_text(&refusal.message)),
                    ("facts", named_list(more)),
                ],
            )
        }
    };
    facts.push(("receipt", receipt));
    Ok(pair(kind, named_list(facts)))
}

type Facts = Vec<(&'static str, Robj)>;

fn result(value: Value) -> Result<(&'static str, Facts), Misuse> {
    Ok(match value {
        Value::Text(read) => (
            "text",
            vec![
                ("text", string(read.text)?),
                ("path", read.path.into()),
                ("bytes", number(read.bytes).into()),
                ("lines", number(read.lines).into()),
                ("total_bytes", number(read.total_bytes).into()),
                ("total_lines", number(read.total_lines).into()),
                ("first_line", number(read.first_line).into()),
                ("truncated", read.truncated.into()),
                ("version", read.version.into()),
            ],
        ),
        Value::Written(written) => (
            "written",
            vec![
                ("path", written.path.into()),
                ("bytes", number(written.bytes).into()),
                ("created", written.created.into()),
                ("version", written.version.into()),
                ("lost", written.lost.into_iter().collect_robj()),
            ],
        ),
        Value::Edited(edited) => (
            "edited",
            vec![
                ("path", edited.path.into()),
                ("bytes", number(edited.bytes).into()),
                ("replaced", number(edited.replaced).into()),
                ("diff", string(edited.diff)?),
                ("truncated_diff", edited.truncated_diff.into()),
                ("version", edited.version.into()),
                ("lost", edited.lost.into_iter().collect_robj()),
            ],
        ),
        Value::Listing(listing) => (
            "listing",
            vec![
                ("path", listing.path.into()),
                ("columns", list::columns(&listing.entries)),
                ("truncated", listing.truncated.into()),
            ],
        ),
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
                ("id", admitted.id().into()),
                ("path", admitted.path().into()),
                ("access", admitted.access().as_str().into()),
                ("kind", admitted.kind().into()),
                ("handle", hold(Admission::new(admitted))),
            ],
        ),
    })
}

// The closed set of codes.
#[extendr]
fn core_codes() -> Robj {
    guard(|| {
        Ok(named_list(vec![
            ("code", Code::ALL.iter().map(|code| code.as_str()).collect_robj()),
            (
                "decision",
                Code::ALL.iter().map(|code| code.decision().as_str()).collect_robj(),
            ),
            ("meaning", Code::ALL.iter().map(|code| code.meaning()).collect_robj()),
        ]))
    })
}

// Texts as they may be shown.
#[extendr]
fn core_shown(texts: Robj) -> Robj {
    guard(|| {
        let shown = (0..texts.len()).map(|index| match element(&texts, index) {
            Some(Element::Bytes(bytes)) => escape::display(bytes),
            Some(Element::Missing) => "NA".to_owned(),
            Some(Element::Other) | None => "?".to_owned(),
        });
        Ok(shown.collect::<Vec<_>>().into_iter().collect_robj())
    })
}

extendr_module! {
    mod outcome;
    fn core_codes;
    fn core_shown;
}
