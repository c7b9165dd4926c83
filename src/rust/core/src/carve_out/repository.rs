//! What git runs or obeys in a directory that it takes for a repository, whatever the directory is called.
//!
//! Git's test of a directory is a `HEAD` in it (`gitrepository-layout`): a bare repository, one that a
//! `gitdir:` file names, or the common directory of a worktree. Patterns see names alone, so whoever
//! protects `HEAD` has these names beside one protected as well.

use memchr::memchr_iter;

use super::pattern::fold;
use crate::path;

/// The file that makes a directory a repository.
pub const HEAD: &[u8] = b"HEAD";

/// Names beside a `HEAD` by which git is told what to run or where to look, with what lies below them.
const GOVERNED: [&[u8]; 12] = [
    // Remotes as git had them once, which it still takes; one may be a directory with hooks.
    b"branches",
    b"remotes",
    b"commondir",
    b"config",
    b"config.worktree",
    b"hooks",
    b"info/attributes",
    b"rebase-merge/git-rebase-todo",
    // The strategy of a merge is a program.
    b"rebase-merge/strategy",
    b"rebase-merge/strategy_opts",
    b"sequencer/opts",
    b"worktrees",
];

/// Whether a name could be the last of those.
#[must_use]
pub fn may_govern(name: &[u8]) -> bool {
    let mut last = GOVERNED
        .iter()
        .filter_map(|governed| governed.rsplit(|byte| *byte == b'/').next());
    last.any(|last| is(name, last))
}

/// The directories above a path that would govern it, were they repositories: outer ones first, the empty
/// one for the root itself.
pub fn candidates(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let starts = std::iter::once(0).chain(memchr_iter(b'/', path).map(|slash| slash + 1));
    let governs = |start: &usize| {
        GOVERNED.iter().any(|governed| {
            let mut steps = path[*start..].split(|byte| *byte == b'/');
            let mut wanted = governed.split(|byte| *byte == b'/');
            wanted.all(|wanted| steps.next().is_some_and(|step| is(step, wanted)))
        })
    };
    starts.filter(governs).map(|start| &path[..start.saturating_sub(1)])
}

/// Those of them that govern a path by its last names, and not by what is above it.
pub fn ends(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    GOVERNED.iter().filter_map(move |governed| {
        let mut above = path;
        for wanted in governed.rsplit(|byte| *byte == b'/') {
            let (rest, name) = path::split(above);
            if !is(name, wanted) {
                return None;
            }
            above = rest;
        }
        Some(above)
    })
}

/// The directory that would be the repository, where a path is the first step to such a name of several: a
/// link there would give git what stands behind it.
#[must_use]
pub fn leading(path: &[u8]) -> Option<&[u8]> {
    let (above, name) = path::split(path);
    let leads = |governed: &&[u8]| memchr::memchr(b'/', governed).is_some_and(|end| is(name, &governed[..end]));
    GOVERNED.iter().any(leads).then_some(above)
}

/// The directory that a path would make a repository, where its last name is `HEAD`.
#[must_use]
pub fn above_head(path: &[u8]) -> Option<&[u8]> {
    let (above, name) = path::split(path);
    is(name, b"head").then_some(above)
}

/// The paths that such a directory would govern: each one's directory and name.
pub fn governed(above: &[u8]) -> impl Iterator<Item = (Vec<u8>, &'static [u8])> + '_ {
    GOVERNED.iter().map(move |governed| {
        let (directory, name) = path::split(governed);
        (path::join_onto(above, directory), name)
    })
}

/// Compared as patterns are; most names need no copy for that.
fn is(name: &[u8], wanted: &[u8]) -> bool {
    if name.is_ascii() {
        name.eq_ignore_ascii_case(wanted)
    } else {
        fold(name) == wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directories_that_would_govern_a_path_are_told() {
        let governing = |path: &str| -> Vec<String> {
            candidates(path.as_bytes())
                .map(|above| String::from_utf8_lossy(above).into_owned())
                .collect()
        };
        assert_eq!(governing("config"), [""]);
        assert_eq!(governing("a/b/CONFIG"), ["a/b"]);
        assert_eq!(governing("a/hooks/b/config"), ["a", "a/hooks/b"]);
        assert_eq!(governing("a/info/attributes"), ["a"]);
        assert_eq!(governing("a/rebase-merge/git-rebase-todo"), ["a"]);
        assert_eq!(governing("a/con\u{200c}fig"), ["a"]);
        for none in ["", "a", "a/info", "info/x", "configs", "a/config.yml", "attributes"] {
            assert_eq!(governing(none), [""; 0], "{none}");
        }
        for (path, above) in [
            ("a/hooks/b/config", Some("a/hooks/b")),
            ("a/info/attributes", Some("a")),
            ("Config", Some("")),
            ("a/hooks/b", None),
            ("attributes", None),
        ] {
            assert_eq!(ends(path.as_bytes()).next(), above.map(str::as_bytes), "{path}");
        }
    }

    #[test]
    fn the_first_step_to_a_name_of_several_is_told() {
        assert_eq!(leading(b"a/info"), Some(&b"a"[..]));
        assert_eq!(leading(b"Rebase-Merge"), Some(&b""[..]));
        for path in ["a/hooks", "a/info/attributes", "information", ""] {
            assert_eq!(leading(path.as_bytes()), None, "{path}");
        }
    }

    #[test]
    fn a_last_name_tells_most_paths_apart() {
        for name in ["hooks", "Config", "attributes", "git-rebase-todo", "worktrees", "opts"] {
            assert!(may_govern(name.as_bytes()), "{name}");
        }
        for name in ["info", "rebase-merge", "hook", "HEAD"] {
            assert!(!may_govern(name.as_bytes()), "{name}");
        }
    }
}
