//! Text without what does not show or only wraps, separates and quotes: white space, control characters and
//! sequences, invisible characters, commas, quotation marks, backslashes and the line ends that they write. In it a
//! value is found that was wrapped, spread, coloured, listed, or quoted any number of times.

use secrecy::zeroize::{Zeroize, Zeroizing};

/// The longest control sequence that is taken for one; what does not end within it is text.
pub(super) const LONGEST_SEQUENCE: usize = 512;

const ESCAPE: u8 = 0x1b;

/// The bytes of `text` that are kept.
pub(super) fn bytes(text: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut squeezed = Squeezed::default();
    squeezed.fill(text, 0, text.len());
    Zeroizing::new(squeezed.bytes().to_vec())
}

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// The kept bytes of a part of a text, and where they stood.
#[derive(Default)]
pub(super) struct Squeezed {
    /// The first `kept` are those of the part.
    buffer: Vec<u8>,
    kept: usize,
    /// Places of the text, none of them within a control sequence, and how many bytes of the part were kept
    /// before them; the first and the last are the part's ends.
    marks: Vec<(usize, usize)>,
}

impl Squeezed {
    /// Takes a part of the text in place of what was there. `from` must not be within a control sequence; one
    /// that goes on over `to` is taken whole.
    pub(super) fn fill(&mut self, text: &[u8], from: usize, to: usize) {
        let enough = to - from + LONGEST_SEQUENCE + BLOCK;
        if self.buffer.len() < enough {
            self.buffer.zeroize();
            self.buffer = vec![0; enough];
        }
        self.kept = 0;
        self.marks.clear();
        let mut at = from;
        while at < to {
            self.marks.push((at, self.kept));
            let blocks = text[at..to]
                .first_chunk()
                .zip(self.buffer[self.kept..].first_chunk_mut());
            if let Some(kept) = blocks.and_then(|(block, out)| keep_block(block, out)) {
                self.kept += kept;
                at += BLOCK;
            } else {
                let end = (at + BLOCK).min(to);
                while at < end {
                    let dropped = dropped(&text[at..]);
                    if dropped == 0 {
                        self.buffer[self.kept] = text[at];
                        self.kept += 1;
                    }
                    at += dropped.max(1);
                }
            }
        }
        self.marks.push((at, self.kept));
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.kept]
    }

    /// Whether something was left out.
    pub(super) fn has_gaps(&self) -> bool {
        match (self.marks.first(), self.marks.last()) {
            (Some(first), Some(last)) => last.0 - first.0 > self.kept,
            _ => false,
        }
    }

    /// Where in `text` the part ends.
    pub(super) fn end(&self) -> usize {
        self.marks.last().map_or(0, |&(at, _)| at)
    }

    /// Where in `text` the kept byte `index` stood.
    pub(super) fn origin(&self, text: &[u8], index: usize) -> usize {
        let (mut at, mut kept) = self.marks[self.marks.partition_point(|&(_, kept)| kept <= index) - 1];
        loop {
            match dropped(&text[at..]) {
                0 if kept == index => return at,
                0 => {
                    kept += 1;
                    at += 1;
                }
                dropped => at += dropped,
            }
        }
    }

    /// `at`, or the beginning of the control sequence within which it is; and how many bytes were kept before.
    pub(super) fn boundary(&self, text: &[u8], at: usize) -> (usize, usize) {
        let (mut boundary, mut kept) = self.marks[self.marks.partition_point(|&(mark, _)| mark <= at) - 1];
        while boundary < at {
            let dropped = dropped(&text[boundary..]);
            if boundary + dropped > at {
                break;
            }
            kept += usize::from(dropped == 0);
            boundary += dropped.max(1);
        }
        (boundary, kept)
    }
}

impl Drop for Squeezed {
    fn drop(&mut self) {
        self.buffer.zeroize();
    }
}

/// What a byte is: [`KEPT`], or [`FIRST`] of several bytes that may be left out together, or left out.
static KINDS: [u8; 256] = {
    let mut kinds = [KEPT; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // Up to 255.
        match byte as u8 {
            // The first bytes of all characters that do not show.
            ESCAPE | b'\\' | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf3 => kinds[byte] = FIRST,
            // An equals sign ends the lines of quoted-printable text.
            0..=b' ' | b'"' | b'\'' | b',' | b'=' | 0x7f => kinds[byte] = 0,
            _ => {}
        }
        byte += 1;
    }
    kinds
};

