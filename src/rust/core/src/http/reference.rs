//! References: random text that stands where a client wants a key.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use secrecy::zeroize::Zeroizing;

use super::base64;
use super::url::percent_encode_into;
use crate::misuse::Misuse;
use crate::per_process::PerProcess;
use crate::redact::Redactor;
use crate::secret::{ProviderCredential, Secret};

/// How every reference begins; 32 hexadecimal digits follow.
pub const PREFIX: &str = "rhocap-ref-";

const DIGITS: usize = 32;

/// What of a header's value a credential becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Template {
    /// The value alone.
    Raw,
    /// `Bearer` and the value.
    Bearer,
    /// `Basic`, and a user with the value, encoded.
    Basic(String),
}

/// Where in a request the value may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the value of a header.
    Header,
    /// As the value of a field of the URL's query.
    Query,
    /// As a string of a JSON body.
    Json,
    /// As the value of a field of a form.
    Form,
}

/// A credential in the form in which it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderCredential {
    credential: ProviderCredential,
    template: Template,
    /// What is secret alone as well, and stands within the value.
    parts: Vec<ProviderCredential>,
}

impl HeaderCredential {
    /// The value alone.
    #[must_use]
    pub fn raw(credential: ProviderCredential) -> Self {
        Self {
            credential,
            template: Template::Raw,
            parts: Vec::new(),
        }
    }

    /// `Bearer` and the value.
    #[must_use]
    pub fn bearer(credential: ProviderCredential) -> Self {
        Self {
            credential,
            template: Template::Bearer,
            parts: Vec::new(),
        }
    }

    /// `Basic`, and `user:value` encoded.
    ///
    /// # Errors
    /// `value` when the user holds a colon, which would end it, or a control character.
    pub fn basic(user: &str, credential: ProviderCredential) -> Result<Self, Misuse> {
        if user.contains(':') || user.chars().any(char::is_control) {
            return Err(
                Misuse::new("value", "`user` must hold no colon and no control character.").with("argument", "user"),
            );
        }
        Ok(Self {
            credential,
            template: Template::Basic(user.to_owned()),
            parts: Vec::new(),
        })
    }

    /// The same with what is secret within its value.
    pub(super) fn with_parts(self, parts: Vec<ProviderCredential>) -> Self {
        Self { parts, ..self }
    }

    /// The secret, and those within it.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Secret> {
        std::iter::once(&self.credential)
            .chain(&self.parts)
            .map(ProviderCredential::secret)
    }

    /// The credential.
    #[must_use]
    pub fn credential(&self) -> &ProviderCredential {
        &self.credential
    }

    /// The form.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }
}

/// A reference: what it is exchanged for, as long as somebody holds it.
pub struct Reference {
    text: String,
    value: HeaderCredential,
    place: Place,
    /// Of what is put in: a server may send it back.
    echo: OnceLock<Arc<Redactor>>,
}

impl Reference {
    /// A new reference.
    #[must_use]
    pub fn new(value: HeaderCredential, place: Place) -> Arc<Self> {
        let reference = Arc::new(Self {
            text: format!("{PREFIX}{}", crate::random::hex(DIGITS / 2)),
            value,
            place,
            echo: OnceLock::new(),
        });
        with_table(|table| table.insert(reference.text.clone(), Arc::downgrade(&reference)));
        reference
    }

    /// What a client holds: random, and of no use to who reads it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it stands for.
    #[must_use]
    pub fn value(&self) -> &HeaderCredential {
        &self.value
    }

    /// Where it may stand.
    #[must_use]
    pub fn place(&self) -> Place {
        self.place
    }

    /// Whether it is the whole of what it is exchanged in, and no part of it.
    pub(super) fn is_whole(&self) -> bool {
        self.value.template != Template::Raw
    }

    /// What goes over the wire in its place.
    pub(super) fn rendered(&self) -> Zeroizing<String> {
        // Secrets are UTF-8; see `secret::Secret::expose`.
        let key = std::str::from_utf8(self.value.credential.secret().expose()).unwrap_or_default();
        match (&self.place, &self.value.template) {
            (Place::Header, Template::Bearer) => joined(&["Bearer ", key]),
            (Place::Header, Template::Basic(user)) => {
                let both = joined(&[user, ":", key]);
                joined(&["Basic ", &base64::encode(both.as_bytes())])
            }
            (Place::Header, Template::Raw) => joined(&[key]),
            (Place::Query | Place::Form, _) => {
                let mut text = Zeroizing::new(String::with_capacity(3 * key.len()));
                percent_encode_into(key.as_bytes(), &mut text);
                text
            }
            (Place::Json, _) => {
                // A control character becomes six; a credential holds none, see `ProviderCredential::new`.
                let mut text = Zeroizing::new(String::with_capacity(2 * key.len()));
                for character in key.chars() {
                    if matches!(character, '"' | '\\') {
                        text.push('\\');
                    }
                    text.push(character);
                }
                text
            }
        }
    }

    /// Masks what is put in, in every form in which a server may send it back.
    pub(super) fn echo(&self) -> Arc<Redactor> {
        let made = || {
            let encoded = self.encoded();
            let values = self.value.secrets().map(Secret::expose);
            let encoded = encoded.as_ref().map(|text| text.as_bytes());
            Arc::new(Redactor::of_values(values.chain(encoded)))
        };
        Arc::clone(self.echo.get_or_init(made))
    }

    /// The user with the key as one encoded value, whose ends are not those of the key's own encoding.
    pub(super) fn encoded(&self) -> Option<Zeroizing<String>> {
        match self.value.template {
            Template::Basic(_) => self.rendered().strip_prefix("Basic ").map(|text| joined(&[text])),
            _ => None,
        }
    }
}

