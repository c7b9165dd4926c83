//! Finding all matches of all patterns, overlapping ones too, at the speed of memory for most text.
//!
//! The text is looked at in windows of a few bytes, one every [`Engine::step`] bytes. A pattern is at least
//! `step + window - 1` bytes long, so that wherever it stands one of the looks falls within it, at one of `step`
//! phases. For each phase one window of the pattern is entered in a table; a small filter before the table says of
//! nearly all text that no pattern is there.
//!
//! Which window stands for a phase can be chosen, and those that are in few patterns are taken: what many values
//! begin with, or the digits of all of them, would be looked up again and again. Where there is no choice, the
//! patterns that have the same window at the same place are sorted, so that one search among them finds the
//! longest one that is in the text: the time for a look grows with the logarithm of their number at most, for
//! text that was made to be slow too. An automaton would keep that promise as well, in far more memory.

use std::ops::Range;

use secrecy::zeroize::Zeroize;

use super::forms::{Pattern, LEAST_FORMS};

/// More than this between two looks makes the patterns' tables larger and the text no faster.
const LONGEST_STEP: usize = 13;

/// Bytes of a pattern from which its windows are chosen.
const CHOICE: usize = 512;

/// Odd, so that different windows stay different.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

const NONE: u32 = u32::MAX;

pub(super) struct Engine {
    /// The patterns, sorted, one after the other.
    bytes: Vec<u8>,
    /// Where each begins, and where the last one ends.
    starts: Vec<u32>,
    /// For each pattern the longest other one that it begins with.
    prefixes: Vec<u32>,
    longest: usize,
    /// Bytes from one look to the next.
    step: usize,
    /// The bytes of a window, as the bits of a number.
    window: u64,
    /// Two bits for each value of a hash; set for the windows of patterns.
    filter: Vec<u64>,
    /// By another part of the hash; open addressing.
    slots: Vec<Slot>,
    groups: Vec<Group>,
    members: Vec<u32>,
    /// The same for the members of groups that are large.
    ends: Vec<u64>,
}

/// A window that stands for patterns.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// More of the hash. Windows of the same tag stand in slots of their own, and all of them are looked at.
    tag: u32,
    /// The first of its groups, plus one; 0 in a free slot.
    group: u32,
}

/// The patterns that have the same window at the same place.
#[derive(Clone, Copy)]
struct Group {
    offset: u32,
    /// Whether the next group is of another window.
    last: bool,
    /// Which of the members they are.
    from: u32,
    to: u32,
    /// The length of the shortest one.
    shortest: u32,
}

/// Groups of more patterns than this are searched only where the text has what one of them has at its end.
const LARGE: usize = 4;

impl Group {
    fn is_large(&self) -> bool {
        (self.to - self.from) as usize > LARGE
    }

    /// A hash of what ends where the shortest pattern ends, if `text` begins with one of them.
    fn end_hash(&self, text: &[u8]) -> u64 {
        let end = word(&text[self.shortest as usize - LEAST_FORMS..]);
        (end ^ u64::from(self.from)).wrapping_mul(MIX)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // What was hashed could be guessed from the hashes.
        self.bytes.zeroize();
        self.filter.zeroize();
        self.ends.zeroize();
        for slot in &mut self.slots {
            slot.tag.zeroize();
        }
    }
}

