//! What is kept of a command's output: its head and its tail, and exact totals.

use std::collections::VecDeque;

/// Output as it arrives. Memory is taken for what is kept, however much arrives.
#[derive(Debug)]
pub struct Capture {
    most_head: usize,
    most_tail: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

/// What was kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// The first bytes.
    pub head: Vec<u8>,
    /// The last bytes; empty when nothing was left out.
    pub tail: Vec<u8>,
    /// How many bytes between them were left out.
    pub dropped: u64,
    /// How many bytes there were.
    pub total: u64,
}

impl Capture {
    /// Keeps at most so many bytes, half of them from the start and half from the end.
    #[must_use]
    pub fn new(most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self {
            most_head: most - most / 2,
            most_tail: most / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            total: 0,
        }
    }

    /// Takes what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.most_head - self.head.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.most_tail)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.most_tail);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// What was kept.
    #[must_use]
    pub fn finish(self) -> Kept {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let dropped = self.total - kept;
        let (mut head, mut tail) = (self.head, Vec::from(self.tail));
        if dropped == 0 {
            head.append(&mut tail);
        }
        Kept {
            head,
            tail,
            dropped,
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_are_kept_however_the_output_arrives() {
        let output: Vec<u8> = (0..1000_u32)
            .flat_map(|line| format!("{line}\n").into_bytes())
            .collect();
        for most in [0, 1, 2, 3, 10, 101, 3889, 3890, 3891, 10_000, u64::MAX] {
            for step in [1, 7, 64, 5000] {
                let mut capture = Capture::new(most);
                for piece in output.chunks(step) {
                    capture.push(piece);
                    assert!(capture.head.len() + capture.tail.len() <= usize::try_from(most).unwrap_or(usize::MAX));
                }
                let kept = capture.finish();
                assert_eq!(kept.total, 3890);
                assert_eq!((kept.head.len() + kept.tail.len()) as u64, most.min(3890));
                assert_eq!(kept.dropped, 3890 - most.min(3890));
                assert!(output.starts_with(&kept.head) && output.ends_with(&kept.tail));
            }
        }
    }
}
