//! Lines with something before them that is not of the text: the addresses of a dump, the numbers of elements or
//! of lines, the marks of a quotation or a comment. A value that goes on from one to the next is found in what
//! remains of them.
//!
//! What a dump shows beside its numbers, the same bytes as characters, belongs to the numbers before it.

use std::ops::Range;

use secrecy::zeroize::Zeroizing;

use super::squeeze::dropped;
use super::{PART, REACH};

/// No line of a dump is longer.
const LONGEST_LINE: usize = 256;

/// No address or number with what stands around it is longer.
const LONGEST_FRAME: usize = 32;

/// A text that is looked at in lines.
pub(super) struct Lines<'t> {
    pub(super) text: &'t [u8],
    /// Whether the first line is the rest of one.
    pub(super) cut: bool,
    /// Whether nothing comes after it.
    pub(super) whole: bool,
    /// Where the matches begin that are asked for.
    pub(super) from: usize,
}

/// What a line begins with.
#[derive(Debug, PartialEq, Eq)]
enum Frame {
    None,
    /// It depends on what comes.
    Unfinished,
    Until {
        /// Where what remains begins.
        data: usize,
        /// Whether it is an address, after which a dump may follow.
        address: bool,
    },
}

/// What a line begins with, of which more may come when it is not `whole`.
fn frame(line: &[u8], whole: bool) -> Frame {
    let indent = count(line, |byte| byte == b' ' || byte == b'\t');
    let ended = if whole { Frame::None } else { Frame::Unfinished };
    if indent > LONGEST_FRAME {
        return Frame::None;
    }
    let rest = &line[indent..];
    let until = |data: usize, address: bool| Frame::Until {
        data: indent + data,
        address: address && line.len() <= LONGEST_LINE,
    };
    match rest.first() {
        None => ended,
        Some(b'[') => {
            let spaces = 1 + count(&rest[1..], |byte| byte == b' ');
            let digits = spaces + count(&rest[spaces..], |byte| byte.is_ascii_digit());
            match rest.get(digits) {
                _ if digits > LONGEST_FRAME => Frame::None,
                Some(b']') if digits > spaces => until(digits + 1, false),
                Some(_) => Frame::None,
                None => ended,
            }
        }
        Some(mark) if is_mark(*mark) => {
            let marks = count(rest, is_mark);
            if marks == rest.len() && !whole {
                Frame::Unfinished
            } else {
                until(marks, false)
            }
        }
        Some(digit) if digit.is_ascii_hexdigit() => {
            let digits = count(rest, |byte| byte.is_ascii_hexdigit());
            let decimal = rest[..digits].iter().all(u8::is_ascii_digit);
            match rest.get(digits) {
                _ if digits > LONGEST_FRAME => Frame::None,
                // The last line of a dump.
                None if whole && digits > 3 => until(digits, true),
                None => ended,
                Some(b':' | b' ' | b'\t') if digits > 3 => until(digits + 1, true),
                Some(b':' | b'|' | b'\t') if decimal => until(digits + 1, false),
                Some(b' ') if decimal && indent > 0 => until(digits + 1, false),
                Some(_) => Frame::None,
            }
        }
        Some(_) => Frame::None,
    }
}

fn count(bytes: &[u8], of: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| of(byte)).count()
}

/// Of quotations, comments, lists, tables, and what changed.
fn is_mark(byte: u8) -> bool {
    b">#+*|;%/-".contains(&byte)
}

/// Where the characters begin that a line of a dump shows beside the numbers after `data`.
fn characters(line: &[u8], data: usize) -> Option<usize> {
    let from = data + count(&line[data..], |byte| byte == b' ');
    if let Some(end) = sixteen(&line[from..]) {
        return Some(from + end);
    }
    let find = |what: &[u8]| memchr::memmem::find(&line[from..], what).map(|at| from + at);
    match line.last() {
        // xxd, hexdump -C, od -z.
        _ if line[data - 1] == b':' => find(b"  "),
        Some(b'|') => find(b"  |"),
        Some(b'<') => find(b"  >"),
        _ => None,
    }
}

