//! Header names and values, and lists of headers with references.

use std::fmt;
use std::sync::Arc;

use super::framing::misleading;
use super::open;
use super::parts::secret_parts;
use super::reference::{self, HeaderCredential, Place, Reference};
use crate::escape::display_bounded;
use crate::misuse::Misuse;
use crate::redact::MARKER;
use crate::secret::name::is_secret_field;
use crate::secret::{known, source, ProviderCredential, Secret, SourceKind};

/// Whether `name` is a header name: a token of RFC 9110.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

/// Whether `value` can be sent as a header's value: no line end or other control character, which would
/// begin a header of its own, and no white space at its ends, which would be dropped.
#[must_use]
pub fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
        && !blank(value.first())
        && !blank(value.last())
}

/// What a header is given.
pub enum Given {
    /// Text. Under a name that carries credentials it is taken as one.
    Text(String),
    /// A credential in one of its forms.
    Credential(HeaderCredential),
}

/// Headers in which references stand for credentials. Values that carry credentials are not shown.
#[derive(Default, Clone)]
pub struct Headers {
    lines: Vec<(String, String)>,
    /// What keeps the references alive.
    held: Vec<Arc<Reference>>,
    /// The secrets that were given as text.
    literals: Vec<Secret>,
}

impl Headers {
    /// Takes headers; a literal credential among them is bound to `hosts`.
    ///
    /// # Errors
    /// `header` for a name or a value that cannot be sent, and those of a secret and of a credential.
    pub fn new(given: Vec<(String, Given)>, hosts: &[String]) -> Result<Self, Misuse> {
        let mut headers = Self::default();
        for (name, value) in given {
            headers.add(name, value, hosts)?;
        }
        Ok(headers)
    }

    /// Adds one.
    ///
    /// # Errors
    /// As [`Headers::new`].
    pub fn add(&mut self, name: String, value: Given, hosts: &[String]) -> Result<(), Misuse> {
        let bad = |what: &str| {
            let shown = display_bounded(name.as_bytes(), 256);
            Misuse::new("header", format!("The header `{shown}` {what}")).with("name", shown)
        };
        if !is_name(&name) {
            return Err(bad(
                "has a name that cannot be sent: letters, digits and -_.!#$%&'*+^`|~ alone can.",
            ));
        }
        let text = match value {
            Given::Credential(value) => self.hold(value),
            Given::Text(text) if !is_value(text.as_bytes()) => {
                return Err(bad(
                    "has a value that cannot be sent: control characters cannot, nor white space at its ends.",
                ))
            }
            Given::Text(text) if is_secret_field(&name) && !text.is_empty() && !is_reference(&text) => {
                self.literal(&name, &text, hosts)?
            }
            Given::Text(text) => text,
        };
        self.lines.push((name, text));
        Ok(())
    }

    fn hold(&mut self, value: HeaderCredential) -> String {
        let reference = Reference::new(value, Place::Header);
        let text = reference.text().to_owned();
        self.held.push(reference);
        text
    }

    /// A credential that was given as text: what stands in its place. Errors name the header.
    fn literal(&mut self, name: &str, text: &str, hosts: &[String]) -> Result<String, Misuse> {
        self.taken(name, text, hosts).map_err(|misuse| {
            let shown = display_bounded(name.as_bytes(), 256);
            let taken = format!("The header `{shown}` is taken for a credential because of its name");
            let message = if misuse.kind == "short_secret" {
                // What is sent is not the caller's to make longer.
                format!("{taken}, and its value has fewer than 4 bytes, which cannot be masked. Leave it out.")
            } else {
                format!("{taken}. {}", misuse.message)
            };
            Misuse { message, ..misuse }.with("header", shown)
        })
    }

    fn taken(&mut self, name: &str, text: &str, hosts: &[String]) -> Result<String, Misuse> {
        // `Bearer` and the like are no part of what is secret.
        let (scheme, value) = match text.split_once(' ') {
            Some((scheme, value)) if scheme.bytes().all(|byte| byte.is_ascii_alphabetic()) => (scheme, value),
            _ => ("", text),
        };
        let secret = source::given(value.as_bytes(), SourceKind::Literal, name)?;
        let credential = ProviderCredential::new(secret, hosts)?;
        let mut parts = Vec::new();
        for part in secret_parts(name, scheme, value) {
            let part = source::given(part.as_bytes(), SourceKind::Literal, name)?;
            parts.push(credential.part(part)?);
        }
        let value = HeaderCredential::raw(credential).with_parts(parts);
        self.literals.extend(value.secrets().cloned());
        let reference = self.hold(value);
        Ok(if scheme.is_empty() {
            reference
        } else {
            format!("{scheme} {reference}")
        })
    }

    /// Names and values, with references.
    #[must_use]
    pub fn lines(&self) -> &[(String, String)] {
        &self.lines
    }

