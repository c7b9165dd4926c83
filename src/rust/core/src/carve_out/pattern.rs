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

    /// Matchers for the components before the last one.
    pub fn leading(&self) -> impl Iterator<Item = GlobMatcher> + '_ {
        let before = &self.components[..self.components.len() - 1];
        let said = before.iter().filter(|step| *step != "**");
        said.filter_map(|step| Some(build(step).ok()?.compile_matcher()))
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

fn bad(pattern: &str, why: impl std::fmt::Display) -> Misuse {
    let shown = crate::escape::display(pattern.as_bytes());
    Misuse::new(
        "pattern",
        format!("\"{shown}\" is no usable pattern: {why}. Patterns use gitignore's syntax."),
    )
    .with("pattern", pattern)
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
