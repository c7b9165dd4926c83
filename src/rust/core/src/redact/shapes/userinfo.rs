//! Passwords in URLs: RFC 3986, section 3.2.1.

use std::ops::Range;

use super::grammar::{Class, Text};
use super::is_placeholder;

/// What is in each URL with an authority.
pub(super) const ANCHOR: &str = "://";

/// The longest userinfo that is taken for one; tokens may be passwords.
const LONGEST: usize = 4096;

/// The longest name that may stand before a password.
const LONGEST_USER: usize = 512;

/// Schemes are shorter.
const LONGEST_SCHEME: usize = 32;

/// Shorter ones are no passwords.
const SHORTEST: usize = 3;

/// User names that are the secret themselves are at least so long.
const SHORTEST_TOKEN: usize = 20;

/// Where the URL begins whose [`ANCHOR`] stands at `at`.
pub(super) fn begins(text: &mut Text, at: usize) -> usize {
    text.run_back(
        Class::ALNUM.or(Class::DASH).or(Class::DOT).or(Class::PLUS_SLASH),
        at,
        LONGEST_SCHEME,
    )
}

/// What must be masked in the URL whose [`ANCHOR`] stands at `at`.
pub(super) fn check(text: &mut Text, at: usize) -> Option<(usize, Vec<Range<usize>>)> {
    let start = begins(text, at);
    if start == at {
        return None;
    }
    let from = at + ANCHOR.len();
    let end = text.run(Class::USERINFO, from, LONGEST);
    let end = end.min(from + LONGEST);
    // An `@` within a password is an error that programs forgive.
    let info = &text.bytes[from..end];
    let Some(info) = memchr::memrchr(b'@', info).map(|at| &info[..at]) else {
        return Some((start, Vec::new()));
    };
    let host = from + info.len() + 1;
    let named = text
        .bytes
        .get(host)
        .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte >= 128 || *byte == b'%')
        || text.byte(host) == Some(b'[');
    let mut spans = Vec::new();
    let colon = memchr::memchr(b':', &info[..info.len().min(LONGEST_USER)]);
    let user = &info[..colon.unwrap_or(info.len())];
    if named && is_token(user) {
        spans.push(from..from + user.len());
    }
    if let (true, Some(colon)) = (named, colon) {
        let password = &info[colon + 1..];
        if password.len() >= SHORTEST && !is_shown(user, password) && !is_of_documentation(text, password, host) {
            spans.push(from + colon + 1..from + info.len());
        }
    }
    Some((start, spans))
}

/// Whether a user name is a token, as git hosts accept them.
fn is_token(user: &[u8]) -> bool {
    user.len() >= SHORTEST_TOKEN
        && user.iter().all(|&byte| Class::BASE64URL.has(byte))
        && user.iter().filter(|byte| byte.is_ascii_digit()).count() >= 3
        && user.iter().any(u8::is_ascii_alphabetic)
        && !is_placeholder(user)
}

/// Whether it is a few letters or digits for a host that nobody has: RFC 2606, section 3, and what stands for a host.
fn is_of_documentation(text: &mut Text, password: &[u8], host: usize) -> bool {
    const HOSTS: [&[u8]; 4] = [b"example.com", b"example.net", b"example.org", b"example.edu"];
    const NAMES: [&[u8]; 3] = [b"host", b"hostname", b"example"];
    let few = |kind: fn(&u8) -> bool| password.iter().all(kind);
    if password.len() > 4 || !(few(u8::is_ascii_lowercase) || few(u8::is_ascii_digit)) {
        return false;
    }
    let end = text.run(Class::ALNUM_DASH.or(Class::DOT), host, 64);
    let name = text.bytes[host..end].trim_ascii_end();
    let name = name.strip_suffix(b".").unwrap_or(name);
    let is_below = |top: &&[u8]| {
        name.strip_suffix(*top)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(b"."))
    };
    NAMES.contains(&name) || HOSTS.iter().any(is_below)
}

/// Whether documentations show this password: its own name, the one of the server that everybody knows, or a
/// variable.
fn is_shown(user: &[u8], password: &[u8]) -> bool {
    const NAMES: [&[u8]; 14] = [
        b"password",
        b"passwd",
        b"pass",
        b"pwd",
        b"pw",
        b"secret",
        b"token",
        b"key",
        b"apikey",
        b"api_key",
        b"credentials",
        b"your_password",
        b"yourpassword",
        b"x-oauth-basic",
    ];
    const KNOWN: [&[u8]; 4] = [b"guest", b"postgres", b"test", b"user"];
    let is_one_of = |names: &[&[u8]]| names.iter().any(|name| password.eq_ignore_ascii_case(name));
    let first = password[0];
    is_one_of(&NAMES)
        || user == password && is_one_of(&KNOWN)
        || (first == b'$' || first == b'%')
            && password[1..].iter().all(|&byte| Class::WORD.has(byte) || byte == b'%')
            && !password[1..].iter().any(u8::is_ascii_digit)
        || password.iter().all(|byte| *byte == first)
        || password.iter().all(|byte| b"xX*.".contains(byte))
}
