//! The redactor against the plainest program that does the same.

use std::ops::Range;
use std::sync::Arc;

use super::engine::Engine;
use super::forms::Pattern;
use super::{frames, merge, Layer, Redactor, MARKER};

/// A small generator of numbers, so that a case that fails can be had again.
pub(super) struct Numbers(u64);

impl Numbers {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() >> 33).expect("31 bits") % bound
    }

    pub(super) fn text(&mut self, alphabet: &[u8], length: usize) -> Vec<u8> {
        (0..length).map(|_| alphabet[self.below(alphabet.len())]).collect()
    }
}

/// What is left out as a whole, before what begins it: and how much of it, when the rest only says so.
const SEQUENCES: [(&[u8], usize); 9] = [
    (b"\x1b[1m", 4),
    (b"\x1bc", 2),
    ("\u{a0}".as_bytes(), 2),
    ("\u{9b}1m".as_bytes(), 4),
    ("\u{200b}".as_bytes(), 3),
    ("\u{feff}".as_bytes(), 3),
    (b"\\n", 2),
    (b"\\t", 2),
    (b"\\", 1),
];

/// Where the bytes of a part of the text stand that are not left out.
fn kept(text: &[u8], part: Range<usize>) -> Vec<usize> {
    let mut kept = Vec::new();
    let mut at = part.start;
    while at < part.end {
        // The texts of these tests hold no other sequences.
        let dropped = SEQUENCES
            .iter()
            .find(|(sequence, _)| text[at..part.end].starts_with(sequence));
        if dropped.is_none() && text[at] > b' ' && !b"\"',=".contains(&text[at]) {
            kept.push(at);
        }
        at += dropped.map_or(1, |(_, length)| *length);
    }
    kept
}

/// The matches in what stands in these places.
fn spread(patterns: &[Vec<u8>], text: &[u8], places: &[usize]) -> Vec<Range<usize>> {
    let bytes: Vec<u8> = places.iter().map(|&at| text[at]).collect();
    let mut spans = Vec::new();
    for pattern in patterns {
        for start in 0..bytes.len() {
            if bytes[start..].starts_with(pattern) {
                spans.push(places[start]..places[start + pattern.len() - 1] + 1);
            }
        }
    }
    spans
}

/// The union of all matches in the text, in the text without what is left out, and in what remains of lines with
/// something before them.
fn naive(patterns: &[Vec<u8>], words: &[Vec<u8>], text: &[u8]) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    for pattern in patterns {
        for start in 0..text.len() {
            if text[start..].starts_with(pattern) {
                spans.push(start..start + pattern.len());
            }
        }
    }
    spans.extend(spread(patterns, text, &kept(text, 0..text.len())));
    let mut lines: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for line in text.split(|&byte| byte == b'\n') {
        lines.push(from..from + line.len());
        from += line.len() + 1;
    }
    let remains = |line: &Range<usize>| {
        let line = &text[line.clone()];
        frames::remains(line.strip_suffix(b"\r").unwrap_or(line))
    };
    for first in 0..lines.len() {
        if remains(&lines[first]).is_none() || first > 0 && remains(&lines[first - 1]).is_some() {
            continue;
        }
        let mut places = Vec::new();
        if first > 0 {
            places.extend(kept(text, lines[first - 1].clone()));
        }
        let mut dumps = Vec::new();
        for line in &lines[first..] {
            let Some((data, end)) = remains(line) else { break };
            let data = line.start + data.start..line.start + data.end;
            places.extend(kept(text, data.clone()));
            dumps.extend(end.map(|end| (data, line.start + end)));
        }
        for mut span in spread(patterns, text, &places) {
            if let Some((_, end)) = dumps.iter().find(|(data, _)| data.contains(&(span.end - 1))) {
                span.end = *end;
            }
            spans.push(span);
        }
    }
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 128;
    let written = |text: &[u8]| SEQUENCES.iter().any(|(sequence, _)| text.ends_with(sequence));
    for pattern in words {
        for start in 0..text.len() {
            let end = start + pattern.len();
            if text[start..].starts_with(pattern)
                && !(start > 0 && word(text[start - 1]) && word(text[start]) && !written(&text[..start]))
                && !(end < text.len() && word(text[end - 1]) && word(text[end]))
            {
                spans.push(start..end);
            }
        }
    }
    merge(&mut spans);
    spans
}

fn masked(text: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = 0;
    for span in spans {
        out.extend_from_slice(&text[from..span.start]);
        out.extend_from_slice(MARKER.as_bytes());
        from = span.end;
    }
    out.extend_from_slice(&text[from..]);
    out
}

