//! A command's output as text: valid UTF-8 without escape sequences, and the part of it that a model gets.
//!
//! Bytes that are no UTF-8 are replaced and counted; a character that arrives in two pieces is whole.
//! Escape sequences (ECMA-48) are left out. A control character other than tab, line feed and carriage
//! return stands as its picture (U+2400 and on), because R's strings hold no NUL and a terminal would
//! obey the others.

use super::output::Kept;
use crate::character::floor;
use crate::redact::Redactor;

/// Most lines that a model gets.
pub const MODEL_LINES: usize = 2000;

/// Most bytes that a model gets.
pub const MODEL_BYTES: usize = 50 * 1024;

/// Turns bytes into text as they arrive.
#[derive(Default)]
pub struct Decoder {
    incomplete: Vec<u8>,
    parser: vte::Parser,
    printed: Printed,
    invalid: u64,
}

#[derive(Default)]
struct Printed(String);

impl vte::Perform for Printed {
    fn print(&mut self, character: char) {
        self.0.push(if character == '\u{7f}' { '\u{2421}' } else { character });
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\t' | b'\n' | b'\r' => self.0.push(char::from(byte)),
            0x7f => self.0.push('\u{2421}'),
            0..=0x1f => self.0.extend(char::from_u32(0x2400 + u32::from(byte))),
            // C1 controls say nothing that text could show.
            _ => {}
        }
    }
}

impl Decoder {
    /// Takes what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        let joined;
        let mut rest = bytes;
        if !self.incomplete.is_empty() {
            joined = [self.incomplete.as_slice(), bytes].concat();
            self.incomplete.clear();
            rest = &joined;
        }
        while !rest.is_empty() {
            let (valid, error) = match std::str::from_utf8(rest) {
                Ok(valid) => (valid, None),
                Err(error) => {
                    let (valid, _) = rest.split_at(error.valid_up_to());
                    // It was just found to be valid.
                    (std::str::from_utf8(valid).unwrap_or_default(), Some(error))
                }
            };
            self.parser.advance(&mut self.printed, valid.as_bytes());
            let Some(error) = error else { return };
            rest = &rest[error.valid_up_to()..];
            let Some(length) = error.error_len() else {
                self.incomplete.extend_from_slice(rest);
                return;
            };
            self.replace(length);
            rest = &rest[length..];
        }
    }

    /// There is no more: a character that is not whole now never will be.
    pub fn end(&mut self) {
        let length = std::mem::take(&mut self.incomplete).len();
        if length > 0 {
            self.replace(length);
        }
    }

    fn replace(&mut self, bytes: usize) {
        self.invalid += bytes as u64;
        for _ in 0..bytes {
            self.parser.advance(&mut self.printed, "\u{fffd}".as_bytes());
        }
    }

    /// The text since the last time.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.printed.0)
    }

    /// How many bytes were replaced.
    #[must_use]
    pub const fn invalid(&self) -> u64 {
        self.invalid
    }
}

/// All that was kept, as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text; where bytes were left out a line says how many.
    pub text: String,
    /// How many bytes were no UTF-8 and were replaced.
    pub invalid: u64,
}

impl Text {
    /// The text of what was kept.
    #[must_use]
    pub fn of(kept: &Kept) -> Self {
        if kept.dropped == 0 {
            let (text, invalid) = decode(&kept.head);
            return Self { text, invalid };
        }
        // A character that the cut went through is left out as well.
        let head = &kept.head[..kept.head.len() - incomplete_end(&kept.head)];
        let tail = &kept.tail[rest_of_character(&kept.tail)..];
        let dropped = kept.total - (head.len() + tail.len()) as u64;
        let ((first, some), (last, more)) = (decode(head), decode(tail));
        Self {
            text: join(&first, &format!("[{dropped} bytes left out]"), &last),
            invalid: some + more,
        }
    }

