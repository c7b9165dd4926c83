//! Finding all matches of all patterns, overlapping ones too.

use std::ops::Range;

use super::forms::Pattern;

pub(super) struct Engine {
    patterns: Vec<Pattern>,
    longest: usize,
}

impl Engine {
    /// From patterns that are sorted and different.
    pub(super) fn new(patterns: Vec<Pattern>) -> Self {
        let longest = patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(0);
        Self { patterns, longest }
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a pattern begins with `text` and goes on after it.
    pub(super) fn begins_with(&self, text: &[u8]) -> bool {
        let at = self.patterns.partition_point(|pattern| pattern.as_slice() <= text);
        self.patterns.get(at).is_some_and(|pattern| pattern.starts_with(text))
    }

    /// Calls `found` for matches whose union is that of all matches.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>)) {
        for pattern in &self.patterns {
            let finder = memchr::memmem::Finder::new(pattern.as_slice());
            let mut from = 0;
            while let Some(at) = finder.find(&text[from..]) {
                found(from + at..from + at + pattern.len());
                from += at + 1;
            }
        }
    }
}
