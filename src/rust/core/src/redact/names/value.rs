//! Telling a secret from what programs and people write beside a name that says secret.

use std::ops::Range;

use crate::redact::shapes::grammar::Text;

/// Where a value stands, which says how sure it is that it is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// In a header: all but a placeholder.
    Header,
    /// In quotes.
    Quoted,
    /// In a configuration, a query or a command line, where a value needs no quotes.
    Literal,
    /// In code, where without quotes it would be the name of something.
    Code,
}

/// Shorter values are not masked.
const SHORTEST: usize = 8;

/// The same in a header.
const SHORTEST_OF_HEADER: usize = 4;

/// What is looked at of a long value, so that the work is bounded.
const SHOWN: usize = 128;

/// Whether a value is a literal secret.
pub(super) fn is_secret(text: &mut Text, value: &Range<usize>, place: Place) -> bool {
    text.steps += value.len().min(SHOWN) as u64;
    looks_secret(&text.bytes[value.clone()], place)
}

/// Constants that stand beside such a name in many files, for all to read.
const PUBLIC: [&[u8]; 1] = [
    // Rcpp, in each file that `compileAttributes()` writes.
    b"10BE3573-1514-4C36-9D1C-5A225CD40393",
];

fn looks_secret(value: &[u8], place: Place) -> bool {
    let shortest = if place == Place::Header {
        SHORTEST_OF_HEADER
    } else {
        SHORTEST
    };
    if value.len() < shortest {
        return false;
    }
    let shown = &value[..value.len().min(SHOWN)];
    if is_placeholder(shown) || PUBLIC.contains(&shown) {
        return false;
    }
    match place {
        Place::Header => true,
        _ if memchr::memmem::find(shown, b"://").is_some() || is_call(shown) || is_path(shown) => false,
        // A number that no string holds is none in code.
        _ if shown.iter().all(u8::is_ascii_digit) => place != Place::Code,
        Place::Quoted => !of_words(shown) && !is_expression(shown) && !is_message(shown) && !is_list(shown),
        Place::Literal => !of_words(shown) && !is_name(shown),
        Place::Code => !of_words(shown) && !is_name(shown) && changes(shown) >= 3 && !shown.starts_with(b"0x"),
    }
}

/// Whether this stands for a value: a variable, a template, or what documentations write.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    const HINTS: [&[u8]; 21] = [
        b"${",
        b"{{",
        b"$(",
        b"<%",
        b"%s",
        b"example",
        b"abcdefghij",
        b"placeholder",
        b"redacted",
        b"changeme",
        b"change-me",
        b"change_me",
        b"your-",
        b"your_",
        b"yourt",
        b"yourk",
        b"yours",
        b"yourp",
        b"xxxx",
        b"****",
        b"....",
    ];
    const NAMES: [&[u8]; 16] = [
        b"token",
        b"key",
        b"api_key",
        b"apikey",
        b"api-key",
        b"access_token",
        b"accesstoken",
        b"jwt",
        b"credentials",
        b"secret",
        b"auth",
        b"password",
        b"none",
        b"null",
        b"true",
        b"false",
    ];
    let Some(&first) = value.first() else { return true };
    let template = match first {
        b'<' => true,
        b'$' => {
            changes(&value[1..]) < 4
                && value[1..]
                    .iter()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.:$->[]".contains(byte))
        }
        // `%(name)s`, and Windows' `%NAME%`; `%s` is below.
        b'%' => value.get(1) == Some(&b'(') || value.ends_with(b"%"),
        b'{' => value.contains(&b'}'),
        // A file for curl, a tag of YAML.
        b'@' | b'!' => value[1..]
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || b"_-./".contains(byte)),
        _ => false,
    };
    template
        || NAMES.iter().any(|name| value.eq_ignore_ascii_case(name))
        || holds_one_of(value, &HINTS)
        || holds_field(value)
        || is_monotonous(value)
}

