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
    each(&mut text, 0, |found| out.extend(found.spans));
    out[first..].sort_unstable_by_key(|span| span.start);
}

/// The first of the places that [`shapes::unfinished`] and [`names::unfinished`] give, or one before it, so that no
/// match of either goes over it.
#[must_use]
pub fn unfinished(text: &[u8]) -> usize {
    let least = text.len().saturating_sub(REACH);
    let mut text = Text::new(text);
    let mut found = Vec::new();
    let from = shapes::begun(&mut text).min(names::begun(&mut text));
    each(&mut text, least, |one| found.push(one));
    keep_from(&found, from).max(least)
}

fn each(text: &mut Text, from: usize, mut each: impl FnMut(Found)) {
    FILTER.each(text.bytes, from, |at| {
        shapes::check(text, at, &mut each);
        names::check(text, at, &mut each);
    });
}
