//! Masking text that comes in pieces, with the result that masking the whole would give.

use std::ops::Range;
use std::sync::Arc;

use secrecy::zeroize::Zeroize;

use super::frames::{Framed, Lines};
use super::squeeze::{self, Squeezed};
use super::{merge, patterns, Piece, Redactor, MARKER};

/// What is out stays this long before what is not, because it may tell that a secret follows.
const CONTEXT: usize = patterns::LOOK_BEHIND;

/// A shorter beginning of a known value is in most text.
const WEAK: usize = 4;

/// What was shown of a text to somebody who does not wait until it is certain.
#[derive(Debug, Default)]
pub struct Ahead(Vec<u8>);

impl Ahead {
    /// What is shown next, when this came out of a stream and that is [`Stream::likely`] afterwards.
    pub fn next(&mut self, certain: &[u8], likely: &[u8]) -> Vec<u8> {
        let all = [certain, likely].concat();
        if let Some(new) = all.strip_prefix(self.0.as_slice()) {
            let new = new.to_vec();
            self.0 = likely.to_vec();
            new
        } else if let Some(rest) = self.0.strip_prefix(certain) {
            // Less is likely by now than was shown.
            self.0 = rest.to_vec();
            Vec::new()
        } else {
            self.0 = likely.to_vec();
            all
        }
    }
}

/// A text that comes in pieces. What was pushed comes out as soon as nothing that is to be masked can begin in it any
/// more.
pub struct Stream {
    redactor: Arc<Redactor>,
    squeezed: Squeezed,
    framed: Framed,
    /// Bytes that are out already, as context, and then those that are not.
    held: Vec<u8>,
    /// Whether `held` begins within a line.
    cut: bool,
    /// How many of `held` are out. A control sequence never goes on over this place.
    context: usize,
    /// How many of `held` were looked at.
    seen: usize,
    /// How many of those that are not out yet are unlikely to be of a secret.
    likely: usize,
    /// The mask goes on at least up to this place in `held`, which is not before `context`.
    masked: Option<usize>,
    count: u64,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Stream")
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.held.zeroize();
    }
}

impl Stream {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self {
            redactor,
            squeezed: Squeezed::default(),
            framed: Framed::default(),
            held: Vec::new(),
            cut: false,
            context: 0,
            seen: 0,
            likely: 0,
            masked: None,
            count: 0,
        }
    }

    /// Takes the next bytes, and gives those that are certain by now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        // Looking again at what is held for each byte that comes would cost the square of its length.
        let waiting = self.held.len() - self.context;
        if self.held.len() - self.seen < waiting / 8 {
            return Vec::new();
        }
        self.give(false)
    }

    /// Gives the rest. The stream can be used again, for another text.
    pub fn finish(&mut self) -> Vec<u8> {
        let out = self.give(true);
        self.held.clear();
        self.cut = false;
        self.context = 0;
        self.seen = 0;
        self.likely = 0;
        self.masked = None;
        out
    }

    /// What comes out next unless it is the beginning of a secret, of which fewer than [`WEAK`] bytes are here then:
    /// for somebody who looks at the text while it comes, see [`Ahead`].
    #[must_use]
    pub fn likely(&self) -> &[u8] {
        &self.held[self.context..self.context + self.likely]
    }

    /// How many markers were put in so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.held.capacity()
    }

    /// Gives what is certain: all, when the text ends here.
    fn give(&mut self, all: bool) -> Vec<u8> {
        let mut spans = Vec::new();
        let (before, text) = self.held.split_at(self.context);
        let settled = if all { None } else { squeeze::open(text) }.unwrap_or(text.len());
        let piece = Piece {
            before,
            text,
            settled,
            last: all,
        };
        self.redactor.known(&piece, &mut self.squeezed, &mut spans);
        for span in &mut spans {
            *span = span.start + self.context..span.end + self.context;
        }
        let lines = Lines {
            text: &self.held[..self.context + settled],
            cut: self.cut,
            whole: all,
            from: self.context,
        };
        self.redactor.framed(&lines, &mut self.framed, &mut spans);
        let mut likely = 0;
        let to = if all {
            self.redactor.patterns(&self.held, &mut spans);
            self.held.len()
        } else {
            let unfinished = self.redactor.patterns_so_far(&self.held, &mut spans);
            let certain = |least: usize| {
                let framed = self.redactor.may_begin_framed(lines.text, &self.framed, least);
                let unfinished = unfinished.min(framed).saturating_sub(self.context);
                self.context + self.certain(&piece, unfinished, least)
            };
            let to = certain(1);
            let shown = spans.iter().filter(|span| span.end > to).map(|span| span.start.max(to));
            likely = shown.chain([certain(WEAK).max(to)]).min().unwrap_or(to) - to;
            to
        };
        // What begins later is found again; what began earlier was found before.
        spans.retain(|span| (self.context..to).contains(&span.start));
        spans.extend(self.masked.map(|end| self.context..end));
        merge(&mut spans);
        let out = self.masked_up_to(to, &spans);
        self.seen = self.held.len();
        self.likely = if self.masked.is_some() { 0 } else { likely };
        self.forget_before(to);
        out
    }

    /// How much of the piece, of which `squeezed` holds the end, is certain, when a pattern may begin at
    /// `unfinished`, and a known value where at least so many bytes of it are there.
    fn certain(&self, piece: &Piece, unfinished: usize, least: usize) -> usize {
        let known = self.redactor.may_begin(piece, &self.squeezed, least);
        let to = known.min(piece.settled).min(unfinished);
        self.squeezed.boundary(piece.text, to).0
    }

    /// What is not out yet up to `to`, masked.
    fn masked_up_to(&mut self, to: usize, spans: &[Range<usize>]) -> Vec<u8> {
        let mut out = Vec::with_capacity(to - self.context);
        let mut at = self.context;
        let mut goes_on = self.masked.take().is_some();
        for span in spans {
            // Only the first one can begin where the last piece ended within a mask.
            if !goes_on || span.start > self.context {
                out.extend_from_slice(&self.held[at..span.start]);
                out.extend_from_slice(MARKER.as_bytes());
                self.count += 1;
            }
            goes_on = false;
            at = span.end.min(to);
            if span.end >= to {
                self.masked = Some(span.end);
            }
        }
        out.extend_from_slice(&self.held[at..to]);
        out
    }

    /// What is before `to` is out.
    fn forget_before(&mut self, to: usize) {
        let from = to.saturating_sub(CONTEXT);
        if from > 0 {
            self.cut = self.held[from - 1] != b'\n';
        }
        self.held.copy_within(from.., 0);
        self.held.truncate(self.held.len() - from);
        self.context = to - from;
        self.seen -= from;
        self.masked = self.masked.map(|end| end - from);
    }
}