const KEPT: u8 = 1;
const FIRST: u8 = 2;

/// Writes the bytes of a block that are kept, and gives their number; nothing when a byte does not stand for
/// itself. What is written after them is of no meaning.
fn keep_block(block: &[u8; BLOCK], out: &mut [u8; BLOCK]) -> Option<usize> {
    let mut kept = 0;
    let mut all = 0;
    // Without branches: what follows what is as good as random.
    for &byte in block {
        let kind = KINDS[usize::from(byte)];
        out[kept % BLOCK] = byte;
        kept += usize::from(kind & KEPT);
        all |= kind;
    }
    (all & FIRST == 0).then_some(kept)
}

/// How many bytes at the start of `text` are left out together.
pub(super) fn dropped(text: &[u8]) -> usize {
    match text {
        [] => 0,
        [first, ..] => match KINDS[usize::from(*first)] {
            KEPT => 0,
            FIRST => several(text),
            _ => 1,
        },
    }
}

/// The same for what begins with a byte that may begin several.
fn several(text: &[u8]) -> usize {
    match text {
        [ESCAPE, ..] => sequence(text),
        // A line end that is written, in a text that was quoted.
        [b'\\', b'n' | b'r' | b't', ..] => 2,
        [b'\\', ..] => 1,
        // CSI as one character.
        [0xc2, 0x9b, ..] => 2 + parameters(&text[2..]).unwrap_or(0),
        _ => {
            let end = text.len().min(4);
            match text[..end]
                .utf8_chunks()
                .next()
                .and_then(|chunk| chunk.valid().chars().next())
            {
                Some(character) if is_invisible(character) => character.len_utf8(),
                _ => 0,
            }
        }
    }
}

/// White space, control and format characters, and what else shows nothing by itself.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || character.is_control()
        || matches!(
            character,
            // Default_Ignorable_Code_Point of Unicode 15, without letters, and the rest of its format characters.
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Where in `text` something begins that is left out as a whole, and of which the end may still come.
pub(super) fn open(text: &[u8]) -> Option<usize> {
    let from = (text.len() + 1).saturating_sub(LONGEST_SEQUENCE);
    let sequence = memchr::memchr_iter(ESCAPE, &text[from..])
        .map(|at| from + at)
        .find(|&at| sequence(&text[at..]) == 1);
    let one = (text.len().saturating_sub(LONGEST_CHARACTER)..text.len()).find(|&at| match &text[at..] {
        [b'\\'] => true,
        [0xc2, 0x9b, rest @ ..] => parameters(rest).is_none(),
        [first, rest @ ..] if first & 0xc0 == 0xc0 && KINDS[usize::from(*first)] == FIRST => {
            rest.len() + 1 < 2 + usize::from(*first >= 0xe0) + usize::from(*first >= 0xf0)
                && rest.iter().all(|byte| byte & 0xc0 == 0x80)
        }
        _ => false,
    });
    [sequence, one].into_iter().flatten().min()
}

/// Bytes of what one character begins.
const LONGEST_CHARACTER: usize = 64;

/// The length of the parameters, intermediates and the final byte of a CSI.
fn parameters(text: &[u8]) -> Option<usize> {
    let text = &text[..text.len().min(LONGEST_CHARACTER - 2)];
    let body = text.iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    matches!(text.get(body), Some(0x40..=0x7e)).then_some(body + 1)
}

/// The length of the control sequence at the start of `text`; 1 when there is only the escape character.
fn sequence(text: &[u8]) -> usize {
    let text = &text[..text.len().min(LONGEST_SEQUENCE)];
    match text.get(1) {
        // CSI: parameters, intermediates, one final byte.
        Some(b'[') => {
            let body = text[2..].iter().take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
            match text.get(2 + body) {
                Some(0x40..=0x7e) => body + 3,
                _ => 1,
            }
        }
        // OSC and the other strings: up to BEL or ESC \.
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            for (index, &byte) in text.iter().enumerate().skip(2) {
                match byte {
                    0x07 => return index + 1,
                    ESCAPE if text.get(index + 1) == Some(&b'\\') => return index + 2,
                    _ => {}
                }
            }
            1
        }
        // A character set, and the like: intermediates, one final byte.
        Some(b' '..=b'/') => match text.get(2) {
            Some(0x30..=0x7e) => 3,
            _ => 1,
        },
        // A function of one character. A terminal does not show it, though it may be a letter of a value.
        Some(0x30..=0x7e) => 2,
        _ => 1,
    }
}
