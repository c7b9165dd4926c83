//! Private keys in text: PEM (RFC 7468), `OpenSSH`, SSH2 and `OpenPGP` armour.

use std::ops::Range;

use super::grammar::{Class, Text};

/// What the blocks begin with: RFC 7468 and `OpenPGP`; RFC 4716; and what stands before the key in `PuTTY`'s files.
pub(super) const ANCHORS: [&str; 3] = ["-----BEGIN ", "---- BEGIN ", PUTTY];

const PUTTY: &str = "Private-Lines: ";

/// No more than this is taken for one block.
pub(super) const LONGEST: usize = 64 << 10;

/// The longest label: `ENCRYPTED PRIVATE KEY` and others, with room.
const LONGEST_LABEL: usize = 64;

/// What stands between two lines of a key: quotes and `+` of a program, line numbers, the headers of RFC 1421.
const WIDEST_GAP: usize = 192;

/// A run of base64 that is part of a key. See [`is_line`].
const SHORTEST_LINE: usize = 20;

/// What must be masked where one of [`ANCHORS`] stands at `at`.
///
/// A block need not be whole: its beginning may be all that a program showed. So lines are taken as long as they
/// look like a key's, and whatever stands between them.
pub(super) fn check(text: &mut Text, at: usize) -> Option<(usize, Vec<Range<usize>>)> {
    let body = private_key_label(text, at)?;
    let most = at + LONGEST;
    let mut end = None;
    let mut place = body;
    let mut gap_from = body;
    let mut line_only = true;
    while place < most {
        let Some(byte) = text.byte(place) else { break };
        if byte == b'-' && text.stands(place, b"----") {
            let dashes = place
                + text.bytes[place..]
                    .iter()
                    .take(6)
                    .take_while(|&&byte| byte == b'-')
                    .count();
            let _ = text.byte(dashes);
            let word = dashes + usize::from(text.bytes.get(dashes) == Some(&b' '));
            if text.stands(word, b"END ") {
                let close = label_end(text, word + 4);
                // Without a line of a key in it, this is a text about keys.
                if let (Some(_), Some(close)) = (end, close) {
                    end = Some(close);
                }
                break;
            }
            if text.stands(word, b"BEGIN ") {
                break;
            }
            place = dashes;
            continue;
        }
        if Class::BASE64.has(byte) {
            let to = text.run(Class::BASE64, place, LONGEST).min(most);
            let padded = text.run(Class::EQUALS, to, 3).min(to + 3);
            let run = &text.bytes[place..to];
            if run == b"Private" && text.byte(to) == Some(b'-') {
                // What follows the key in `PuTTY`'s files, or the next one.
                break;
            }
            let is_line = is_line(run);
            // The last line is short: it follows a line of a key with a line end between them, and stands alone.
            let is_last = end.is_some() && line_only && ends_line(text, padded);
            if is_line || is_last {
                end = Some(padded);
                gap_from = padded;
                line_only = !is_last || is_line;
            } else {
                // `n` is what an escaped line end leaves.
                line_only &= matches!(run, b"n" | b"r" | b"nn" | b"rn");
            }
            place = padded.max(place + 1);
        } else {
            line_only &= byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'"' | b'\'' | b',' | b'+');
            place += 1;
        }
        if place - gap_from > WIDEST_GAP {
            break;
        }
    }
    Some((at, end.map(|end| at..end).into_iter().collect()))
}

/// Where the body begins after `BEGIN ... PRIVATE KEY ...`.
fn private_key_label(text: &mut Text, at: usize) -> Option<usize> {
    let anchor = ANCHORS.iter().find(|anchor| text.stands(at, anchor.as_bytes()))?;
    let label = at + anchor.len();
    if *anchor == PUTTY {
        let end = text.run(Class::DIGIT, label, 4);
        return (end > label && ends_line(text, end)).then_some(end);
    }
    let close = label_end(text, label)?;
    let name = &text.bytes[label..close];
    memchr::memmem::find(name, b"PRIVATE KEY").map(|_| close)
}

/// Where the dashes end that close the label which begins at `from`.
fn label_end(text: &mut Text, from: usize) -> Option<usize> {
    let mut at = from;
    while at < from + LONGEST_LABEL {
        match text.byte(at)? {
            b'A'..=b'Z' | b'0'..=b'9' | b' ' => at += 1,
            b'-' => {
                let dashes = text.run(Class::DASH, at, 5) - at;
                return (4..=5).contains(&dashes).then_some(at + dashes);
            }
            _ => return None,
        }
    }
    None
}

/// Whether a run of base64 is a line of a key, and no word or path of a text about keys.
fn is_line(run: &[u8]) -> bool {
    const SURE: usize = 40;
    let shown = &run[..run.len().min(SURE)];
    run.len() >= SHORTEST_LINE
        && shown.iter().any(u8::is_ascii_uppercase)
        && (run.len() >= SURE || shown.iter().any(u8::is_ascii_digit))
}

/// Whether a line ends at `at`, perhaps an escaped or quoted one.
fn ends_line(text: &mut Text, at: usize) -> bool {
    text.byte(at)
        .is_none_or(|byte| matches!(byte, b'\n' | b'\r' | b'\\' | b'"' | b'\''))
}
