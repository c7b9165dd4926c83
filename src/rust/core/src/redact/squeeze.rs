//! Text without white space and terminal control sequences, in which a value is found that was wrapped, spread
//! or coloured.

use secrecy::zeroize::Zeroize;

/// The longest control sequence that is taken for one; what does not end within it is text.
pub(super) const LONGEST_SEQUENCE: usize = 512;

const ESCAPE: u8 = 0x1b;

/// Whether a byte is left out, by itself or together with what follows.
pub(super) const fn is_dropped(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | ESCAPE)
}

/// The bytes of `text` that are kept.
pub(super) fn bytes(text: &[u8]) -> Vec<u8> {
    let mut squeezed = Squeezed::default();
    squeezed.fill(text, 0, text.len());
    squeezed.bytes().to_vec()
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
            self.buffer.resize(enough, 0);
        }
        self.kept = 0;
        self.marks.clear();
        let mut at = from;
        while at < to {
            self.marks.push((at, self.kept));
            let block = text[at..to]
                .first_chunk()
                .filter(|block: &&[u8; BLOCK]| !block.contains(&ESCAPE));
            if let (Some(block), Some(out)) = (block, self.buffer[self.kept..].first_chunk_mut()) {
                self.kept += keep_block(block, out);
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

    /// Wipes what was kept.
    pub(super) fn wipe(&mut self) {
        self.buffer.zeroize();
    }
}

/// Writes the bytes of a block that are kept, and gives their number. What is written after them is of no meaning.
fn keep_block(block: &[u8; BLOCK], out: &mut [u8; BLOCK]) -> usize {
    let mut kept = 0;
    // Without branches: what follows what is as good as random.
    for &byte in block {
        out[kept % BLOCK] = byte;
        kept += usize::from(KEPT[usize::from(byte)]);
    }
    kept
}

/// 1 for bytes that are kept.
static KEPT: [u8; 256] = {
    let mut kept = [1; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::cast_possible_truncation)] // Up to 255.
        if is_dropped(byte as u8) {
            kept[byte] = 0;
        }
        byte += 1;
    }
    kept
};

/// How many bytes at the start of `text` are left out together.
fn dropped(text: &[u8]) -> usize {
    match text.first() {
        Some(&ESCAPE) => sequence(text),
        Some(&byte) if is_dropped(byte) => 1,
        _ => 0,
    }
}

/// Where in `text` a control sequence begins of which the end may still come.
pub(super) fn open(text: &[u8]) -> Option<usize> {
    let from = (text.len() + 1).saturating_sub(LONGEST_SEQUENCE);
    memchr::memchr_iter(ESCAPE, &text[from..])
        .map(|at| from + at)
        .find(|&at| sequence(&text[at..]) == 1)
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
        // A function of one character, which is as likely a letter of a value.
        _ => 1,
    }
}
