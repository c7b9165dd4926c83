//! One receipt: what was asked, what was decided, and what enforced it.

use serde::Serialize;
use serde_json::Value;

use crate::resolve::Resolver;

/// A finished receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its place in the session, from 1.
    pub seq: u64,
    /// Its random name.
    pub id: String,
    /// The receipt as one JSON object.
    pub json: String,
    /// BLAKE3 of `json`, which the next receipt holds.
    pub digest: String,
}

/// Where an admitted object lies.
#[derive(Debug, Clone, Serialize)]
pub struct Resolved {
    /// The index of the root in the capability's order.
    pub root: usize,
    /// The path below the root, escaped.
    pub path: String,
    /// The object's device, or its directory's when it did not exist.
    pub device: u64,
    /// The object's inode; none when it did not exist.
    pub inode: Option<u64>,
    /// How many names the object has; none when it did not exist.
    pub links: Option<u64>,
    /// How many symbolic links were followed.
    pub symlinks: u32,
}

/// What enforced the decision, and what that does not cover.
#[derive(Debug, Clone, Serialize)]
pub struct EnforcedBy {
    /// `admission` where rhocap checked the call in this process, `os` where the kernel holds a command,
    /// `none` where nothing did.
    pub mechanism: &'static str,
    /// What resolved the path.
    pub resolver: Option<Resolver>,
    /// What of the kernel enforced it, for commands.
    pub kernel: Vec<String>,
    /// What a command cannot do though the capability would allow it, because the kernel offers no finer
    /// means here.
    pub restrictions: Vec<&'static str>,
    /// What could not be assured.
    pub gaps: Vec<String>,
    /// The sentence that says so where nothing holds a command back.
    pub statement: Option<&'static str>,
}

/// One name of the environment, with its kind.
#[derive(Debug, Clone, Serialize)]
pub struct EnvironmentName<'a> {
    /// The variable.
    pub name: &'a str,
    /// Where its value comes from.
    pub kind: &'static str,
}

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommandRecord {
    /// `exited`, `signalled`, `timed_out`, `cancelled` or `supervisor_lost`.
    pub ended: &'static str,
    /// The status of its first process, when it left one.
    pub exit_status: Option<i32>,
    /// The signal that ended its first process.
    pub signal: Option<i32>,
    /// How its processes were found: `descent`, `cgroup`, `pid_namespace`, or `mark` when the supervisor was
    /// lost.
    pub method: &'static str,
    /// How many processes were there beside the first one when the tree was to end.
    pub found: u32,
    /// How many processes were killed.
    pub killed: u32,
    /// The numbers of processes that could not be ended.
    pub survivors: Vec<u32>,
    /// The signals that were sent to end it.
    pub signals: Vec<SentSignal>,
    /// Names that a pattern covers and that the command made, replaced or removed.
    pub carve_outs: Vec<CarveOut>,
    /// How much output there was.
    pub output: Output,
    /// How long it was allowed to run, seconds.
    pub timeout: f64,
    /// Time between the request to end and the kill, seconds.
    pub grace: f64,
    /// From its start to its own end, microseconds.
    pub ran_us: u64,
    /// From there until nothing of it was left, microseconds; none when that is not known.
    pub ending_us: Option<u64>,
}

/// A name that a pattern covers and that a command made, replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CarveOut {
    /// The index of the root in the capability's order.
    pub root: usize,
    /// The path below the root, escaped.
    pub path: String,
    /// The pattern.
    pub pattern: String,
    /// `deny` or `protect`.
    pub effect: &'static str,
    /// `kept` in the quarantine, `aside` under another name in its own directory, `left` where it could not be
    /// moved, `replaced` when somebody else put another object there meanwhile, or `gone`.
    pub fate: &'static str,
    /// Its new name, where it is `kept` or `aside`.
    pub kept_as: Option<String>,
}

/// Signals that were sent to end a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SentSignal {
    /// The number.
    pub signal: i32,
    /// To how many processes.
    pub processes: u32,
    /// How long after the start, microseconds.
    pub after_us: u64,
}

/// How much output there was, standard output and standard error together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Output {
    /// Bytes.
    pub bytes: u64,
    /// Bytes that were kept.
    pub kept: u64,
    /// Bytes of these that were no UTF-8.
    pub invalid: u64,
}

/// What a receipt says, before it has a place in the session.
#[derive(Debug, Serialize)]
pub struct Record<'a> {
    /// The schema.
    pub schema: &'static str,
    /// A random name.
    pub id: String,
    /// The place in the session, from 1.
    pub seq: u64,
    /// When the call ended, UTC.
    pub time: String,
    /// The verb or tool.
    pub tool: &'a str,
    /// Who asked: `user` or `model`.
    pub principal: &'static str,
    /// The capability's digest.
    pub capability: &'a str,
    /// Where the call ran.
    pub placement: String,
    /// What was asked, escaped; no content.
    pub request: &'a Value,
    /// What was admitted.
    pub resolved: Option<Resolved>,
    /// The destination of a move.
    pub resolved_to: Option<Resolved>,
    /// `allowed`, `denied`, or `undecided` when it failed before there was anything to decide.
    pub decision: &'static str,
    /// `ok`, `denied` or `failed`.
    pub outcome: &'static str,
    /// Why there is no result.
    pub code: Option<&'static str>,
    /// The same as a sentence.
    pub message: Option<&'a str>,
    /// `admit` or `effect`: how far the call came. None when it succeeded.
    pub stage: Option<&'static str>,
    /// `none`, `done` or `partial`.
    pub effect: &'static str,
    /// The carve-out or limit that decided.
    pub rule: Option<String>,
    /// What enforced the decision.
    pub enforced_by: EnforcedBy,
    /// Names and kinds of the environment, for commands.
    pub environment: Vec<EnvironmentName<'a>>,
    /// What became of a command.
    pub command: Option<CommandRecord>,
    /// The keyed version of the content that was there.
    pub version_before: Option<String>,
    /// The keyed version of the content that is there now.
    pub version_after: Option<String>,
    /// How many places were masked in what the call gave.
    pub masked: u64,
    /// Bytes read or written, counted after masking.
    pub bytes: Option<u64>,
    /// How long the call took, microseconds.
    pub duration_us: u64,
    /// The digest of the receipt before.
    pub previous: String,
}
