//! Passwords on command lines and in netrc files.

use std::ops::Range;

use super::value::{is_address_of_words, is_placeholder, is_secret, Place};
use crate::redact::shapes::grammar::{Class, Text};

/// A command is looked at no further.
const LONGEST_COMMAND: usize = 2048;

/// Options of curl that take `user:password`.
const CURL: [&[u8]; 4] = [b"-u", b"--user", b"-U", b"--proxy-user"];

/// Shorter ones are no passwords.
const SHORTEST: usize = 3;

/// Masks passwords that are given to the command whose name stands from `at` to `end`.
pub(super) fn passwords(
    text: &mut Text,
    at: usize,
    end: usize,
    name: &str,
    spans: &mut Vec<Range<usize>>,
) -> Option<usize> {
    let before = text.bytes[..at].last();
    if before.is_some_and(|byte| !byte.is_ascii_whitespace() && !b"\"'`(/;|&$={".contains(byte)) {
        return None;
    }
    let until = end + LONGEST_COMMAND;
    let mut place = end;
    while place < until {
        match text.byte(place) {
            Some(b' ' | b'\t') => place += 1,
            // A line that goes on.
            Some(b'\\') if text.byte(place + 1) == Some(b'\n') => place += 2,
            _ if place == end => return Some(at),
            Some(byte) if Class::VISIBLE.has(byte) => {
                let to = text.run(Class::VISIBLE, place, LONGEST_COMMAND);
                let word = &text.bytes[place..to];
                if is_command(word) || to - place > LONGEST_COMMAND {
                    return Some(at);
                }
                place = option(text, place, to, name, spans).max(to);
            }
            _ => return Some(at),
        }
    }
    Some(at)
}

/// Masks what belongs to the option from `from` to `to`, and gives where it ends.
fn option(text: &mut Text, from: usize, to: usize, command: &str, spans: &mut Vec<Range<usize>>) -> usize {
    let bytes = text.bytes;
    let word = &bytes[from..to];
    let is_curl = command == "curl";
    let names: &[&[u8]] = if is_curl { &CURL } else { &[b"-p"] };
    let value = if names.contains(&word) {
        let mut at = to;
        while at < to + 16 && matches!(text.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    } else {
        // The value may stand in the same word.
        let name = names.iter().find(|name| word.starts_with(name));
        let Some(name) = name.filter(|name| !name.starts_with(b"--") || word.get(name.len()) == Some(&b'=')) else {
            return to;
        };
        from + name.len() + usize::from(name.starts_with(b"--"))
    };
    let quote = text.byte(value).filter(|byte| b"\"'".contains(byte));
    let start = value + usize::from(quote.is_some());
    let end = if let Some(quote) = quote {
        let mut at = start;
        while at < start + 512 && text.byte(at).is_some_and(|byte| byte != quote && byte != b'\n') {
            at += 1;
        }
        at
    } else {
        let end = text.run(Class::VISIBLE, start, 512);
        // What closes the string or the list in which the command is.
        end - bytes[start..end]
            .iter()
            .rev()
            .take_while(|byte| b"\"'`)\\,;".contains(byte))
            .count()
    };
    let given = &bytes[start..end];
    if is_command(given) {
        return to;
    }
    let password = if is_curl {
        memchr::memchr(b':', given).map(|colon| start + colon + 1)
    } else {
        Some(start)
    };
    if let Some(password) = password {
        let user = &bytes[start..password - usize::from(is_curl)];
        let shown = &bytes[password..end];
        let number = shown.iter().all(u8::is_ascii_digit) && user.iter().all(u8::is_ascii_digit);
        if shown.len() >= SHORTEST && !number && !is_shown(shown) {
            spans.push(password..end);
        }
    }
    end
}

/// Whether another command begins, which is looked at for itself.
fn is_command(word: &[u8]) -> bool {
    word.ends_with(b"curl") || word.ends_with(b"sshpass")
}

/// Whether documentations show this.
fn is_shown(password: &[u8]) -> bool {
    const NAMES: [&[u8]; 4] = [b"pass", b"passwd", b"pwd", b"x-oauth-basic"];
    is_placeholder(password) || NAMES.iter().any(|name| password.eq_ignore_ascii_case(name))
}

/// Masks the password of a netrc entry whose word `login` stands from `at` to `end`:
/// <https://everything.curl.dev/usingcurl/netrc>.
pub(super) fn netrc(text: &mut Text, at: usize, end: usize, spans: &mut Vec<Range<usize>>) -> Option<usize> {
    const ENTRY: usize = 256;
    let before = &text.bytes[at.saturating_sub(ENTRY)..at];
    if !before.last().is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    text.steps += 1;
    let is_entry = |word: &[u8]| word.eq_ignore_ascii_case(b"machine") || word == b"default";
    if !before
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .rev()
        .take(3)
        .any(is_entry)
    {
        return None;
    }
    let user = space(text, end);
    let user_end = text.run(Class::VISIBLE, user, 128);
    let word = space(text, user_end);
    if user == end || user_end == user || word == user_end || !text.stands(word, b"password") {
        return Some(at);
    }
    let from = space(text, word + 8);
    let to = text.run(Class::VISIBLE, from, 1024);
    let mut password = from..to;
    if let [b'"', .., b'"'] = text.bytes[from..to] {
        password = from + 1..to - 1;
    }
    let anonymous = [&b"anonymous"[..], b"ftp"].contains(&&text.bytes[user..user_end])
        && is_address_of_words(&text.bytes[password.clone()]);
    if from > word + 8 && to - from <= 1024 && !anonymous && is_secret(text, &password, Place::Header) {
        spans.push(password);
    }
    Some(at)
}

fn space(text: &mut Text, from: usize) -> usize {
    let mut at = from;
    while at < from + 64 && text.byte(at).is_some_and(|byte| byte.is_ascii_whitespace()) {
        at += 1;
    }
    at
}
