//! Stub until the redactor is merged.
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

/// The marker.
pub const MARKER: &str = "[redacted by rhocap]";

/// The redactor.
#[derive(Default)]
pub struct Redactor(Vec<Vec<u8>>);

/// Masked bytes.
pub struct Masked<'t> {
    /// The bytes.
    pub text: Cow<'t, [u8]>,
    /// How many places were masked.
    pub count: u64,
}

/// Masked text.
pub struct MaskedText<'t> {
    /// The text.
    pub text: Cow<'t, str>,
    /// How many places were masked.
    pub count: u64,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Redactor")
    }
}

impl Redactor {
    /// Of values.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(values.into_iter().map(<[u8]>::to_vec).collect())
    }

    /// Spans.
    #[must_use]
    pub fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut out: Vec<Range<usize>> = Vec::new();
        for value in &self.0 {
            out.extend(memchr::memmem::find_iter(text, value).map(|at| at..at + value.len()));
        }
        out.sort_by_key(|span| span.start);
        out
    }

    /// Masks.
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
        let mut at = 0;
        for span in &spans {
            out.extend_from_slice(&text[at..span.start]);
            out.extend_from_slice(MARKER.as_bytes());
            at = span.end;
        }
        out.extend_from_slice(&text[at..]);
        Masked {
            text: Cow::Owned(out),
            count: spans.len() as u64,
        }
    }

    /// Masks text.
    #[must_use]
    pub fn mask_text<'t>(&self, text: &'t str) -> MaskedText<'t> {
        let Masked { text: masked, count } = self.mask(text.as_bytes());
        match masked {
            Cow::Borrowed(_) => MaskedText {
                text: Cow::Borrowed(text),
                count,
            },
            Cow::Owned(bytes) => MaskedText {
                text: Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
                count,
            },
        }
    }

    /// A stream.
    #[must_use]
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream {
            redactor: Arc::clone(self),
            held: Vec::new(),
            count: 0,
        }
    }
}

/// A stream.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    held: Vec<u8>,
    count: u64,
}

impl Stream {
    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        Vec::new()
    }

    /// The rest.
    pub fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let masked = self.redactor.mask(&held);
        self.count += masked.count;
        masked.text.into_owned()
    }

    /// How many places were masked.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }
}

/// Whether text holds the marker.
#[must_use]
pub fn contains_marker(text: &[u8]) -> bool {
    memchr::memmem::find(text, MARKER.as_bytes()).is_some()
}
