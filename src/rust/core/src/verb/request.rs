//! What is asked, by whom, and what comes of it.

use std::borrow::Cow;

use serde_json::{json, Value as Json};

use super::command::{Ask, Command};
use super::{Access, Admitted, Edited, Expected, Listing, Moved, ReadLimit, ReadPart, Removed, Text, Written};
use crate::escape::display_bounded;
use crate::outcome::Refusal;

/// Most bytes of a path or command that a receipt or message shows.
pub(super) const SHOWN: usize = 4096;

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
        /// Which part of its text.
        part: ReadPart,
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
    /// Run a command.
    Bash(Ask),
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
    pub(super) fn described(&self) -> Json {
        let mut described = match self {
            Self::Admit { path, access } => {
                json!({"path": display_bounded(path, SHOWN), "access": access.as_str()})
            }
            Self::Read { target, part } => {
                let mut described = json!({"path": target.shown()});
                if let Some((first, last)) = part.lines {
                    described["lines"] = json!([first, last]);
                }
                if part.skip > 0 {
                    described["skip"] = part.skip.into();
                }
                match part.limit {
                    ReadLimit::Default => {}
                    ReadLimit::Bytes(bytes) => described["limit"] = bytes.into(),
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
            Self::Bash(ask) => {
                let mut described = json!({"command": display_bounded(&ask.command, SHOWN)});
                if let Some(timeout) = ask.timeout.filter(|timeout| timeout.is_finite()) {
                    described["timeout"] = timeout.into();
                }
                if let Some(stdin) = &ask.stdin {
                    described["stdin_bytes"] = stdin.len().into();
                }
                described
            }
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
    /// Of running a command.
    Command(Box<Command>),
}

/// The arguments of a rejected call: shown, bounded and escaped.
fn escape_json(arguments: &Json) -> Json {
    display_bounded(arguments.to_string().as_bytes(), SHOWN).into()
}
