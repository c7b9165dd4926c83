//! What the tests of shapes and names share.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::patterns::{Reader, LOOK_BEHIND};
use super::shapes::grammar::Class;

/// Numbers that are the same in each run of a test.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }

    pub(super) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    /// Bytes of a class.
    pub(super) fn of(&mut self, class: Class, length: usize) -> Vec<u8> {
        let alphabet: Vec<u8> = (0..=127).filter(|&byte| class.has(byte)).collect();
        (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

/// Sorted, and one range of those that overlap or touch.
pub(super) fn merged(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// The place from which on more text may change what is found.
pub(super) fn so_far(reader: &Reader, text: &[u8]) -> usize {
    reader.find_so_far(text, &mut Vec::new())
}

/// A stream that keeps what is unfinished gives the spans of the whole text, however it is cut.
pub(super) fn same_in_pieces(random: &mut Random, text: &[u8], reader: &Reader, what: &str) {
    let mut whole = Vec::new();
    reader.find(text, &mut whole);
    let mut pieces = Vec::new();
    // Up to `out` the text is out; up to `end` it came.
    let (mut out, mut end) = (0, 0);
    while end < text.len() {
        end = (end + random.between(1, 1 + text.len() / 3)).min(text.len());
        let kept = out - out.min(LOOK_BEHIND);
        let held = &text[kept..end];
        let until = kept
            + if end == text.len() {
                held.len()
            } else {
                so_far(reader, held)
            };
        assert!(end - until <= reader.reach);
        let until = until.max(out);
        let mut spans = Vec::new();
        reader.find(held, &mut spans);
        for span in spans {
            let span = span.start + kept..span.end + kept;
            if (out..until).contains(&span.start) {
                assert!(
                    span.end <= until,
                    "{what}: {span:?} goes over {until}: {}",
                    String::from_utf8_lossy(text)
                );
                pieces.push(span);
            }
        }
        out = until;
    }
    assert_eq!(
        merged(pieces),
        merged(whole),
        "{what}: {}",
        String::from_utf8_lossy(text)
    );
}

/// Fails for a span of `find` in a source of this project, unless it is one of `known`.
pub(super) fn sources_are_not_masked(find: fn(&[u8], &mut Vec<Range<usize>>), known: &[&str]) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut files = 0;
    let mut masked = Vec::new();
    let directories = [
        "R",
        "vignettes",
        "man",
        "tests",
        "demo",
        "tools",
        "bench",
        "src/rust/core/src",
    ];
    let others = [
        "src/rust/core/tests",
        "src/rust/binding/src",
        "src/rust/supervisor/src",
        "README.md",
        "NEWS.md",
    ];
    for directory in directories.iter().chain(&others) {
        for file in files_below(package.join(directory)) {
            let text = std::fs::read(&file).unwrap();
            files += 1;
            let mut spans = Vec::new();
            find(&text, &mut spans);
            for span in spans {
                let shown = String::from_utf8_lossy(&text[span.clone()]).into_owned();
                if !known.contains(&shown.as_str()) {
                    let line = memchr::memchr_iter(b'\n', &text[..span.start]).count() + 1;
                    masked.push(format!("{}:{line}: {shown}", file.display()));
                }
            }
        }
    }
    assert!(masked.is_empty(), "{}", masked.join("\n"));
    // The sources of the package are not beside those of a crate that was packed alone.
    assert!(files > 0);
}

fn files_below(path: PathBuf) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path];
    }
    let Ok(entries) = std::fs::read_dir(path) else {
        return Vec::new();
    };
    entries.flat_map(|entry| files_below(entry.unwrap().path())).collect()
}
