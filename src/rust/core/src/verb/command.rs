//! Running a command with what a capability gives it.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::confined::Confined;
use crate::capability::Capability;
use crate::confine;
use crate::effect::{Cancel, Context, Extent};
use crate::outcome::{Code, Refusal};
use crate::policy::{Process, UNRESTRICTED_SENTENCE};
use crate::process::engine::{self, Ending, Ran};
use crate::process::output::Kept;
use crate::process::protocol::{Cause, End, Exit, Method, Stage, Start};
use crate::process::spill::Spill;
use crate::process::text::Text;
use crate::receipt::record::{CommandRecord, Output, SentSignal};

/// What of the host an unrestricted command can reach: nothing holds it back.
pub const UNRESTRICTED_GAPS: &[&str] = &["filesystem", "network", "processes", "r_environment"];

/// What is asked of a command.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ask {
    /// The text that the shell gets.
    pub command: Vec<u8>,
    /// Seconds it may run; none is as long as the capability allows.
    pub timeout: Option<f64>,
    /// The bytes of its standard input; none is an input at its end.
    pub stdin: Option<Vec<u8>>,
    /// Whether all of its output is kept in a file.
    pub spill: bool,
    /// Whether somebody looks at its output while it runs.
    pub live: bool,
    /// Whether a model gets the text, and not too much of it.
    pub for_model: bool,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with a status.
    Exited,
    /// By a signal that was not the supervisor's.
    Signalled,
    /// Its time was over.
    TimedOut,
    /// The caller did not want it any more.
    Cancelled,
    /// The program that owned its processes was lost.
    SupervisorLost,
}

impl Ended {
    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Signalled => "signalled",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::SupervisorLost => "supervisor_lost",
        }
    }

    /// The code of a command that did not end by itself.
    #[must_use]
    pub const fn code(self) -> Option<Code> {
        match self {
            Self::Exited | Self::Signalled => None,
            Self::TimedOut => Some(Code::TimedOut),
            Self::Cancelled => Some(Code::Cancelled),
            Self::SupervisorLost => Some(Code::SupervisorLost),
        }
    }
}

/// What came of a command that ran.
#[derive(Debug)]
pub struct Command {
    /// How it ended.
    pub ended: Ended,
    /// The status or signal of its first process; none when that is not known.
    pub exit: Option<Exit>,
    /// Its output as text.
    pub text: Text,
    /// How many places of the output were masked.
    pub masked: u64,
    /// What a model gets of it.
    pub shown: Option<String>,
    /// Its output as bytes.
    pub output: Kept,
    /// The file that has its output, and how many bytes of it.
    pub spilled: Option<(PathBuf, u64)>,
    /// The directory where the names are that were moved out of the roots, if any were.
    pub quarantine: Option<PathBuf>,
    /// The facts that the receipt has, too.
    pub record: CommandRecord,
}

/// Runs a command. `on_output` gets its output as it arrives.
///
/// # Errors
/// `SpawnFailed`, those of [`Confined::plan`], and the system's for a file that is to keep the output.
pub fn run(
    capability: &Arc<Capability>,
    ask: Ask,
    context: &mut Context<'_>,
    on_output: &dyn Fn(&[u8], &[u8]),
) -> Result<Command, Refusal> {
    let (Some(program), Some(private)) = (capability.program(), capability.private()) else {
        return Err(Code::ProcessNone.into());
    };
    program.check().map_err(|error| {
        let refusal = Refusal::new(Code::SpawnFailed).with("stage", NO_SUPERVISOR);
        refusal.say(format!(
            "rhocap's supervisor cannot be used: {error}. Nothing was run; install rhocap again."
        ))
    })?;
    let mut confined = match capability.process() {
        Process::Confined => Some(Confined::plan(capability, context.cancel)?),
        _ => None,
    };
    let mut spill = ask.spill.then(|| Spill::create(private)).transpose()?;
    let (confinement, required) = confined.as_mut().map(Confined::take_order).unzip();
    let limits = capability.limits();
    let for_model = ask.for_model;
    let timeout = ask.timeout.unwrap_or(f64::INFINITY).min(limits.timeout);
    let command = engine::Command {
        start: Start {
            arguments: vec![limits.shell.clone().into_bytes(), b"-c".to_vec(), ask.command],
            environment: capability.environment().for_command(private),
            timeout: Some(Duration::from_secs_f64(timeout)),
            grace: Duration::from_secs_f64(limits.grace),
            confinement,
            required: required.unwrap_or_default(),
        },
        input: ask.stdin.as_deref(),
        directory: capability.cwd().opened.handle.as_fd(),
        output_bytes: limits.output_bytes,
        redactor: context.redactor,
    };
    let ran = engine::run(program, &command, context.cancel, &mut |bytes, likely| {
        if let Some(spill) = &mut spill {
            spill.take(bytes);
        }
        on_output(bytes, likely);
    });
    let cancel = context.cancel;
    let nothing_ran = |spill: Option<Spill>, stage: Option<Stage>, errno| {
        if let Some(spill) = spill {
            spill.discard();
        }
        cancel.check()?;
        Err(not_started(stage, errno, &limits.shell))
    };
    let mut ran = match ran {
        Ok(ran) => ran,
        Err(errno) => return nothing_ran(spill, None, errno as i32),
    };
    let (ended, exit, end) = match &ran.ending {
        Ending::NotStarted(stage, errno) => return nothing_ran(spill, Some(*stage), *errno),
        Ending::SupervisorLost(lost) => (Ended::SupervisorLost, lost.leader, None),
        Ending::Ended(end) => (ended(end, context.cancel), end.leader, Some(end)),
    };
    // Who loses the supervisor on purpose may have lost its mark as well.
    let lost = matches!(ran.ending, Ending::SupervisorLost(_)) && confined.is_none();
    if lost || end.is_some_and(|end| end.method == Method::Children) {
        context.report.gaps.push("survivors_unknown".to_owned());
    }
    let mut text = Text::of(&ran.output);
    ran.masked += text.mask(context.redactor, &ran.output);
    let mut record = record(&ran, ended, exit, end, &text, (timeout, limits.grace));
    if let Some(mut confined) = confined {
        let covers = command.start.confinement.as_ref().map_or(&[][..], |it| &it.covers);
        let opened = end.iter().flat_map(|end| &end.opened);
        let opened = opened.filter_map(|index| Some(covers.get(usize::try_from(*index).ok()?)?.path.as_slice()));
        let (carve_outs, gap) = confined.sweep(&opened.collect::<Vec<_>>());
        record.carve_outs = carve_outs;
        let enforcement = ran.enforcement.clone().unwrap_or_default();
        context.report.restrictions = std::mem::take(&mut confined.restrictions);
        context.report.gaps.extend(confine::gaps(&enforcement));
        context.report.kernel = enforcement.mechanisms;
        context.report.gaps.extend(gap.map(str::to_owned));
    }
    context.report.extent = if ended.code().is_none() {
        Extent::Done
    } else {
        Extent::Partial
    };
    context.report.bytes = Some(ran.output.total);
    context.report.masked = ran.masked;
    context.report.command = Some(record.clone());
    Ok(Command {
        ended,
        exit,
        shown: for_model.then(|| text.for_model(ran.output.total)),
        text,
        masked: ran.masked,
        output: ran.output,
        spilled: spill.map(|spill| (spill.path, spill.bytes)),
        quarantine: record
            .carve_outs
            .iter()
            .any(|made| made.fate == "kept")
            .then(|| private.quarantine_path()),
        record,
    })
}