    /// Masks what only shows without the escape sequences that the output had, and gives the number of markers.
    pub fn mask(&mut self, redactor: &Redactor, kept: &Kept) -> u64 {
        if kept.dropped == 0 && self.text.as_bytes() == kept.head {
            return 0;
        }
        let masked = redactor.mask_text(&self.text);
        let count = masked.count;
        if count > 0 {
            self.text = masked.text.into_owned();
        }
        count
    }

    /// What a model gets of it: a quarter from the start and the rest from the end, where a failing
    /// build has its last error. `total` is how many bytes there were.
    #[must_use]
    pub fn for_model(&self, total: u64) -> String {
        let text = self.text.as_str();
        if text.len() <= MODEL_BYTES && lines(text) <= MODEL_LINES {
            return text.to_owned();
        }
        let head = start(text, MODEL_LINES / 4, MODEL_BYTES / 4);
        let tail = end(
            &text[head.len()..],
            MODEL_LINES - MODEL_LINES / 4,
            MODEL_BYTES - MODEL_BYTES / 4,
        );
        let between = &text[head.len()..text.len() - tail.len()];
        let note = format!(
            "[{} lines, {} bytes left out here; the whole output has {total} bytes]",
            lines(between),
            between.len()
        );
        join(head, &note, tail)
    }
}

fn decode(bytes: &[u8]) -> (String, u64) {
    let mut decoder = Decoder::default();
    decoder.push(bytes);
    decoder.end();
    (decoder.take(), decoder.invalid())
}

/// Two parts with a note on a line of its own between them.
fn join(first: &str, note: &str, last: &str) -> String {
    let before = if first.is_empty() || first.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{first}{before}{note}\n{last}")
}

fn lines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The first lines of a text, whole ones where there is one.
fn start(text: &str, most_lines: usize, most_bytes: usize) -> &str {
    let room = &text[..floor(text, most_bytes)];
    let mut ends = memchr::memchr_iter(b'\n', room.as_bytes()).map(|at| at + 1);
    let end = ends.by_ref().take(most_lines).last();
    &room[..end.unwrap_or(room.len())]
}

/// The last lines of a text, whole ones where there is one.
fn end(text: &str, most_lines: usize, most_bytes: usize) -> &str {
    let from = text.len().saturating_sub(most_bytes);
    let from = (from..=text.len())
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(from);
    let room = &text[from..];
    // The newline at the end ends the last line; it does not begin another.
    let inner = room.strip_suffix('\n').unwrap_or(room);
    let mut starts = memchr::memrchr_iter(b'\n', inner.as_bytes()).map(|at| at + 1);
    if let Some(begin) = starts.nth(most_lines - 1) {
        return &room[begin..];
    }
    if from == 0 {
        return room;
    }
    // The first line is cut: leave it out when it is not the only one.
    memchr::memchr(b'\n', inner.as_bytes()).map_or(room, |at| &room[at + 1..])
}

/// How many bytes at the end are the start of a character that is not whole.
fn incomplete_end(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    (from..bytes.len())
        .find(|at| matches!(std::str::from_utf8(&bytes[*at..]), Err(error) if error.valid_up_to() == 0 && error.error_len().is_none()))
        .map_or(0, |at| bytes.len() - at)
}

