//! What has the shape of a credential: its prefix, alphabet and length say what it is.
//!
//! The text is read once, for the anchors of all rules; where one stands, the rule is checked in steps that are
//! bounded or shared, so that the work grows with the length of the text and not with what is in it.
//!
//! Not masked are the keys of documentations (`...EXAMPLE`) and what somebody typed in place of a key (`xxxx`).

mod block;
pub(super) mod filter;
pub(super) mod grammar;
mod rules;
#[cfg(test)]
mod tests;
mod userinfo;

use std::ops::Range;
use std::sync::LazyLock;

use super::patterns::Reader;
use filter::Filter;
use grammar::{Class, Found, Text};
use rules::{Part, Rule, RULES};

/// No decision depends on what is further away than this, before or after a place.
pub const REACH: usize = block::LONGEST + 1024;

/// Adds to `out` the ranges of `text` that have the shape of a credential, sorted by where they begin. They may
/// overlap.
pub fn find(text: &[u8], out: &mut Vec<Range<usize>>) {
    READER.find(text, out);
}

/// What is known by its shape, and where each format was looked up: rules of public rule sets, or standards.
/// Private keys and passwords of URLs are known beside these.
pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.iter().map(|rule| (rule.name, rule.source))
}

/// Calls `each` with what is found of which an anchor begins at `at`.
pub(super) fn check(text: &mut Text, at: usize, each: &mut dyn FnMut(Found)) {
    let rest = &text.bytes[at..];
    for &(rule, anchor) in &ANCHORS.by_first[usize::from(rest[0])] {
        // Most have another second byte.
        if anchor.as_bytes()[1] == rest[1] && rest.starts_with(anchor.as_bytes()) {
            text.was_open();
            let found = match rule {
                Kind::Rule(rule) => credential(text, rule, at, anchor.len()),
                Kind::Userinfo => userinfo::check(text, at),
                Kind::Block => block::check(text, at),
            };
            let open = text.was_open();
            let (start, spans) = found.unwrap_or((at, Vec::new()));
            if open || !spans.is_empty() {
                each(Found { start, spans, open });
            }
        }
    }
}

/// The first place near the end of the text where an anchor, or what comes before one, may have begun.
pub(super) fn begun(text: &mut Text) -> usize {
    let length = text.bytes.len();
    let mut from = length;
    for at in length.saturating_sub(ANCHORS.longest)..=length {
        for &(rule, anchor) in &ANCHORS.all {
            // The filter does not see an anchor of which it has not the byte after it.
            let shown = at + anchor.len().max(3) >= length;
            let rest = &text.bytes[at..];
            if !shown || !anchor.as_bytes().starts_with(&rest[..rest.len().min(anchor.len())]) {
                continue;
            }
            let start = match rule {
                Kind::Rule(rule) => begins(text, rule, at, at == length),
                Kind::Userinfo => Some(userinfo::begins(text, at)),
                Kind::Block => Some(at),
            };
            if let Some(start) = start {
                from = from.min(start);
            }
        }
    }
    from
}

/// Where a credential of a rule begins whose anchor stands at `at`; or may stand there, if `may_grow`, after more
/// of what comes before it.
fn begins(text: &mut Text, rule: &Rule, at: usize, may_grow: bool) -> Option<usize> {
    let start = match rule.before {
        None => at,
        Some((class, least, most)) => {
            let start = text.run_back(class, at, most);
            if at - start < least && !may_grow {
                return None;
            }
            start
        }
    };
    text.begins_word(start).then_some(start)
}

/// What must be masked where the anchor of a rule stands at `at`, and where the credential begins.
fn credential(text: &mut Text, rule: &Rule, at: usize, length: usize) -> Option<(usize, Vec<Range<usize>>)> {
    let start = begins(text, rule, at, false)?;
    let body = at + length;
    let end = parts(text, rule.parts, body);
    let end = end.filter(|&end| text.ends_word(end));
    let spans = end.into_iter().filter_map(|end| {
        let end = end
            - text.bytes[body..end]
                .iter()
                .rev()
                .take_while(|&&byte| byte == b'.')
                .count();
        let from = if rule.anchor_stays { body } else { start };
        let of_before = rule.before.is_some() && body + 8 > end;
        let tested = if of_before { start..at } else { body..end };
        (!is_placeholder(&text.bytes[tested])).then_some(from..end)
    });
    Some((start, spans.collect()))
}

