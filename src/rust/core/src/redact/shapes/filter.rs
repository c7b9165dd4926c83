//! Finding the few places in a text where a rule may hold.

/// A set of four-byte windows of any case, of which most texts hold few.
///
/// The windows are in a few groups, and each byte of the text is looked up for the groups in which it stands at
/// the first, second, third and fourth place. Where one group has all four, the window is looked up by a hash of 16
/// bits and a mark of a few more. So what is given may be none, and the caller compares.
pub(in crate::redact) struct Filter {
    /// For each byte, a bit for each group; the lowest eight bits are of the first place.
    places: Box<[u32; 256]>,
    /// The mark of the window with a hash: 0 for none, [`ANY`] for more than one.
    marks: Box<[u8; 1 << 16]>,
}

/// The mark of different windows with one hash.
const ANY: u8 = 0xff;

/// Windows that are looked up before the next decision.
const BLOCK: usize = 32;

/// As many as there are bits for each place.
const GROUPS: usize = 8;

/// Makes of ASCII letters lower-case ones; what it makes of others only has to be the same each time.
const FOLD: u8 = 0x20;

impl Filter {
    /// Of these windows.
    pub(in crate::redact) fn new(windows: impl IntoIterator<Item = [u8; 4]>) -> Self {
        let mut windows: Vec<_> = windows
            .into_iter()
            .map(|window| window.map(|byte| byte | FOLD))
            .collect();
        windows.sort_unstable();
        windows.dedup();
        let mut filter = Self {
            places: Box::new([0; 256]),
            // With its length in the type, no look-up is checked.
            marks: vec![0; 1 << 16].try_into().expect("the length is the same"),
        };
        // Those that begin alike are in one group, so that few bytes begin any of it.
        let beginnings: Vec<_> = windows.chunk_by(|one, other| one[..3] == other[..3]).collect();
        for (group, beginnings) in beginnings.chunks(beginnings.len().div_ceil(GROUPS).max(1)).enumerate() {
            for window in beginnings.iter().copied().flatten() {
                filter.enter(group, *window);
            }
        }
        filter
    }

    fn enter(&mut self, group: usize, window: [u8; 4]) {
        for (place, byte) in window.into_iter().enumerate() {
            let bit = 1 << (GROUPS * place + group);
            self.places[usize::from(byte)] |= bit;
            self.places[usize::from(byte & !FOLD)] |= bit;
        }
        let (place, mark) = place(window);
        self.marks[place] = match self.marks[place] {
            0 => mark,
            same if same == mark => mark,
            _ => ANY,
        };
    }

    /// Calls `at` with each place at or after `from` where a window of the set may stand, from the left.
    pub(in crate::redact) fn each(&self, text: &[u8], from: usize, mut at: impl FnMut(usize)) {
        let mut place = from;
        while let Some(block) = text.get(place..).and_then(|rest| rest.first_chunk()) {
            let mut hits = self.candidates(block);
            while hits != 0 {
                let index = hits.trailing_zeros() as usize;
                if self.holds(block, index) {
                    at(place + index);
                }
                hits &= hits - 1;
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

    /// A bit for each window of the block that is in one group by each of its bytes.
    fn candidates(&self, block: &[u8; BLOCK + 3]) -> u32 {
        // Without branches, and in loops that compilers make a few instructions of for many bytes.
        let mut places = [0; BLOCK + 3];
        for (place, &byte) in places.iter_mut().zip(block) {
            *place = self.places[usize::from(byte)];
        }
        let mut hits = 0;
        for index in 0..BLOCK {
            let all = places[index] & places[index + 1] >> 8 & places[index + 2] >> 16 & places[index + 3] >> 24;
            hits |= u32::from(all & 0xff != 0) << index;
        }
        hits
    }

    /// Whether the set holds the window at `index`; of other windows, it is said of few.
    fn holds(&self, bytes: &[u8], index: usize) -> bool {
        let window = [bytes[index], bytes[index + 1], bytes[index + 2], bytes[index + 3]];
        let (place, mark) = place(window);
        let held = self.marks[place];
        held == mark || held == ANY
    }
}

/// Where a window is looked up, and its mark, which is neither 0 nor [`ANY`].
fn place(window: [u8; 4]) -> (usize, u8) {
    let mixed = u32::from_le_bytes(window.map(|byte| byte | FOLD)).wrapping_mul(0x9e37_79b1);
    let [_, mark, low, high] = mixed.to_le_bytes();
    (usize::from(u16::from_le_bytes([low, high])), mark & 0x7f | 1)
}