/// Whether one of `hints` is in the value, in any case.
fn holds_one_of(value: &[u8], hints: &[&[u8]]) -> bool {
    value.iter().enumerate().any(|(at, byte)| {
        // Most bytes begin none of them.
        b"$<{%aepcryx*.".contains(&byte.to_ascii_lowercase())
            && hints.iter().any(|hint| {
                let here = value.get(at..at + hint.len());
                here.is_some_and(|here| here.eq_ignore_ascii_case(hint))
            })
    })
}

/// Whether a field of a format string is in it: `{name}`.
fn holds_field(value: &[u8]) -> bool {
    let mut open = None;
    for (index, &byte) in value.iter().enumerate() {
        match byte {
            b'{' => open = Some(index),
            b'}' if open.is_some() => return true,
            _ if byte.is_ascii_alphanumeric() || b"_.$()[]:".contains(&byte) => {}
            _ => open = None,
        }
    }
    false
}

/// Whether it is made of one or two characters: `xxxxxxxx`, `--------`.
fn is_monotonous(value: &[u8]) -> bool {
    let first = value[0];
    let other = value.iter().copied().find(|&byte| byte != first).unwrap_or(first);
    value.iter().all(|&byte| byte == first || byte == other)
}

/// Whether it is where a file is, in the directories that systems have: names of files may be random.
fn is_path(value: &[u8]) -> bool {
    // Filesystem Hierarchy Standard 3.0, section 3, and what macOS has.
    const DIRECTORIES: [&[u8]; 21] = [
        b"/bin/",
        b"/boot/",
        b"/dev/",
        b"/etc/",
        b"/home/",
        b"/lib/",
        b"/media/",
        b"/mnt/",
        b"/opt/",
        b"/proc/",
        b"/root/",
        b"/run/",
        b"/sbin/",
        b"/srv/",
        b"/sys/",
        b"/tmp/",
        b"/usr/",
        b"/var/",
        b"/private/",
        b"/Users/",
        b"/Library/",
    ];
    let drive = matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    drive || DIRECTORIES.iter().any(|directory| value.starts_with(directory))
}

/// Whether a name is called or indexed.
fn is_call(value: &[u8]) -> bool {
    let name = value
        .iter()
        .take_while(|&&byte| byte.is_ascii_alphanumeric() || b"_.:$@".contains(&byte))
        .count();
    name > 0 && value.get(name).is_some_and(|byte| b"([".contains(byte)) && !value[0].is_ascii_digit()
}

/// Whether what looks like a string is what stands between two of them, or a regular expression.
fn is_expression(value: &[u8]) -> bool {
    let between = matches!(value.trim_ascii_start().first(), Some(b',' | b'+' | b'.' | b')' | b';'))
        && value.iter().any(|byte| b" ()".contains(byte));
    let pattern = [&b"(?"[..], b"[^", b"[a-", b"[A-", b"[0-"].iter().any(|start| {
        let here = value
            .iter()
            .position(|byte| b"([".contains(byte))
            .unwrap_or(value.len());
        value[here..].starts_with(start)
    });
    between || pattern
}

/// Whether it is a message with places for what is said in it, `%1` and on, as those of Qt are. Its
/// words may hold escapes.
fn is_message(value: &[u8]) -> bool {
    let words: Vec<_> = value.split(|&byte| byte == b' ').collect();
    let is_place = |word: &&[u8]| matches!(trim(word, b"'\"\\().,:;"), [b'%', digit] if digit.is_ascii_digit());
    words.len() >= 3 && words.iter().any(is_place)
}

/// Whether it is a list of words with `|` between them, as a pattern of which one must match is.
fn is_list(value: &[u8]) -> bool {
    let pieces = value.split(|&byte| byte == b'|').filter(|piece| !piece.is_empty());
    let is_one = |piece: &[u8]| piece == b"..." || piece.iter().all(u8::is_ascii_alphabetic) && is_word(piece);
    pieces.clone().count() >= 3 && pieces.clone().all(is_one)
}

