//! A descriptor that this process was started with: `3< file`, or the end of a pipe.

#![allow(unsafe_code)]

use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::fs::FileType;
use rustix::io::Errno;

use super::super::{Origin, Secret, SourceKind, Wiped, LONGEST};
use super::{bad, reason};
use crate::effect::Cancel;
use crate::misuse::Misuse;

/// How long the other end may take to say everything.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether it is still wanted, milliseconds.
const SLICE: Duration = Duration::from_millis(100);

/// A descriptor that can be read, ours from now on.
#[derive(Debug)]
pub struct Given {
    descriptor: OwnedFd,
    number: RawFd,
}

/// Takes over a descriptor that this process inherited and nothing in it uses.
///
/// `script` is the file that R runs, whose descriptor R has inherited flags on, too.
///
/// # Errors
/// `secret_source` when it is not open, one of the standard three, or another part of the process's.
pub fn check(number: RawFd, script: Option<&[u8]>) -> Result<Given, Misuse> {
    let wrong = |what: &str| {
        bad(
            SourceKind::Descriptor,
            format!("The descriptor {number} {what} Start R with one that is open for reading, as in `3< file`."),
        )
        .with("descriptor", number)
    };
    if number < 3 {
        return Err(wrong(
            "is none for a secret: 0, 1 and 2 are R's own, and the numbers start there.",
        ));
    }
    // SAFETY: borrowed for these questions only; the system answers EBADF where nothing is open.
    let borrowed = unsafe { BorrowedFd::borrow_raw(number) };
    let flags = rustix::io::fcntl_getfd(borrowed).map_err(|_| wrong("is not open."))?;
    // What was inherited survived an exec, so it cannot have this flag; what was opened here mostly has it.
    if flags.contains(rustix::io::FdFlags::CLOEXEC) {
        return Err(wrong("was opened by this R process, or by a package in it."));
    }
    let facts = rustix::fs::fstat(borrowed).map_err(|_| wrong("is not open."))?;
    match FileType::from_raw_mode(facts.st_mode) {
        FileType::Fifo => {}
        FileType::RegularFile => {
            let own = script.and_then(|path| rustix::fs::stat(path).ok());
            if own.is_some_and(|own| (own.st_dev, own.st_ino) == (facts.st_dev, facts.st_ino)) {
                return Err(wrong("is the script that R runs."));
            }
        }
        _ => return Err(wrong("is no file and no pipe.")),
    }
    let mode = rustix::fs::fcntl_getfl(borrowed).map_err(|_| wrong("is not open."))?;
    if mode & rustix::fs::OFlags::ACCMODE == rustix::fs::OFlags::WRONLY {
        return Err(wrong("is not open for reading."));
    }
    // SAFETY: the caller gives it away, and what else of this process has one was refused above as far as it can be
    // told. It is closed once, by this owner.
    let descriptor = unsafe { OwnedFd::from_raw_fd(number) };
    Ok(Given { descriptor, number })
}

/// Reads everything, up to its end, and closes it.
///
/// # Errors
/// `secret_source` when the end does not come within 10 seconds or 64 KiB, and those of [`Secret::new`].
pub fn read(given: Given, cancel: &Cancel) -> Result<Secret, Misuse> {
    let Given { descriptor, number } = given;
    let wrong =
        |what: &str| bad(SourceKind::Descriptor, format!("The descriptor {number} {what}")).with("descriptor", number);
    let began = Instant::now();
    let mut whole = Wiped::with_room(LONGEST + 3);
    let mut piece = Wiped::of(vec![0; 4096]);
    loop {
        if cancel.check().is_err() {
            return Err(wrong(
                "was not read to its end, because that was interrupted. It is closed.",
            ));
        }
        if began.elapsed() > PATIENCE {
            return Err(wrong(
                "did not come to its end within 10 seconds: who writes it must close it. It is closed.",
            ));
        }
        let slice = Timespec::try_from(SLICE).unwrap_or_default();
        match poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&slice)) {
            Ok(0) | Err(Errno::INTR) => continue,
            Ok(_) => {}
            Err(errno) => return Err(wrong(&format!("cannot be waited for: {}.", reason(errno)))),
        }
        match rustix::io::read(&descriptor, piece.as_mut_slice()) {
            Ok(0) => break,
            Ok(size) => {
                if !whole.push(&piece.as_slice()[..size]) {
                    return Err(wrong("gave more than 64 KiB. It is closed."));
                }
            }
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(errno) => return Err(wrong(&format!("cannot be read: {}.", reason(errno)))),
        }
    }
    whole.drop_line_ending();
    let origin = Origin {
        kind: SourceKind::Descriptor,
        detail: number.to_string(),
    };
    Secret::new(whole, &format!("descriptor {number}"), origin)
}
