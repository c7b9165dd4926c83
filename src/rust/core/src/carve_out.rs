//! Carve-outs: what inside a root is neither readable nor writable (`deny`), or readable only
//! (`protect`). Patterns are gitignore's, relative to each root.
//!
//! Names are matched as a case-insensitive, normalising file system would compare them, because
//! the same rule must hold on one: `.ENV` is `.env` on macOS and in a casefold directory.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::Match;
use regex_automata::dfa::{dense, Automaton, StartKind};
use regex_automata::util::syntax;
use regex_automata::{Input, MatchKind};
use unicode_normalization::UnicodeNormalization;

use crate::misuse::Misuse;

/// Denied when the user says nothing: where keys are kept.
pub const DENY_DEFAULTS: &[&str] = &[
    ".Renviron",
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.template",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".ssh/",
    ".aws/",
    ".gnupg/",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_*_sk",
    "*-key.pem",
    "*.key.pem",
    "privkey*.pem",
];

/// Protected when the user says nothing: what runs later, outside the capability. A slash inside a
/// pattern anchors it, so nested projects need the leading `**/`.
pub const PROTECT_DEFAULTS: &[&str] = &[
    ".Rprofile",
    "**/.git/hooks/",
    "**/.git/config",
    "**/.git/info/attributes",
    "**/.git/modules/**/hooks/",
    "**/.git/modules/**/config",
    "**/renv/activate.R",
    ".vscode/",
    ".idea/",
    ".envrc",
    ".claude/",
    ".codex/",
    ".cursor/",
    ".mcp.json",
    "**/.github/workflows/",
    ".positai/",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
];

/// What a pattern does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Neither readable nor writable.
    Deny,
    /// Readable, not writable.
    Protect,
}

impl Effect {
    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Protect => "protect",
        }
    }
}

/// What is known of the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// It is, or would be, a directory.
    Directory,
    /// It is, or would be, something else.
    File,
    /// Not known: the stricter answer counts.
    Unknown,
}

struct Patterns {
    /// One matcher a list: with `!` re-including within its own list only, a later list (added by
    /// `rho_narrow()`) cannot open what an earlier one closed.
    lists: Vec<Gitignore>,
    spelling: HashMap<String, String>,
    /// Directories that patterns with several components pass, each with its pattern.
    leading: Vec<(GlobMatcher, String)>,
    /// How a component that matches must start or end, where all patterns tell it.
    ends: Option<Ends>,
    /// Whether any component could match any pattern; `None` when only the full test can tell.
    any_component: Option<dense::DFA<Vec<u32>>>,
}

/// The compiled carve-outs of one root or of the roots above it.
pub struct CarveOuts {
    deny: Patterns,
    protect: Patterns,
}

impl CarveOuts {
    /// Compiles lists of patterns. Each list stands for itself.
    ///
    /// # Errors
    /// `pattern` for one that is empty, a comment, or no glob.
    pub fn new(deny: &[Vec<String>], protect: &[Vec<String>]) -> Result<Arc<Self>, Misuse> {
        Ok(Arc::new(Self {
            deny: Patterns::new(deny)?,
            protect: Patterns::new(protect)?,
        }))
    }

    /// The pattern of several components of which `name` could be one before the last.
    #[must_use]
    pub fn leading_to(&self, name: &[u8]) -> Option<&str> {
        let folded = fold(name);
        let name = Path::new(OsStr::from_bytes(&folded));
        let leading = self.deny.leading.iter().chain(&self.protect.leading);
        leading
            .into_iter()
            .find(|(glob, _)| glob.is_match(name))
            .map(|(_, pattern)| pattern.as_str())
    }

    /// The pattern that covers `path`, a path relative to the root without `.` and `..`.
    #[must_use]
    pub fn covering(&self, effect: Effect, path: &[u8], leaf: Leaf) -> Option<&str> {
        let patterns = match effect {
            Effect::Deny => &self.deny,
            Effect::Protect => &self.protect,
        };
        patterns.covering(path, leaf)
    }
}