/// Where sixteen bytes end that are written with two digits each, as curl and tcpdump do it: the characters follow.
fn sixteen(data: &[u8]) -> Option<usize> {
    let mut at = 0;
    for byte in 0..16 {
        at += count(&data[at..], |byte| byte == b' ').min(2);
        let digits = count(&data[at..], |byte| byte.is_ascii_hexdigit());
        let apart = byte == 0 || data[at - 1] == b' ';
        if digits != 2 || !apart {
            return None;
        }
        at += digits;
    }
    (data.len() > at).then_some(at)
}

/// What remains of a whole line with something before it, and where it ends with what belongs to that.
#[cfg(test)]
pub(super) fn remains(line: &[u8]) -> Option<(Range<usize>, Option<usize>)> {
    match frame(line, true) {
        Frame::Until { data, address } => {
            let characters = characters(line, data).filter(|_| address);
            Some((data..characters.unwrap_or(line.len()), characters.map(|_| line.len())))
        }
        _ => None,
    }
}

/// What remains of lines that follow each other, squeezed.
#[derive(Default)]
pub(super) struct Framed {
    kept: Zeroizing<Vec<u8>>,
    /// Where in the text each of these bytes stood.
    origins: Vec<usize>,
    /// Up to which of these bytes a line of a dump with characters goes, from which one on, and where in the
    /// text it ends.
    dumps: Vec<(Range<usize>, usize)>,
    /// Whether the text ends within such lines.
    open: bool,
    /// Where the last line begins, when it is one of a dump and has no end yet.
    unfinished: Option<usize>,
}

impl Framed {
    /// Calls `found` with what remains of lines with something before them, and of the line before these; of many
    /// with a part at a time, of which the next one repeats what a match of `longest` bytes may need.
    pub(super) fn read(&mut self, lines: &Lines, longest: usize, mut found: impl FnMut(&Self)) {
        let Lines { text, cut, whole, .. } = *lines;
        self.clear();
        self.open = false;
        self.unfinished = None;
        let mut before: Range<usize> = 0..0;
        let mut from = 0;
        loop {
            let newline = memchr::memchr(b'\n', &text[from..]);
            let to = newline.map_or(text.len(), |at| from + at);
            let ended = newline.is_some() || whole;
            let line = text[from..to]
                .strip_suffix(b"\r")
                .filter(|_| ended)
                .unwrap_or(&text[from..to]);
            let frame = if cut && from == 0 {
                Frame::None
            } else {
                frame(line, ended)
            };
            match frame {
                Frame::Unfinished => {
                    self.open(text, &before);
                    break;
                }
                Frame::None => {
                    if self.open {
                        found(self);
                        self.clear();
                        self.open = false;
                    }
                }
                Frame::Until { address: true, .. } if !ended => {
                    self.open(text, &before);
                    self.unfinished = Some(from);
                    break;
                }
                Frame::Until { data, address } => {
                    self.open(text, &before);
                    let first = self.kept.len();
                    let characters = characters(line, data).filter(|_| address);
                    self.keep(text, from + data..from + characters.unwrap_or(line.len()));
                    if characters.is_some() {
                        self.dumps.push((first..self.kept.len(), from + line.len()));
                    }
                    if self.kept.len() > PART {
                        found(self);
                        self.forget_all_but(longest);
                    }
                }
            }
            if newline.is_none() {
                break;
            }
            before = from..to;
            from = to + 1;
        }
        if self.open {
            found(self);
        }
    }

    /// Begins with the line before the first one with something before it.
    fn open(&mut self, text: &[u8], before: &Range<usize>) {
        if !std::mem::replace(&mut self.open, true) {
            let from = before.end.saturating_sub(REACH).max(before.start);
            self.keep(text, from..before.end);
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.kept
    }

    /// What in the text a part of the kept bytes stands for.
    pub(super) fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let last = part.end - 1;
        let dump = self.dumps.partition_point(|(kept, _)| kept.end <= last);
        let end = match self.dumps.get(dump) {
            Some((kept, end)) if kept.contains(&last) => *end,
            _ => self.origins[last] + 1,
        };
        self.origins[part.start]..end
    }

