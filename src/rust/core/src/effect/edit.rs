//! Replacing exact text in a file.

use similar::TextDiff;

use super::install::{self, Basis, Entry};
use super::write::Expected;
use super::{read, Context};
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
    /// The version of the content.
    pub version: String,
    /// Attributes of the old file that could not be kept.
    pub lost: Vec<String>,
}

/// Edits.
///
/// # Errors
/// `NotFound`, `NotText`, `CountMismatch`, `LostUpdate`, and those of [`install::install`].
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
    let Some(old) = install::open_old(entry)? else {
        return Err(Code::NotFound.into());
    };
    let before = install::old_content(&old, context)?;
    let version = version::of(&before);
    context.report.version_before = Some(version.clone());
    if expected.is_some_and(|wanted| wanted != version) {
        return Err(Refusal::new(Code::LostUpdate).with("reason", "the file was changed"));
    }
    read::check(&before)?;
    let places: Vec<usize> = memchr::memmem::find_iter(&before, &replacement.old).collect();
    let found = places.len() as u64;
    if found != replacement.count {
        return Err(Refusal::new(Code::CountMismatch)
            .say(format!("The text to replace occurs {found} times, not {} times. Give more of its surroundings, or the right count.", replacement.count))
            .with("found", found)
            .with("expected", replacement.count));
    }
    let mut after = Vec::with_capacity(before.len());
    let mut copied = 0;
    for place in places {
        after.extend_from_slice(&before[copied..place]);
        after.extend_from_slice(&replacement.new);
        copied = place + replacement.old.len();
    }
    after.extend_from_slice(&before[copied..]);
    read::check(&after)?;
    let (diff, truncated_diff) = difference(&before, &after, &path);
    let installed = install::install(entry, Some(&old), &after, &Basis::Version(version), context)?;
    Ok(Edited {
        path,
        bytes: after.len() as u64,
        replaced: found,
        diff,
        truncated_diff,
        version: installed.version,
        lost: installed.lost,
    })
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

fn difference(before: &[u8], after: &[u8], path: &str) -> (String, bool) {
    // Both were checked to be UTF-8.
    let (before, after) = (String::from_utf8_lossy(before), String::from_utf8_lossy(after));
    let diff = TextDiff::configure()
        // A difference that takes longer is given more coarsely.
        .timeout(std::time::Duration::from_millis(500))
        .diff_lines(before.as_ref(), after.as_ref());
    let mut text = diff
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{path}"), &format!("b/{path}"))
        .to_string();
    if text.len() <= DIFF_BYTES {
        return (text, false);
    }
    let mut end = DIFF_BYTES;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    (text, true)
}
