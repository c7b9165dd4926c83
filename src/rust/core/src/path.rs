//! A path as it was asked for: bytes split into components, nothing trimmed, decoded or expanded.

use smallvec::SmallVec;

use crate::outcome::Code;

/// A name, kept in place when it is short: a walk handles many.
pub type Name = SmallVec<[u8; 32]>;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Component {
    /// `..`, resolved against the directory that is really there.
    Parent,
    /// A name.
    Name(Name),
}

/// A path split at slashes, as the kernel does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Whether the path starts with a slash.
    pub absolute: bool,
    /// The names before the first `..`, joined by single slashes, without `.` and empty ones.
    pub names: Vec<u8>,
    /// What follows from the first `..` on; nothing in a plain path.
    pub rest: Vec<Component>,
    /// Whether the path ends in `/` or `.`, so that it can only mean a directory.
    pub directory: bool,
}

/// Longest path that is looked at, in bytes: the kernel's bound for one call (`PATH_MAX`, with its NUL
/// byte). The walk could go further, but time and memory for a path must not depend on the caller.
pub const LONGEST: usize = 4_095;

/// Splits `bytes`.
///
/// # Errors
/// `InvalidPath` when the path is empty or holds a NUL byte, `NameTooLong` beyond [`LONGEST`].
pub fn parse(bytes: &[u8]) -> Result<Parsed, Code> {
    if bytes.len() > LONGEST {
        return Err(Code::NameTooLong);
    }
    if bytes.is_empty() {
        return Err(Code::InvalidPath);
    }
    let absolute = bytes[0] == b'/';
    if let Some(plain) = is_plain(&bytes[usize::from(absolute)..])? {
        return Ok(Parsed {
            absolute,
            names: plain.to_vec(),
            rest: Vec::new(),
            directory: false,
        });
    }
    let mut names = Vec::with_capacity(bytes.len());
    let mut rest = Vec::new();
    let mut last: &[u8] = b"";
    let mut start = 0;
    for end in memchr::memchr_iter(b'/', bytes).chain([bytes.len()]) {
        let step = &bytes[start..end];
        start = end + 1;
        match step {
            b"" | b"." => {}
            b".." => rest.push(Component::Parent),
            name if rest.is_empty() => {
                if !names.is_empty() {
                    names.push(b'/');
                }
                names.extend_from_slice(name);
            }
            name => rest.push(Component::Name(name.into())),
        }
        last = step;
    }
    Ok(Parsed {
        absolute,
        names,
        rest,
        directory: matches!(last, b"" | b"."),
    })
}

/// The path itself when it is nothing but names and single slashes, as nearly all are.
fn is_plain(path: &[u8]) -> Result<Option<&[u8]>, Code> {
    let mut plain = true;
    let mut start = 0;
    for end in memchr::memchr2_iter(b'/', 0, path).chain([path.len()]) {
        if path.get(end) == Some(&0) {
            return Err(Code::InvalidPath);
        }
        plain &= !matches!(&path[start..end], b"" | b"." | b"..");
        start = end + 1;
    }
    Ok(plain.then_some(path))
}

/// The steps of a joined path.
#[must_use = "iterators are lazy"]
pub fn steps(names: &[u8]) -> impl DoubleEndedIterator<Item = Component> + '_ {
    names
        .split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .map(|name| Component::Name(name.into()))
}

/// What is left of the joined path `names` below the joined path `above`.
#[must_use]
pub fn below<'a>(names: &'a [u8], above: &[u8]) -> Option<&'a [u8]> {
    let rest = names.strip_prefix(above)?;
    match rest.split_first() {
        None => Some(rest),
        Some(_) if above.is_empty() => Some(rest),
        Some((b'/', below)) => Some(below),
        Some(_) => None,
    }
}

/// The joined names above the last one, and that one.
#[must_use]
pub fn split(names: &[u8]) -> (&[u8], &[u8]) {
    memchr::memrchr(b'/', names).map_or((&[][..], names), |at| (&names[..at], &names[at + 1..]))
}

/// Joins names with slashes.
#[must_use]
pub fn join(names: &[Vec<u8>]) -> Vec<u8> {
    names.join(&b'/')
}

/// The joined path `names` below the joined path `above`.
#[must_use]
pub fn join_onto(above: &[u8], names: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(above.len() + 1 + names.len());
    whole.extend_from_slice(above);
    if !above.is_empty() && !names.is_empty() {
        whole.push(b'/');
    }
    whole.extend_from_slice(names);
    whole
}

/// The names of a path that has no `..`, or nothing.
#[must_use]
pub fn names(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let parsed = parse(bytes).ok()?;
    let names = parsed.names.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
    parsed.rest.is_empty().then(|| names.map(<[u8]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(path: &str) -> (bool, Vec<String>, bool) {
        let parsed = parse(path.as_bytes()).unwrap();
        let steps = super::steps(&parsed.names)
            .chain(parsed.rest)
            .map(|component| match component {
                Component::Parent => "<up>".to_owned(),
                Component::Name(name) => String::from_utf8_lossy(&name).into_owned(),
            })
            .collect();
        (parsed.absolute, steps, parsed.directory)
    }

    #[test]
    fn splits_as_the_kernel_does() {
        for (path, absolute, steps, directory) in [
            ("f", false, vec!["f"], false),
            ("./f", false, vec!["f"], false),
            ("a//b///f", false, vec!["a", "b", "f"], false),
            ("/", true, vec![], true),
            (".", false, vec![], true),
            ("..", false, vec!["<up>"], false),
            ("a/..", false, vec!["a", "<up>"], false),
            ("...", false, vec!["..."], false),
            ("..x/x..", false, vec!["..x", "x.."], false),
            ("f/.", false, vec!["f"], true),
            ("f/", false, vec!["f"], true),
            ("//etc", true, vec!["etc"], false),
            ("~/x", false, vec!["~", "x"], false),
        ] {
            assert_eq!(
                shape(path),
                (absolute, steps.iter().map(ToString::to_string).collect(), directory),
                "{path}"
            );
        }
    }

    #[test]
    fn below_is_by_whole_names() {
        for (names, above, left) in [
            ("a/b/c", "a/b", Some("c")),
            ("a/b", "a/b", Some("")),
            ("a/bc", "a/b", None),
            ("a", "a/b", None),
            ("a/b", "", Some("a/b")),
            ("", "", Some("")),
        ] {
            assert_eq!(
                below(names.as_bytes(), above.as_bytes()),
                left.map(str::as_bytes),
                "{names} {above}"
            );
        }
    }

    #[test]
    fn refuses_empty_and_nul() {
        assert_eq!(parse(b""), Err(Code::InvalidPath));
        assert_eq!(parse(b"a\0b"), Err(Code::InvalidPath));
        assert_eq!(parse(&vec![b'a'; LONGEST + 1]), Err(Code::NameTooLong));
    }
}