impl Patterns {
    fn new(lists: &[Vec<String>]) -> Result<Self, Misuse> {
        let mut spelling = HashMap::new();
        let mut compiled = Vec::new();
        let mut tails = Some(Vec::new());
        let mut leading = Vec::new();
        let mut ends = Some(Ends {
            first: [false; 256],
            last: [false; 256],
        });
        for list in lists.iter().filter(|list| !list.is_empty()) {
            let mut builder = GitignoreBuilder::new("");
            for pattern in list {
                let folded = fold_pattern(pattern)?;
                builder.add_line(None, &folded).map_err(|error| bad(pattern, error))?;
                if !folded.starts_with('!') {
                    leading.extend(leading_components(&folded).map(|glob| (glob, pattern.clone())));
                    ends = ends.and_then(|ends| ends.and(&folded));
                    tails = match (tails, tail_expression(&folded)) {
                        (Some(mut known), Some(tail)) => {
                            known.push(tail);
                            Some(known)
                        }
                        _ => None,
                    };
                }
                spelling.insert(folded, pattern.clone());
            }
            compiled.push(builder.build().map_err(|error| bad(&list.join(", "), error))?);
        }
        let any_component = tails.filter(|tails| !tails.is_empty()).and_then(|tails| filter(&tails));
        Ok(Self {
            lists: compiled,
            spelling,
            leading,
            ends,
            any_component,
        })
    }

    /// Whether a component of the path could match. `true` may be wrong, `false` never is.
    fn may_match(&self, path: &[u8]) -> bool {
        if self.ends.as_ref().is_some_and(|ends| !ends.may_match(path)) {
            return false;
        }
        self.any_component.as_ref().is_none_or(|filter| {
            // A search that gives up says nothing, so the full test decides.
            filter
                .try_search_fwd(&Input::new(path).earliest(true))
                .map_or(true, |found| found.is_some())
        })
    }

    fn covering(&self, path: &[u8], leaf: Leaf) -> Option<&str> {
        if self.lists.is_empty() || path.is_empty() {
            return None;
        }
        // The filter ignores the case of ASCII letters, so that most paths need no copy.
        if path.is_ascii() && !self.may_match(path) {
            return None;
        }
        let folded = fold(path);
        if !self.may_match(&folded) {
            return None;
        }
        let ends = memchr::memchr_iter(b'/', &folded).chain([folded.len()]);
        for end in ends {
            let here = Path::new(OsStr::from_bytes(&folded[..end]));
            let kinds: &[bool] = match (end == folded.len(), leaf) {
                (false, _) | (true, Leaf::Directory) => &[true],
                (true, Leaf::File) => &[false],
                (true, Leaf::Unknown) => &[false, true],
            };
            for directory in kinds {
                // Top down, as git does it: what lies below an excluded directory stays excluded.
                for list in &self.lists {
                    if let Match::Ignore(glob) = list.matched(here, *directory) {
                        return Some(self.spelling.get(glob.original()).map_or("", String::as_str));
                    }
                }
            }
        }
        None
    }
}

/// A path as a case-insensitive, normalising file system would compare it.
fn fold(path: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(path) {
        Ok(text) if !text.is_ascii() => fold_text(text).into_bytes(),
        _ => path.to_ascii_lowercase(),
    }
}

fn fold_text(text: &str) -> String {
    // HFS+ ignores these characters, so `.g<zero width>it` opens `.git` there.
    text.nfd()
        .filter(|character| !crate::escape::is_ignorable(*character))
        .flat_map(char::to_lowercase)
        .nfd()
        .collect()
}

fn fold_pattern(pattern: &str) -> Result<String, Misuse> {
    let unusable = |why: &str| Err(bad(pattern, why));
    if pattern.trim().is_empty() {
        return unusable("it is empty");
    }
    if pattern.starts_with('#') {
        return unusable("it would be a comment; write a leading `#` as `\\#`");
    }
    if pattern.chars().any(char::is_control) {
        return unusable("it holds a control character");
    }
    if pattern
        .trim_start_matches('!')
        .split('/')
        .any(|step| step == ".." || step == ".")
    {
        return unusable("`.` and `..` never match; patterns are relative to each root");
    }
    Ok(fold_text(pattern))
}

