//! Showing bytes that nobody vouched for: names and paths as they stand in messages and receipts.

use std::fmt::Write as _;

use crate::secret::known;

/// The text of `bytes` in which everything that could mislead a reader is escaped: control
/// characters, bidirectional and invisible format characters, line and paragraph separators,
/// backslashes, and bytes that are no UTF-8 (`\xNN`).
///
/// The result is one line; different inputs give different results, but that secrets are masked.
///
/// ```
/// assert_eq!(rhocap_core::escape::display(b"a\nb"), "a\\nb");
/// assert_eq!(rhocap_core::escape::display("a\u{202e}b".as_bytes()), "a\\u{202e}b");
/// ```
#[must_use]
pub fn display(bytes: &[u8]) -> String {
    escaped(&known::redactor().mask(bytes).text, false)
}

/// The same, secrets included, for what nobody is shown: a digest must not depend on what is known.
#[must_use]
pub(crate) fn exact(bytes: &[u8]) -> String {
    escaped(bytes, false)
}

/// The same for a line of a text that is shown as what it is, code for instance: tabs and backslashes stand
/// for themselves, so that different inputs can give the same result.
#[must_use]
pub fn display_text(bytes: &[u8]) -> String {
    escaped(&known::redactor().mask(bytes).text, true)
}

fn escaped(bytes: &[u8], as_text: bool) -> String {
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' | '\t' if as_text => out.push(character),
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                ' '..='~' => out.push(character),
                _ if is_misleading(character) => {
                    let _ = write!(out, "\\u{{{:x}}}", u32::from(character));
                }
                _ => out.push(character),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

/// [`display`], cut to at most `most` bytes and `...`, which tells that something was left out.
#[must_use]
pub fn display_bounded(bytes: &[u8], most: usize) -> String {
    // Masked before it is cut: half a secret is none that is known.
    let bytes = &*known::redactor().mask(bytes).text;
    // A cut inside a character is shown as the bytes it left.
    let mut shown = exact(&bytes[..bytes.len().min(most)]);
    if shown.len() <= most && bytes.len() <= most {
        return shown;
    }
    // One byte may be shown by ten.
    while shown.len() > most {
        shown.pop();
    }
    shown.push_str("...");
    shown
}

/// Whether a character is invisible or changes how its neighbours are shown.
///
/// Unicode's `Default_Ignorable_Code_Point` property, the bidirectional controls, the separators
/// U+2028 and U+2029, and all controls (C0, DEL, C1).
#[must_use]
pub fn is_misleading(character: char) -> bool {
    character.is_control() || is_ignorable(character) || matches!(character, '\u{2028}' | '\u{2029}')
}

/// Unicode's `Default_Ignorable_Code_Point` (`DerivedCoreProperties.txt`, Unicode 16), which includes the
/// bidirectional controls.
#[must_use]
pub const fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::display;

    #[test]
    fn one_line_and_no_control_remains() {
        for (bytes, shown) in [
            (&b"plain"[..], "plain"),
            (b"", ""),
            (b"tab\there", "tab\\there"),
            (b"esc\x1b[31m", "esc\\u{1b}[31m"),
            ("c1\u{9b}x".as_bytes(), "c1\\u{9b}x"),
            ("sep\u{2028}x".as_bytes(), "sep\\u{2028}x"),
            ("zero\u{200b}width".as_bytes(), "zero\\u{200b}width"),
            (b"bad\xff\xfe", "bad\\xff\\xfe"),
            (b"back\\slash", "back\\\\slash"),
            ("gr\u{fc}n".as_bytes(), "gr\u{fc}n"),
        ] {
            assert_eq!(display(bytes), shown);
        }
    }

    #[test]
    fn a_line_of_text_keeps_its_tabs_and_backslashes() {
        assert_eq!(super::display_text(b"a\tb\\n\x1b[0m\xff"), "a\tb\\n\\u{1b}[0m\\xff");
    }
}
