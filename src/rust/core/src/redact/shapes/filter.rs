//! Finding the few places in a text where a rule may hold.

/// A set of four-byte windows of any case, of which most texts hold few.
///
/// A window of the text is looked up by a hash of 16 bits, and compared by a mark of a few more where that says
/// that it may be in the set; so what is given may be none, and the caller compares.
pub(in crate::redact) struct Filter {
    /// The mark of the window with a hash: 0 for none, [`ANY`] for more than one. A byte is read faster than a bit.
    marks: Box<[u8; 1 << 16]>,
}

/// The mark of different windows with one hash.
const ANY: u8 = 0xff;

/// Windows that are looked up before the next decision.
const BLOCK: usize = 32;

/// Makes of ASCII letters lower-case ones; what it makes of others only has to be the same each time.
const FOLD: u32 = 0x2020_2020;

impl Filter {
    /// Of these windows.
    pub(in crate::redact) fn new(windows: impl IntoIterator<Item = [u8; 4]>) -> Self {
        let mut marks = vec![0; 1 << 16].into_boxed_slice();
        for window in windows {
            let (place, mark) = place(window);
            marks[place] = match marks[place] {
                0 => mark,
                same if same == mark => mark,
                _ => ANY,
            };
        }
        Self {
            // With its length in the type, no look-up is checked.
            marks: marks.try_into().expect("the length is the same"),
        }
    }

    /// Calls `at` with each place at or after `from` where a window of the set may stand, from the left.
    pub(in crate::redact) fn each(&self, text: &[u8], from: usize, mut at: impl FnMut(usize)) {
        let mut place = from;
        while let Some(block) = text.get(place..).and_then(|rest| rest.first_chunk::<{ BLOCK + 3 }>()) {
            // Without a branch for each byte.
            let mut any = 0;
            for index in 0..BLOCK {
                any |= self.marks[place_at(block, index).0];
            }
            if any != 0 {
                let mut hits = 0_u32;
                for index in 0..BLOCK {
                    hits |= u32::from(self.holds(block, index)) << index;
                }
                while hits != 0 {
                    at(place + hits.trailing_zeros() as usize);
                    hits &= hits - 1;
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
        let (place, mark) = place_at(bytes, index);
        let held = self.marks[place];
        held == mark || held == ANY
    }
}

fn place_at(bytes: &[u8], index: usize) -> (usize, u8) {
    place([bytes[index], bytes[index + 1], bytes[index + 2], bytes[index + 3]])
}

/// Where a window is looked up, and its mark, which is neither 0 nor [`ANY`].
fn place(window: [u8; 4]) -> (usize, u8) {
    let mixed = (u32::from_le_bytes(window) | FOLD).wrapping_mul(0x9e37_79b1);
    let [_, mark, low, high] = mixed.to_le_bytes();
    (usize::from(u16::from_le_bytes([low, high])), mark & 0x7f | 1)
}
