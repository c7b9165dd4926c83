//! Replacing exact text in a file.

use std::fmt::Write as _;

use similar::{Change, TextDiff};

use super::install::{self, Basis, Entry};
use super::masked::{self, no_marker, stay_masked, Change as Moved};
use super::write::Expected;
use super::{read, Context};
use crate::character::floor;
use crate::outcome::{Code, Refusal};
use crate::version;

/// Most bytes of the difference that is given back.
const DIFF_BYTES: usize = 50 * 1024;

/// What an edit replaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replacement {
    /// The text to find.
    pub old: Vec<u8>,
    /// The text to put in its place.
    pub new: Vec<u8>,
    /// How often the old text must occur; all occurrences are replaced.
    pub count: u64,
}

/// What was edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The file's path below its root, escaped for showing.
    pub path: String,
    /// Bytes of the whole file now.
    pub bytes: u64,
    /// How many occurrences were replaced.
    pub replaced: u64,
    /// The difference in unified format, three lines of context.
    pub diff: String,
    /// Whether `diff` was cut.
    pub truncated_diff: bool,
    /// The version of the content; empty where a secret is in it.
    pub version: String,
    /// Attributes of the old file that could not be kept.
    pub lost: Vec<String>,
}

/// Edits.
///
/// # Errors
/// `RedactedContent`, `NotFound`, `NotText`, `CountMismatch`, `LostUpdate`, and those of [`install::install`].
pub fn edit(
    entry: &Entry,
    path: String,
    replacement: &Replacement,
    expected: Option<&str>,
    context: &mut Context<'_>,
) -> Result<Edited, Refusal> {
    if replacement.old.is_empty() {
        return Err(Refusal::new(Code::InvalidArguments).say("The text to replace is empty."));
    }
    no_marker(&replacement.old)?;
    no_marker(&replacement.new)?;
    let Some(old) = install::open_old(entry)? else {
        return Err(Code::NotFound.into());
    };
    let before = install::old_content(&old, context)?;
    let version = version::of(&before);
    let redactor = context.redactor;
    let secret = redactor.spans(&before);
    context.report.version_before = Some(version.clone());
    context.report.secret_before = !secret.is_empty();
    if expected.is_some_and(|wanted| wanted != version) {
        return Err(Refusal::new(Code::LostUpdate).with("reason", "the file was changed"));
    }
    read::check(&before)?;
    let finder = memchr::memmem::Finder::new(&replacement.old);
    // Not in what is masked: whether a text is found there would tell what it is.
    let mut places = Vec::new();
    for part in masked::shown(&secret, before.len()) {
        let start = part.start;
        places.extend(finder.find_iter(&before[part]).map(|at| start + at));
    }
    let found = places.len() as u64;
    if found != replacement.count {
        return Err(Refusal::new(Code::CountMismatch)
            .say(miscounted(&before, replacement, found))
            .with("found", found)
            .with("expected", replacement.count));
    }
    // A few bytes of arguments can ask for more memory than there is.
    let grown = replacement.new.len() as u64;
    let size = found
        .checked_mul(grown)
        .map(|added| (before.len() as u64 - found * replacement.old.len() as u64).saturating_add(added))
        .filter(|size| *size <= context.limits.read_bytes);
    let Some(size) = size.and_then(|size| usize::try_from(size).ok()) else {
        return Err(Refusal::new(Code::TooLarge)
            .say("The file would become larger than the capability's `read_bytes`.")
            .with("limit", context.limits.read_bytes));
    };
    let mut after = install::room(size)?;
    let mut copied = 0;
    for place in places.iter().copied() {
        after.extend_from_slice(&before[copied..place]);
        after.extend_from_slice(&replacement.new);
        copied = place + replacement.old.len();
    }
    after.extend_from_slice(&before[copied..]);
    read::check(&after)?;
    context.cancel.check()?;
    let (old_size, new_size) = (replacement.old.len(), replacement.new.len());
    let changes: Vec<_> = if secret.is_empty() {
        Vec::new()
    } else {
        let change = |at| Moved {
            at,
            old: old_size,
            new: new_size,
        };
        places.iter().copied().map(change).collect()
    };
    stay_masked(redactor, &secret, &changes, &after)?;
    let (told_before, told_after) = (redactor.mask(&before), redactor.mask(&after));
    context.report.secret_after = told_after.count > 0;
    context.report.masked = told_after.count;
    let (diff, truncated_diff) = difference(&told_before.text, &told_after.text, &path);
    let bytes = told_after.text.len() as u64;
    drop((told_before, told_after));
    let installed = install::install(entry, Some(&old), &after, &Basis::Version(version), context)?;
    context.report.bytes = Some(bytes);
    Ok(Edited {
        path,
        bytes,
        replaced: found,
        diff,
        truncated_diff,
        version: context.report.told_after(installed.version),
        lost: installed.lost,
    })
}

