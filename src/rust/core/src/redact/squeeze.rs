//! Text without white space and terminal control sequences, in which a value is found that was wrapped, spread
//! or coloured.

/// The longest control sequence that is taken for one; what does not end within it is text.
pub(super) const LONGEST_SEQUENCE: usize = 512;

const ESCAPE: u8 = 0x1b;

/// Whether a byte is left out, by itself or together with what follows.
pub(super) fn is_dropped(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | b' ' | ESCAPE)
}

/// The bytes of `text` that are kept.
pub(super) fn bytes(text: &[u8]) -> Vec<u8> {
    let mut squeezed = Squeezed::default();
    squeezed.fill(text);
    squeezed.bytes
}

/// The kept bytes of a text, and where they stood.
#[derive(Default)]
pub(super) struct Squeezed {
    pub(super) bytes: Vec<u8>,
    /// Places at which something was left out: how many bytes were kept before it, and how many were left out
    /// up to and with it.
    gaps: Vec<(usize, usize)>,
}

impl Squeezed {
    /// Takes the text in place of the last one.
    pub(super) fn fill(&mut self, text: &[u8]) {
        self.bytes.clear();
        self.gaps.clear();
        self.bytes.reserve(text.len());
        let mut dropped = 0;
        let mut at = 0;
        while at < text.len() {
            let run = text[at..]
                .iter()
                .position(|&byte| is_dropped(byte))
                .unwrap_or(text.len() - at);
            self.bytes.extend_from_slice(&text[at..at + run]);
            at += run;
            let gap = gap(&text[at..]);
            if gap > 0 {
                at += gap;
                dropped += gap;
                self.gaps.push((self.bytes.len(), dropped));
            }
        }
    }

    /// Whether something was left out between two kept bytes.
    pub(super) fn has_gaps(&self) -> bool {
        !self.gaps.is_empty()
    }

    /// `at`, or the beginning of the control sequence of the text within which `at` is.
    pub(super) fn boundary(&self, text: &[u8], at: usize) -> usize {
        let before = self.gaps.partition_point(|&(kept, dropped)| kept + dropped <= at);
        let Some(&(kept, _)) = self.gaps.get(before) else {
            return at;
        };
        let mut boundary = kept + if before == 0 { 0 } else { self.gaps[before - 1].1 };
        while boundary < at {
            let next = boundary
                + if text[boundary] == ESCAPE {
                    sequence(&text[boundary..])
                } else {
                    1
                };
            if next > at {
                break;
            }
            boundary = next;
        }
        boundary.min(at)
    }

    /// How many of the bytes before `at` were kept.
    pub(super) fn kept_before(&self, at: usize) -> usize {
        let before = self.gaps.partition_point(|&(kept, dropped)| kept + dropped <= at);
        let dropped = if before == 0 { 0 } else { self.gaps[before - 1].1 };
        // Within a gap nothing more was kept.
        (at - dropped).min(self.gaps.get(before).map_or(usize::MAX, |&(kept, _)| kept))
    }

    /// Where the kept byte `index` stood.
    pub(super) fn origin(&self, index: usize) -> usize {
        let before = self.gaps.partition_point(|&(kept, _)| kept <= index);
        index + if before == 0 { 0 } else { self.gaps[before - 1].1 }
    }
}

/// Where in `text` a control sequence begins of which the end may still come.
pub(super) fn open(text: &[u8]) -> Option<usize> {
    let from = (text.len() + 1).saturating_sub(LONGEST_SEQUENCE);
    memchr::memchr_iter(ESCAPE, &text[from..])
        .map(|at| from + at)
        .find(|&at| sequence(&text[at..]) == 1)
}

/// How many bytes at the start of `text` are left out.
fn gap(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() && is_dropped(text[at]) {
        at += if text[at] == ESCAPE { sequence(&text[at..]) } else { 1 };
    }
    at
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
