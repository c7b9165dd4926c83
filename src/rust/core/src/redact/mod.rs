//! Masking known secret values, and what has the shape or the name of a secret, in text.
//!
//! A [`Redactor`] knows its values in every form in which programs commonly write them: raw, base64,
//! hexadecimal and other numbers, percent-encoded, escaped for JSON, HTML, shells and programming languages, Latin-1,
//! UTF-16; wrapped, spread by white space, listed, quoted any number of times or coloured; in dumps with addresses
//! and in numbered lines. What is encrypted or transformed in another way cannot be found, nor a part of a value.
//!
//! What is masked is the union of all matches, so that no part of a value is left where two of them overlap:
//!
//! ```
//! use rhocap_core::redact::{Redactor, MARKER};
//!
//! let redactor = Redactor::new([&b"abcdEFGH"[..], b"EFGHijkl"]);
//! let masked = redactor.mask(b"<abcdEFGHijkl>");
//! assert_eq!(masked.text, format!("<{MARKER}>").as_bytes());
//! assert_eq!(masked.count, 1);
//! ```

mod engine;
mod forms;
mod frames;
pub mod names;
#[cfg(test)]
mod oracle;
mod patterns;
pub mod shapes;
mod squeeze;
mod stream;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use engine::Engine;
use forms::{Forms, Pattern, LEAST_FORMS};
use frames::{Framed, Lines};
use squeeze::Squeezed;

pub use stream::{Ahead, Stream};

/// What stands in place of a secret. It is the same for all, so that it tells nothing of the length.
pub const MARKER: &str = "[redacted by rhocap]";

/// Bytes of text that a match may cover together with the white space and control sequences within it.
const REACH: usize = 64 << 10;

/// Bytes of text of which white space and control sequences are left out at once, so that the rest stays in the
/// processor's cache.
const PART: usize = 1 << 20;

/// Whether a text holds [`MARKER`]; what does is no copy of what it was made of.
#[must_use]
pub fn contains_marker(text: &[u8]) -> bool {
    memchr::memmem::find(text, MARKER.as_bytes()).is_some()
}

/// Masks known values, and what has the shape or the name of a secret.
///
/// Values of 8 and more bytes are known in all forms, of 4 to 7 bytes raw and between word bounds only;
/// shorter ones are left out. Its copies of the values are wiped when it is dropped.
pub struct Redactor {
    layers: Vec<Arc<Layer>>,
    /// Whether shapes and names are masked too.
    patterns: bool,
    /// How many bytes it has read so far.
    read: AtomicU64,
}

/// Some of the values that a [`Redactor`] knows. Several can share it, so that one more value costs little.
pub struct Layer {
    engine: Engine,
    /// For the squeezed text.
    squeezed: Engine,
    words: Vec<Pattern>,
}

impl Layer {
    /// Of these values.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let forms = Forms::of(values);
        Self {
            engine: Engine::new(&forms.anywhere),
            squeezed: Engine::new(&forms.squeezed),
            words: forms.words,
        }
    }
}

impl fmt::Debug for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Layer").finish_non_exhaustive()
    }
}

/// Bytes after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'t> {
    /// The text; borrowed when nothing was masked.
    pub text: Cow<'t, [u8]>,
    /// How many markers were put in.
    pub count: u64,
}

