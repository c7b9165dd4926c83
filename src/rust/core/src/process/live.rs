//! Output on its way to somebody who looks at it while the command runs.
//!
//! The command is never held up by who looks: what is not fetched in time is left out, and counted.

use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::text::Decoder;
use crate::redact::{Ahead, Stream};
use crate::secret::known;

/// Most bytes that wait to be fetched.
const MOST: usize = 64 << 10;

/// What waits to be fetched.
#[derive(Default)]
pub struct Live(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Vec<u8>,
    left_out: u64,
    decoder: Decoder,
    arrived: Ahead,
    /// The output was masked as it stands: this is for what shows without escape sequences.
    mask: Option<Stream>,
    /// What was masked, as whole characters.
    masked: Decoder,
    shown: Ahead,
    inside_line: bool,
}

impl Live {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what arrived, and what is likely to come next.
    pub fn push(&self, bytes: &[u8], likely: &[u8]) {
        let mut state = self.state();
        let shown = state.arrived.next(bytes, likely);
        state.waiting.extend_from_slice(&shown);
        let over = state.waiting.len().saturating_sub(MOST);
        if over > 0 {
            state.waiting.drain(..over);
            state.left_out += over as u64;
        }
    }

    /// Whether something waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// What waits, as text. A character that has not arrived whole waits on, until `ended`; and so does what may be
    /// the beginning of a secret that only shows without the escape sequences in it.
    pub fn fetch(&self, ended: bool) -> String {
        let mut state = self.state();
        let waiting = std::mem::take(&mut state.waiting);
        let mut text = String::new();
        if state.left_out > 0 {
            // What went before does not go on here.
            text = state.decode(&[], true);
            let inside_line = if text.is_empty() {
                state.inside_line
            } else {
                !text.ends_with('\n')
            };
            let newline = if inside_line { "\n" } else { "" };
            let _ = writeln!(
                text,
                "{newline}[{} bytes left out]",
                std::mem::take(&mut state.left_out)
            );
        }
        text.push_str(&state.decode(&waiting, ended));
        if !text.is_empty() {
            state.inside_line = !text.ends_with('\n');
        }
        text
    }
}

impl State {
    /// More of the output as text, with the rest of it at an end.
    fn decode(&mut self, bytes: &[u8], end: bool) -> String {
        self.decoder.push(bytes);
        if end {
            self.decoder.end();
        }
        let shown = self.decoder.take();
        let mask = self.mask.get_or_insert_with(|| known::redactor().stream());
        let certain = mask.push(shown.as_bytes());
        self.masked.push(&self.shown.next(&certain, mask.likely()));
        if end {
            self.masked.push(&self.shown.next(&mask.finish(), &[]));
            self.masked.end();
            self.decoder = Decoder::default();
        }
        self.masked.take()
    }
}

impl std::fmt::Debug for Live {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Live").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::MARKER;
    use crate::secret::{source::given, SourceKind};

    #[test]
    fn text_comes_whole_and_what_was_too_late_is_counted() {
        let live = Live::default();
        live.push(b"a \xe2\x82", b"");
        assert!(live.is_waiting());
        assert_eq!(live.fetch(false), "a ");
        assert!(!live.is_waiting());
        live.push(b"\xac\n", b"");
        assert_eq!(live.fetch(false), "\u{20ac}\n");
        live.push(&vec![b'x'; MOST + 5], b"");
        let text = live.fetch(false);
        assert!(text.starts_with("[5 bytes left out]\nxxx"));
        live.push(&vec![b'\n'; MOST + 7], b"");
        // After the end of what went before, which could have been the beginning of more.
        let text = live.fetch(false);
        assert!(text.trim_start_matches('x').starts_with("\n[7 bytes left out]\n\n"));
        live.push(b"\xff\xe2", b"");
        assert_eq!(live.fetch(true), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_line_is_shown_whole_though_its_end_could_begin_a_secret() {
        let value = format!("xyz{}", crate::random::hex(12));
        let secret = given(value.as_bytes(), SourceKind::Literal, "").expect("a secret");
        let live = Live::default();
        let mut mask = known::redactor().stream();
        let mut told = Vec::new();
        for piece in ["step x\n", "xyz", &value[3..5], &value[5..], " step xy\n", "end\n"] {
            let certain = mask.push(piece.as_bytes());
            live.push(&certain, mask.likely());
            told.push(live.fetch(false));
        }
        live.push(&mask.finish(), b"");
        told.push(live.fetch(true));
        let marker = MARKER;
        assert_eq!(told[0], "step x\n");
        assert_eq!(told[4..].concat(), format!("{marker} step xy\nend\n"));
        assert!(told[1..4].concat().len() < 4, "{told:?}");
        drop(secret);
    }

    #[test]
    fn what_shows_without_its_sequences_is_masked_in_pieces_too() {
        let value = format!("tok-{}", crate::random::hex(12));
        let secret = given(value.as_bytes(), SourceKind::Literal, "").expect("a secret");
        let (first, last) = value.split_at(9);
        let live = Live::default();
        let mut told = String::new();
        for piece in ["a ", first, "\x1b]8;;", &"x".repeat(700), "\x1b\\", last, " \u{20ac}b"] {
            live.push(piece.as_bytes(), b"");
            told += &live.fetch(false);
        }
        told += &live.fetch(true);
        assert_eq!(told, format!("a {MARKER} \u{20ac}b"));
        drop(secret);
    }
}