/// The first eight bytes, with zeros for what is missing.
fn word(text: &[u8]) -> u64 {
    match text.first_chunk() {
        Some(word) => u64::from_le_bytes(*word),
        None => text.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

fn index(number: usize) -> u32 {
    u32::try_from(number).expect("patterns of less than 4 GiB")
}

impl Engine {
    /// From patterns of at least [`LEAST_FORMS`] bytes that are sorted and different.
    pub(super) fn new(patterns: &[Pattern]) -> Self {
        debug_assert!(patterns.is_sorted_by(|one, other| one.as_slice() < other.as_slice()));
        let shortest = patterns
            .iter()
            .map(|pattern| pattern.len())
            .min()
            .unwrap_or(LEAST_FORMS);
        let longest = patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(0);
        debug_assert!(shortest >= LEAST_FORMS);
        // Longer windows are in less text, longer steps look at less of it.
        let width = (shortest * 2 / 5 + 1).min(8);
        let step = (shortest + 1 - width).min(LONGEST_STEP);

        let mut engine = Self {
            // Of its final size, so that it never moves and leaves a copy behind.
            bytes: Vec::with_capacity(patterns.iter().map(|pattern| pattern.len()).sum()),
            starts: Vec::with_capacity(patterns.len() + 1),
            prefixes: Vec::with_capacity(patterns.len()),
            longest,
            step,
            window: u64::MAX >> (64 - 8 * width),
            filter: Vec::new(),
            slots: Vec::new(),
            groups: Vec::new(),
            members: Vec::new(),
            ends: Vec::new(),
        };
        // Those that the next pattern may begin with, each of which begins with the one before.
        let mut open: Vec<usize> = Vec::new();
        for (number, pattern) in patterns.iter().enumerate() {
            while open
                .last()
                .is_some_and(|&before| !pattern.starts_with(&patterns[before]))
            {
                open.pop();
            }
            engine.prefixes.push(open.last().map_or(NONE, |&before| index(before)));
            open.push(number);
            engine.starts.push(index(engine.bytes.len()));
            engine.bytes.extend_from_slice(pattern);
        }
        engine.starts.push(index(engine.bytes.len()));
        engine.enter(engine.windows(width));
        engine
    }

    fn number_of_patterns(&self) -> usize {
        self.prefixes.len()
    }

    fn pattern(&self, number: u32) -> &[u8] {
        let number = number as usize;
        &self.bytes[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    fn hash(&self, window: u64) -> u64 {
        (window & self.window).wrapping_mul(MIX)
    }

    /// For each pattern and phase the window that the fewest patterns have: hash, place, pattern.
    fn windows(&self, width: usize) -> Vec<(u64, u32, u32)> {
        let patterns = 0..index(self.number_of_patterns());
        let choice = |pattern: &[u8]| pattern.len().min(CHOICE.max(self.step + width)) + 1 - width;
        let all: usize = patterns.clone().map(|number| choice(self.pattern(number))).sum();
        // How often each window is there; of some that are counted together too often.
        let bits = (all * 2).next_power_of_two().trailing_zeros().clamp(8, 24);
        let mut counts = vec![0_u16; 1 << bits];
        let place = |hash: u64| usize::try_from(hash >> (64 - bits)).expect("24 bits");
        for number in patterns.clone() {
            let pattern = self.pattern(number);
            for offset in 0..choice(pattern) {
                let count = &mut counts[place(self.hash(word(&pattern[offset..])))];
                *count = count.saturating_add(1);
            }
        }
        let mut windows = Vec::with_capacity(self.number_of_patterns() * self.step);
        for number in patterns {
            let pattern = self.pattern(number);
            for phase in 0..self.step {
                let (_, hash, offset) = (phase..choice(pattern))
                    .step_by(self.step)
                    .map(|offset| (self.hash(word(&pattern[offset..])), offset))
                    .map(|(hash, offset)| (counts[place(hash)], hash, offset))
                    .min_by_key(|&(count, ..)| count)
                    .expect("a pattern of at least a step and a window");
                windows.push((hash, index(offset), number));
            }
        }
        windows.sort_unstable();
        windows
    }

    /// Fills the filter and the tables.
    fn enter(&mut self, mut windows: Vec<(u64, u32, u32)>) {
        let distinct = windows.chunk_by(|one, other| one.0 == other.0).count();
        self.filter = vec![0; filter_words(distinct)];
        self.slots = vec![Slot::default(); (distinct * 2).next_power_of_two().max(2)];
        self.members = windows.iter().map(|&(.., number)| number).collect();
        let mut at = 0;
        for same in windows.chunk_by(|one, other| one.0 == other.0) {
            let hash = same[0].0;
            enter(&mut self.filter, hash);
            let (mut slot, tag) = self.first_slot(hash);
            while self.slots[slot].group != 0 {
                slot = (slot + 1) % self.slots.len();
            }
            self.slots[slot] = Slot {
                tag,
                group: index(self.groups.len()) + 1,
            };
            for group in same.chunk_by(|one, other| one.1 == other.1) {
                let from = index(at);
                at += group.len();
                let lengths = group.iter().map(|&(.., number)| self.pattern(number).len());
                let shortest = index(lengths.min().expect("a pattern"));
                self.groups.push(Group {
                    offset: group[0].1,
                    last: false,
                    from,
                    to: index(at),
                    shortest,
                });
            }
            self.groups.last_mut().expect("a group").last = true;
        }
        let large: Vec<Group> = self.groups.iter().copied().filter(Group::is_large).collect();
        self.ends = vec![0; filter_words(large.iter().map(|group| (group.to - group.from) as usize).sum())];
        for group in large {
            for &number in &self.members[group.from as usize..group.to as usize] {
                let hash = group.end_hash(self.pattern(number));
                enter(&mut self.ends, hash);
            }
        }
        for (hash, ..) in &mut windows {
            hash.zeroize();
        }
    }

    /// The first slot that may be that of a hash, and the tag there.
    fn first_slot(&self, hash: u64) -> (usize, u32) {
        // The highest bits are much alike for all that the filter lets through, and the lowest ones depend on
        // the first bytes of the window only, which are the same for many.
        let mixed = (hash ^ hash >> 32).wrapping_mul(MIX);
        let slot = mixed >> (64 - self.slots.len().trailing_zeros());
        #[allow(clippy::cast_possible_truncation)] // The lowest bits are meant.
        (usize::try_from(slot).expect("an index of a table"), mixed as u32)
    }

    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a pattern begins with `text` and goes on after it.
    pub(super) fn begins_with(&self, text: &[u8]) -> bool {
        let (mut from, mut to) = (0, index(self.number_of_patterns()));
        while from < to {
            let middle = from + (to - from) / 2;
            if self.pattern(middle) <= text {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        (from as usize) < self.number_of_patterns() && self.pattern(from).starts_with(text)
    }

    /// Calls `found` for matches whose union is that of all matches. Where it says no, shorter ones with the
    /// same beginning are tried.
    pub(super) fn find(&self, text: &[u8], mut found: impl FnMut(Range<usize>) -> bool) {
        if self.number_of_patterns() == 0 {
            return;
        }
        let at = match self.step {
            5 => self.find_most::<5>(text, &mut found),
            6 => self.find_most::<6>(text, &mut found),
            7 => self.find_most::<7>(text, &mut found),
            8 => self.find_most::<8>(text, &mut found),
            9 => self.find_most::<9>(text, &mut found),
            10 => self.find_most::<10>(text, &mut found),
            11 => self.find_most::<11>(text, &mut found),
            12 => self.find_most::<12>(text, &mut found),
            13 => self.find_most::<13>(text, &mut found),
            _ => 0,
        };
        for at in (at..text.len()).step_by(self.step) {
            self.look(text, at, self.hash(word(&text[at..])), &mut found);
        }
    }

    /// All looks but the last few; gives where these are.
    fn find_most<const STEP: usize>(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) -> usize {
        const LOOKS: usize = 8;
        let (filter, window) = (self.filter.as_slice(), self.window);
        let mask = filter.len() - 1;
        let shift = 64 - filter.len().trailing_zeros();
        let mut at = 0;
        while let Some(block) = text.get(at..at + LOOKS * STEP + 8) {
            let mut hashes = [0; LOOKS];
            let mut any = 0;
            for (look, hash) in hashes.iter_mut().enumerate() {
                *hash = (word(&block[look * STEP..look * STEP + 8]) & window).wrapping_mul(MIX);
                #[allow(clippy::cast_possible_truncation)] // The filter is no larger than memory.
                let word = filter[(*hash >> shift) as usize & mask];
                any |= u64::from(has(word, *hash, shift)) << look;
            }
            while any != 0 {
                let look = any.trailing_zeros() as usize;
                self.look_up(text, at + look * STEP, hashes[look], found);
                any &= any - 1;
            }
            at += LOOKS * STEP;
        }
        at
    }

    fn look(&self, text: &[u8], at: usize, hash: u64, found: &mut impl FnMut(Range<usize>) -> bool) {
        if may_hold(&self.filter, hash) {
            self.look_up(text, at, hash, found);
        }
    }

    /// The matches of the patterns whose window stands at `at`.
    fn look_up(&self, text: &[u8], at: usize, hash: u64, found: &mut impl FnMut(Range<usize>) -> bool) {
        let (mut slot, tag) = self.first_slot(hash);
        loop {
            let Slot { tag: known, group } = self.slots[slot];
            if group == 0 {
                return;
            }
            if known == tag {
                for group in &self.groups[group as usize - 1..] {
                    if let Some(start) = at.checked_sub(group.offset as usize) {
                        self.longest_of(group, &text[start..], |length| found(start..start + length));
                    }
                    if group.last {
                        break;
                    }
                }
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Calls `found` with the length of the longest pattern of the group that `text` begins with; then, until it
    /// says yes, of the next longest.
    fn longest_of(&self, group: &Group, text: &[u8], mut found: impl FnMut(usize) -> bool) {
        let members = &self.members[group.from as usize..group.to as usize];
        if let [number] = *members {
            let pattern = self.pattern(number);
            if text.starts_with(pattern) {
                found(pattern.len());
            }
            return;
        }
        if text.len() < group.shortest as usize {
            return;
        }
        if group.is_large() && !may_hold(&self.ends, group.end_hash(text)) {
            return;
        }
        // What `text` begins with sorts before it, and so does only what begins with the same: the last one of
        // these is the pattern or goes on after it.
        let after = members.partition_point(|&number| self.pattern(number) <= text);
        let Some(&last) = members[..after].last() else { return };
        let common = self
            .pattern(last)
            .iter()
            .zip(text)
            .take_while(|(one, other)| one == other)
            .count();
        let mut number = last;
        while number != NONE {
            let length = self.pattern(number).len();
            if length <= common && found(length) {
                return;
            }
            number = self.prefixes[number as usize];
        }
    }
}

/// The two bits that stand for a hash in its word of a filter; its highest bits, 64 less `shift`, say which word.
fn bits(hash: u64, shift: u32) -> u64 {
    1 << (hash >> (shift - 6) & 63) | 1 << (hash >> (shift - 12) & 63)
}

fn has(word: u64, hash: u64, shift: u32) -> bool {
    let bits = bits(hash, shift);
    word & bits == bits
}

/// The shift and the word of a hash.
fn place(filter: &[u64], hash: u64) -> (u32, usize) {
    let shift = 64 - filter.len().trailing_zeros();
    (shift, usize::try_from(hash >> shift).expect("an index of a table"))
}

fn enter(filter: &mut [u64], hash: u64) {
    let (shift, word) = place(filter, hash);
    filter[word] |= bits(hash, shift);
}

fn may_hold(filter: &[u64], hash: u64) -> bool {
    let (shift, word) = place(filter, hash);
    has(filter[word], hash, shift)
}

/// The size of a filter in which at most every eighth bit is set; one that does not fit the caches is fuller.
fn filter_words(windows: usize) -> usize {
    const CACHED: usize = 1 << 16;
    (windows / 4)
        .clamp(1 << 9, CACHED)
        .max(windows / 16)
        .next_power_of_two()
}
