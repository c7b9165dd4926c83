//! What a call tells its caller, and what it leaves in the receipt.

use std::sync::Arc;

use super::Work;
use crate::effect::Report;
use crate::outcome::{Code, Decision, Refusal};
use crate::policy::Process;
use crate::receipt::record::{EnforcedBy, EnvironmentName};
use crate::receipt::{log, now, Receipt, Record, SCHEMA};
use crate::verb::command::{self, UNRESTRICTED_GAPS};
use crate::verb::Value;

impl Work<'_> {
    /// Names what was asked for, never what it resolved to, and what to do next.
    pub(super) fn say(&self, refusal: Refusal) -> Refusal {
        let inside = self.capability.cwd().inside.is_some();
        // Without telling what the allowed directories are.
        let next = match refusal.code {
            Code::Escape if inside => " Give a path that stays below the working directory.",
            Code::NotUnderRoot if inside => " Give a path below the working directory.",
            Code::NotWritable => " Write to another place, or make the capability with this one in `write`.",
            Code::LostUpdate => " Read it again, and change what is there now.",
            Code::ProcessNone => " Make it with process = rho_process_confined() to run commands.",
            Code::RootGone => " Make the directory and the capability anew.",
            _ => "",
        };
        let asked = if self.shown.is_empty() && self.request.get("path").is_none() {
            String::new()
        } else {
            format!("\"{}\": ", self.shown)
        };
        let message = format!("{asked}{}{next}", refusal.message);
        refusal.say(message)
    }

    pub(super) fn receipt(
        &mut self,
        outcome: &Result<Value, Refusal>,
        rule: Option<String>,
        admitted: bool,
        report: Report,
    ) -> Arc<Receipt> {
        // A command that was ended gave a result, and its code says that it did not end by itself.
        let (code, message) = match outcome {
            Err(refusal) => (Some(refusal.code), Some(refusal.message.as_str())),
            Ok(Value::Command(command)) => (command.ended.code(), command.ended.code().map(Code::meaning)),
            Ok(_) => (None, None),
        };
        let decided = code.map(Code::decision);
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
        let mechanism = match self.capability.process() {
            Process::Unrestricted if self.command => "none",
            // Where nothing was run the kernel held nothing.
            Process::Confined if self.command && !report.kernel.is_empty() => "os",
            _ => "admission",
        };
        let mut gaps = report.gaps;
        if unrestricted {
            gaps.extend(UNRESTRICTED_GAPS.iter().map(|gap| (*gap).to_owned()));
        }
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
            code: code.map(Code::as_str),
            message,
            // What the capability denies was never begun, also where that is known late: of what lies in a
            // directory that is to be moved, or of a file's size.
            stage: code.map(|code| {
                if admitted && code.decision() == Decision::Failed {
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
                kernel: report.kernel,
                restrictions: report.restrictions,
                gaps,
                statement: self.command.then(|| command::statement(&self.capability)).flatten(),
            },
            environment,
            command: report.command,
            version_before: report.version_before.filter(|_| !report.secret_before),
            version_after: report.version_after.filter(|_| !report.secret_after),
            masked: report.masked,
            bytes: report.bytes,
            duration_us: u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX),
            previous: String::new(),
        })
    }
}
