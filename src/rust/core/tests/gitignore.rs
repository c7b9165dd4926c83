//! The patterns mean what they mean to git: every pattern of the table against every path, compared
//! with `git check-ignore`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use rhocap_core::carve_out::{CarveOuts, Effect, Leaf};

mod skip;

/// Lists of patterns; all names are in lower case, because case is where we differ on purpose.
const LISTS: &[&[&str]] = &[
    &["a"],
    &["/a"],
    &["a/"],
    &["/a/"],
    &["a/b"],
    &["a/b/"],
    &["/a/b"],
    &["**/b"],
    &["**/b/"],
    &["a/**"],
    &["a/**/c"],
    &["**"],
    &["*"],
    &["*/"],
    &["*.txt"],
    &["a/*.txt"],
    &["*/b"],
    &["a?"],
    &["[ab]"],
    &["[!a]"],
    &["a[!a]b"],
    &["a[^b]b"],
    &["[]a]b"],
    &["[a-]b"],
    &["[a-c].txt"],
    &["a*"],
    &["*a"],
    &["a", "!a"],
    &["*", "!a"],
    &["a/", "!a/b"],
    &["*.txt", "!a.txt"],
    &["!a", "a"],
    &["\\a"],
    &["\\!a"],
    &["\\#a"],
    &["a "],
    &["a\\ "],
    &["{a,b}"],
    &["a,b"],
    &["**/a/**/c"],
    &["a**"],
    &["a/b/c/"],
    &[".env", ".env.*", "!.env.example"],
    &["**/.git/hooks/"],
    &["id_*_x", "privkey*.pem", "*-key.pem"],
    &["foo\\*"],
];

/// Paths; a slash at the end makes a directory.
const PATHS: &[&str] = &[
    "a/b/c",
    "a/b/d.txt",
    "a/a.txt",
    "b/a",
    "b/b/b",
    "c/a/c",
    "c/a/x/c",
    "d/",
    "ab",
    "ba.txt",
    "c.txt",
    "!a",
    "#a",
    "a ",
    "{a,b}",
    "a,b",
    "a.txt",
    ".env",
    "x/.env",
    ".env.local",
    ".env.example",
    "x/.env.example",
    ".git2/hooks/pre",
    "s/.git3/hooks/",
    "id_y_x",
    "privkey1.pem",
    "s/the-key.pem",
    "foo*",
    "foobar",
    "e/a/",
];

#[test]
fn patterns_mean_what_they_mean_to_git() {
    if Command::new("git").arg("--version").output().is_err() {
        return skip::skip("git", "git is not installed");
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(directory.path()).args(arguments);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", directory.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command
    };
    assert!(git(&["init", "--quiet"]).status().expect("git").success());
    let paths = tree(directory.path());
    let mut compared = 0;
    for list in LISTS {
        std::fs::write(directory.path().join(".gitignore"), list.join("\n") + "\n").expect("the patterns");
        let mut asked = git(&["check-ignore", "--no-index", "--stdin", "-z"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("git");
        let input = paths
            .iter()
            .map(|(path, _)| path.as_str())
            .collect::<Vec<_>>()
            .join("\0")
            + "\0";
        asked
            .stdin
            .take()
            .expect("its input")
            .write_all(input.as_bytes())
            .expect("the paths");
        let answer = asked.wait_with_output().expect("an answer");
        let ignored: BTreeSet<&[u8]> = answer
            .stdout
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty())
            .collect();
        let rules = CarveOuts::new(&[list.iter().map(ToString::to_string).collect()], &[]).expect("usable patterns");
        for (path, leaf) in &paths {
            let ours = rules.covering(Effect::Deny, path.as_bytes(), *leaf).is_some();
            assert_eq!(
                ours,
                ignored.contains(path.as_bytes()),
                "{list:?} and {path:?} ({leaf:?})"
            );
            compared += 1;
        }
    }
    assert!(compared > 1000, "{compared}");
}

/// Makes the paths; gives each and every directory on the way.
fn tree(root: &Path) -> Vec<(String, Leaf)> {
    let mut all: BTreeSet<(String, bool)> = BTreeSet::new();
    for path in PATHS {
        let whole = root.join(path);
        if let Some(directory) = path.strip_suffix('/') {
            std::fs::create_dir_all(&whole).expect("a directory");
            all.insert((directory.to_owned(), true));
        } else {
            // `a` is a directory of the first rows and nothing else.
            std::fs::create_dir_all(whole.parent().expect("a parent")).expect("directories");
            std::fs::write(&whole, "").expect("a file");
            all.insert(((*path).to_owned(), false));
        }
        for (at, _) in path.trim_end_matches('/').match_indices('/') {
            all.insert((path[..at].to_owned(), true));
        }
    }
    all.into_iter()
        .map(|(path, directory)| (path, if directory { Leaf::Directory } else { Leaf::File }))
        .collect()
}