fn ended(end: &End, cancel: &Cancel) -> Ended {
    match (end.cause, end.leader) {
        // It was asked to end by somebody else: by the command.
        (Cause::Cancelled, _) if cancel.check().is_ok() => Ended::SupervisorLost,
        (Cause::TimedOut, _) => Ended::TimedOut,
        (Cause::Natural, Some(Exit::Exited(_))) => Ended::Exited,
        (Cause::Natural, Some(Exit::Signalled(_))) => Ended::Signalled,
        // Orphaned is said to nobody: R's side would have to be gone.
        (Cause::Cancelled | Cause::Orphaned, _) => Ended::Cancelled,
        (Cause::Natural, None) => Ended::SupervisorLost,
    }
}

/// The stage of what failed before there was a supervisor, which tells the others.
const NO_SUPERVISOR: &str = "supervisor";

fn not_started(stage: Option<Stage>, errno: i32, shell: &str) -> Refusal {
    let word = stage.map_or(NO_SUPERVISOR, Stage::as_str);
    let error = std::io::Error::from_raw_os_error(errno);
    let what = match stage {
        Some(Stage::Execute) if errno == rustix::io::Errno::TOOBIG.raw_os_error() => {
            "The command and its environment are longer than the system allows. Write the command to a file, and run that."
                .to_owned()
        }
        Some(Stage::Execute) => format!("The shell {} cannot be run: {error}.", crate::escape::display(shell.as_bytes())),
        Some(
            Stage::Namespace
            | Stage::Mount
            | Stage::Landlock
            | Stage::Seccomp
            | Stage::Privileges
            | Stage::Bounds
            | Stage::Required,
        ) => format!("The command could not be confined ({word}): {error}."),
        Some(Stage::WorkingDirectory) => format!("The working directory cannot be entered: {error}."),
        None | Some(Stage::Order | Stage::Fork | Stage::Setup) => {
            format!("The command could not be started ({word}): {error}.")
        }
    };
    Refusal::new(Code::SpawnFailed)
        .say(format!("{what} Nothing was run."))
        .with("stage", word)
        .with("errno", errno)
}

fn record(
    ran: &Ran,
    ended: Ended,
    exit: Option<Exit>,
    end: Option<&End>,
    text: &Text,
    (timeout, grace): (f64, f64),
) -> CommandRecord {
    let (status, signal) = match exit {
        Some(Exit::Exited(status)) => (Some(status), None),
        Some(Exit::Signalled(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let (killed, survivors) = match &ran.ending {
        Ending::SupervisorLost(lost) => (lost.swept.killed, lost.swept.survivors.clone()),
        _ => end.map_or((0, Vec::new()), |end| (end.killed, end.survivors.clone())),
    };
    CommandRecord {
        ended: ended.as_str(),
        exit_status: status,
        signal,
        method: end.map_or("mark", |end| end.method.as_str()),
        found: end.map_or(0, |end| end.found),
        killed,
        survivors,
        signals: ran
            .signals
            .iter()
            .map(|(signal, processes, at)| SentSignal {
                signal: *signal,
                processes: *processes,
                after_us: microseconds(*at),
            })
            .collect(),
        carve_outs: Vec::new(),
        output: Output {
            bytes: ran.output.total,
            kept: ran.output.total - ran.output.dropped,
            invalid: text.invalid,
        },
        timeout,
        grace,
        ran_us: end.map_or_else(|| microseconds(ran.duration), |end| microseconds(end.ran)),
        ending_us: end.map(|end| microseconds(end.ending)),
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// The sentence of a receipt, where nothing holds a command back.
#[must_use]
pub fn statement(capability: &Capability) -> Option<&'static str> {
    (capability.process() == Process::Unrestricted).then_some(UNRESTRICTED_SENTENCE)
}
