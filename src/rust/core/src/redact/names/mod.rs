//! Values beside names that say that they are secret: headers, assignments, queries, options of programs.
//!
//! Of an assignment only a literal that looks like a secret is masked; names of variables, calls, templates, paths,
//! words and sentences are not. The credentials of an `Authorization` header are masked whatever they look like.

mod command;
mod header;
mod name;
#[cfg(test)]
mod tests;
mod value;

use std::ops::Range;
use std::sync::LazyLock;

use super::patterns::Reader;
use super::shapes::filter::Filter;
use super::shapes::grammar::{Class, Found, Text};
use name::{classify, Name, WORDS};
use value::Place;

/// No decision depends on what is further away than this, before or after a place.
pub const REACH: usize = 16 << 10;

/// Longer values are not looked at.
const LONGEST_VALUE: usize = 8 << 10;

/// White space that may stand around what is between a name and its value.
const WIDEST_SPACE: usize = 16;

/// Adds to `out` the ranges of `text` that stand beside a name that says secret, sorted by where they begin: the
/// values, without the names. They may overlap.
pub fn find(text: &[u8], out: &mut Vec<Range<usize>>) {
    READER.find(text, out);
}

/// What names are made of.
const NAME: Class = Class::WORD.or(Class::DASH).or(Class::DOT);

