//! Secrets: bytes that nothing shows, and what they may be used for.
//!
//! A [`Secret`] holds its bytes once, wiped when the last holder is gone. None of the types here can be printed
//! with its bytes, or serialised at all:
//!
//! ```compile_fail
//! fn shown(secret: &rhocap_core::secret::Secret) -> String { format!("{secret}") }
//! ```
//! ```compile_fail
//! fn shown(secret: &rhocap_core::secret::ProviderCredential) -> String { secret.to_string() }
//! ```
//! ```compile_fail
//! fn written(secret: &rhocap_core::secret::Secret) -> String { serde_json::to_string(secret).unwrap() }
//! ```
//! ```compile_fail
//! fn written(secret: &rhocap_core::secret::EnvSecret) -> String { serde_json::to_string(secret).unwrap() }
//! ```
//! ```compile_fail
//! fn bytes(secret: &rhocap_core::secret::Secret) -> &[u8] { secret.as_ref() }
//! ```

mod equal;
mod fork_safe;
mod host;
pub mod known;
pub mod name;
mod purpose;
mod reveal;
mod rules;
pub mod source;
mod wiped;

use std::fmt;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretSlice};

pub use self::equal::alias;
pub use self::host::HostPattern;
pub use self::purpose::{EnvSecret, OpenEntry, ProviderCredential};
pub use self::reveal::reveal;
pub use self::rules::{LONGEST, SHORTEST, STRONG};
pub use self::wiped::Wiped;

use crate::misuse::Misuse;

/// Where the bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// An environment variable of this process.
    Env,
    /// A file.
    File,
    /// An open descriptor.
    Descriptor,
    /// The operating system's keyring.
    Keyring,
    /// A person was asked.
    Prompt,
    /// A value in the program.
    Literal,
}

impl SourceKind {
    /// The word in print and in R.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::File => "file",
            Self::Descriptor => "descriptor",
            Self::Keyring => "keyring",
            Self::Prompt => "prompt",
            Self::Literal => "literal",
        }
    }

    /// The kind of this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Env,
            Self::File,
            Self::Descriptor,
            Self::Keyring,
            Self::Prompt,
            Self::Literal,
        ]
        .into_iter()
        .find(|kind| kind.as_str() == word)
    }
}

/// Where a secret came from: the kind, and the name of the variable, the path and the like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The kind.
    pub kind: SourceKind,
    /// What is shown beside it, escaped; may be empty.
    pub detail: String,
}

/// Bytes that are not shown. A clone is another holder of the same bytes.
#[derive(Clone)]
pub struct Secret(Arc<Inner>);

struct Inner {
    bytes: SecretSlice<u8>,
    id: String,
    label: String,
    origin: Origin,
    /// Whether the store of this process heard of it, and so must hear of its end.
    known: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.known {
            known::ended(&self.id);
        }
    }
}

impl Secret {
    /// Takes the bytes; the redactor knows them from now on, as long as there is a holder.
    ///
    /// # Errors
    /// `short_secret`, `ordinary_secret`, `secret_value`: what could not be masked without masking ordinary text,
    /// and what is no text.
    pub fn new(bytes: Wiped, label: &str, origin: Origin) -> Result<Self, Misuse> {
        rules::check(bytes.as_slice(), &origin)?;
        let secret = Self(Arc::new(Inner {
            bytes: bytes.into_secret(),
            id: crate::random::hex(16),
            label: label.to_owned(),
            origin,
            known: true,
        }));
        known::began(&secret);
        Ok(secret)
    }

    /// One that the store itself makes, of this process's environment.
    fn ambient(bytes: Wiped, name: &str) -> Self {
        Self(Arc::new(Inner {
            bytes: bytes.into_secret(),
            id: crate::random::hex(16),
            label: name.to_owned(),
            origin: Origin {
                kind: SourceKind::Env,
                detail: name.to_owned(),
            },
            known: false,
        }))
    }

    /// A random, public name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What it is called in print.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.0.label
    }

    /// Where it came from.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        &self.0.origin
    }

    /// The bytes: UTF-8 without NUL. Whoever asks must not show, log or keep them.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        self.0.bytes.expose_secret()
    }

    /// Whether the value is so short that only whole words of it are masked.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.expose().len() < STRONG
    }

    fn downgrade(&self) -> std::sync::Weak<Inner> {
        Arc::downgrade(&self.0)
    }
}

/// Whether the bytes are the same, in a time that depends on their lengths only.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        equal::same(self.expose(), other.expose())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Secret")
            .field("id", &self.0.id)
            .field("label", &self.0.label)
            .field("origin", &self.0.origin)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A value that no source holds.
    pub fn canary() -> String {
        format!("cN{}", crate::random::hex(16))
    }

    pub fn secret(value: &str) -> Secret {
        made(value).unwrap()
    }

    pub fn credential_of(value: &str) -> Result<ProviderCredential, Misuse> {
        ProviderCredential::new(secret(value), &["api.example.org".to_owned()])
    }

    /// Whether it comes true soon: another test's look holds every secret for a moment.
    pub fn soon(check: impl Fn() -> bool) -> bool {
        (0..1000).any(|_| {
            let met = check();
            if !met {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            met
        })
    }

    pub fn made(value: &str) -> Result<Secret, Misuse> {
        Secret::new(
            Wiped::copy_of(value.as_bytes()),
            "label",
            Origin {
                kind: SourceKind::Literal,
                detail: String::new(),
            },
        )
    }

    #[test]
    fn debug_shows_no_bytes() {
        let value = canary();
        let secret = secret(&value);
        let credential = ProviderCredential::new(secret.clone(), &["api.example.org".to_owned()]).unwrap();
        for shown in [format!("{secret:?}"), format!("{credential:#?}")] {
            assert!(!shown.contains(&value), "{shown}");
            assert!(shown.contains("label"), "{shown}");
        }
        drop((secret, credential));
        let entry = EnvSecret::new(self::secret(&value), false).unwrap();
        assert!(!format!("{entry:?}").contains(&value));
    }

    #[test]
    fn equality_is_that_of_the_bytes() {
        let value = canary();
        let (one, same, other) = (secret(&value), secret(&value), secret(&canary()));
        assert_eq!(one, same);
        assert_ne!(one, other);
        assert_ne!(one.id(), same.id());
        assert_ne!(secret(&value), secret(&value[1..]));
    }
}
