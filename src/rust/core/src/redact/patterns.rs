//! Reading a text for what has the shape or the name of a secret.

use std::ops::Range;
use std::sync::LazyLock;

use super::shapes::filter::Filter;
use super::shapes::grammar::{keep_from, Found, Text};
use super::{names, shapes};

/// Bytes before a text that is the rest of a longer one which say how its first words begin.
pub const LOOK_BEHIND: usize = 1024;

/// Shapes and names in one reading.
pub(super) static ALL: LazyLock<Reader> = LazyLock::new(|| Reader {
    filter: Filter::new(shapes::windows().chain(names::windows())),
    reach: shapes::REACH.max(names::REACH),
    check: |text, at, each| {
        shapes::check(text, at, each);
        names::check(text, at, each);
    },
    begun: |text| shapes::begun(text).min(names::begun(text)),
});

/// A kind of what is found in one reading of a text: where it may begin, and what stands there.
pub(super) struct Reader {
    /// Lets the places through at which something may begin.
    pub(super) filter: Filter,
    /// No decision depends on what is further away than this, before or after a place.
    pub(super) reach: usize,
    /// Calls its last argument with what begins at a place.
    pub(super) check: fn(&mut Text, usize, &mut dyn FnMut(Found)),
    /// The first place near the end of a text at which something may have begun that is not whole yet.
    pub(super) begun: fn(&mut Text) -> usize,
}

impl Reader {
    /// Adds to `out` what is found, sorted by where it begins. Ranges may overlap.
    pub(super) fn find(&self, text: &[u8], out: &mut Vec<Range<usize>>) {
        let first = out.len();
        self.each(&mut Text::new(text), |found| out.extend(found.spans));
        out[first..].sort_unstable_by_key(|span| span.start);
    }

    /// The same for a text that may go on, with the place from which on its end may be the beginning of a match or
    /// of a longer one; no match goes over that place.
    ///
    /// A stream keeps the bytes from there on, at most the reader's `reach`, and [`LOOK_BEHIND`] bytes before them.
    pub(super) fn find_so_far(&self, text: &[u8], out: &mut Vec<Range<usize>>) -> usize {
        let first = out.len();
        let least = text.len().saturating_sub(self.reach);
        let mut text = Text::new(text);
        let from = (self.begun)(&mut text);
        let mut near = Vec::new();
        self.each(&mut text, |found| {
            out.extend_from_slice(&found.spans);
            if found.open || found.spans.last().is_some_and(|span| span.end > least) {
                near.push(found);
            }
        });
        out[first..].sort_unstable_by_key(|span| span.start);
        keep_from(&near, from).max(least)
    }

    /// Calls `each` with what is found.
    pub(super) fn each(&self, text: &mut Text, mut each: impl FnMut(Found)) {
        self.filter.each(text.bytes, 0, |at| (self.check)(text, at, &mut each));
    }
}