/// Where the parts end that begin at `from`.
fn parts(text: &mut Text, parts: &[Part], from: usize) -> Option<usize> {
    let mut at = from;
    for part in parts {
        match part {
            Part::Is(what) => {
                if !text.stands(at, what.as_bytes()) {
                    return None;
                }
                at += what.len();
            }
            Part::Run(class, least, most) => {
                let end = text.run(*class, at, *most);
                if end - at < *least {
                    return None;
                }
                // What goes on in the same alphabet is of another shape; whether a word does is seen at the end.
                at = end.min(at + most);
            }
        }
    }
    Some(at)
}

/// Whether somebody typed this in place of a credential: what documentations show, or one or a few characters
/// again and again, or lower-case words.
fn is_placeholder(body: &[u8]) -> bool {
    const SHOWN: usize = 96;
    let body = &body[..body.len().min(SHOWN)];
    let mut seen = [false; 256];
    for byte in body.iter().filter(|byte| byte.is_ascii_alphanumeric()) {
        seen[usize::from(*byte)] = true;
    }
    seen.iter().filter(|&&seen| seen).count() <= FEW
        || body
            .windows(EXAMPLE.len())
            .any(|window| window.eq_ignore_ascii_case(EXAMPLE))
        || body
            .windows(MANY)
            .any(|window| b"xX0*".contains(&window[0]) && window.iter().all(|byte| *byte == window[0]))
        || body
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'-' | b'_' | b'.' | b'/'))
}

/// No credential of any length in the table is likely to have so few different characters.
const FEW: usize = 3;

/// So often a character that stands for others is repeated.
const MANY: usize = 16;

/// What AWS and others put in the keys of their documentations.
const EXAMPLE: &[u8] = b"EXAMPLE";

/// What an anchor stands for.
#[derive(Clone, Copy)]
enum Kind {
    Rule(&'static Rule),
    Userinfo,
    Block,
}

/// The anchors of all rules.
struct Anchors {
    all: Vec<(Kind, &'static str)>,
    by_first: Vec<Vec<(Kind, &'static str)>>,
    longest: usize,
}

static ANCHORS: LazyLock<Anchors> = LazyLock::new(|| {
    let rules = RULES
        .iter()
        .flat_map(|rule| rule.anchors.iter().map(move |&anchor| (Kind::Rule(rule), anchor)));
    let all: Vec<_> = rules
        .chain([(Kind::Userinfo, userinfo::ANCHOR)])
        .chain(block::ANCHORS.map(|anchor| (Kind::Block, anchor)))
        .collect();
    let mut by_first = vec![Vec::new(); 256];
    for &(kind, anchor) in &all {
        by_first[usize::from(anchor.as_bytes()[0])].push((kind, anchor));
    }
    Anchors {
        longest: all.iter().map(|(_, anchor)| anchor.len()).max().unwrap_or(0),
        all,
        by_first,
    }
});

static READER: LazyLock<Reader> = LazyLock::new(|| Reader {
    filter: Filter::new(windows()),
    reach: REACH,
    check,
    begun,
});

/// The windows in which the anchors can begin.
pub(super) fn windows() -> impl Iterator<Item = [u8; 4]> {
    ANCHORS.all.iter().flat_map(|&(kind, anchor)| windows_of(kind, anchor))
}

/// The windows in which an anchor can begin: a shorter one is followed by what its rule wants.
fn windows_of(kind: Kind, anchor: &str) -> Vec<[u8; 4]> {
    let class = match kind {
        Kind::Userinfo => Class::USERINFO,
        Kind::Rule(Rule {
            parts: [Part::Run(class, ..), ..],
            ..
        }) => *class,
        _ => Class::WORD,
    };
    let mut begun: Vec<Vec<u8>> = vec![anchor.bytes().take(4).collect()];
    while begun[0].len() < 4 {
        begun = begun
            .iter()
            .flat_map(|begun| {
                let next = (0..=127).filter(|&byte| class.has(byte));
                next.map(|byte| [begun.as_slice(), &[byte]].concat())
            })
            .collect();
    }
    begun.into_iter().filter_map(|window| window.try_into().ok()).collect()
}