/// Text after masking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedText<'t> {
    /// The text; borrowed when nothing was masked.
    pub text: Cow<'t, str>,
    /// How many markers were put in.
    pub count: u64,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redactor {
    /// Knows `values`, and what has the shape or the name of a secret.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self::of_layers(vec![Arc::new(Layer::new(values))])
    }

    /// Knows the values of these layers, and what has the shape or the name of a secret. Each layer reads the text.
    #[must_use]
    pub fn of_layers(layers: Vec<Arc<Layer>>) -> Self {
        Self {
            layers,
            patterns: true,
            read: AtomicU64::new(0),
        }
    }

    /// How many bytes it has read so far.
    #[must_use]
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Knows `values` alone: for text that may hold other secrets by right, such as an answer with a new token.
    #[must_use]
    pub fn of_values<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self {
            patterns: false,
            ..Self::new(values)
        }
    }

    /// What must be masked: ranges that are sorted and neither overlap nor touch.
    #[must_use]
    pub fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        self.known(&Piece::whole(text), &mut Squeezed::default(), &mut spans);
        let lines = Lines {
            text,
            cut: false,
            whole: true,
            from: 0,
        };
        self.framed(&lines, &mut Framed::default(), &mut spans);
        self.patterns(text, &mut spans);
        merge(&mut spans);
        spans
    }

    /// The matches of the known values in the text as it stands: not what is spread, and nothing by its shape or name.
    /// To measure other programs with it, which do no more.
    #[doc(hidden)]
    #[must_use]
    pub fn spans_in_one_piece(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut spans = Vec::new();
        self.in_one_piece(&Piece::whole(text), &mut spans);
        merge(&mut spans);
        spans
    }

    /// All forms of the values that are looked for in the text as it stands.
    #[must_use]
    pub fn forms<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
        Forms::of(values).anywhere.iter().map(|form| form.to_vec()).collect()
    }

    /// The text with a marker in place of each of its [`Redactor::spans`].
    #[must_use]
    pub fn mask<'t>(&self, text: &'t [u8]) -> Masked<'t> {
        let spans = self.spans(text);
        if spans.is_empty() {
            return Masked {
                text: Cow::Borrowed(text),
                count: 0,
            };
        }
        Masked {
            text: Cow::Owned(replace(text, &spans)),
            count: spans.len() as u64,
        }
    }

    /// [`Redactor::mask`] for text; a character of which a part must be masked is masked whole.
    #[must_use]
    pub fn mask_text<'t>(&self, text: &'t str) -> MaskedText<'t> {
        let mut spans = self.spans(text.as_bytes());
        if spans.is_empty() {
            return MaskedText {
                text: Cow::Borrowed(text),
                count: 0,
            };
        }
        for span in &mut spans {
            while !text.is_char_boundary(span.start) {
                span.start -= 1;
            }
            while !text.is_char_boundary(span.end) {
                span.end += 1;
            }
        }
        merge(&mut spans);
        // Cut between characters, and the marker is text.
        let masked = String::from_utf8(replace(text.as_bytes(), &spans)).expect("text");
        MaskedText {
            text: Cow::Owned(masked),
            count: spans.len() as u64,
        }
    }

    /// Masks a text that comes in pieces.
    #[must_use]
    pub fn stream(self: &Arc<Self>) -> Stream {
        Stream::new(Arc::clone(self))
    }

    /// The matches of the known values, in no order; `squeezed` holds the end of the text afterwards.
    fn known(&self, piece: &Piece, squeezed: &mut Squeezed, spans: &mut Vec<Range<usize>>) {
        self.in_one_piece(piece, spans);
        let text = piece.text;
        let mut from = 0;
        loop {
            squeezed.fill(text, from, text.len().min(from + PART));
            for layer in self.layers.iter().filter(|_| squeezed.has_gaps()) {
                layer.squeezed.find(squeezed.bytes(), |span| {
                    let span = squeezed.origin(text, span.start)..squeezed.origin(text, span.end - 1) + 1;
                    let near = span.len() <= REACH && span.end <= piece.settled;
                    if near {
                        add(spans, span);
                    }
                    near
                });
            }
            if squeezed.end() == text.len() {
                return;
            }
            // A match that goes on over the end begins after this.
            (from, _) = squeezed.boundary(text, squeezed.end() - REACH);
        }
    }

    /// The matches of the known values in lines with something before them; `framed` holds the end of the text
    /// afterwards.
    fn framed(&self, lines: &Lines, framed: &mut Framed, spans: &mut Vec<Range<usize>>) {
        let longest = self.longest_squeezed();
        if longest == 0 {
            return;
        }
        framed.read(lines, longest, |part| {
            for layer in &self.layers {
                layer.squeezed.find(part.bytes(), |span| {
                    let span = part.origin(&span);
                    let near = span.len() <= REACH;
                    if near && span.start >= lines.from {
                        add(spans, span);
                    }
                    near
                });
            }
        });
    }

    fn in_one_piece(&self, piece: &Piece, spans: &mut Vec<Range<usize>>) {
        let text = piece.text;
        self.read.fetch_add(text.len() as u64, Ordering::Relaxed);
        for layer in &self.layers {
            layer.engine.find(text, |span| {
                add(spans, span);
                true
            });
        }
        for word in self.words() {
            let finder = memchr::memmem::Finder::new(word.as_slice());
            let mut from = 0;
            while let Some(at) = finder.find(&text[from..]) {
                let span = from + at..from + at + word.len();
                if piece.stands_alone(&span) {
                    spans.push(span);
                }
                from += at + 1;
            }
        }
    }

    fn words(&self) -> impl Iterator<Item = &Pattern> {
        self.layers.iter().flat_map(|layer| &layer.words)
    }

    fn longest_squeezed(&self) -> usize {
        let longest = self.layers.iter().map(|layer| layer.squeezed.longest());
        longest.max().unwrap_or(0)
    }

    /// Whether a form in squeezed text begins with these bytes and goes on after them.
    fn begin_squeezed(&self, kept: &[u8]) -> bool {
        self.layers.iter().any(|layer| layer.squeezed.begins_with(kept))
    }

    /// What has the shape or the name of a secret.
    fn patterns(&self, text: &[u8], spans: &mut Vec<Range<usize>>) {
        if self.patterns {
            let mut found = Vec::new();
            patterns::ALL.find(text, &mut found);
            add_patterns(text, found, spans);
        }
    }

    /// The same for a text that may go on, with the place from which on its end may be the beginning of something
    /// with a shape or a name, or of a marker.
    fn patterns_so_far(&self, text: &[u8], spans: &mut Vec<Range<usize>>) -> usize {
        if !self.patterns {
            return text.len();
        }
        let mut found = Vec::new();
        let unfinished = patterns::ALL.find_so_far(text, &mut found);
        add_patterns(text, found, spans);
        let marker = (1..MARKER.len())
            .rev()
            .find(|&part| text.ends_with(&MARKER.as_bytes()[..part]));
        unfinished.min(text.len() - marker.unwrap_or(0))
    }

    /// The place in the text before which no match in lines with something before them begins that is not whole yet,
    /// and of which at least so many bytes are there.
    fn may_begin_framed(&self, text: &[u8], framed: &Framed, least: usize) -> usize {
        let begins =
            |kept: &[u8], at: usize| kept.len() >= least && text.len() - at < REACH && self.begin_squeezed(kept);
        framed.may_begin(self.longest_squeezed(), begins).unwrap_or(text.len())
    }

    /// The place in the text before which no match begins that is not whole yet, and of which at least so many bytes
    /// are there; `squeezed` holds the end of it.
    fn may_begin(&self, piece: &Piece, squeezed: &Squeezed, least: usize) -> usize {
        let text = piece.text;
        let longest = self.layers.iter().map(|layer| layer.engine.longest()).max();
        let raw = (text.len() + 1).saturating_sub(longest.unwrap_or(0));
        let begin = |text: &[u8]| self.layers.iter().any(|layer| layer.engine.begins_with(text));
        let raw = (raw..(text.len() + 1).saturating_sub(least)).find(|&at| begin(&text[at..]));
        let kept = &squeezed.bytes()[..squeezed.boundary(text, piece.settled).1];
        let spread = (kept.len() + 1).saturating_sub(self.longest_squeezed());
        let spread = (spread..(kept.len() + 1).saturating_sub(least))
            .map(|index| (index, squeezed.origin(text, index)))
            .find(|&(index, at)| text.len() - at < REACH && self.begin_squeezed(&kept[index..]));
        let word = (text.len().saturating_sub(LEAST_FORMS)..text.len())
            .find(|&at| self.words().any(|word| word.starts_with(&text[at..])));
        [raw, spread.map(|(_, at)| at), word]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(text.len())
    }
}

