//! Reading a text in bounded steps, and telling when a decision depended on its end.

use std::ops::Range;

/// A set of bytes that runs are made of; sets are joined by [`Class::or`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::redact) struct Class(u16);

impl Class {
    /// `2` to `7`: with upper-case letters the alphabet of base 32.
    const LOW_DIGIT: Self = Self(1);
    const OTHER_DIGIT: Self = Self(1 << 1);
    const LOWER_HEX: Self = Self(1 << 2);
    const LOWER_OTHER: Self = Self(1 << 3);
    const UPPER_HEX: Self = Self(1 << 4);
    const UPPER_OTHER: Self = Self(1 << 5);
    pub(in crate::redact) const UNDERSCORE: Self = Self(1 << 6);
    pub(in crate::redact) const DASH: Self = Self(1 << 7);
    pub(in crate::redact) const DOT: Self = Self(1 << 8);
    pub(in crate::redact) const PLUS_SLASH: Self = Self(1 << 9);
    pub(in crate::redact) const EQUALS: Self = Self(1 << 10);
    pub(in crate::redact) const TILDE: Self = Self(1 << 11);
    /// What a value without quotes may hold.
    pub(in crate::redact) const BARE: Self = Self(1 << 12);
    /// What userinfo of a URL may hold: RFC 3986, section 3.2.1, with what programs accept beside it.
    pub(in crate::redact) const USERINFO: Self = Self(1 << 13);
    /// What is in one line.
    pub(in crate::redact) const LINE: Self = Self(1 << 14);
    /// What is between white space.
    pub(in crate::redact) const VISIBLE: Self = Self(1 << 15);

    pub(in crate::redact) const DIGIT: Self = Self::LOW_DIGIT.or(Self::OTHER_DIGIT);
    pub(in crate::redact) const HEX: Self = Self::DIGIT.or(Self::LOWER_HEX);
    pub(in crate::redact) const ANY_HEX: Self = Self::HEX.or(Self::UPPER_HEX);
    const UPPER: Self = Self::UPPER_HEX.or(Self::UPPER_OTHER);
    pub(in crate::redact) const BASE32: Self = Self::UPPER.or(Self::LOW_DIGIT);
    pub(in crate::redact) const UPPER_DIGIT: Self = Self::UPPER.or(Self::DIGIT);
    pub(in crate::redact) const LOWER_DIGIT: Self = Self::HEX.or(Self::LOWER_OTHER);
    pub(in crate::redact) const ALNUM: Self = Self::LOWER_DIGIT.or(Self::UPPER);
    pub(in crate::redact) const WORD: Self = Self::ALNUM.or(Self::UNDERSCORE);
    pub(in crate::redact) const ALNUM_DASH: Self = Self::ALNUM.or(Self::DASH);
    /// The alphabet of base64url, RFC 4648, section 5.
    pub(in crate::redact) const BASE64URL: Self = Self::WORD.or(Self::DASH);
    /// The alphabet of base64, RFC 4648, section 4, without padding.
    pub(in crate::redact) const BASE64: Self = Self::ALNUM.or(Self::PLUS_SLASH);

    pub(in crate::redact) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(in crate::redact) const fn has(self, byte: u8) -> bool {
        CLASSES[byte as usize] & self.0 != 0
    }
}

const CLASSES: [u16; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        let mut class = match byte {
            b'2'..=b'7' => Class::LOW_DIGIT.0,
            b'0' | b'1' | b'8' | b'9' => Class::OTHER_DIGIT.0,
            b'a'..=b'f' => Class::LOWER_HEX.0,
            b'g'..=b'z' => Class::LOWER_OTHER.0,
            b'A'..=b'F' => Class::UPPER_HEX.0,
            b'G'..=b'Z' => Class::UPPER_OTHER.0,
            b'_' => Class::UNDERSCORE.0,
            b'-' => Class::DASH.0,
            b'.' => Class::DOT.0,
            b'+' | b'/' => Class::PLUS_SLASH.0,
            b'=' => Class::EQUALS.0,
            b'~' => Class::TILDE.0,
            _ => 0,
        };
        let visible = byte > b' ' && byte != 127;
        if visible {
            class |= Class::VISIBLE.0;
        }
        if byte != b'\n' && byte != b'\r' {
            class |= Class::LINE.0;
        }
        let quotes = matches!(byte, b'"' | b'\'' | b'`' | b'\\');
        let brackets = matches!(byte, b'(' | b')' | b'[' | b']' | b'{' | b'}' | b'<' | b'>' | b'|');
        if visible && !quotes && !brackets {
            if !matches!(byte, b',' | b';' | b'&') {
                class |= Class::BARE.0;
            }
            if !matches!(byte, b'/' | b'?' | b'#' | b'^') {
                class |= Class::USERINFO.0;
            }
        }
        classes[byte as usize] = class;
        if byte == 255 {
            break;
        }
        byte += 1;
    }
    classes
};

/// A run that was read up to a place, so that the next rule that asks for a part of it need not read it again.
#[derive(Clone, Copy)]
struct Read {
    class: Class,
    from: usize,
    to: usize,
}

/// Long runs that are remembered: more than one rule asks for at a time.
const REMEMBERED: usize = 8;

/// Shorter runs are read each time.
const SHORT: usize = 128;

/// A text that is read, and whether what was read depends on its end.
pub(in crate::redact) struct Text<'t> {
    pub(in crate::redact) bytes: &'t [u8],
    /// Whether a question had no answer, or another one, were the text longer.
    open: bool,
    read: [Read; REMEMBERED],
    next: usize,
    /// How many bytes were looked at; the tests count them.
    pub(in crate::redact) steps: u64,
}