    /// Whether one has this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.lines.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    /// Refuses a known secret in what stands here as text, and headers that are [`misleading`].
    ///
    /// # Errors
    /// `value`, `header`.
    pub(super) fn check(&self) -> Result<(), Misuse> {
        for (name, value) in &self.lines {
            let shown = display_bounded(name.as_bytes(), 256);
            open::check("headers", "The name of a header", name.as_bytes())?;
            open::check("headers", &format!("The header `{shown}`"), value.as_bytes())?;
        }
        let lines = self.lines.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        match misleading(lines) {
            Some((name, why)) => {
                let shown = display_bounded(name.as_bytes(), 256);
                Err(Misuse::new("header", format!("The header `{shown}` {why}")).with("name", shown))
            }
            None => Ok(()),
        }
    }

    /// Says of the secrets that were given as text to what they belong; gives the names of the short ones.
    pub(super) fn owned_by(&self, owner: &str) -> Vec<String> {
        for secret in &self.literals {
            known::own(secret, owner);
        }
        let short = self.literals.iter().filter(|secret| secret.is_short());
        short.map(|secret| secret.label().to_owned()).collect()
    }

    /// The value of the first header of this name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let named = |(known, _): &&(String, String)| known.replace('_', "-").eq_ignore_ascii_case(name);
        self.lines.iter().find(named).map(|(_, value)| value.as_str())
    }

    /// All of `others`, which take the place of those of the same name.
    #[must_use]
    pub fn replaced_by(mut self, others: Self) -> Self {
        self.lines.retain(|(name, _)| !others.has(name));
        self.lines.extend(others.lines);
        self.held.extend(others.held);
        self.literals.extend(others.literals);
        self
    }

    /// Names and values for eyes.
    #[must_use]
    pub fn shown(&self) -> Vec<(String, String)> {
        let redactor = known::redactor();
        let shown = |(name, value): &(String, String)| {
            let text = shown_references(value);
            let text = if is_secret_field(name) && text == *value && !value.is_empty() {
                MARKER.to_owned()
            } else {
                redactor.mask_text(&text).text.into_owned()
            };
            (
                display_bounded(name.as_bytes(), 256),
                display_bounded(text.as_bytes(), 1024),
            )
        };
        self.lines.iter().map(shown).collect()
    }

    /// Whether both hold the same, in a time that tells nothing of the credentials.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        let plain = |headers: &Self| -> Vec<(String, Vec<u8>)> {
            let line = |(name, value): &(String, String)| {
                (
                    name.to_ascii_lowercase(),
                    reference::without_references(value.as_bytes()),
                )
            };
            headers.lines.iter().map(line).collect()
        };
        let mut same = plain(self) == plain(other);
        let (one, two) = (self.in_order(), other.in_order());
        same &= one.len() == two.len();
        for (first, second) in one.iter().zip(&two) {
            // All of them, whatever the first says.
            same &= first.value() == second.value();
        }
        same
    }

    fn in_order(&self) -> Vec<Arc<Reference>> {
        let of = |(_, value): &(String, String)| -> Vec<_> {
            reference::spans(value.as_bytes())
                .into_iter()
                .filter_map(|span| reference::find(&value[span]))
                .collect()
        };
        self.lines.iter().flat_map(of).collect()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.lines.iter().map(|(name, _)| name);
        formatter.debug_list().entries(names).finish()
    }
}

fn is_reference(text: &str) -> bool {
    !reference::spans(text.as_bytes()).is_empty()
}

/// `text` with what each reference stands for in words.
#[must_use]
pub fn shown_references(text: &str) -> String {
    replaced(text, |reference| match reference::find(reference) {
        Some(known) => {
            let label = display_bounded(known.value().credential().secret().label().as_bytes(), 128);
            match known.value().template() {
                reference::Template::Raw => format!("[credential {label}]"),
                reference::Template::Bearer => format!("Bearer [credential {label}]"),
                reference::Template::Basic(user) => {
                    format!(
                        "Basic [{} and credential {label}]",
                        display_bounded(user.as_bytes(), 128)
                    )
                }
            }
        }
        None => "[credential that is gone]".to_owned(),
    })
}

