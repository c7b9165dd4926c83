//! Headers of HTTP that carry credentials.

use std::ops::Range;

use super::name::{is_session, Name};
use super::value::{is_placeholder, is_secret, Place};
use super::{quoted, spaces, Assignment, LONGEST_VALUE};
use crate::redact::shapes::grammar::{Class, Text};

/// Schemes of one word of credentials: RFC 6750, RFC 7617, RFC 4559, RFC 9449, and what services made.
const SIMPLE: [&[u8]; 16] = [
    b"bearer",
    b"basic",
    b"token",
    b"negotiate",
    b"ntlm",
    b"dpop",
    b"apikey",
    b"key",
    b"bot",
    b"flyv1",
    b"jwt",
    b"sharedkey",
    b"client-id",
    b"sso-key",
    b"geniekey",
    b"zoho-oauthtoken",
];

/// Schemes whose credentials are a list: RFC 7616, RFC 5849, RFC 7486, and those of clouds.
const LISTED: [&[u8]; 12] = [
    b"digest",
    b"oauth",
    b"hawk",
    b"mac",
    b"hoba",
    b"signature",
    b"aws4-hmac-sha256",
    b"aws4-ecdsa-p256-sha256",
    b"goog4-rsa-sha256",
    b"scram-sha-256",
    b"aws",
    b"vapid",
];

/// Schemes are no longer.
const LONGEST_SCHEME: usize = 32;

/// What is in a word of credentials, beside the alphabet of RFC 9110's `token68`.
const TOKEN: Class = Class::BARE;

/// Masks the credentials of an `Authorization` header.
pub(super) fn authorization(text: &mut Text, assignment: &Assignment, spans: &mut Vec<Range<usize>>) {
    let (value, in_quotes) = match quoted(text, assignment.value) {
        Some(span) => (span, true),
        None if assignment.quoted => return,
        None => (rest_of_line(text, assignment), false),
    };
    let scheme_end = text.run(Class::ALNUM_DASH, value.start, LONGEST_SCHEME).min(value.end);
    let from = spaces(text, scheme_end).min(value.end);
    let bytes = text.bytes;
    let scheme = &bytes[value.start..scheme_end];
    let is_one_of = |schemes: &[&[u8]]| schemes.iter().any(|name| scheme.eq_ignore_ascii_case(name));
    if from > scheme_end && from < value.end {
        if is_one_of(&LISTED) {
            let listed = &bytes[from..value.end.min(from + 512)];
            // A list of templates has no credentials.
            if listed.contains(&b'=') || listed.contains(&b':') {
                spans.push(from..trim_end(bytes, from, value.end));
            }
            return;
        }
        let end = text.run(TOKEN, from, LONGEST_VALUE).min(value.end);
        let credentials = &bytes[from..end];
        let prose = credentials.iter().all(u8::is_ascii_lowercase) && !ends_value(text, end, value.end);
        let known = is_one_of(&SIMPLE);
        if known && !prose && !credentials.is_empty() && !is_placeholder(&credentials[..credentials.len().min(128)])
            || !known && end == value.end && is_secret(text, &(from..end), Place::Quoted)
        {
            spans.push(from..end);
        }
        return;
    }
    if assignment.quoted {
        // The next name of a list.
        return;
    }
    // No scheme: one word that is all of the value.
    let end = text.run(TOKEN, value.start, LONGEST_VALUE).min(value.end);
    let word = &bytes[value.start..end];
    let whole = end > value.start && ends_value(text, end, value.end);
    let ordinary =
        word.len() <= 16 && word.iter().all(u8::is_ascii_alphabetic) || is_one_of(&SIMPLE) || is_one_of(&LISTED);
    let code = !in_quotes && assignment.code;
    let place = if code { Place::Code } else { Place::Header };
    let called = matches!(text.byte(end), Some(b'(' | b'['));
    if whole && !called && !ordinary && is_secret(text, &(value.start..end), place) {
        spans.push(value.start..end);
    }
}

/// Whether nothing but white space stands between `at` and `end`.
fn ends_value(text: &mut Text, at: usize, end: usize) -> bool {
    let after = spaces(text, at);
    after >= end
        || matches!(
            text.bytes[after],
            b'"' | b'\'' | b'`' | b'\\' | b',' | b'}' | b')' | b'<'
        )
}

/// What stands from the value on in its line, or within the quotes in which both the name and the value are.
fn rest_of_line(text: &mut Text, assignment: &Assignment) -> Range<usize> {
    let from = assignment.value;
    let end = text.run(Class::LINE, from, LONGEST_VALUE);
    let end = end.min(from + LONGEST_VALUE);
    let Some(around) = assignment.around else {
        return from..end;
    };
    let close = memchr::memchr(around, &text.bytes[from..end]);
    text.steps += close.unwrap_or(end - from) as u64;
    match close {
        // In an escaped string the closing quote is escaped as well.
        Some(close) => from..from + close - usize::from(close > 0 && text.bytes[from + close - 1] == b'\\'),
        None => from..end,
    }
}

fn trim_end(bytes: &[u8], from: usize, end: usize) -> usize {
    from + bytes[from..end].trim_ascii_end().len()
}

/// Masks what follows the word `Bearer`, which ends at `end`, if it looks like a secret: without the name of the
/// header it may be a sentence.
pub(super) fn bearer(text: &mut Text, at: usize, end: usize, spans: &mut Vec<Range<usize>>) -> Option<usize> {
    const SHORTEST: usize = 16;
    if !text.begins_word(at) {
        return None;
    }
    let from = spaces(text, end);
    if from == end {
        return Some(at);
    }
    let to = text.run(TOKEN, from, LONGEST_VALUE);
    if to - from >= SHORTEST && to - from <= LONGEST_VALUE && is_secret(text, &(from..to), Place::Literal) {
        spans.push(from..to);
    }
    Some(at)
}

/// Masks the values of cookies of sessions, and those that look like secrets. False when these are no cookies.
pub(super) fn cookies(text: &mut Text, assignment: &Assignment, kind: Name, spans: &mut Vec<Range<usize>>) -> bool {
    let in_quotes = quoted(text, assignment.value);
    if in_quotes.is_none() && (assignment.code || assignment.quoted) {
        return true;
    }
    let from = in_quotes.as_ref().map_or(assignment.value, |span| span.start);
    let until = in_quotes.map_or(from + LONGEST_VALUE, |span| span.end);
    let mut at = from;
    let mut pairs = 0;
    while at < until {
        let name = spaces(text, at);
        let name_end = text.run(COOKIE_NAME, name, 128);
        if name_end == name || name_end - name > 128 || text.byte(name_end) != Some(b'=') {
            break;
        }
        let value = name_end + 1;
        let value_end = text.run(Class::BARE, value, LONGEST_VALUE).min(value + LONGEST_VALUE);
        pairs += 1;
        let value = value..value_end;
        let of_session = is_session(&text.bytes[name..name_end]);
        if of_session && is_secret(text, &value, Place::Header) || is_secret(text, &value, Place::Literal) {
            spans.push(value);
        }
        if kind == Name::SetCookie || text.byte(value_end) != Some(b';') {
            break;
        }
        at = value_end + 1;
    }
    pairs > 0
}

/// RFC 6265, section 4.1.1: a token.
const COOKIE_NAME: Class = Class::BASE64URL.or(Class::DOT);
