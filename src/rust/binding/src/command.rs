//! Serves `R/command.R`.

use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::process::protocol::Exit;
use rhocap_core::verb::command::{Ask, Command, Ended};
use rhocap_core::verb::Request;

use crate::argument::{flag, number, optional, text, Texts};
use crate::condition::guard;
use crate::outcome::{call, Facts};
use crate::value::Plain;

// Starts a command.
#[extendr]
#[allow(clippy::too_many_arguments)]
fn core_bash(
    handle: Robj,
    tool: Robj,
    principal: Robj,
    command: Robj,
    timeout: Robj,
    stdin: Robj,
    spill: Robj,
    live: Robj,
) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let ask = Ask {
            command: texts.bytes(&command, "command")?,
            timeout: optional(&timeout, "timeout", number)?,
            stdin: optional(&stdin, "stdin", |value, _| texts.bytes(value, "stdin"))?,
            spill: flag(&spill, "spill")?,
            live: flag(&live, "live")?,
            for_model: text(&principal, "principal")? == "model",
        };
        call(&handle, &tool, &principal, &texts, Request::Bash(ask))
    })
}

/// What came of a command.
pub fn facts(command: Command) -> Facts {
    let (status, signal) = match command.exit {
        Some(Exit::Exited(status)) => (Some(f64::from(status)), None),
        Some(Exit::Signalled(signal)) => (None, Some(f64::from(signal))),
        None => (None, None),
    };
    let record = command.record;
    let (spilled, spilled_bytes) = command.spilled.unzip();
    let path = |path: Option<PathBuf>| {
        let shown = path.map(|path| escape::display(&path.into_os_string().into_vec()));
        Plain::Texts(vec![shown])
    };
    let mut raw = command.output.head;
    let head = raw.len() as u64;
    raw.extend_from_slice(&command.output.tail);
    let mut facts = vec![
        ("output", command.text.text.into()),
        ("output_raw", Plain::Bytes(raw)),
        ("ended", command.ended.as_str().into()),
        ("exit_status", Plain::Numbers(vec![status])),
        ("signal", Plain::Numbers(vec![signal])),
        ("timed_out", (command.ended == Ended::TimedOut).into()),
        ("cancelled", (command.ended == Ended::Cancelled).into()),
        (
            "survivors",
            Plain::Numbers(record.survivors.iter().map(|pid| Some(f64::from(*pid))).collect()),
        ),
        ("found", u64::from(record.found).into()),
        ("killed", u64::from(record.killed).into()),
        ("bytes_total", record.output.bytes.into()),
        ("bytes_kept", record.output.kept.into()),
        ("bytes_head", head.into()),
        ("masked", command.masked.into()),
        ("bytes_invalid", record.output.invalid.into()),
        ("duration", seconds(record.ran_us)),
        ("spilled", path(spilled)),
        ("spilled_bytes", spilled_bytes.unwrap_or_default().into()),
        ("quarantine", path(command.quarantine)),
    ];
    if let Some(shown) = command.shown {
        facts.push(("shown", shown.into()));
    }
    facts
}

#[allow(clippy::cast_precision_loss)]
fn seconds(microseconds: u64) -> Plain {
    Plain::Number(microseconds as f64 / 1e6)
}

extendr_module! {
    mod command;
    fn core_bash;
}
