//! Reading a text file through its admitted handle.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

use super::{Cancel, Context};
use crate::character::floor;
use crate::facts::Facts;
use crate::outcome::{Code, Refusal};
use crate::parallel::both;
use crate::version;

/// Bytes of text when nothing is said: what a model reads with profit.
pub const DEFAULT_BYTES: u64 = 50 * 1024;

/// Between two looks at the cancel flag.
const STEP: usize = 8 << 20;

/// From this size on, hashing gets a thread of its own beside the other passes over the bytes.
const PARALLEL: usize = 1 << 20;

/// How much text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`DEFAULT_BYTES`].
    Default,
    /// As much as the capability reads.
    Capability,
    /// This many bytes.
    Bytes(u64),
}

/// The text of a file, or of some of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// The text, byte-exact.
    pub text: String,
    /// The file's path below its root, escaped for showing.
    pub path: String,
    /// Bytes of `text`.
    pub bytes: u64,
    /// Lines of `text`; a last line without a newline counts.
    pub lines: u64,
    /// Bytes of the whole file.
    pub total_bytes: u64,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// The number of the line in which `text` starts, from 1.
    pub first_line: u64,
    /// Where in that line it starts, in bytes from 1.
    pub first_byte: u64,
    /// Whether the limit cut the text short of what was asked for.
    pub truncated: bool,
    /// The version of the whole file; empty where something was masked in it.
    pub version: String,
    /// How many places of the whole file were masked.
    pub masked: u64,
}

/// All bytes of a file, at most `most`.
///
/// # Errors
/// `TooLarge` before anything is allocated, `ReadFailed`, `Cancelled`.
pub fn bytes(handle: OwnedFd, facts: &Facts, most: u64, cancel: &Cancel) -> Result<Vec<u8>, Refusal> {
    let too_large = |size: u64| {
        Refusal::new(Code::TooLarge)
            .say(format!(
                "The file has {size} bytes or more; the capability reads at most {most}."
            ))
            .with("size", size)
            .with("limit", most)
    };
    let no_memory = || {
        Refusal::new(Code::ReadFailed)
            .say("There is not enough memory for the file.")
            .with("size", facts.size)
    };
    if facts.size > most {
        return Err(too_large(facts.size));
    }
    let capacity = usize::try_from(facts.size).map_err(|_| too_large(facts.size))?;
    let mut content = Vec::new();
    // One byte more, so that the end is seen without growing.
    content.try_reserve_exact(capacity + 1).map_err(|_| no_memory())?;
    let mut file = File::from(handle);
    loop {
        cancel.check()?;
        // The file may grow while it is read; the bound holds all the same.
        content.try_reserve(1).map_err(|_| no_memory())?;
        let room = content.capacity() - content.len();
        let wanted = room.min(STEP);
        let read = if wanted == room {
            rustix::io::read(&file, rustix::buffer::spare_capacity(&mut content)).map_err(std::io::Error::from)
        } else {
            (&mut file).take(wanted as u64).read_to_end(&mut content)
        };
        let read = match read {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Refusal::new(Code::ReadFailed).with("errno", error.raw_os_error())),
        };
        if content.len() as u64 > most {
            return Err(too_large(content.len() as u64));
        }
        // A short read at the size that the file had is its end; no further call is needed.
        if read == 0 || (read < wanted && content.len() as u64 == facts.size) {
            return Ok(content);
        }
    }
}

/// Which part of a file's text is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// First and last line, from 1, both included.
    pub lines: Option<(u64, u64)>,
    /// How many bytes of these are left out at their start; fewer where that would cut a character.
    pub skip: u64,
    /// How much.
    pub limit: Limit,
}