fn bad(pattern: &str, why: impl std::fmt::Display) -> Misuse {
    Misuse::new(
        "pattern",
        format!(
            "\"{}\" is no usable pattern: {why}. Patterns use gitignore's syntax.",
            crate::escape::display(pattern.as_bytes())
        ),
    )
    .with("pattern", pattern)
}

/// An automaton that finds a component that one of the expressions matches.
fn filter(components: &[String]) -> Option<dense::DFA<Vec<u32>>> {
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
                // Many wildcards make many states; without the filter the answer is the same, later.
                .dfa_size_limit(Some(1 << 20))
                .determinize_size_limit(Some(1 << 22)),
        )
        .build(&expression)
        .ok()
}

/// A regular expression for the last component of a pattern, without anchors; nothing when the
/// last component says nothing (`**`).
fn tail_expression(pattern: &str) -> Option<String> {
    let tail = tail(pattern).filter(|tail| !tail.contains(['\\', '{']))?;
    let glob = GlobBuilder::new(tail)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .ok()?;
    let expression = glob.regex().strip_prefix("(?-u)^")?.strip_suffix('$')?;
    Some(format!("(?:{expression})"))
}

/// The first and last bytes of components that a pattern can match: two look-ups tell most components
/// apart from all patterns.
struct Ends {
    first: [bool; 256],
    last: [bool; 256],
}

