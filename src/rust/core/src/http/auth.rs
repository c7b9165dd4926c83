//! What a model's provider is spoken to with.

use std::fmt;
use std::sync::Arc;

use super::header::{Given, Headers};
use super::open;
use super::reference::{HeaderCredential, Place, Reference};
use super::url::Url;
use crate::misuse::Misuse;
use crate::secret::ProviderCredential;

/// A key and what goes with it. Whoever holds it as text holds a reference.
pub struct ModelAuth {
    id: String,
    key: Arc<Reference>,
    headers: Headers,
    base_url: String,
    short: Vec<String>,
}

impl ModelAuth {
    /// An auth. `base_url` may be empty; `others` is what comes with it as text or bytes.
    ///
    /// # Errors
    /// `url` for a base that is none, or names a user; `value` when a known secret stands in `others`, in `base_url` or
    /// in a header as text; those of [`Headers::new`].
    pub fn new(
        key: ProviderCredential,
        headers: Vec<(String, Given)>,
        base_url: &str,
        others: &[Vec<u8>],
    ) -> Result<Self, Misuse> {
        let hosts = host_texts(&key);
        let headers = Headers::new(headers, &hosts)?;
        if !base_url.is_empty() {
            let url = Url::read(base_url)
                .map_err(|why| Misuse::new("url", format!("`base_url` {why}")).with("argument", "base_url"))?;
            if url.has_userinfo() {
                return Err(Misuse::new(
                    "url",
                    "`base_url` names a user before its host. Leave the user out; for a user and a password use \
                     rho_basic().",
                )
                .with("argument", "base_url"));
            }
        }
        let reference = Reference::new(HeaderCredential::raw(key), Place::Header);
        open::check("base_url", "`base_url`", base_url.as_bytes())?;
        for other in others {
            open::check("metadata", "`metadata`", other)?;
        }
        headers.check()?;
        let id = crate::random::hex(16);
        Ok(Self {
            short: headers.owned_by(&id),
            id,
            key: reference,
            headers,
            base_url: base_url.to_owned(),
        })
    }

    /// The names of the headers whose credentials were given as text, and are short.
    #[must_use]
    pub fn short(&self) -> &[String] {
        &self.short
    }

    /// A random, public name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The reference of the key.
    #[must_use]
    pub fn key(&self) -> &Arc<Reference> {
        &self.key
    }

    /// The credential of the key.
    #[must_use]
    pub fn credential(&self) -> &ProviderCredential {
        self.key.value().credential()
    }

    /// Headers that go with each request.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// Where the provider is; may be empty.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }
}

/// The hosts of a credential, as text.
#[must_use]
pub fn host_texts(credential: &ProviderCredential) -> Vec<String> {
    credential.hosts().iter().map(ToString::to_string).collect()
}

/// Whether the keys and all that goes with them are the same, in a time that tells nothing of the bytes.
impl PartialEq for ModelAuth {
    fn eq(&self, other: &Self) -> bool {
        let mut same = self.key.value() == other.key.value();
        same &= self.headers.same(&other.headers);
        same &= self.base_url == other.base_url;
        same
    }
}

impl Eq for ModelAuth {}

impl fmt::Debug for ModelAuth {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ModelAuth")
            .field("id", &self.id)
            .field("key", &self.key)
            .field("headers", &self.headers)
            .field("base_url", &self.base_url)
            .field("short", &self.short)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::tests::credential;
    use super::*;
    use crate::secret::tests::canary;

    #[test]
    fn the_key_is_not_what_goes_with_it() {
        let value = canary();
        let key = || credential(&value, "a.example");
        let kind = |result: Result<ModelAuth, Misuse>| result.err().map(|misuse| misuse.kind);
        assert_eq!(
            kind(ModelAuth::new(key(), vec![], "https://a.example/v1", &[b"x".to_vec()])),
            None
        );
        assert_eq!(
            kind(ModelAuth::new(key(), vec![], "", &[value.clone().into_bytes()])),
            Some("value")
        );
        let base = format!("https://a.example/{value}");
        assert_eq!(kind(ModelAuth::new(key(), vec![], &base, &[])), Some("value"));
        for base in ["a.example", "https://u@a.example/", "file:///x"] {
            assert_eq!(kind(ModelAuth::new(key(), vec![], base, &[])), Some("url"), "{base}");
        }
    }

    #[test]
    fn equal_by_the_bytes() {
        let value = canary();
        let made = |value: &str| ModelAuth::new(credential(value, "a.example"), vec![], "", &[]).unwrap();
        assert_eq!(made(&value), made(&value));
        assert_ne!(made(&value), made(&canary()));
        assert_ne!(made(&value).id(), made(&value).id());
        assert!(!format!("{:?}", made(&value)).contains(&value));
    }
}
