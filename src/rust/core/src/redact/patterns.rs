//! Shapes and names in one reading of a text.

use std::ops::Range;
use std::sync::LazyLock;

use super::shapes::filter::Filter;
use super::shapes::grammar::{keep_from, Found, Text};
use super::{names, shapes};

/// No decision depends on what is further away than this, before or after a place.
pub const REACH: usize = if shapes::REACH > names::REACH {
    shapes::REACH
} else {
    names::REACH
};

/// Bytes before a text that is the rest of a longer one which say how its first words begin.
pub const LOOK_BEHIND: usize = 1024;

static FILTER: LazyLock<Filter> = LazyLock::new(|| Filter::new(shapes::windows().chain(names::windows())));

/// Adds to `out` what [`shapes::find`] and [`names::find`] add, sorted by where it begins.
pub fn find(text: &[u8], out: &mut Vec<Range<usize>>) {
    let first = out.len();
    let mut text = Text::new(text);
    each(&mut text, |found| out.extend(found.spans));
    out[first..].sort_unstable_by_key(|span| span.start);
}

/// The same for a text that may go on, with the place from which on its end may be the beginning of a match or of
/// a longer one; no match goes over that place. See [`shapes::unfinished`].
pub fn find_so_far(text: &[u8], out: &mut Vec<Range<usize>>) -> usize {
    let first = out.len();
    let least = text.len().saturating_sub(REACH);
    let mut text = Text::new(text);
    let from = shapes::begun(&mut text).min(names::begun(&mut text));
    let mut near = Vec::new();
    each(&mut text, |found| {
        out.extend_from_slice(&found.spans);
        if found.open || found.spans.last().is_some_and(|span| span.end > least) {
            near.push(found);
        }
    });
    out[first..].sort_unstable_by_key(|span| span.start);
    keep_from(&near, from).max(least)
}

fn each(text: &mut Text, mut each: impl FnMut(Found)) {
    FILTER.each(text.bytes, 0, |at| {
        shapes::check(text, at, &mut each);
        names::check(text, at, &mut each);
    });
}
