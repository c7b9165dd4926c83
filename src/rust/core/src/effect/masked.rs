//! What holds a secret: how much of it is told, and what a change may do to it.
//!
//! Reading shows masked text. A change that is made from such a text must neither write the marker where the
//! secret was, nor bring out what stays: an edit of the name beside a value, or of the characters around it,
//! could make of the value something that is not masked any more.

use std::ops::Range;

use crate::outcome::{Code, Refusal};
use crate::redact::{contains_marker, Redactor, MARKER};

/// A replacement at an offset: so many bytes went, and so many came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// Where, in the old content.
    pub at: usize,
    /// How many bytes were there.
    pub old: usize,
    /// How many are there now.
    pub new: usize,
}

/// Refuses content that holds the marker: it was read masked, and would destroy the secret it stands for.
///
/// # Errors
/// `RedactedContent`.
pub fn no_marker(content: &[u8]) -> Result<(), Refusal> {
    if contains_marker(content) {
        return Err(Refusal::new(Code::RedactedContent).say(format!(
            "The text holds \"{MARKER}\", which stands for a secret that was masked when it was read. Writing it would \
             destroy the secret: change only the text around it."
        )));
    }
    Ok(())
}

/// Refuses a change after which a part of what was masked would be shown. `before` are the spans that were
/// masked, `changes` are sorted, and none overlaps one of them.
///
/// # Errors
/// `RedactedContent`.
pub fn stay_masked(
    redactor: &Redactor,
    before: &[Range<usize>],
    changes: &[Change],
    after: &[u8],
) -> Result<(), Refusal> {
    if before.is_empty() {
        return Ok(());
    }
    let now = redactor.spans(after);
    let mut changes = changes.iter().peekable();
    let (mut gone, mut come) = (0, 0);
    let mut candidates = now.iter().peekable();
    for span in before {
        while let Some(change) = changes.next_if(|change| change.at < span.start) {
            gone += change.old;
            come += change.new;
        }
        let span = span.start + come - gone..span.end + come - gone;
        while candidates.next_if(|masked| masked.end < span.end).is_some() {}
        if !candidates
            .peek()
            .is_some_and(|masked| masked.start <= span.start && span.end <= masked.end)
        {
            return Err(Refusal::new(Code::RedactedContent)
                .say("After this change a secret in the file would be shown. Leave the text beside it as it is."));
        }
    }
    Ok(())
}

/// The parts of a text of `length` bytes that are not masked.
pub fn shown(spans: &[Range<usize>], length: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    let starts = std::iter::once(0).chain(spans.iter().map(|span| span.end));
    let ends = spans.iter().map(|span| span.start).chain(std::iter::once(length));
    starts.zip(ends).map(|(start, end)| start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_lies_between_what_is_masked() {
        let parts: Vec<_> = shown(&[2..4, 6..8], 10).collect();
        assert_eq!(parts, [0..2, 4..6, 8..10]);
        assert_eq!(shown(&[], 3).collect::<Vec<_>>(), vec![0..3]);
        assert_eq!(shown(&[0..3, 5..5], 5).collect::<Vec<_>>(), [0..0, 3..5, 5..5]);
    }

    #[test]
    fn what_was_masked_must_be_masked_where_it_is_now() {
        let secret = format!("{}{}", "Zq8-wertyU", "iop5");
        let redactor = Redactor::new([secret.as_bytes()]);
        let before = format!("a\n{secret}\nb\n");
        let spans = redactor.spans(before.as_bytes());
        let (start, end) = (2, 2 + secret.len());
        assert_eq!(spans, vec![start..end]);
        for (after, changes, stays) in [
            (before.clone(), vec![], true),
            (
                format!("longer\n{secret}\nb\n"),
                vec![Change { at: 0, old: 1, new: 6 }],
                true,
            ),
            (
                format!("\n{secret}\nb and more\n"),
                vec![
                    Change { at: 0, old: 1, new: 0 },
                    Change {
                        at: end + 1,
                        old: 1,
                        new: 10,
                    },
                ],
                true,
            ),
            // As if the change had cut the secret up.
            (format!("a\n{}\nb\n", &secret[1..]), vec![], false),
        ] {
            let result = stay_masked(&redactor, &spans, &changes, after.as_bytes());
            assert_eq!(result.is_ok(), stays, "{after}");
        }
    }

    #[test]
    fn the_marker_is_no_content() {
        assert!(no_marker(b"text").is_ok());
        let refusal = no_marker(format!("x {MARKER} y").as_bytes()).unwrap_err();
        assert_eq!(refusal.code, Code::RedactedContent);
    }
}