/// Whether it is made of words, as names of things, paths and sentences are.
fn of_words(value: &[u8]) -> bool {
    let mut pieces = 0;
    let all = value
        .split(|byte| b"/._-:@,+=~\\ \t?$".contains(byte))
        .filter(|piece| !piece.is_empty())
        .all(|piece| {
            pieces += 1;
            is_word(piece)
        });
    // Names and paths hold one of these, passwords any.
    let odd = b"+=~@?,$".iter().filter(|byte| value.contains(byte)).count();
    if odd > 1 && !value.contains(&b' ') {
        return false;
    }
    // One word with a number at its end is how people make passwords.
    let numbered = pieces == 1 && value.iter().any(u8::is_ascii_digit);
    all && !numbered
}

/// Whether it is a word, a word with a short number at its end, several in camel case, or a short number.
fn is_word(piece: &[u8]) -> bool {
    // What ends a sentence or stands around a word in it.
    let piece = trim(piece, b"!;'\"()[]{}*<>%|&#`");
    let digits = piece.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let letters = &piece[..piece.len() - digits];
    if letters.is_empty() {
        return digits <= 4;
    }
    if digits > 3 || !letters.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'\'') {
        return false;
    }
    letters.iter().all(|byte| !byte.is_ascii_uppercase())
        || letters.iter().all(|byte| !byte.is_ascii_lowercase())
        || is_camel_case(letters)
}

/// Whether it is an address of words alone, as anonymous users give it for a password: RFC 1635, section 3.
pub(super) fn is_address_of_words(value: &[u8]) -> bool {
    value.contains(&b'@')
        && value
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || b"@.-".contains(byte))
}

fn trim<'v>(mut value: &'v [u8], what: &[u8]) -> &'v [u8] {
    while let [first, rest @ ..] = value {
        if !what.contains(first) {
            break;
        }
        value = rest;
    }
    while let [rest @ .., last] = value {
        if !what.contains(last) {
            break;
        }
        value = rest;
    }
    value
}

/// Whether letters are words that begin with a capital, of which one may be an abbreviation in capitals.
fn is_camel_case(letters: &[u8]) -> bool {
    let mut at = 0;
    let mut abbreviations = 0;
    while at < letters.len() {
        let upper = letters[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_uppercase())
            .count();
        let lower = letters[at + upper..]
            .iter()
            .take_while(|byte| !byte.is_ascii_uppercase())
            .count();
        if upper > 1 || lower == 0 {
            abbreviations += 1;
        }
        let word = &letters[at + upper.saturating_sub(1)..at + upper + lower];
        let has_vowel = word.iter().any(|byte| b"aeiouyAEIOUY".contains(byte));
        if abbreviations > 1 || upper > 5 || lower == 1 || (word.len() >= 4 && !has_vowel) {
            return false;
        }
        at += upper + lower;
    }
    true
}

/// Whether it is a name of something in code: letters, digits and `_`, `.`, `::`, with few changes between them.
fn is_name(value: &[u8]) -> bool {
    value.iter().any(|byte| b"_.:".contains(byte))
        && value
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || b"_.:$".contains(&byte))
        && !value[0].is_ascii_digit()
        && (changes(value) < 3 || changes(&without_algorithms(value)) < 3)
}

/// A name in code with a letter in place of the algorithms in it, whose names have numbers in them.
fn without_algorithms(name: &[u8]) -> Vec<u8> {
    const ALGORITHMS: [&[u8]; 8] = [
        b"curve25519",
        b"ed25519",
        b"x25519",
        b"ed448",
        b"x448",
        b"secp256k1",
        b"secp256r1",
        b"secp384r1",
    ];
    let mut out = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [first, after @ ..] = rest {
        let begins = |algorithm: &&&[u8]| {
            let here = rest.get(..algorithm.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(algorithm))
        };
        if let Some(algorithm) = ALGORITHMS.iter().find(begins) {
            out.push(b'a');
            rest = &rest[algorithm.len()..];
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

/// How often letters and digits, and small letters and capitals after them, take turns.
fn changes(value: &[u8]) -> usize {
    let kind = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    value
        .windows(2)
        .filter(|pair| {
            let (left, right) = (kind(pair[0]), kind(pair[1]));
            left != right && left != 3 && right != 3 && !(left == 2 && right == 1)
        })
        .count()
}
