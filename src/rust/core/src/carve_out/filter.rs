//! Tells most paths apart from all patterns of a list, in less time than a system call takes.

use regex_automata::dfa::{dense, Automaton, StartKind};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};

use super::pattern::build;

/// What is known of the last components of a list's patterns.
pub struct Filter {
    /// How a component that matches must start or end, where all patterns tell it.
    ends: Option<Ends>,
    /// Finds a component that could match; none when only the full test can tell.
    components: Option<dense::DFA<Vec<u32>>>,
}

impl Filter {
    /// From the last component of each pattern; a pattern without one makes the filter pass all.
    pub fn new<'a>(tails: impl Iterator<Item = Option<&'a str>>) -> Self {
        let Some(tails) = tails.collect::<Option<Vec<_>>>() else {
            return Self {
                ends: None,
                components: None,
            };
        };
        let ends = tails.iter().try_fold(
            Ends {
                first: [false; 256],
                last: [false; 256],
            },
            |ends, tail| ends.and(tail),
        );
        let expressions: Option<Vec<String>> = tails.iter().map(|tail| expression(tail)).collect();
        Self {
            ends,
            components: expressions
                .filter(|all| !all.is_empty())
                .and_then(|all| automaton(&all)),
        }
    }

    /// Whether it could be made small enough to tell anything.
    #[cfg(test)]
    pub fn is_quick(&self) -> bool {
        self.ends.is_some() && self.components.is_some()
    }

    /// Whether a component of the path could match. `true` may be wrong, `false` never is.
    pub fn may_match(&self, path: &[u8]) -> bool {
        if self.ends.as_ref().is_some_and(|ends| !ends.may_match(path)) {
            return false;
        }
        self.components.as_ref().is_none_or(|automaton| {
            // A search that gives up says nothing, so the full test decides.
            automaton
                .try_search_fwd(&Input::new(path).earliest(true))
                .map_or(true, |found| found.is_some())
        })
    }
}

/// An automaton that finds a component that one of the expressions matches.
fn automaton(components: &[String]) -> Option<dense::DFA<Vec<u32>>> {
    let expression = format!("(?:^|/)(?:{})(?:/|$)", components.join("|"));
    dense::Builder::new()
        .syntax(
            syntax::Config::new()
                .utf8(false)
                .unicode(false)
                .case_insensitive(true)
                .dot_matches_new_line(true),
        )
        .thompson(regex_automata::nfa::thompson::Config::new().utf8(false))
        .configure(
            dense::Config::new()
                .start_kind(StartKind::Unanchored)
                // One match is as good as another: states need not tell patterns apart.
                .match_kind(MatchKind::All)
                // Many wildcards make many states; without the automaton the answer is the same, later.
                .dfa_size_limit(Some(1 << 20))
                .determinize_size_limit(Some(1 << 22)),
        )
        .build(&expression)
        .ok()
}

/// A component as a regular expression without anchors.
fn expression(component: &str) -> Option<String> {
    let glob = build(component).ok()?;
    Some(format!(
        "(?:{})",
        glob.regex().strip_prefix("(?-u)^")?.strip_suffix('$')?
    ))
}

/// The first and last bytes of components that a pattern can match: two look-ups tell most components
/// apart from all patterns.
struct Ends {
    first: [bool; 256],
    last: [bool; 256],
}

impl Ends {
    /// Takes one more component; nothing when both of its ends are open.
    fn and(mut self, component: &str) -> Option<Self> {
        let (first, last) = (*component.as_bytes().first()?, *component.as_bytes().last()?);
        let (side, byte) = if !b"*?[\\".contains(&first) {
            (&mut self.first, first)
        } else if !b"*?]\\".contains(&last) {
            (&mut self.last, last)
        } else {
            return None;
        };
        side[usize::from(byte)] = true;
        side[usize::from(byte.to_ascii_uppercase())] = true;
        Some(self)
    }

    fn may_match(&self, path: &[u8]) -> bool {
        let mut start = 0;
        memchr::memchr_iter(b'/', path).chain([path.len()]).any(|end| {
            let name = &path[start..end];
            start = end + 1;
            let hit = |table: &[bool; 256], byte: Option<&u8>| byte.is_some_and(|byte| table[usize::from(*byte)]);
            hit(&self.first, name.first()) || hit(&self.last, name.last())
        })
    }
}
