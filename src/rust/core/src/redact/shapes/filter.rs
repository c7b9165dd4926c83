//! Finding the few places in a text where a rule may hold.

/// A set of four-byte windows, of which most texts hold few.
///
/// A window of the text is looked up by a hash of 16 bits, so that what is given may be none: the caller
/// compares. A table of this size stays in the first cache.
pub(in crate::redact) struct Filter {
    bits: Box<[u64; WORDS]>,
    fold: u32,
}

/// A bit for each hash.
const WORDS: usize = (1 << 16) / 64;

/// Makes of ASCII letters lower-case ones; what it makes of others only has to be the same each time.
const FOLD: u32 = 0x2020_2020;

impl Filter {
    /// Of windows in their case, or of any case.
    pub(in crate::redact) fn new(windows: impl IntoIterator<Item = [u8; 4]>, any_case: bool) -> Self {
        let mut filter = Self {
            bits: Box::new([0; WORDS]),
            fold: if any_case { FOLD } else { 0 },
        };
        for window in windows {
            let (word, bit) = place(u32::from_le_bytes(window) | filter.fold);
            filter.bits[word] |= 1 << bit;
        }
        filter
    }

    /// Calls `at` with each place at or after `from` where a window of the set may stand, from the left.
    pub(in crate::redact) fn each(&self, text: &[u8], from: usize, mut at: impl FnMut(usize)) {
        let mut window = 0;
        for (index, &byte) in text.iter().enumerate().skip(from) {
            window = window >> 8 | u32::from(byte) << 24;
            let (word, bit) = place(window | self.fold);
            if self.bits[word] >> bit & 1 == 1 && index >= from + 3 {
                at(index - 3);
            }
        }
    }
}

/// Where the bit of a window stands.
fn place(window: u32) -> (usize, u32) {
    let hash = window.wrapping_mul(0x9e37_79b1) >> 16;
    ((hash >> 6) as usize, hash & 63)
}