/// How many bytes at the start go on with a character that started before.
fn rest_of_character(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|byte| **byte & 0xc0 == 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::output::Capture;
    use crate::redact::MARKER;

    fn kept(bytes: &[u8], most: u64) -> Kept {
        let mut capture = Capture::new(most);
        capture.push(bytes);
        capture.finish()
    }

    #[test]
    fn text_is_valid_and_says_what_was_not() {
        let cases: &[(&[u8], &str, u64)] = &[
            (b"abc", "abc", 0),
            (b"a\0b", "a\u{2400}b", 0),
            (b"a\xff\xfeb", "a\u{fffd}\u{fffd}b", 2),
            (b"\xe2\x82\xac", "\u{20ac}", 0),
            (b"\xe2\x82", "\u{fffd}\u{fffd}", 2),
            (b"a\r\nb\rc\td", "a\r\nb\rc\td", 0),
            (b"\x1b[31mred\x1b[0m", "red", 0),
            (b"\x1b]0;title\x07text", "text", 0),
            (b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link", 0),
            (b"a\x07b\x08c\x7f", "a\u{2407}b\u{2408}c\u{2421}", 0),
        ];
        for (bytes, text, invalid) in cases {
            for step in [1, 2, 100] {
                let mut decoder = Decoder::default();
                bytes.chunks(step).for_each(|piece| decoder.push(piece));
                decoder.end();
                assert_eq!(
                    (decoder.take().as_str(), decoder.invalid()),
                    (*text, *invalid),
                    "{bytes:?} by {step}"
                );
            }
        }
    }

    #[test]
    fn what_shows_without_its_sequences_is_masked() {
        let secret = format!("tok-{}", crate::random::hex(12));
        let redactor = Redactor::new([secret.as_bytes()]);
        let (first, last) = secret.split_at(9);
        for between in [
            format!("\x1b]8;;{}\x1b\\", "x".repeat(2000)),
            format!("\x1bP{}\x1b\\", "x".repeat(2000)),
        ] {
            let kept = kept(format!("a {first}{between}{last} b").as_bytes(), u64::MAX);
            let mut text = Text::of(&kept);
            assert_eq!(text.text, format!("a {secret} b"));
            assert_eq!(text.mask(&redactor, &kept), 1);
            assert_eq!(text.text, format!("a {MARKER} b"));
        }
        // Pictures of control characters may make up for the length of what was left out.
        let filled = format!("{first}\x1b]{}\x07{last}{}", "x".repeat(599), "\x01".repeat(301));
        let kept = kept(filled.as_bytes(), u64::MAX);
        let mut text = Text::of(&kept);
        assert_eq!(text.text.len(), kept.head.len());
        assert_eq!(text.mask(&redactor, &kept), 1);
    }

    #[test]
    fn a_character_at_the_cut_is_left_out_and_not_invalid() {
        let euros = "\u{20ac}".repeat(100);
        for most in 1..=299 {
            let text = Text::of(&kept(euros.as_bytes(), most));
            assert_eq!(text.invalid, 0, "{most}");
            let whole = text.text.matches('\u{20ac}').count();
            assert!(
                text.text.contains(&format!("[{} bytes left out]\n", 300 - 3 * whole)),
                "{most}: {}",
                text.text
            );
        }
        assert_eq!(Text::of(&kept(euros.as_bytes(), 300)).text, euros);
    }

    #[test]
    fn a_model_gets_the_start_and_more_of_the_end() {
        let numbers: String = (1..=10_000).fold(String::new(), |text, line| text + &format!("{line}\n"));
        let text = Text {
            text: numbers.clone(),
            invalid: 0,
        };
        let shown = text.for_model(48_894);
        assert!(shown.starts_with("1\n2\n") && shown.ends_with("\n9999\n10000\n"));
        assert!(shown.contains("\n500\n[8000 lines, "), "{}", &shown[1800..2000]);
        assert!(shown.contains("the whole output has 48894 bytes]\n8501\n"));
        assert_eq!(lines(&shown), MODEL_LINES + 1);
        let short = Text {
            text: "a\nb".to_owned(),
            invalid: 0,
        };
        assert_eq!(short.for_model(3), "a\nb");
        for long in [
            "x".repeat(10 << 20),
            "\u{20ac}".repeat(1 << 20),
            "line\n".repeat(1 << 20),
            format!("{}\nlast error", "y".repeat(1 << 20)),
        ] {
            let text = Text {
                text: long.clone(),
                invalid: 0,
            };
            let shown = text.for_model(long.len() as u64);
            assert!(shown.len() <= MODEL_BYTES + 200, "{}", shown.len());
            let tail: String = long
                .chars()
                .rev()
                .take(10)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            assert!(shown.ends_with(&tail));
        }
    }
}