/// Reads text.
///
/// # Errors
/// Those of [`bytes`], and `NotText`.
pub fn text(
    handle: OwnedFd,
    facts: &Facts,
    path: String,
    part: Part,
    context: &mut Context<'_>,
) -> Result<Text, Refusal> {
    let content = bytes(handle, facts, context.limits.read_bytes, context.cancel)?;
    let redactor = context.redactor;
    let look = || (count_lines(&content), redactor.mask(&content));
    let (mut version, (mut total_lines, masked)) = if content.len() >= PARALLEL {
        both(|| version::of(&content), look)
    } else {
        (version::of(&content), look())
    };
    let masked_count = masked.count;
    let masked = (masked_count > 0).then(|| masked.text.into_owned());
    context.report.version_before = Some(version.clone());
    context.report.secret_before = masked_count > 0;
    check_nul(&content)?;
    let mut text =
        String::from_utf8(content).map_err(|error| not_text("invalid UTF-8", error.utf8_error().valid_up_to()))?;
    context.cancel.check()?;
    // Pages, lines and totals are those of the masked text: others would tell where a secret ends.
    if let Some(masked) = masked {
        text =
            String::from_utf8(masked).map_err(|error| not_text("invalid UTF-8", error.utf8_error().valid_up_to()))?;
        total_lines = count_lines(text.as_bytes());
        version.clear();
    }
    let total_bytes = text.len() as u64;

    let (lines_start, asked_end, mut first_line) = match part.lines {
        None => (0, text.len(), 1),
        Some((first, last)) => {
            let (start, end) = line_range(text.as_bytes(), first, last);
            (start, end, first)
        }
    };
    let skip = usize::try_from(part.skip)
        .unwrap_or(usize::MAX)
        .min(asked_end - lines_start);
    let start = floor(&text, lines_start + skip);
    let skipped = &text.as_bytes()[lines_start..start];
    first_line += memchr::memchr_iter(b'\n', skipped).count() as u64;
    let first_byte = (skipped.len() - memchr::memrchr(b'\n', skipped).map_or(0, |at| at + 1)) as u64 + 1;
    let most = match part.limit {
        Limit::Default => DEFAULT_BYTES,
        Limit::Capability => context.limits.read_bytes,
        Limit::Bytes(bytes) => bytes.min(context.limits.read_bytes),
    };
    let mut end = asked_end;
    if (asked_end - start) as u64 > most {
        end = floor(&text, start + usize::try_from(most).unwrap_or(usize::MAX));
    }
    // In place: a copy might find no memory, and that would end R.
    text.truncate(end);
    text.drain(..start);
    let count = if end - start == usize::try_from(total_bytes).unwrap_or(usize::MAX) {
        total_lines
    } else {
        count_lines(text.as_bytes())
    };
    context.report.bytes = Some(text.len() as u64);
    context.report.masked = masked_count;
    Ok(Text {
        masked: masked_count,
        bytes: text.len() as u64,
        lines: count,
        path,
        total_bytes,
        total_lines,
        first_line,
        first_byte,
        truncated: end < asked_end,
        version,
        text,
    })
}

/// The number of lines of what is text, or where it stops to be.
///
/// # Errors
/// `NotText`.
pub fn check(content: &[u8]) -> Result<u64, Refusal> {
    if let Err(error) = std::str::from_utf8(content) {
        return Err(not_text("invalid UTF-8", error.valid_up_to()));
    }
    check_nul(content)?;
    Ok(count_lines(content))
}

/// R's strings end at a NUL byte.
fn check_nul(content: &[u8]) -> Result<(), Refusal> {
    memchr::memchr(0, content).map_or(Ok(()), |at| Err(not_text("a NUL byte", at)))
}

fn not_text(reason: &str, offset: usize) -> Refusal {
    Refusal::new(Code::NotText)
        .say(format!(
            "The file is not UTF-8 text: {reason} at byte {offset}. No other files can be read."
        ))
        .with("reason", reason)
        .with("offset", offset as u64)
}

fn count_lines(content: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', content).count() as u64;
    ends + u64::from(content.last().is_some_and(|byte| *byte != b'\n'))
}

/// Where lines `first` to `last` (from 1, both included) lie.
fn line_range(content: &[u8], first: u64, last: u64) -> (usize, usize) {
    let (mut start, mut end) = if first <= 1 {
        (Some(0), content.len())
    } else {
        (None, content.len())
    };
    let mut line = 1;
    for at in memchr::memchr_iter(b'\n', content) {
        if line == last {
            end = at + 1;
            break;
        }
        line += 1;
        if line == first {
            start = Some(at + 1);
        }
    }
    let start = start.unwrap_or(content.len());
    (start, end.max(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ranges() {
        let content = b"one\ntwo\nthree";
        for (first, last, expected) in [
            (1, 1, "one\n"),
            (1, 2, "one\ntwo\n"),
            (2, 2, "two\n"),
            (3, 3, "three"),
            (3, 9, "three"),
            (4, 9, ""),
            (1, u64::MAX, "one\ntwo\nthree"),
        ] {
            let (start, end) = line_range(content, first, last);
            assert_eq!(
                std::str::from_utf8(&content[start..end]),
                Ok(expected),
                "{first}-{last}"
            );
        }
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_newline() {
        for (content, lines) in [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            assert_eq!(count_lines(content.as_bytes()), lines, "{content:?}");
        }
    }
}
