//! Stand-in for the redactor: raw values only.

use std::borrow::Cow;
use std::ops::Range;

use secrecy::{ExposeSecret, SecretSlice};

/// What stands where a secret was.
pub const MARKER: &str = "[redacted by rhocap]";

/// Finds values in text.
pub struct Redactor {
    values: Vec<SecretSlice<u8>>,
}

/// Text without the values.
pub struct Masked<'t> {
    /// The text.
    pub text: Cow<'t, [u8]>,
    /// How many places were masked.
    pub count: u64,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// A redactor of these values.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let values = values
            .into_iter()
            .map(|value| SecretSlice::from(value.to_vec()))
            .collect();
        Self { values }
    }

    /// Where they are.
    #[must_use]
    pub fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for value in &self.values {
            let value = value.expose_secret();
            found.extend(memchr::memmem::find_iter(text, value).map(|start| start..start + value.len()));
        }
        found.sort_by_key(|span| span.start);
        let mut merged: Vec<Range<usize>> = Vec::new();
        for span in found {
            match merged.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => merged.push(span),
            }
        }
        merged
    }

    /// The text without them.
    #[must_use]
    pub fn mask<'t>(&self, text: &'t [u8]) -> Masked<'t> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Masked {
                text: Cow::Borrowed(text),
                count: 0,
            };
        }
        let mut out = Vec::new();
        let mut end = 0;
        for span in &spans {
            out.extend_from_slice(&text[end..span.start]);
            out.extend_from_slice(MARKER.as_bytes());
            end = span.end;
        }
        out.extend_from_slice(&text[end..]);
        Masked {
            text: Cow::Owned(out),
            count: spans.len() as u64,
        }
    }
}
