//! What a server can send back of a credential: in a text or its bytes, or as the name of a header.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use secrecy::zeroize::Zeroizing;

use super::exchange::Outgoing;
use super::reference;
use crate::redact::{merge, replace, Redactor, Stream};

/// Shorter values are masked between word bounds only, as by a [`Redactor`].
const LEAST_ANYWHERE: usize = 8;

/// The values that went out in a request, to be masked in its answer.
pub struct Echo {
    redactor: Arc<Redactor>,
    /// The values, and what they are joined to in an encoded header.
    values: Vec<Zeroizing<Vec<u8>>>,
    /// All forms of them in lower case; made when there is a name to look at.
    folded: OnceLock<Vec<Zeroizing<Vec<u8>>>>,
}

impl std::fmt::Debug for Echo {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Echo").finish_non_exhaustive()
    }
}

impl Echo {
    /// What `request` can come back with. `redactor` is the one that [`exchange`](super::exchange::exchange) gave
    /// for it.
    #[must_use]
    pub fn new(request: Outgoing<'_>, redactor: Arc<Redactor>) -> Self {
        let headers = request.headers.iter().map(|(_, value)| value.as_bytes());
        let texts = headers.chain([request.url.as_bytes()]).chain(request.body);
        let mut values: Vec<Zeroizing<Vec<u8>>> = Vec::new();
        for text in texts {
            for span in reference::spans(text) {
                let found = std::str::from_utf8(&text[span])
                    .unwrap_or_default()
                    .to_ascii_lowercase();
                let Some(found) = reference::find(&found) else { continue };
                values.push(Zeroizing::new(found.value().credential().secret().expose().to_vec()));
                values.extend(found.encoded().map(|text| Zeroizing::new(text.as_bytes().to_vec())));
            }
        }
        Self {
            redactor,
            values,
            folded: OnceLock::new(),
        }
    }

    /// Masks texts, whose letters are as they were sent.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The same for a text that comes in pieces.
    #[must_use]
    pub fn stream(&self) -> Stream {
        self.redactor.stream()
    }

    /// The name of a header without the values; `None` where it holds none. Names have no case (RFC 9110,
    /// section 5.1): programs write those that they were sent in lower case, or in another.
    #[must_use]
    pub fn mask_name(&self, name: &[u8]) -> Option<Vec<u8>> {
        let lower = Zeroizing::new(name.to_ascii_lowercase());
        let mut spans = self.redactor.spans(name);
        for form in self.folded() {
            for at in memchr::memmem::find_iter(&lower, form.as_slice()) {
                let span = at..at + form.len();
                if form.len() >= LEAST_ANYWHERE || stands_alone(&lower, &span) {
                    spans.push(span);
                }
            }
        }
        if spans.is_empty() {
            return None;
        }
        merge(&mut spans);
        Some(replace(name, &spans))
    }

    fn folded(&self) -> &[Zeroizing<Vec<u8>>] {
        self.folded.get_or_init(|| {
            let forms = Redactor::forms(self.values.iter().map(|value| value.as_slice()));
            let short = self.values.iter().filter(|value| value.len() < LEAST_ANYWHERE);
            forms
                .into_iter()
                .map(Zeroizing::new)
                .chain(short.cloned())
                .map(|form| Zeroizing::new(form.to_ascii_lowercase()))
                .collect()
        })
    }
}

fn stands_alone(text: &[u8], span: &Range<usize>) -> bool {
    let bound = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii_alphanumeric());
    bound(text[..span.start].last()) && bound(text.get(span.end))
}

#[cfg(test)]
mod tests {
    use super::super::exchange::exchange;
    use super::super::reference::tests::credential;
    use super::super::reference::{HeaderCredential, Place, Reference};
    use super::*;
    use crate::redact::MARKER;
    use crate::secret::tests::canary;

    fn echo_of(value: HeaderCredential) -> Echo {
        let reference = Reference::new(value, Place::Header);
        let headers = [("Authorization".to_owned(), reference.text().to_owned())];
        let request = Outgoing {
            url: "https://api.example.org/",
            headers: &headers,
            body: None,
        };
        let redactor = exchange(request).unwrap().echo.unwrap();
        Echo::new(request, redactor)
    }

    #[test]
    fn names_are_masked_in_any_case_and_form() {
        let value = format!("{}+/Az", canary());
        let hex = value
            .bytes()
            .map(|byte| format!("{byte:02x}"))
            .collect::<Vec<_>>()
            .concat();
        let basic = HeaderCredential::basic("ada", credential(&value, "api.example.org")).unwrap();
        let encoded = Reference::new(basic.clone(), Place::Header)
            .encoded()
            .unwrap()
            .to_string();
        for echo in [
            echo_of(HeaderCredential::bearer(credential(&value, "api.example.org"))),
            echo_of(HeaderCredential::raw(credential(&value, "api.example.org"))),
            echo_of(basic),
        ] {
            for form in [&value, &hex] {
                for text in [form.clone(), form.to_ascii_lowercase(), form.to_ascii_uppercase()] {
                    let masked = echo.mask_name(format!("x-{text}-y").as_bytes()).unwrap();
                    assert_eq!(masked, format!("x-{MARKER}-y").into_bytes());
                    let twice = echo.mask_name(format!("{text}-{text}").as_bytes()).unwrap();
                    assert_eq!(twice, format!("{MARKER}-{MARKER}").into_bytes());
                    let touching = echo.mask_name(format!("{text}{text}").as_bytes()).unwrap();
                    assert_eq!(touching, MARKER.as_bytes());
                }
            }
            for name in ["content-type", "X-Request-Id", "", "x"] {
                assert_eq!(echo.mask_name(name.as_bytes()), None);
            }
            assert!(!format!("{echo:?}").contains(&value));
        }
        let echo = echo_of(HeaderCredential::basic("ada", credential(&value, "api.example.org")).unwrap());
        let masked = echo.mask_name(encoded.to_ascii_lowercase().as_bytes()).unwrap();
        assert!(masked.starts_with(MARKER.as_bytes()) && masked.len() <= MARKER.len() + 2);
    }

    #[test]
    fn short_values_are_masked_between_bounds() {
        let value = format!("{}Q", &canary()[2..6]);
        let echo = echo_of(HeaderCredential::raw(credential(&value, "api.example.org")));
        let lower = value.to_ascii_lowercase();
        let masked = echo.mask_name(format!("x-{lower}").as_bytes()).unwrap();
        assert_eq!(masked, format!("x-{MARKER}").into_bytes());
        assert_eq!(echo.mask_name(format!("x{lower}").as_bytes()), None);
    }
}