/// No control sequence before a word is looked at that is longer.
const NEAR: usize = 24;

/// A text, or a piece of one.
struct Piece<'t> {
    /// What stands before it.
    before: &'t [u8],
    text: &'t [u8],
    /// Where a control sequence begins of which the end may still come.
    settled: usize,
    /// Whether nothing comes after it.
    last: bool,
}

impl<'t> Piece<'t> {
    fn whole(text: &'t [u8]) -> Self {
        Self {
            before: &[],
            text,
            settled: text.len(),
            last: true,
        }
    }

    /// Whether no word goes on over an end of `span`.
    fn stands_alone(&self, span: &Range<usize>) -> bool {
        let Self { before, text, .. } = self;
        let word =
            |byte: Option<&u8>| byte.is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128);
        if word(text.get(span.end - 1)) && (word(text.get(span.end)) || span.end == text.len() && !self.last) {
            return false;
        }
        // What is left out together ends no word: a line end that is written, a colour.
        let near = [
            &before[before.len().saturating_sub(NEAR)..],
            &text[span.start.saturating_sub(NEAR)..span.start],
        ]
        .concat();
        let near = &near[near.len().saturating_sub(NEAR)..];
        let ended = (0..near.len()).any(|at| squeeze::dropped(&near[at..]) == near.len() - at);
        let goes_on = word(near.last()) && !ended;
        !(goes_on && word(text.get(span.start)))
    }
}

/// Adds what was found; a text may be masked again, and a marker beside a name is no value.
fn add_patterns(text: &[u8], found: Vec<Range<usize>>, spans: &mut Vec<Range<usize>>) {
    spans.extend(found.into_iter().filter(|span| !within_marker(text, span)));
}

/// Whether what is to be masked is a marker, or a part of one.
fn within_marker(text: &[u8], span: &Range<usize>) -> bool {
    let marker = MARKER.as_bytes();
    let from = span.start.saturating_sub(marker.len() - 1);
    (from..=span.start).any(|at| text[at..].starts_with(marker) && span.end <= at + marker.len())
}

/// Adds a range, to the last one where they overlap or touch: text may be full of matches.
fn add(spans: &mut Vec<Range<usize>>, span: Range<usize>) {
    match spans.last_mut() {
        Some(last) if span.start <= last.end && last.start <= span.end => {
            *last = last.start.min(span.start)..last.end.max(span.end);
        }
        _ => spans.push(span),
    }
}

/// The text with a marker in place of each of `spans`, which are sorted and disjoint.
#[must_use]
pub fn replace(text: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
    let mut masked = Vec::with_capacity(text.len());
    let mut from = 0;
    for span in spans {
        masked.extend_from_slice(&text[from..span.start]);
        masked.extend_from_slice(MARKER.as_bytes());
        from = span.end;
    }
    masked.extend_from_slice(&text[from..]);
    masked
}

/// Sorts ranges and makes one of those that overlap or touch.
pub fn merge(spans: &mut Vec<Range<usize>>) {
    spans.sort_unstable_by_key(|span| span.start);
    spans.dedup_by(|next, last| {
        let joins = next.start <= last.end;
        if joins {
            last.end = last.end.max(next.end);
        }
        joins
    });
}
