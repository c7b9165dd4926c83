//! Where secrets come from.

mod descriptor;
mod dotenv;

use std::io::{ErrorKind, Read};
use std::os::unix::ffi::OsStringExt;

use rustix::fs::{FileType, Mode, OFlags};

pub use descriptor::{check as check_descriptor, read as read_descriptor, Given};

use super::{Origin, Secret, SourceKind, Wiped, LONGEST};
use crate::escape::display_bounded;
use crate::misuse::Misuse;

/// A failed source; its message names the source and never the value.
fn bad(kind: SourceKind, message: impl std::fmt::Display) -> Misuse {
    Misuse::new("secret_source", message).with("source", kind.as_str())
}

fn reason(errno: rustix::io::Errno) -> &'static str {
    crate::process::errno::same(errno).desc()
}

/// The value of an environment variable. Call it where nobody else writes the environment: on R's thread.
///
/// # Errors
/// `secret_source` when it is not set, and those of [`Secret::new`].
pub fn env(name: &str) -> Result<Secret, Misuse> {
    let shown = display_bounded(name.as_bytes(), 256);
    let askable = !name.is_empty() && !name.contains(['=', '\0']);
    let value = askable.then(|| std::env::var_os(name)).flatten();
    let Some(value) = value
        .map(|value| Wiped::of(value.into_vec()))
        .filter(|value| !value.as_slice().is_empty())
    else {
        return Err(bad(
            SourceKind::Env,
            format!("The environment variable `{shown}` is not set in this R process, or empty."),
        )
        .with("name", shown));
    };
    let origin = Origin {
        kind: SourceKind::Env,
        detail: shown.clone(),
    };
    Secret::new(value, &shown, origin)
}

/// What a file holds without one final line ending, or the value of `name` in a file of `NAME=value` lines.
///
/// # Errors
/// `secret_source` when it cannot be read or has no such name, and those of [`Secret::new`].
pub fn file(path: &[u8], name: Option<&str>) -> Result<Secret, Misuse> {
    let shown = display_bounded(path, 1024);
    let wrong = |what: &str| bad(SourceKind::File, format!("\"{shown}\" {what}")).with("path", &shown);
    if path.is_empty() || path.contains(&0) {
        return Err(wrong("is no path of a file."));
    }
    // Non-blocking, because a FIFO would hold the caller.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(path, flags, Mode::empty())
        .map_err(|errno| wrong(&format!("cannot be opened: {}.", reason(errno))))?;
    let facts =
        rustix::fs::fstat(&handle).map_err(|errno| wrong(&format!("cannot be looked at: {}.", reason(errno))))?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => return Err(wrong("is a directory. Give the file with the secret.")),
        _ => return Err(wrong("is no regular file. For a pipe use rho_secret_descriptor().")),
    }
    let mut whole = match read_all(&mut std::fs::File::from(handle)) {
        Ok(Some(whole)) => whole,
        Ok(None) => return Err(wrong("has more than 64 KiB. Give a file that holds the secret alone.")),
        Err(error) => return Err(wrong(&format!("cannot be read: {error}."))),
    };
    let (value, label) = match name {
        None => {
            whole.drop_line_ending();
            (whole, shown.clone())
        }
        Some(name) => {
            let named = display_bounded(name.as_bytes(), 256);
            let value = match dotenv::value(whole.as_slice(), name) {
                Ok(Some(value)) => value,
                Ok(None) => return Err(wrong(&format!("has no entry `{named}`.")).with("name", named)),
                Err(why) => return Err(wrong(&format!("cannot be read as NAME=value lines: {why}."))),
            };
            (value, named)
        }
    };
    let origin = Origin {
        kind: SourceKind::File,
        detail: shown,
    };
    Secret::new(value, &label, origin)
}

/// A value that R had: of a keyring, of a prompt, or a literal.
///
/// # Errors
/// Those of [`Secret::new`].
pub fn given(value: &[u8], kind: SourceKind, detail: &str) -> Result<Secret, Misuse> {
    let detail = display_bounded(detail.as_bytes(), 256);
    let label = if detail.is_empty() { kind.as_str() } else { &detail }.to_owned();
    Secret::new(Wiped::copy_of(value), &label, Origin { kind, detail })
}

/// All of a file, or nothing when it is longer than a secret can be.
fn read_all(file: &mut impl Read) -> std::io::Result<Option<Wiped>> {
    // One more tells that there is more.
    let mut whole = Wiped::with_room(LONGEST + 3);
    let mut piece = Wiped::of(vec![0; 4096]);
    loop {
        match file.read(piece.as_mut_slice()) {
            Ok(0) => return Ok(Some(whole)),
            Ok(size) if !whole.push(&piece.as_slice()[..size]) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::canary;
    use super::*;
    use std::os::unix::ffi::OsStrExt;

    fn kind(result: Result<Secret, Misuse>) -> &'static str {
        result.map_or_else(|misuse| misuse.kind, |_| "made")
    }

    #[test]
    fn files() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let path = |name: &str| at(name).as_os_str().as_bytes().to_vec();
        let value = canary();
        std::fs::write(at("plain"), format!("{value}\n")).unwrap();
        assert_eq!(file(&path("plain"), None).unwrap().expose(), value.as_bytes());
        std::fs::write(at("crlf"), format!("{value}\r\n")).unwrap();
        assert_eq!(file(&path("crlf"), None).unwrap().expose(), value.as_bytes());
        std::fs::write(at("env"), format!("A=1\nKEY=\"{value}\"\n")).unwrap();
        let named = file(&path("env"), Some("KEY")).unwrap();
        assert_eq!((named.expose(), named.label()), (value.as_bytes(), "KEY"));
        assert_eq!(kind(file(&path("env"), Some("NO"))), "secret_source");
        std::fs::write(at("long"), "ab".repeat(LONGEST)).unwrap();
        std::fs::write(at("latin1"), b"caf\xe9-and-more").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        std::os::unix::fs::symlink(at("plain"), at("link")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        for (name, wanted) in [
            ("absent", "secret_source"),
            ("", "secret_source"),
            ("fifo", "secret_source"),
            ("long", "secret_source"),
            ("latin1", "secret_value"),
            ("empty", "short_secret"),
            ("link", "made"),
        ] {
            assert_eq!(kind(file(&path(name), None)), wanted, "{name}");
        }
        assert_eq!(kind(file(b"", None)), "secret_source");
        assert_eq!(kind(file(b"a\0b", None)), "secret_source");
    }

    #[test]
    fn variables() {
        assert_eq!(kind(env("RHOCAP_NO_SUCH_VARIABLE")), "secret_source");
        assert_eq!(kind(env("")), "secret_source");
        assert_eq!(kind(env("A=B")), "secret_source");
        assert_eq!(
            env("CARGO_MANIFEST_DIR").unwrap().expose(),
            env!("CARGO_MANIFEST_DIR").as_bytes()
        );
    }
}