    /// The place before which nothing begins that is not whole yet, when `begins` tells what may begin.
    pub(super) fn may_begin(&self, longest: usize, begins: impl Fn(&[u8], usize) -> bool) -> Option<usize> {
        let from = if self.open {
            (self.kept.len() + 1).saturating_sub(longest)
        } else {
            self.kept.len()
        };
        let begun = (from..self.kept.len())
            .find(|&index| begins(&self.kept[index..], self.origins[index]))
            .map(|index| self.origins[index]);
        [begun, self.unfinished].into_iter().flatten().min()
    }

    fn keep(&mut self, text: &[u8], part: Range<usize>) {
        let room = self.kept.len() + part.len();
        if room > self.kept.capacity() {
            // A vector that grows by itself leaves its old bytes behind.
            let mut larger = Zeroizing::new(Vec::with_capacity(room.max(2 * self.kept.capacity())));
            larger.extend_from_slice(&self.kept);
            self.kept = larger;
        }
        let mut at = part.start;
        while at < part.end {
            let dropped = dropped(&text[at..part.end]);
            if dropped == 0 {
                self.kept.push(text[at]);
                self.origins.push(at);
            }
            at += dropped.max(1);
        }
    }

    fn clear(&mut self) {
        self.forget_all_but(0);
    }

    fn forget_all_but(&mut self, last: usize) {
        let gone = self.kept.len().saturating_sub(last);
        self.kept.drain(..gone);
        self.origins.drain(..gone);
        self.dumps.retain_mut(|(kept, _)| {
            *kept = kept.start.saturating_sub(gone)..kept.end.saturating_sub(gone);
            kept.start < kept.end
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_by_their_kinds() {
        let until = |data, address| Frame::Until { data, address };
        for (line, expected) in [
            ("00000010: 6162", until(9, true)),
            ("00000010  61 62", until(9, true)),
            ("0000020 141 142", until(8, true)),
            ("0000020", until(7, true)),
            (" [26] 61 62", until(5, false)),
            ("[ 1] 61", until(4, false)),
            ("     1\tabc", until(7, false)),
            ("12:abc", until(3, false)),
            ("  7 abc", until(4, false)),
            ("> abc", until(1, false)),
            (">> abc", until(2, false)),
            ("  // abc", until(4, false)),
            ("+abc", until(1, false)),
            ("2026-12-03 10:00 INFO", Frame::None),
            ("abc", Frame::None),
            ("[1, 2]", Frame::None),
            ("[INFO] text", Frame::None),
            ("7 dwarfs", Frame::None),
            ("", Frame::None),
            ("    ", Frame::None),
        ] {
            assert_eq!(frame(line.as_bytes(), true), expected, "{line}");
            // What is said of a beginning holds for the whole.
            for end in 0..line.len() {
                match frame(&line.as_bytes()[..end], false) {
                    Frame::Unfinished => {}
                    said => assert_eq!(said, expected, "{line} up to {end}"),
                }
            }
        }
    }

    #[test]
    fn characters_of_dumps_are_found() {
        for (line, data) in [
            ("00000000: 6162 6320  ab  c", "6162 6320"),
            ("00000000: 6162 633c  abc<", "6162 633c"),
            ("00000000: 6162 6320", "6162 6320"),
            ("00000000  61 62 63  61 |  |abc|", "61 62 63  61 |"),
            ("0000000  61 62 63  >abc<", "61 62 63"),
            ("0000000   a   b   c", "a   b   c"),
            (
                "0010: 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70 abcd  efgh",
                "61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f 70",
            ),
            (
                "00000010  61 62 63 64 65 66 67 68  69 6a 6b 6c 6d 6e 6f 70  |abcdefghijklmnop|",
                "61 62 63 64 65 66 67 68  69 6a 6b 6c 6d 6e 6f 70",
            ),
        ] {
            let Frame::Until { data: from, .. } = frame(line.as_bytes(), true) else {
                panic!("{line}")
            };
            let to = characters(line.as_bytes(), from).unwrap_or(line.len());
            assert_eq!(line[from..to].trim(), data);
        }
    }
}