/// What is looked for.
#[derive(Clone, Copy)]
enum Anchor {
    Word(&'static str),
    Bearer,
    Command(&'static str),
    Login,
}

impl Anchor {
    fn text(self) -> &'static str {
        match self {
            Self::Word(word) | Self::Command(word) => word,
            Self::Bearer => "bearer",
            Self::Login => "login",
        }
    }
}

/// The anchors by their first byte, in lower case.
static ANCHORS: LazyLock<Vec<Vec<Anchor>>> = LazyLock::new(|| {
    let mut by_first = vec![Vec::new(); 256];
    for anchor in anchors() {
        by_first[usize::from(anchor.text().as_bytes()[0])].push(anchor);
    }
    by_first
});

fn anchors() -> impl Iterator<Item = Anchor> {
    let others = [
        Anchor::Bearer,
        Anchor::Login,
        Anchor::Command("curl"),
        Anchor::Command("sshpass"),
    ];
    WORDS.map(Anchor::Word).into_iter().chain(others)
}

static READER: LazyLock<Reader> = LazyLock::new(|| Reader {
    filter: Filter::new(windows()),
    reach: REACH,
    check,
    begun,
});

/// The windows in which the anchors can begin.
pub(super) fn windows() -> impl Iterator<Item = [u8; 4]> {
    anchors().flat_map(|anchor| match *anchor.text().as_bytes() {
        [a, b, c, d, ..] => vec![[a, b, c, d]],
        [a, b, c] => AFTER_NAME.map(|after| [a, b, c, after]).to_vec(),
        _ => Vec::new(),
    })
}

/// What may follow a name.
const AFTER_NAME: [u8; 13] = *b"\t \"'=:<>])\\`,";

/// Calls `each` with what is found beside a name of which a word begins at `at`.
pub(super) fn check(text: &mut Text, at: usize, each: &mut dyn FnMut(Found)) {
    for &anchor in &ANCHORS[usize::from(text.bytes[at].to_ascii_lowercase())] {
        text.was_open();
        if !text.stands_in_any_case(at, anchor.text().as_bytes()) {
            // What is not whole yet is a part of a name at the end.
            continue;
        }
        let end = at + anchor.text().len();
        let mut spans = Vec::new();
        let start = match anchor {
            Anchor::Word(word) => named(text, at, end, word, &mut spans),
            Anchor::Bearer => header::bearer(text, at, end, &mut spans),
            Anchor::Command(name) => command::passwords(text, at, end, name, &mut spans),
            Anchor::Login => command::netrc(text, at, end, &mut spans),
        };
        let open = text.was_open();
        if open || !spans.is_empty() {
            spans.sort_unstable_by_key(|span| span.end);
            each(Found {
                start: start.unwrap_or(at),
                spans,
                open,
            });
        }
    }
}

/// The place near the end of the text where a name may have begun that is not whole yet.
pub(super) fn begun(text: &mut Text) -> usize {
    let length = text.bytes.len();
    let from = text.run_back(NAME, length, name::LONGEST + 1);
    if length - from > name::LONGEST {
        length
    } else {
        from
    }
}

/// What stands between a name and its value.
struct Assignment {
    /// Where the value begins, perhaps with a quote.
    value: usize,
    /// The quote that the name is in, or that what holds both is in.
    around: Option<u8>,
    /// Whether it is how code assigns, so that a value without quotes is a name.
    code: bool,
    /// Whether the name and `=` are in a query.
    query: bool,
    /// Whether the value must be in quotes.
    quoted: bool,
}

/// Finds the value of the name that ends at `end` with the word at `at`; gives where the name begins.
fn named(text: &mut Text, at: usize, end: usize, word: &str, spans: &mut Vec<Range<usize>>) -> Option<usize> {
    match text.byte(end) {
        // The name goes on.
        Some(byte) if Class::WORD.has(byte) => return None,
        Some(b'-' | b'.') if text.byte(end + 1).is_none_or(|byte| Class::WORD.has(byte)) => return Some(at_least(at)),
        _ => {}
    }
    let start = name_start(text, at)?;
    let bytes = text.bytes;
    let Some(kind) = classify(&bytes[start..end], word) else {
        // Whether the name ends here does not matter.
        text.was_open();
        return None;
    };
    let Some(assignment) = assignment(text, start, end, kind) else {
        return Some(start);
    };
    if kind == Name::Query && !assignment.query {
        return Some(start);
    }
    // Within the value of a cookie this is no header, and reading it as one again and again would take long.
    let within = bytes[..start]
        .last()
        .is_some_and(|&byte| Class::BARE.has(byte) && !Class::WORD.has(byte));
    if within && matches!(kind, Name::Cookie | Name::SetCookie) {
        return Some(start);
    }
    // Where a shell is, POSIX.1-2017, section 8.3; in the settings of a database it would be a password.
    if &bytes[start..end] == b"PWD" && text.byte(assignment.value) == Some(b'/') {
        return Some(start);
    }
    match kind {
        Name::Authorization => header::authorization(text, &assignment, spans),
        Name::Cookie | Name::SetCookie if header::cookies(text, &assignment, kind, spans) => {}
        Name::Header => assigned(text, &assignment, true, spans),
        _ => assigned(text, &assignment, false, spans),
    }
    Some(start)
}

/// Names that may be longer begin here at the earliest.
fn at_least(at: usize) -> usize {
    at.saturating_sub(name::LONGEST)
}

/// Where the name begins that has a word at `at`.
fn name_start(text: &mut Text, at: usize) -> Option<usize> {
    let mut start = text.run_back(NAME, at, name::LONGEST);
    let bytes = text.bytes;
    match bytes[..start] {
        // The last character of an escape is none of the name.
        [.., b'\\'] if start < at && b"nrt".contains(&bytes[start]) => start += 1,
        [.., b'%'] if start + 2 <= at && bytes[start..start + 2].iter().all(u8::is_ascii_hexdigit) => start += 2,
        [.., b'[' | b';'] => {
            let digits = bytes[start..at].iter().take_while(|byte| byte.is_ascii_digit()).count();
            if bytes[start + digits..at].first() == Some(&b'm') {
                start += digits + 1;
            }
        }
        _ => {}
    }
    // Longer ones are no names.
    (at - start + LONGEST_WORD <= name::LONGEST).then_some(start)
}

/// `authorization`.
const LONGEST_WORD: usize = 13;

/// What assigns a value to the name that begins at `start` and ends at `end`.
fn assignment(text: &mut Text, start: usize, end: usize, kind: Name) -> Option<Assignment> {
    let before = text.bytes[..start].last().copied();
    let around = before.filter(|byte| b"\"'`".contains(byte));
    let query = matches!(before, Some(b'?' | b'&'));
    let mut at = end;
    let mut name_quoted = false;
    if text.byte(at) == Some(b'\\') && around.is_some() {
        at += 1;
    }
    if around.is_some() && text.byte(at) == around {
        at += 1;
        name_quoted = true;
    }
    if matches!(text.byte(at), Some(b']' | b')')) && name_quoted {
        at += 1;
    }
    let spaced = spaces(text, at);
    let gap = spaced - at;
    let mut found = Assignment {
        value: spaced,
        around: around.filter(|_| !name_quoted),
        code: false,
        query,
        quoted: false,
    };
    match text.byte(spaced)? {
        b'=' => {
            let next = text.byte(spaced + 1);
            found.value = spaced
                + match next {
                    Some(b'=' | b'>') => 2,
                    Some(b'~') if gap > 0 => return None,
                    _ => 1,
                };
            // In a list of arguments `token=value` gives a variable, in a shell or in a file its value.
            let alone = matches!(before, None | Some(b'\n' | b'\r' | b'\t' | b' ' | b';' | b'"' | b'\''));
            found.code = !query && (gap > 0 || !alone);
        }
        b':' => {
            let next = text.byte(spaced + 1);
            if next == Some(b':') {
                return None;
            }
            found.value = spaced + if next == Some(b'=') { 2 } else { 1 };
            let typed = after_type(text, found.value);
            found.code = typed != found.value;
            found.value = typed;
        }
        b'<' => {
            let mut arrow = spaced + 1;
            if text.byte(arrow) == Some(b'<') {
                arrow += 1;
            }
            if text.byte(arrow) != Some(b'-') {
                return None;
            }
            found.value = arrow + 1;
            found.code = true;
        }
        b'>' if before == Some(b'<') => found.value = spaced + 1,
        b',' if name_quoted && matches!(kind, Name::Authorization | Name::Header | Name::Cookie) => {
            found.value = spaced + 1;
            found.quoted = true;
        }
        // An option and its value.
        _ if gap > 0 && text.bytes[start] == b'-' => {}
        _ => return None,
    }
    found.value = spaces(text, found.value);
    // This closes what the name is in: `'name: '` of code, or a sentence and what follows it.
    let closes = found.around.is_some() && text.byte(found.value) == found.around;
    (!closes).then_some(found)
}

/// What follows a type, as in Python's `password: str = "..."`.
fn after_type(text: &mut Text, from: usize) -> usize {
    let name = spaces(text, from);
    let end = text.run(Class::WORD, name, 32);
    let equals = spaces(text, end);
    if end > name && equals > end && text.byte(equals) == Some(b'=') && text.byte(equals + 1) != Some(b'=') {
        equals + 1
    } else {
        from
    }
}

fn spaces(text: &mut Text, from: usize) -> usize {
    let mut at = from;
    while at < from + WIDEST_SPACE && matches!(text.byte(at), Some(b' ' | b'\t')) {
        at += 1;
    }
    at
}

/// The range within the quotes that open at `at`, or after a letter that says what kind of string it is.
fn quoted(text: &mut Text, at: usize) -> Option<Range<usize>> {
    let mut open = at;
    let letters = text.run(Class::ALNUM, at, 2);
    if letters - at <= 2 && text.bytes[at..letters].iter().all(|byte| b"rRbBfFuU".contains(byte)) {
        open = letters;
    }
    let escaped = text.byte(open) == Some(b'\\');
    open += usize::from(escaped);
    let quote = text.byte(open).filter(|byte| b"\"'`".contains(byte))?;
    let from = open + 1;
    let mut at = from;
    while at < from + LONGEST_VALUE {
        match text.byte(at)? {
            b'\\' if escaped && text.byte(at + 1) == Some(quote) => return Some(from..at),
            b'\\' => at += 2,
            b'\n' => return None,
            byte if byte == quote => return Some(from..at),
            _ => at += 1,
        }
    }
    None
}

/// Masks an assigned value if it is a secret.
fn assigned(text: &mut Text, assignment: &Assignment, header: bool, spans: &mut Vec<Range<usize>>) {
    let from = assignment.value;
    let bytes = text.bytes;
    if let Some(span) = quoted(text, from) {
        // In a list of names, the next one is no value.
        let place = if header && !assignment.quoted {
            Place::Header
        } else {
            Place::Quoted
        };
        if value::is_secret(text, &span, place) {
            spans.push(span);
        }
        return;
    }
    if assignment.quoted {
        return;
    }
    let end = text.run(Class::BARE, from, LONGEST_VALUE);
    if end - from > LONGEST_VALUE {
        return;
    }
    let mut end = end;
    if assignment.query {
        end = from
            + bytes[from..end]
                .iter()
                .position(|&byte| byte == b'#')
                .unwrap_or(end - from);
    }
    // A call, or a part of one.
    if matches!(text.byte(end), Some(b'(' | b'[')) {
        return;
    }
    let place = match assignment {
        Assignment { code: true, .. } => Place::Code,
        _ if header => Place::Header,
        _ => Place::Literal,
    };
    if value::is_secret(text, &(from..end), place) {
        // What a shell or a file would take as the rest of it.
        if !assignment.query && matches!(text.byte(end), Some(b'&' | b';' | b',' | b'|' | b'{' | b'}')) {
            let rest = text.run(Class::BARE, end + 1, LONGEST_VALUE);
            let is_rest = rest > end + 1 && !bytes[end + 1..rest.min(end + 64)].contains(&b'=');
            if is_rest && place == Place::Literal && rest - end <= LONGEST_VALUE {
                end = rest;
            }
        }
        spans.push(from..end);
    }
}
