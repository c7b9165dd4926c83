//! A list of patterns, of which the last that matches counts, as in one `.gitignore`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobMatcher, GlobSet, GlobSetBuilder};

use super::filter::Filter;
use super::pattern::{fold, Pattern};
use super::Leaf;
use crate::misuse::Misuse;

/// The compiled list.
pub struct List {
    patterns: Vec<Pattern>,
    globs: GlobSet,
    filter: Filter,
    /// Directories that patterns with several components pass, each with its pattern.
    leading: Vec<(GlobMatcher, usize)>,
}

impl List {
    /// Compiles a list.
    ///
    /// # Errors
    /// `pattern` for one that cannot be used.
    pub fn new(list: &[String]) -> Result<Self, Misuse> {
        let patterns: Vec<Pattern> = list
            .iter()
            .map(|pattern| Pattern::parse(pattern))
            .collect::<Result<_, _>>()?;
        let mut globs = GlobSetBuilder::new();
        for pattern in &patterns {
            globs.add(pattern.glob.clone());
        }
        let globs = globs.build().map_err(|error| {
            Misuse::new(
                "pattern",
                format!("The patterns cannot be used together: {}.", error.kind()),
            )
        })?;
        let covering = || patterns.iter().enumerate().filter(|(_, pattern)| !pattern.negated);
        let leading = covering()
            .flat_map(|(index, pattern)| pattern.leading().map(move |glob| (glob, index)))
            .collect();
        let filter = Filter::new(covering().map(|(_, pattern)| pattern.tail()));
        Ok(Self {
            patterns,
            globs,
            filter,
            leading,
        })
    }

    /// The pattern that covers `path`, a path relative to the root without `.` and `..`.
    pub fn covering(&self, path: &[u8], leaf: Leaf) -> Option<&str> {
        if path.is_empty() {
            return None;
        }
        // The filter ignores the case of ASCII letters, so that most paths need no copy.
        if path.is_ascii() && !self.filter.may_match(path) {
            return None;
        }
        let folded = fold(path);
        if !self.filter.may_match(&folded) {
            return None;
        }
        // Top down, as git does it: what lies below an excluded directory stays excluded.
        let mut start = 0;
        memchr::memchr_iter(b'/', &folded)
            .chain([folded.len()])
            .find_map(|end| {
                let name = &folded[start..end];
                start = end + 1;
                // Matching every part of a long path from its start would take the square of its length.
                if !self.filter.may_match(name) {
                    return None;
                }
                let kinds: &[bool] = match (end == folded.len(), leaf) {
                    (false, _) | (true, Leaf::Directory) => &[true],
                    (true, Leaf::File) => &[false],
                    (true, Leaf::Unknown) => &[false, true],
                };
                kinds
                    .iter()
                    .find_map(|directory| self.excluding(&folded[..end], *directory))
            })
    }

    /// Whether an entry of this name could be covered by itself.
    pub fn may_cover(&self, name: &[u8]) -> bool {
        if name.is_ascii() {
            return self.filter.may_match(name);
        }
        self.filter.may_match(&fold(name))
    }

    /// The pattern that excludes exactly this path.
    fn excluding(&self, path: &[u8], directory: bool) -> Option<&str> {
        let matching = self.globs.matches(Path::new(OsStr::from_bytes(path)));
        let last = matching
            .into_iter()
            .map(|index| &self.patterns[index])
            .rfind(|pattern| directory || !pattern.directory)?;
        (!last.negated).then_some(last.original.as_str())
    }

    /// The pattern of several components that could match something below `path`.
    pub fn leading_to(&self, path: &[u8]) -> Option<&str> {
        let folded = fold(path);
        let path = Path::new(OsStr::from_bytes(&folded));
        let (_, index) = self.leading.iter().find(|(glob, _)| glob.is_match(path))?;
        Some(&self.patterns[*index].original)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DENY_DEFAULTS, PROTECT_DEFAULTS};
    use super::*;

    #[test]
    fn the_defaults_are_told_apart_quickly() {
        for defaults in [DENY_DEFAULTS, PROTECT_DEFAULTS] {
            let patterns: Vec<_> = defaults.iter().map(ToString::to_string).collect();
            assert!(List::new(&patterns).unwrap().filter.is_quick());
        }
    }
}
