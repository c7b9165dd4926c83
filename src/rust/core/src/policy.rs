//! What a capability says of processes, the network and the place where calls run.

use serde::{Serialize, Serializer};

/// The one sentence that print, receipts and documentation use for unrestricted commands.
pub const UNRESTRICTED_SENTENCE: &str = "Unrestricted bash has the full authority of the R process's user.";

/// Which processes a capability may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Process {
    /// None.
    None,
    /// Commands on which the kernel enforces the roots and the network policy.
    Confined,
    /// Commands with the full authority of the user.
    Unrestricted,
}

impl Process {
    /// The policy that a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "confined" => Some(Self::Confined),
            "unrestricted" => Some(Self::Unrestricted),
            _ => None,
        }
    }

    /// The policy's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Confined => "confined",
            Self::Unrestricted => "unrestricted",
        }
    }
}

/// Which network commands may use. An enumeration, because a brokered policy is to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// None.
    None,
    /// The host's.
    Host,
}

impl Network {
    /// The policy that a word names.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "none" => Some(Self::None),
            "host" => Some(Self::Host),
            _ => None,
        }
    }

    /// The policy's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Host => "host",
        }
    }
}

/// Where calls run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Placement {
    /// In this R process, and commands as its children.
    Local,
    /// On a mirai daemon of a compute profile.
    Mirai {
        /// The profile's name; none is mirai's default profile.
        compute: Option<String>,
    },
}

impl Placement {
    /// The placement's words: `local`, `mirai`, or `mirai:<profile>`.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Local => "local".to_owned(),
            Self::Mirai { compute: None } => "mirai".to_owned(),
            Self::Mirai { compute: Some(profile) } => format!("mirai:{profile}"),
        }
    }
}

impl Serialize for Placement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.label())
    }
}