impl<'t> Text<'t> {
    pub(in crate::redact) fn new(bytes: &'t [u8]) -> Self {
        let none = Read {
            class: Class(0),
            from: 0,
            to: 0,
        };
        Self {
            bytes,
            open: false,
            read: [none; REMEMBERED],
            next: 0,
            steps: 0,
        }
    }

    /// Whether an answer since the last call depended on the end of the text.
    pub(in crate::redact) fn was_open(&mut self) -> bool {
        std::mem::take(&mut self.open)
    }

    /// The byte at a place.
    pub(in crate::redact) fn byte(&mut self, at: usize) -> Option<u8> {
        self.steps += 1;
        let byte = self.bytes.get(at).copied();
        self.open |= byte.is_none();
        byte
    }

    /// Whether `what` stands at a place.
    pub(in crate::redact) fn stands(&mut self, at: usize, what: &[u8]) -> bool {
        self.steps += 1;
        let rest = &self.bytes[at.min(self.bytes.len())..];
        self.open |= rest.len() < what.len() && what.starts_with(rest);
        rest.starts_with(what)
    }

    /// The same, in any case.
    pub(in crate::redact) fn stands_in_any_case(&mut self, at: usize, what: &[u8]) -> bool {
        self.steps += 1;
        let rest = &self.bytes[at.min(self.bytes.len())..];
        let common = rest.len().min(what.len());
        let equal = rest[..common].eq_ignore_ascii_case(&what[..common]);
        self.open |= equal && common < what.len();
        equal && common == what.len()
    }

    /// Where the run of `class` that goes on from `from` ends; a place more than `most` bytes away says only that
    /// it is longer.
    pub(in crate::redact) fn run(&mut self, class: Class, from: usize, most: usize) -> usize {
        let enough = from.saturating_add(most).saturating_add(1);
        let until = enough.min(self.bytes.len());
        let known = self
            .read
            .iter()
            .position(|read| read.class == class && (read.from..=read.to).contains(&from));
        let mut to = known.map_or(from, |known| self.read[known].to);
        if to < until {
            let rest = &self.bytes[to..until];
            let length = rest.iter().position(|&byte| !class.has(byte)).unwrap_or(rest.len());
            self.steps += length as u64 + 1;
            to += length;
        }
        match known {
            Some(known) => self.read[known].to = to,
            None if to - from > SHORT => {
                self.read[self.next] = Read { class, from, to };
                self.next = (self.next + 1) % REMEMBERED;
            }
            None => {}
        }
        let to = to.min(enough);
        self.open |= to >= self.bytes.len() && to < enough;
        to
    }

    /// Where the run of `class` begins that goes up to `to`; no more than `most` bytes are taken.
    pub(in crate::redact) fn run_back(&mut self, class: Class, to: usize, most: usize) -> usize {
        let least = to.saturating_sub(most);
        let length = self.bytes[least..to]
            .iter()
            .rev()
            .take_while(|&&byte| class.has(byte))
            .count();
        self.steps += length as u64 + 1;
        to - length
    }

    /// Whether no word goes on over the place `at`, where a match begins.
    ///
    /// What an escape makes of its last character is no part of a word: in `"\nAKIA"` the key begins after a
    /// line end, in `%20AKIA` after a space, and in `ESC[31mAKIA` after a change of colour.
    pub(in crate::redact) fn begins_word(&mut self, at: usize) -> bool {
        self.steps += 1;
        let before = &self.bytes[..at];
        let Some(&last) = before.last() else { return true };
        if !Class::WORD.has(last) {
            return true;
        }
        let hex = |count: usize| {
            before
                .iter()
                .rev()
                .take_while(|byte| byte.is_ascii_hexdigit())
                .take(count)
                .count()
        };
        match before {
            [.., b'\\', b'n' | b'r' | b't' | b'f' | b'v' | b'b' | b'a' | b'0' | b'e'] => true,
            [.., b'%', _, _] | [.., b'\\', b'x', _, _] => hex(2) == 2,
            [.., b'\\', b'u', _, _, _, _] => hex(4) == 4,
            [.., b'm'] => {
                let code = before[..before.len() - 1].iter().rev().take(LONGEST_COLOUR);
                let digits = code.take_while(|byte| byte.is_ascii_digit() || **byte == b';').count();
                before[..before.len() - 1 - digits].ends_with(b"\x1b[")
            }
            _ => false,
        }
    }

    /// Whether no word goes on at the place `at`, where a match ended.
    pub(in crate::redact) fn ends_word(&mut self, at: usize) -> bool {
        self.byte(at).is_none_or(|byte| !Class::WORD.has(byte))
    }
}

/// The digits of a control sequence for a colour: `38;2;255;255;255`, with room.
const LONGEST_COLOUR: usize = 24;

/// What was found at a place: where the first byte stands on which it depended, but for `LOOK_BEHIND` bytes before
/// it, and what must be masked.
#[derive(Debug)]
pub(in crate::redact) struct Found {
    pub(in crate::redact) start: usize,
    pub(in crate::redact) spans: Vec<Range<usize>>,
    /// Whether more text could change it.
    pub(in crate::redact) open: bool,
}

/// The place from which on a text has to be kept when more may come, given all that was found and the first place
/// where something could begin that is not seen yet.
pub(in crate::redact) fn keep_from(found: &[Found], mut from: usize) -> usize {
    for found in found {
        if found.open {
            from = from.min(found.start);
        }
    }
    // A match is not cut, because what tells that its end is secret may be its beginning.
    loop {
        let cut = found
            .iter()
            .filter(|found| found.start < from && found.spans.last().is_some_and(|span| span.end > from));
        match cut.map(|found| found.start).min() {
            Some(start) => from = start,
            None => return from,
        }
    }
}
