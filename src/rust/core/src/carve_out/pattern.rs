//! One pattern in gitignore syntax (`man 5 gitignore`, "Pattern format"), as a glob.
//!
//! The crate `ignore` has this too, but needs a newer compiler than we ask for. `tests/gitignore.rs`
//! compares with git itself.

use globset::{Glob, GlobBuilder, GlobMatcher};
use unicode_normalization::UnicodeNormalization;

use crate::misuse::Misuse;

/// A pattern, taken apart.
pub struct Pattern {
    /// As it was written.
    pub original: String,
    /// Whether it re-includes (`!`).
    pub negated: bool,
    /// Whether it matches directories only (a slash at the end).
    pub directory: bool,
    /// What it matches, relative to the root.
    pub glob: Glob,
    /// Its components, folded, without the anchoring slash.
    components: Vec<String>,
}

impl Pattern {
    /// Takes a pattern apart.
    ///
    /// # Errors
    /// `pattern` for one that is empty, a comment, could never match, or is no glob.
    pub fn parse(original: &str) -> Result<Self, Misuse> {
        let unusable = |why: &str| Err(bad(original, why));
        if original.trim().is_empty() {
            return unusable("it is empty");
        }
        if original.starts_with('#') {
            return unusable("it would be a comment; write a leading `#` as `\\#`");
        }
        if original.chars().any(char::is_control) {
            return unusable("it holds a control character");
        }
        let folded = fold_text(original);
        let mut line = folded.as_str();
        // Blanks at the end do not count, unless they are quoted.
        while let Some(shorter) = line.strip_suffix(' ') {
            if ends_quoted(shorter) {
                break;
            }
            line = shorter;
        }
        let negated = line.starts_with('!');
        line = line.strip_prefix('!').unwrap_or(line);
        let directory = line.ends_with('/');
        line = line.strip_suffix('/').unwrap_or(line);
        let anchored = line.contains('/');
        line = line.strip_prefix('/').unwrap_or(line);
        if line
            .split('/')
            .any(|step| step == ".." || step == "." || step.is_empty())
        {
            return unusable("`.`, `..` and empty steps never match; patterns are relative to each root");
        }
        let mut text = if anchored {
            line.to_owned()
        } else {
            format!("**/{line}")
        };
        if line == "**" || line.ends_with("/**") {
            // What lies inside a directory, not the directory.
            text.push_str("/*");
        }
        let glob = build(&text).map_err(|error| bad(original, error.kind()))?;
        if let Some(problem) = unlike_git(&text) {
            return unusable(problem);
        }
        let components = line.split('/').map(str::to_owned).collect();
        Ok(Self {
            original: original.to_owned(),
            negated,
            directory,
            glob,
            components,
        })
    }

    /// The last component; nothing when it says nothing (`**`).
    #[must_use]
    pub fn tail(&self) -> Option<&str> {
        self.components
            .last()
            .map(String::as_str)
            .filter(|tail| !tail.contains("**"))
    }

    /// Matchers of the directories on the way to what a pattern of several components matches. Where a
    /// `**` stands, each directory below is on the way; at the start it is all of them and tells nothing.
    pub fn leading(&self) -> impl Iterator<Item = GlobMatcher> + '_ {
        (1..self.components.len()).filter_map(|count| {
            let before = &self.components[..count];
            let mut text = before.join("/");
            if before.iter().all(|step| step == "**") {
                return None;
            }
            if before.last().is_some_and(|step| step == "**") {
                text.push_str("/*");
            }
            Some(build(&text).ok()?.compile_matcher())
        })
    }
}

/// Whether what follows is quoted by a backslash: an odd number of them stands at the end.
fn ends_quoted(text: &str) -> bool {
    text.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// A glob as gitignore means it: `*` and `?` do not match a slash.
///
/// # Errors
/// When it is none.
pub fn build(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(&literal_braces(glob))
        .literal_separator(true)
        .backslash_escape(true)
        .build()
}

/// What in the brackets of a pattern globset and git read differently.
fn unlike_git(glob: &str) -> Option<&'static str> {
    let mut characters = glob.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '[' => {
                if matches!(characters.peek(), Some('!' | '^')) {
                    characters.next();
                }
                // A bracket that stands first is one of the characters.
                let mut first = true;
                loop {
                    match characters.next() {
                        Some(']') if !first => break,
                        Some('\\') => {
                            return Some("`\\` inside brackets is not supported; put `]` first and `-` last instead");
                        }
                        Some('[') if matches!(characters.peek(), Some(':' | '=' | '.')) => {
                            return Some("named classes are not supported; write `[0-9]` for `[[:digit:]]`");
                        }
                        Some('/') | None => return Some("a bracket is not closed"),
                        Some(_) => first = false,
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// Braces are alternatives for globset and plain characters for git.
fn literal_braces(glob: &str) -> String {
    let mut out = String::with_capacity(glob.len());
    let (mut quoted, mut class) = (false, false);
    for character in glob.chars() {
        if !quoted && !class && matches!(character, '{' | '}' | ',') {
            out.push('\\');
        }
        class = !quoted && ((class && character != ']') || (!class && character == '['));
        quoted = !quoted && character == '\\';
        out.push(character);
    }
    out
}

/// A path as a case-insensitive, normalising file system would compare it.
#[must_use]
pub fn fold(path: &[u8]) -> Vec<u8> {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    // A name that is no UTF-8 must not keep the others from being folded.
    let mut folded = Vec::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        folded.extend_from_slice(fold_text(chunk.valid()).as_bytes());
        folded.extend_from_slice(chunk.invalid());
    }
    folded
}

fn fold_text(text: &str) -> String {
    // HFS+ ignores these characters, so `.g<zero width>it` opens `.git` there.
    text.nfd()
        .filter(|character| !crate::escape::is_ignorable(*character))
        .flat_map(char::to_lowercase)
        .nfd()
        .collect()
}

fn bad(pattern: &str, why: impl std::fmt::Display) -> Misuse {
    let shown = crate::escape::display(pattern.as_bytes());
    Misuse::new(
        "pattern",
        format!("\"{shown}\" is no usable pattern: {why}. Patterns use gitignore's syntax."),
    )
    .with("pattern", pattern)
}

/// `names` as an anchored pattern that matches exactly that directory; nothing when no pattern can say it.
#[must_use]
pub fn exact_directory(names: &[Vec<u8>]) -> Option<String> {
    let mut pattern = String::new();
    for name in names {
        pattern.push('/');
        for character in std::str::from_utf8(name).ok()?.chars() {
            if character.is_control() {
                return None;
            }
            if matches!(character, '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ' ') {
                pattern.push('\\');
            }
            pattern.push(character);
        }
    }
    pattern.push('/');
    Some(pattern)
}
