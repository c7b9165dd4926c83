//! What a call tells its caller, and what it leaves in the receipt.

use std::sync::Arc;

use super::Work;
use crate::effect::Report;
use crate::outcome::{Code, Decision, Refusal};
use crate::policy::Process;
use crate::receipt::record::{EnforcedBy, EnvironmentName};
use crate::receipt::{log, Receipt, Record, SCHEMA};
use crate::verb::Value;

impl Work<'_> {
    /// Names what was asked for, never what it resolved to.
    pub(super) fn say(&self, refusal: Refusal) -> Refusal {
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

    pub(super) fn receipt(
        &mut self,
        outcome: &Result<Value, Refusal>,
        rule: Option<String>,
        admitted: bool,
        report: Report,
    ) -> Arc<Receipt> {
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

fn now() -> String {
    let format =
        time::macros::format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]Z");
    time::OffsetDateTime::now_utc().format(&format).unwrap_or_default()
}