/// One string, in room that is made once: what grows leaves copies behind.
pub(super) fn joined(parts: &[impl AsRef<str>]) -> Zeroizing<String> {
    let length = parts.iter().map(|part| part.as_ref().len()).sum();
    let mut text = Zeroizing::new(String::with_capacity(length));
    for part in parts {
        text.push_str(part.as_ref());
    }
    text
}

/// The text with the same mark in place of every reference, to compare what is around them.
pub(super) fn without_references(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut from = 0;
    for span in spans(text) {
        out.extend_from_slice(&text[from..span.start]);
        out.extend_from_slice(PREFIX.as_bytes());
        from = span.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

impl Drop for Reference {
    fn drop(&mut self) {
        with_table(|table| table.remove(&self.text));
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Reference")
            .field("value", &self.value)
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

/// The reference with this text, if it is one of this process and alive.
#[must_use]
pub fn find(text: &str) -> Option<Arc<Reference>> {
    with_table(|table| table.get(text).and_then(Weak::upgrade))
}

/// Where references stand in `text`; upper case counts, because it is one that a program changed.
#[must_use]
pub fn spans(text: &[u8]) -> Vec<Range<usize>> {
    // The part that few texts hold.
    const MIDDLE: &[u8] = b"-ref-";
    let mut found = Vec::new();
    let mut look = |middle: &[u8]| {
        for at in memchr::memmem::find_iter(text, middle) {
            let Some(start) = at.checked_sub(PREFIX.len() - MIDDLE.len()) else {
                continue;
            };
            let end = start + PREFIX.len() + DIGITS;
            let whole = text.get(start..end).is_some_and(|all| {
                let (prefix, digits) = all.split_at(PREFIX.len());
                prefix.eq_ignore_ascii_case(PREFIX.as_bytes()) && digits.iter().all(u8::is_ascii_hexdigit)
            });
            if whole {
                found.push(start..end);
            }
        }
    };
    look(MIDDLE);
    look(b"-REF-");
    found.sort_by_key(|span| span.start);
    found
}

type Table = HashMap<String, Weak<Reference>>;

fn with_table<A>(work: impl FnOnce(&mut Table) -> A) -> A {
    // A fork has none of them: what it inherits belongs to the process it was forked from.
    static TABLE: PerProcess<Mutex<Table>> = PerProcess::new();
    // Nothing in here can be dropped by the work: the table holds only weak ones.
    work(&mut TABLE.get().lock().unwrap_or_else(PoisonError::into_inner))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::secret::tests::{canary, secret};

    pub(in super::super) fn credential(value: &str, host: &str) -> ProviderCredential {
        ProviderCredential::new(secret(value), &[host.to_owned()]).unwrap()
    }

    #[test]
    fn a_reference_lives_as_long_as_it_is_held() {
        let reference = Reference::new(HeaderCredential::raw(credential(&canary(), "a.example")), Place::Header);
        let text = reference.text().to_owned();
        assert_eq!(text.len(), PREFIX.len() + DIGITS);
        assert!(find(&text).is_some());
        drop(reference);
        assert!(find(&text).is_none());
    }

    #[test]
    fn references_are_found_in_text() {
        let one = format!("{PREFIX}{}", "0a".repeat(16));
        let text = format!("{one}{one} {} {PREFIX}0a", one.to_ascii_uppercase());
        let size = one.len();
        assert_eq!(
            spans(text.as_bytes()),
            [0..size, size..2 * size, 2 * size + 1..3 * size + 1]
        );
        assert!(spans(b"-ref-00000000000000000000000000000000").is_empty());
    }

    #[test]
    fn what_goes_over_the_wire() {
        let value = canary();
        let credential = || credential(&value, "a.example");
        let rendered = |value, place| Reference::new(value, place).rendered().to_string();
        assert_eq!(rendered(HeaderCredential::raw(credential()), Place::Header), value);
        assert_eq!(
            rendered(HeaderCredential::bearer(credential()), Place::Header),
            format!("Bearer {value}")
        );
        let basic = HeaderCredential::basic("user", credential()).unwrap();
        let wanted = base64::encode(format!("user:{value}").as_bytes());
        assert_eq!(rendered(basic, Place::Header), format!("Basic {}", wanted.as_str()));
        let odd = format!("{value}\"\\/");
        let odd = HeaderCredential::raw(super::tests::credential(&odd, "a.example"));
        assert_eq!(rendered(odd.clone(), Place::Json), format!("{value}\\\"\\\\/"));
        assert_eq!(rendered(odd, Place::Query), format!("{value}%22%5C%2F"));
        assert!(HeaderCredential::basic("a:b", credential()).is_err());
        assert!(HeaderCredential::basic("a\r\nb", credential()).is_err());
    }

    #[test]
    fn what_a_server_sends_back_is_masked() {
        let value = canary();
        let basic = HeaderCredential::basic("user", credential(&value, "a.example")).unwrap();
        let reference = Reference::new(basic, Place::Header);
        let sent = reference.rendered();
        let text = format!("{{\"key\": \"{value}\", \"header\": \"{}\"}}", sent.as_str());
        let masked = reference.echo().mask(text.as_bytes()).text.into_owned();
        let masked = String::from_utf8(masked).unwrap();
        assert!(!masked.contains(&value) && !masked.contains(&sent[6..]), "{masked}");
        assert!(masked.starts_with("{\"key\": \"["), "{masked}");
    }

    #[test]
    fn debug_shows_neither() {
        let value = canary();
        let reference = Reference::new(HeaderCredential::bearer(credential(&value, "a.example")), Place::Header);
        let shown = format!("{reference:?}");
        assert!(!shown.contains(&value) && !shown.contains(reference.text()), "{shown}");
    }
}