/// What to do about a text that does not occur as often as it must.
fn miscounted(before: &[u8], replacement: &Replacement, found: u64) -> String {
    let times = |count| match count {
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    if found > 0 {
        let surroundings = if found > replacement.count {
            "more of its surroundings, or "
        } else {
            ""
        };
        return format!(
            "The text to replace occurs {}, not {}. Give {surroundings}the right count.",
            times(found),
            times(replacement.count)
        );
    }
    let crlf = memchr::memmem::find(before, b"\r\n").is_some();
    if crlf && replacement.old.contains(&b'\n') && memchr::memmem::find(&replacement.old, b"\r\n").is_none() {
        return "The text to replace does not occur. Lines of the file end in CRLF (\\r\\n), those of the text in LF (\\n): \
                write \\r\\n in the old and the new text."
            .to_owned();
    }
    "The text to replace does not occur. Read the file again and copy the text exactly, white space and line endings \
     included."
        .to_owned()
}

/// What an edit may expect: an absent file cannot be edited.
///
/// # Errors
/// `InvalidArguments`.
pub fn expected_version(expected: Option<&Expected>) -> Result<Option<&str>, Refusal> {
    match expected {
        None => Ok(None),
        Some(Expected::Version(version)) => Ok(Some(version)),
        Some(Expected::Absent) => {
            Err(Refusal::new(Code::InvalidArguments).say("A file that is expected to be absent cannot be edited."))
        }
    }
}

/// Most bytes of either side that are compared: a comparison takes a multiple of them in memory.
const COMPARED: usize = 8 << 20;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// The difference in unified format (POSIX `diff -u`), and whether it was cut. Empty where too much changed.
fn difference(before: &[u8], after: &[u8], path: &str) -> (String, bool) {
    let (skipped, old, new) = changed(before, after);
    if old.len().max(new.len()) > COMPARED {
        return (String::new(), true);
    }
    // Both were checked to be UTF-8, and are cut at ends of lines.
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    // A line ends at its newline only: diff and patch take a carriage return for text.
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let diff = TextDiff::configure()
        // A difference that takes longer is given more coarsely.
        .timeout(std::time::Duration::from_millis(500))
        .newline_terminated(true)
        .diff_slices(&old, &new);
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    for hunk in diff.unified_diff().context_radius(CONTEXT).iter_hunks() {
        let Some(first) = hunk.ops().first() else { continue };
        let changes: Vec<_> = hunk.iter_changes().collect();
        // Counted, because the ends of the operations are not always those of the changes.
        let span =
            |lines: Vec<usize>, start: usize| range(skipped + lines.first().copied().unwrap_or(start), lines.len());
        let old = changes.iter().filter_map(Change::old_index).collect();
        let new = changes.iter().filter_map(Change::new_index).collect();
        let (old, new) = (span(old, first.old_range().start), span(new, first.new_range().start));
        let _ = writeln!(text, "@@ -{old} +{new} @@");
        for change in changes {
            let _ = write!(text, "{}{}", change.tag(), change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        if text.len() > DIFF_BYTES {
            break;
        }
    }
    if text.len() <= DIFF_BYTES {
        return (text, false);
    }
    text.truncate(floor(&text, DIFF_BYTES));
    (text, true)
}

/// So many lines from line `start` (from 0) on, as the head of a hunk gives them.
fn range(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

/// The lines from the first to the last that differ, with their context, and how many lines stand before.
fn changed<'a>(before: &'a [u8], after: &'a [u8]) -> (usize, &'a [u8], &'a [u8]) {
    let same = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let mut start = memchr::memrchr(b'\n', &before[..same]).map_or(0, |at| at + 1);
    for _ in 0..CONTEXT {
        start = memchr::memrchr(b'\n', &before[..start.saturating_sub(1)]).map_or(0, |at| at + 1);
    }
    let (old, new) = (&before[start..], &after[start..]);
    let most = old.len().min(new.len()).min(before.len().min(after.len()) - same);
    let ends = old.iter().rev().zip(new.iter().rev()).take(most);
    let mut tail = ends.take_while(|(old, new)| old == new).count();
    // Whole lines only, some of them as context.
    let end = &old[old.len() - tail..];
    let kept = memchr::memchr_iter(b'\n', end)
        .nth(CONTEXT)
        .map_or(end.len(), |at| at + 1);
    tail -= kept;
    let lines = memchr::memchr_iter(b'\n', &before[..start]).count();
    (lines, &old[..old.len() - tail], &new[..new.len() - tail])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies a difference as `patch` does: every head and every line must fit.
    fn patched(before: &str, diff: &str) -> String {
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let mut lines = diff.split_inclusive('\n').skip(2).peekable();
        let (mut after, mut at) = (Vec::<String>::new(), 0);
        while let Some(head) = lines.next() {
            let numbers = |field: &str| {
                let (start, length) = field[1..].split_once(',').unwrap_or((&field[1..], "1"));
                let (start, length): (usize, usize) = (start.parse().unwrap(), length.parse().unwrap());
                (start - usize::from(length > 0), length)
            };
            let fields: Vec<&str> = head.split(' ').collect();
            assert!(fields[0] == "@@" && fields[3] == "@@\n", "{head:?} in {diff:?}");
            let (from, to) = (numbers(fields[1]), numbers(fields[2]));
            after.extend(old[at..from.0].iter().map(ToString::to_string));
            at = from.0;
            assert_eq!(after.len(), to.0, "{diff:?}");
            let (mut taken, mut given) = (0, 0);
            while (taken, given) < (from.1, to.1) || lines.peek().is_some_and(|line| line.starts_with('\\')) {
                let line = lines.next().unwrap();
                let mut text = line[1..].to_owned();
                if lines.peek().is_some_and(|next| next.starts_with('\\')) {
                    lines.next();
                    text.pop();
                }
                if !line.starts_with('+') {
                    assert_eq!(old[at], text, "{diff:?}");
                    (at, taken) = (at + 1, taken + 1);
                }
                if !line.starts_with('-') {
                    after.push(text);
                    given += 1;
                }
            }
            assert_eq!((taken, given), (from.1, to.1), "{diff:?}");
        }
        after.extend(old[at..].iter().map(ToString::to_string));
        after.concat()
    }

    #[test]
    fn differences_can_be_applied() {
        let long: Vec<String> = (1..=200).map(|line| format!("line {line}\n")).collect();
        let long = long.concat();
        let cases = [
            ("a\n", "a", "b"),
            ("a", "a", "b"),
            ("a", "a", ""),
            ("a\nb\nc\n", "b\n", ""),
            ("a\nb\nc", "c", "c\n"),
            ("a\n\na\n", "a", ""),
            ("a\rb\nc\r\nd\r", "b", "\r"),
            (long.as_str(), "line 1\n", ""),
            (long.as_str(), "line 100\n", "line 100\nmore\n"),
            (long.as_str(), "line 200\n", "end"),
            (long.as_str(), "line 5", "LINE 5"),
            (long.as_str(), "0\n", "0\n\n"),
        ];
        let check = |before: &str, after: &str| {
            let (text, cut) = difference(before.as_bytes(), after.as_bytes(), "f");
            assert!(!cut);
            assert_eq!(patched(before, &text), after, "{before:?}: {text:?}");
        };
        for (before, old, new) in cases {
            check(before, &before.replace(old, new));
        }
        // Texts of few different lines, where much is the same.
        let mut state = 1_u64;
        let mut next = |most: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        for _ in 0..5_000 {
            let pieces = ["a\n", "b\n", "\n", "a\rb\n", "\r\n", "b"];
            let mut before = String::new();
            for _ in 0..next(30) {
                before.push_str(pieces[usize::try_from(next(6)).unwrap()]);
            }
            let old = pieces[usize::try_from(next(6)).unwrap()];
            let new = ["", "a", "\n", "b\nb\n", "\r"][usize::try_from(next(5)).unwrap()];
            check(&before, &before.replace(old, new));
        }
    }
}
