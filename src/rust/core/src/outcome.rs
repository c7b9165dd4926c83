//! What came of a call: the closed set of codes, and the value that carries one.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::receipt::Receipt;

/// Whether the capability refused, or the host did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The capability does not allow it.
    Denied,
    /// The capability allows it, or there was nothing to decide, and it did not work.
    Failed,
}

impl Decision {
    /// The word used in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Failed => "failed",
        }
    }
}

macro_rules! codes {
    ($($code:ident, $decision:ident, $meaning:literal;)*) => {
        /// Why a call gave no result. The set is closed: programs may match on it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
        pub enum Code {
            $(#[doc = $meaning] $code,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// The code as it stands in results and receipts.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)* }
            }

            /// Whether the code is a denial or a failure.
            #[must_use]
            pub const fn decision(self) -> Decision {
                match self { $(Self::$code => Decision::$decision,)* }
            }

            /// One sentence for documentation.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$code => $meaning,)* }
            }
        }
    };
}

codes! {
    Escape, Denied, "The path leaves the allowed directories: by `..`, or through a symbolic link.";
    NotUnderRoot, Denied, "The path lies in no allowed directory.";
    NotWritable, Denied, "The path lies in a directory that is only readable.";
    CarveOut, Denied, "A deny or protect pattern of the capability covers the path.";
    SymlinkRefused, Denied, "The path passes a symbolic link and the limits say `symlinks = FALSE`.";
    MountCrossing, Denied, "The path enters another mount and the limits say `mounts = FALSE`.";
    SpecialFilesystem, Denied, "The path lies on a kernel file system such as proc or sysfs.";
    NotRegular, Denied, "The path is no regular file but a directory, FIFO, socket or device.";
    HardLinked, Denied, "The file has other names, which a write might change too.";
    RootItself, Denied, "The path is an allowed directory itself, which is not moved or removed.";
    TooLarge, Denied, "The file is larger than the capability's `read_bytes`.";
    ProcessNone, Denied, "The capability allows no processes.";
    InvalidArguments, Failed, "The arguments of a tool call are not what its schema asks for, or an admission does not fit the verb.";
    InvalidPath, Failed, "The path is empty, holds a NUL byte, or names no entry.";
    InvalidEncoding, Failed, "A path or a text is not valid text in its declared encoding.";
    NotFound, Failed, "There is no such file or directory.";
    NotADirectory, Failed, "A part of the path that must be a directory is none.";
    IsDirectory, Failed, "The path is a directory and a file was wanted.";
    AlreadyExists, Failed, "The entry exists already.";
    TooManyLinks, Failed, "The path passes more than 40 symbolic links.";
    NameTooLong, Failed, "A name or the whole path is longer than the file system allows.";
    NotEmpty, Failed, "The directory is not empty.";
    CrossDevice, Failed, "Source and destination are on different file systems.";
    ReadOnly, Failed, "The file system is read-only.";
    PermissionDenied, Failed, "The operating system refused.";
    RootGone, Failed, "The root directory was deleted after the capability was made.";
    Contended, Failed, "Another program changed the entry during the call.";
    LostUpdate, Failed, "The file is not in the expected version.";
    RedactedContent, Failed, "The text holds the mark of a redaction, or the change would bring out what is masked.";
    NotText, Failed, "The file is not valid UTF-8 text, or holds a NUL byte.";
    CountMismatch, Failed, "The text to replace does not occur as often as expected.";
    OwnershipLost, Failed, "The file's owner cannot be kept, so it was not replaced.";
    WriteFailed, Failed, "Writing failed (disk full, quota, file size limit); the old file stands.";
    ReadFailed, Failed, "Reading failed.";
    Cancelled, Failed, "The call was cancelled.";
    TimedOut, Failed, "The command's time was over, so it was ended.";
    SpawnFailed, Failed, "The command could not be started: `stage` says where, `errno` why. Nothing was run.";
    SupervisorLost, Failed, "The program that owns the command's processes was lost, by the command itself perhaps; what could be found of it was ended.";
    SystemError, Failed, "The operating system gave an error with no code of its own (see `errno`), or rhocap failed inside.";
}

/// A call that gave no result: the code, what to tell the caller, and the facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Why.
    pub code: Code,
    /// A sentence that names what was asked for, never a root or a resolved outside target.
    pub message: String,
    /// Facts by name.
    pub facts: Vec<(&'static str, Value)>,
}

impl Refusal {
    /// A refusal with the code's own meaning as message.
    #[must_use]
    pub fn new(code: Code) -> Self {
        Self {
            code,
            message: code.meaning().to_owned(),
            facts: Vec::new(),
        }
    }

    /// Adds one fact.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Replaces the message.
    #[must_use]
    pub fn say(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    /// A fact by its name.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&Value> {
        self.facts
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// The refusal that stands for an error number of the operating system.
    #[must_use]
    pub fn from_errno(errno: rustix::io::Errno) -> Self {
        use rustix::io::Errno;
        let code = match errno {
            Errno::NOENT => Code::NotFound,
            Errno::NOTDIR => Code::NotADirectory,
            Errno::ISDIR => Code::IsDirectory,
            Errno::EXIST => Code::AlreadyExists,
            Errno::LOOP => Code::TooManyLinks,
            Errno::NAMETOOLONG => Code::NameTooLong,
            Errno::NOTEMPTY => Code::NotEmpty,
            Errno::XDEV => Code::CrossDevice,
            Errno::ROFS => Code::ReadOnly,
            // BUSY: a directory on which another file system is mounted.
            Errno::ACCESS | Errno::PERM | Errno::BUSY => Code::PermissionDenied,
            Errno::NOSPC | Errno::DQUOT | Errno::FBIG => Code::WriteFailed,
            // The open of a socket, or of a device without a driver.
            Errno::NXIO | Errno::NODEV => Code::NotRegular,
            _ => Code::SystemError,
        };
        Self::new(code).with("errno", errno.raw_os_error())
    }
}

impl From<Code> for Refusal {
    fn from(code: Code) -> Self {
        Self::new(code)
    }
}

impl From<rustix::io::Errno> for Refusal {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::from_errno(errno)
    }
}

/// One finished call: its result or refusal, and its receipt.
#[derive(Debug)]
pub struct Call<T> {
    /// The payload, or why there is none.
    pub outcome: Result<T, Refusal>,
    /// What was decided and what enforced it.
    pub receipt: Arc<Receipt>,
}