fn engine(patterns: &[Vec<u8>]) -> Engine {
    let mut patterns: Vec<Pattern> = patterns.iter().cloned().map(Pattern::new).collect();
    patterns.sort_unstable_by(|one, other| one.as_slice().cmp(other));
    patterns.dedup();
    Engine::new(&patterns)
}

fn cases(seed: u64, number: usize, alphabets: &[&[u8]], longest: usize, texts: usize) {
    let mut numbers = Numbers::new(seed);
    for case in 0..number {
        let alphabet = alphabets[numbers.below(alphabets.len())];
        let mut patterns: Vec<Vec<u8>> = Vec::new();
        for _ in 0..=numbers.below(6) {
            let length = 8 + numbers.below(longest - 7);
            // Patterns have no white space here; that they get a form without it is another test's matter.
            let letters: Vec<u8> = alphabet
                .iter()
                .copied()
                .filter(|&byte| byte > b' ' && !b"\\\"',=".contains(&byte))
                .collect();
            patterns.push(numbers.text(&letters, length));
        }
        let words: Vec<Vec<u8>> = (0..numbers.below(3))
            .map(|_| {
                let length = 4 + numbers.below(4);
                numbers.text(alphabet, length)
            })
            .collect();
        let length = numbers.below(texts);
        let mut text = numbers.text(alphabet, length);
        // Random texts seldom hold a long pattern.
        for _ in 0..numbers.below(4) {
            let pattern = &patterns[numbers.below(patterns.len())];
            let at = numbers.below(text.len() + 1);
            let mut planted = pattern[..pattern.len() - numbers.below(2)].to_vec();
            for _ in 0..numbers.below(3) {
                let between = BETWEEN[numbers.below(BETWEEN.len())];
                let into = numbers.below(planted.len());
                planted.splice(into..into, between.iter().copied());
            }
            text.splice(at..at, planted);
        }
        // What was planted within another sequence is a sequence no more, and would be another one.
        let whole = |at: usize| {
            SEQUENCES
                .iter()
                .any(|(sequence, _)| sequence[0] == text[at] && text[at..].starts_with(sequence))
        };
        if memchr::memchr2_iter(0x1b, 0xc2, &text).any(|at| !whole(at)) {
            continue;
        }
        // In one layer or in several.
        let layers = patterns.chunks(1 + numbers.below(6)).map(|part| Layer {
            engine: engine(part),
            squeezed: engine(part),
            words: Vec::new(),
        });
        let words_alone = Layer {
            engine: engine(&[]),
            squeezed: engine(&[]),
            words: words.iter().cloned().map(Pattern::new).collect(),
        };
        let redactor = Arc::new(Redactor {
            patterns: false,
            ..Redactor::of_layers(layers.chain([words_alone]).map(Arc::new).collect())
        });
        let expected = naive(&patterns, &words, &text);
        assert_eq!(
            redactor.spans(&text),
            expected,
            "seed {seed}, case {case}: {patterns:?} {words:?} in {text:?}"
        );
        let mut stream = redactor.stream();
        let mut out = Vec::new();
        let mut rest = &text[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(1 + numbers.below(rest.len().min(20)));
            out.extend(stream.push(piece));
            rest = after;
        }
        out.extend(stream.finish());
        assert_eq!(
            out.escape_ascii().to_string(),
            masked(&text, &expected).escape_ascii().to_string(),
            "seed {seed}, case {case}: {patterns:?} {words:?} in {text:?}"
        );
        assert_eq!(stream.count(), expected.len() as u64);
    }
}

const BETWEEN: [&[u8]; 17] = [
    b"\n> ",
    b"\n0010: ",
    b"  abab\n0020:b",
    b"  |a|\r\n0030  ",
    b"\n [2] ",
    b" ",
    b"\",\n '",
    b"\n  ",
    b"\x1b[1m",
    b"\x1bc",
    "\u{a0}".as_bytes(),
    "\u{9b}1m".as_bytes(),
    "\u{feff}".as_bytes(),
    b"\\n",
    b"\\\n",
    b"\\\\n",
    b"=\r\n",
];

const SMALL: [&[u8]; 8] = [b"ab", b"abc", b"abcd", b"ab ", b"a\xc3-", b"ab\n\t", b"an\\", b"a=\n\r"];

#[test]
fn spans_and_streams_are_those_of_the_naive_program() {
    cases(1, 100_000, &SMALL, 15, 60);
}

#[test]
fn long_patterns_too() {
    cases(2, 5_000, &SMALL, 60, 400);
}
