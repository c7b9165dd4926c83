//! What a user asks a capability to be, and what a smaller one keeps.

use super::{deny_defaults, protect_defaults};
use crate::environment::EnvironmentSpec;
use crate::limits::Limits;
use crate::policy::{Network, Placement, Process};

/// A directory that no write root may be or lie below, such as a package library: what is written
/// there would run outside the capability.
#[derive(Debug, Clone)]
pub struct Reserved {
    /// The directory.
    pub path: Vec<u8>,
    /// What it is, in words: "R's own directory".
    pub what: String,
}

/// What commands need beside what they are allowed.
#[derive(Debug, Clone, Default)]
pub struct CommandSpec {
    /// The program that owns a command's processes.
    pub supervisor: Vec<u8>,
    /// The directory beside which the private one is made.
    pub beside: Vec<u8>,
}

/// What a user asks a capability to be.
#[derive(Debug, Clone)]
pub struct CapabilitySpec {
    /// Readable directories.
    pub read: Vec<Vec<u8>>,
    /// Readable and writable directories.
    pub write: Vec<Vec<u8>>,
    /// Where relative paths start.
    pub cwd: Vec<u8>,
    /// Readable directories without carve-outs: R's libraries.
    pub libraries: Vec<Vec<u8>>,
    /// The environment of commands.
    pub environment: EnvironmentSpec,
    /// Which processes.
    pub process: Process,
    /// Which network.
    pub network: Network,
    /// Where calls run.
    pub placement: Placement,
    /// Patterns that are neither readable nor writable.
    pub deny: Vec<String>,
    /// Patterns that are not writable.
    pub protect: Vec<String>,
    /// Bounds.
    pub limits: Limits,
    /// Directories that a write root must not be or lie below.
    pub reserved: Vec<Reserved>,
    /// What commands need.
    pub commands: CommandSpec,
}

impl CapabilitySpec {
    /// Nothing but a working directory, with the default carve-outs and bounds.
    #[must_use]
    pub fn new(cwd: Vec<u8>) -> Self {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Self {
            read: Vec::new(),
            write: Vec::new(),
            cwd,
            libraries: Vec::new(),
            environment: EnvironmentSpec::default(),
            process: Process::None,
            network: Network::None,
            placement: Placement::Local,
            deny: texts(deny_defaults()),
            protect: texts(protect_defaults()),
            limits: Limits::default(),
            reserved: Vec::new(),
            commands: CommandSpec::default(),
        }
    }
}

/// What a narrower capability keeps. `None` keeps what there is.
#[derive(Debug, Clone, Default)]
pub struct NarrowSpec {
    /// Readable directories, each inside a root.
    pub read: Option<Vec<Vec<u8>>>,
    /// Writable directories, each inside a writable root.
    pub write: Option<Vec<Vec<u8>>>,
    /// Where relative paths start.
    pub cwd: Option<Vec<u8>>,
    /// Names of the environment entries to keep beside the minimal set.
    pub environment: Option<Vec<String>>,
    /// The same policy or a smaller one.
    pub process: Option<Process>,
    /// The same policy or a smaller one.
    pub network: Option<Network>,
    /// Patterns to add.
    pub deny: Option<Vec<String>>,
    /// Patterns to add.
    pub protect: Option<Vec<String>>,
    /// Bounds, none larger.
    pub limits: Option<Limits>,
}