impl Ends {
    /// Takes one more pattern; nothing when both of its ends are open.
    fn and(mut self, pattern: &str) -> Option<Self> {
        let tail = tail(pattern)?.as_bytes();
        let (first, last) = (*tail.first()?, *tail.last()?);
        let (side, byte) = if !b"*?[{\\".contains(&first) {
            (&mut self.first, first)
        } else if !b"*?]}\\".contains(&last) {
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

/// The last component of a pattern; nothing when it says nothing (`**`).
fn tail(pattern: &str) -> Option<&str> {
    let trimmed = pattern.trim_end_matches(' ').trim_end_matches('/');
    trimmed
        .rsplit('/')
        .next()
        .filter(|tail| !tail.is_empty() && !tail.contains("**"))
}

/// Matchers for the components of a pattern before its last one.
fn leading_components(pattern: &str) -> impl Iterator<Item = GlobMatcher> + '_ {
    let trimmed = pattern.trim_end_matches(' ').trim_end_matches('/');
    let leading = trimmed.rsplit_once('/').map_or("", |(leading, _)| leading);
    leading
        .split('/')
        .filter(|step| !step.is_empty() && *step != "**")
        .filter_map(|step| {
            Some(
                GlobBuilder::new(step)
                    .literal_separator(true)
                    .backslash_escape(true)
                    .build()
                    .ok()?
                    .compile_matcher(),
            )
        })
}

/// `names` as an anchored pattern that matches exactly that directory.
#[must_use]
pub fn exact_directory(names: &[Vec<u8>]) -> String {
    let mut pattern = String::from("/");
    for (index, name) in names.iter().enumerate() {
        if index > 0 {
            pattern.push('/');
        }
        for character in String::from_utf8_lossy(name).chars() {
            if matches!(character, '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ' ') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
    }
    pattern.push('/');
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Arc<CarveOuts> {
        let list = |patterns: &[&str]| vec![patterns.iter().map(ToString::to_string).collect()];
        CarveOuts::new(&list(DENY_DEFAULTS), &list(PROTECT_DEFAULTS)).unwrap()
    }

    #[test]
    fn defaults_cover_their_names_at_any_depth_and_in_any_case() {
        let rules = defaults();
        for (path, rule) in [
            (".env", Some(".env")),
            ("a/b/.env", Some(".env")),
            (".ENV", Some(".env")),
            (".env.local", Some(".env.*")),
            (".env.example", None),
            ("a/.ENV.Template", None),
            (".ssh/config", Some(".ssh/")),
            ("x/.ssh/a/b", Some(".ssh/")),
            (".env/x", Some(".env")),
            ("id_ed25519", Some("id_ed25519")),
            ("id_ecdsa_sk", Some("id_*_sk")),
            ("server-key.pem", Some("*-key.pem")),
            ("cert.pem", None),
            ("environment", None),
            (".Renviron", Some(".Renviron")),
            (".renviron", Some(".Renviron")),
            (".e\u{200c}nv", Some(".env")),
            ("src/main.rs", None),
        ] {
            assert_eq!(
                rules.covering(Effect::Deny, path.as_bytes(), Leaf::File),
                rule,
                "{path}"
            );
        }
        for (path, covered) in [
            (".git/hooks/pre-commit", true),
            ("sub/.git/hooks/x", true),
            (".git/config", true),
            (".GIT/HOOKS/x", true),
            (".git/HEAD", false),
            (".git/modules/a/b/hooks/x", true),
            ("renv/activate.R", true),
            ("sub/renv/activate.R", true),
            ("activate.R", false),
            (".Rprofile", true),
            ("pkg/.Rprofile", true),
            (".vscode/settings.json", true),
        ] {
            assert_eq!(
                rules.covering(Effect::Protect, path.as_bytes(), Leaf::File).is_some(),
                covered,
                "{path}"
            );
        }
    }

    #[test]
    fn directories_and_files_differ_where_the_pattern_says_so() {
        let rules = defaults();
        let answer = |leaf| rules.covering(Effect::Deny, b".ssh", leaf).is_some();
        assert!(answer(Leaf::Directory));
        assert!(!answer(Leaf::File));
        assert!(answer(Leaf::Unknown));
    }

    #[test]
    fn a_later_list_opens_nothing() {
        let lists = [vec![".env".to_owned()], vec!["!.env".to_owned()]];
        let rules = CarveOuts::new(&lists, &[]).unwrap();
        assert!(rules.covering(Effect::Deny, b".env", Leaf::File).is_some());
    }

    #[test]
    fn components_on_the_way_are_known() {
        let rules = defaults();
        for (name, leads) in [
            (".git", true),
            (".GIT", true),
            ("renv", true),
            (".github", true),
            ("src", false),
            (".ssh", false),
        ] {
            assert_eq!(rules.leading_to(name.as_bytes()).is_some(), leads, "{name}");
        }
    }

    #[test]
    fn anchoring_and_double_stars() {
        let lists = [vec![
            "/only/here".to_owned(),
            "data/**".to_owned(),
            "we ird\\ ".to_owned(),
        ]];
        let rules = CarveOuts::new(&lists, &[]).unwrap();
        for (path, covered) in [
            ("only/here", true),
            ("a/only/here", false),
            ("data/x/y", true),
            ("data", false),
            ("datax", false),
        ] {
            assert_eq!(
                rules.covering(Effect::Deny, path.as_bytes(), Leaf::File).is_some(),
                covered,
                "{path}"
            );
        }
    }

    #[test]
    fn exact_directories_with_special_names() {
        for name in [
            "plain",
            "st*r",
            "q?",
            "[x]",
            "!b",
            "#h",
            " lead",
            "trail ",
            "back\\slash",
            "{a,b}",
        ] {
            let pattern = exact_directory(&[b"lib".to_vec(), name.as_bytes().to_vec()]);
            let rules = CarveOuts::new(&[], &[vec![pattern.clone()]]).unwrap();
            let inside = format!("lib/{name}/DESCRIPTION");
            assert!(
                rules.covering(Effect::Protect, inside.as_bytes(), Leaf::File).is_some(),
                "{pattern}"
            );
            assert!(
                rules
                    .covering(Effect::Protect, b"lib/other/DESCRIPTION", Leaf::File)
                    .is_none(),
                "{pattern}"
            );
        }
    }

    #[test]
    fn unusable_patterns_are_refused() {
        for pattern in ["", "  ", "# x", "a/../b", "a/./b", "a\u{1}b"] {
            let result = CarveOuts::new(&[vec![pattern.to_owned()]], &[]);
            assert_eq!(result.err().map(|misuse| misuse.kind), Some("pattern"), "{pattern:?}");
        }
    }
}
