//! A path as it was asked for: bytes split into components, nothing trimmed, decoded or expanded.

use crate::outcome::Code;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Component {
    /// `..`, resolved against the directory that is really there.
    Parent,
    /// A name.
    Name(Vec<u8>),
}

/// A path split at slashes, as the kernel does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// Whether the path starts with a slash.
    pub absolute: bool,
    /// The steps, without `.` and empty ones.
    pub components: Vec<Component>,
    /// Whether the path ends in `/` or `.`, so that it can only mean a directory.
    pub directory: bool,
}

impl Parsed {
    /// Whether no step is `..`.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.components
            .iter()
            .all(|component| matches!(component, Component::Name(_)))
    }
}

/// Longest path that is looked at, in bytes: 16 times the kernel's bound for one call. The walk could
/// go further, but nobody needs it, and the memory for a path must not depend on the caller.
pub const LONGEST: usize = 65_536;

/// Splits `bytes`.
///
/// # Errors
/// `InvalidPath` when the path is empty or holds a NUL byte, `NameTooLong` beyond [`LONGEST`].
pub fn parse(bytes: &[u8]) -> Result<Parsed, Code> {
    if bytes.len() > LONGEST {
        return Err(Code::NameTooLong);
    }
    if bytes.is_empty() || memchr::memchr(0, bytes).is_some() {
        return Err(Code::InvalidPath);
    }
    let mut components = Vec::new();
    let mut last: &[u8] = b"";
    for step in bytes.split(|byte| *byte == b'/') {
        match step {
            b"" | b"." => {}
            b".." => components.push(Component::Parent),
            name => components.push(Component::Name(name.to_vec())),
        }
        last = step;
    }
    Ok(Parsed {
        absolute: bytes[0] == b'/',
        components,
        directory: matches!(last, b"" | b"."),
    })
}

/// Joins names with slashes.
#[must_use]
pub fn join(names: &[Vec<u8>]) -> Vec<u8> {
    names.join(&b'/')
}

/// The names of a path that has no `..`, or nothing.
#[must_use]
pub fn names(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    parse(bytes)
        .ok()?
        .components
        .into_iter()
        .map(|component| match component {
            Component::Name(name) => Some(name),
            Component::Parent => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(path: &str) -> (bool, Vec<String>, bool) {
        let parsed = parse(path.as_bytes()).unwrap();
        let steps = parsed
            .components
            .iter()
            .map(|component| match component {
                Component::Parent => "<up>".to_owned(),
                Component::Name(name) => String::from_utf8_lossy(name).into_owned(),
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
    fn refuses_empty_and_nul() {
        assert_eq!(parse(b""), Err(Code::InvalidPath));
        assert_eq!(parse(b"a\0b"), Err(Code::InvalidPath));
        assert_eq!(parse(&vec![b'a'; LONGEST + 1]), Err(Code::NameTooLong));
    }
}
