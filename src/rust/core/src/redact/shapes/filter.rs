//! Finding the few places in a text where a rule may hold.

/// A set of four-byte windows of any case, of which most texts hold few.
///
/// A window of the text is looked up by a hash of 16 bits, so that what is given may be none: the caller
/// compares.
pub(in crate::redact) struct Filter {
    /// A byte is read faster than a bit.
    held: Box<[bool; 1 << 16]>,
}

/// Windows that are looked up before the next decision.
const BLOCK: usize = 32;

/// Makes of ASCII letters lower-case ones; what it makes of others only has to be the same each time.
const FOLD: u32 = 0x2020_2020;

impl Filter {
    /// Of these windows.
    pub(in crate::redact) fn new(windows: impl IntoIterator<Item = [u8; 4]>) -> Self {
        let mut held = Box::new([false; 1 << 16]);
        for window in windows {
            held[place(window)] = true;
        }
        Self { held }
    }

    /// Calls `at` with each place at or after `from` where a window of the set may stand, from the left.
    pub(in crate::redact) fn each(&self, text: &[u8], from: usize, mut at: impl FnMut(usize)) {
        let mut place = from;
        while let Some(block) = text.get(place..).and_then(|rest| rest.first_chunk::<{ BLOCK + 3 }>()) {
            // Without a branch for each byte.
            let mut any = false;
            for index in 0..BLOCK {
                any |= self.holds(block, index);
            }
            if any {
                for index in 0..BLOCK {
                    if self.holds(block, index) {
                        at(place + index);
                    }
                }
            }
            place += BLOCK;
        }
        let rest = text.get(place..).unwrap_or_default();
        for index in 0..rest.len().saturating_sub(3) {
            if self.holds(rest, index) {
                at(place + index);
            }
        }
    }

    /// Whether the set holds the window at `index`; of other windows, it is said of few.
    fn holds(&self, bytes: &[u8], index: usize) -> bool {
        self.held[place([bytes[index], bytes[index + 1], bytes[index + 2], bytes[index + 3]])]
    }
}

/// Where a window is looked up.
fn place(window: [u8; 4]) -> usize {
    ((u32::from_le_bytes(window) | FOLD).wrapping_mul(0x9e37_79b1) >> 16) as usize
}