fn replaced(text: &str, with: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for span in reference::spans(text.as_bytes()) {
        out.push_str(&text[from..span.start]);
        out.push_str(&with(&text[span.clone()]));
        from = span.end;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::super::reference::tests::credential;
    use super::*;
    use crate::secret::tests::canary;

    fn hosts() -> Vec<String> {
        vec!["a.example".to_owned()]
    }

    fn text(text: &str) -> Given {
        Given::Text(text.to_owned())
    }

    #[test]
    fn a_literal_credential_becomes_a_reference() {
        let value = canary();
        let given = vec![
            ("Authorization".to_owned(), text(&format!("Bearer {value}"))),
            ("Accept".to_owned(), text("a/b")),
        ];
        let headers = Headers::new(given, &hosts()).unwrap();
        let held = format!("{:?} {:?} {:?}", headers.lines(), headers, headers.shown());
        assert!(!held.contains(&value), "{held}");
        assert!(headers.lines()[0].1.starts_with("Bearer rhocap-ref-"));
        assert_eq!(headers.shown()[0].1, "Bearer [credential Authorization]");
        assert_eq!(headers.shown()[1].1, "a/b");
    }

    #[test]
    fn errors_of_a_literal_name_its_header() {
        let message = |value: &str| {
            let given = vec![("X-Api-Key".to_owned(), text(value))];
            Headers::new(given, &hosts()).unwrap_err()
        };
        let entry = canary();
        let _entry = crate::secret::EnvSecret::new(crate::secret::tests::secret(&entry), false).unwrap();
        for (value, kind) in [
            ("abc", "short_secret"),
            ("password", "ordinary_secret"),
            (entry.as_str(), "purpose"),
        ] {
            let misuse = message(value);
            assert_eq!(misuse.kind, kind);
            assert!(misuse.message.contains("`X-Api-Key`"), "{misuse}");
            assert!(!misuse.message.contains("longer"), "{misuse}");
        }
    }

    #[test]
    fn literals_are_forgotten_with_their_owner() {
        let (value, owner) = (canary(), crate::random::hex(16));
        let given = vec![
            ("Authorization".to_owned(), text(&format!("Bearer {value}"))),
            ("X-Api-Key".to_owned(), text(&canary()[..6])),
        ];
        let headers = Headers::new(given, &hosts()).unwrap();
        assert_eq!(headers.owned_by(&owner), ["X-Api-Key"]);
        let masked = || known::redactor().mask(value.as_bytes()).count > 0;
        headers.literals.iter().for_each(known::remember);
        drop(headers);
        assert!(masked() && known::is_known(&owner));
        assert!(known::forget_id(&owner));
        assert!(crate::secret::tests::soon(|| !masked() && !known::is_known(&owner)));
    }

    #[test]
    fn what_is_secret_within_a_literal_is_known_as_long_as_it() {
        use crate::secret::{tests, EnvSecret};
        let masked = |value: &str| known::redactor().mask(format!("x {value} y").as_bytes()).count > 0;
        let basic = |value: &str| {
            let pair = super::super::base64::encode(format!("ada:{value}").as_bytes());
            format!("Basic {}", pair.as_str())
        };
        let cookie = |value: &str| format!("theme=dark; session={value}");
        let token = |value: &str| format!("Token token=\"{value}\", email=ada@example.org");
        let signed = |value: &str| format!("AWS4-HMAC-SHA256 Credential=a/b, Signature={value}");
        let kinds: [&dyn Fn(&str) -> String; 4] = [&cookie, &token, &signed, &basic];
        for (index, whole) in kinds.into_iter().enumerate() {
            let name = if index == 0 { "Cookie" } else { "Authorization" };
            let value = canary();
            let made = || Headers::new(vec![(name.to_owned(), text(&whole(&value)))], &hosts());
            let entry = || EnvSecret::new(tests::secret(&value), false);
            let before = entry().unwrap();
            assert_eq!(made().unwrap_err().kind, "purpose", "{name}");
            drop(before);
            let headers = std::cell::OnceCell::new();
            assert!(tests::soon(|| made().is_ok_and(|made| headers.set(made).is_ok())));
            let headers = headers.into_inner().unwrap();
            assert!(masked(&value), "{}", whole("..."));
            assert!(!masked("ada@example.org"));
            assert_eq!(entry().unwrap_err().kind, "purpose", "{name}");
            assert!(headers.same(&made().unwrap()));
            // Sent once, it is known until its owner is forgotten.
            let owner = crate::random::hex(16);
            assert!(headers.owned_by(&owner).is_empty());
            let echo = headers.held[0].echo();
            assert!(echo.mask(value.as_bytes()).count > 0);
            headers.held[0].value().secrets().for_each(known::remember);
            drop(headers);
            assert!(masked(&value));
            assert!(known::forget_id(&owner));
            assert!(tests::soon(|| !masked(&value)));
            assert!(tests::soon(|| entry().is_ok()));
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for (name, value) in [("a b", "c"), ("a", "b\r\nc"), ("", "c"), ("a", " b")] {
            assert_eq!(
                Headers::new(vec![(name.to_owned(), text(value))], &hosts())
                    .unwrap_err()
                    .kind,
                "header"
            );
        }
    }

    #[test]
    fn equality_is_that_of_names_text_and_bytes() {
        let value = canary();
        let made = |name: &str, value: &str| {
            let value = HeaderCredential::bearer(credential(value, "a.example"));
            Headers::new(vec![(name.to_owned(), Given::Credential(value))], &hosts()).unwrap()
        };
        assert!(made("Authorization", &value).same(&made("authorization", &value)));
        assert!(!made("Authorization", &value).same(&made("Authorization", &canary())));
        assert!(!made("Authorization", &value).same(&Headers::default()));
    }

    #[test]
    fn names_are_tokens() {
        for name in ["Accept", "x-api-key", "X_1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a:", "a\r\nb", "ä", "a\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn values_have_no_line_ends() {
        for value in ["", "a", "a b", "a\tb", "\u{e4}"] {
            assert!(is_value(value.as_bytes()), "{value:?}");
        }
        for value in ["a\r\nX: y", "a\n", "a\0", " a", "a\t", "\u{7f}"] {
            assert!(!is_value(value.as_bytes()), "{value:?}");
        }
    }
}
