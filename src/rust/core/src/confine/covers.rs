//! From the carve-outs that exist to what must be closed for a command.

use std::collections::HashSet;

use crate::capability::{with_slash, Capability};
use crate::carve_out::Effect;
use crate::escape::display;
use crate::facts::Kind;
use crate::outcome::{Code, Refusal};
use crate::path;
use crate::process::confinement::{Closes, Cover, Standing};
use crate::root::Root;

use super::found::{Found, Hit, Why};
use super::places::{absolute, locate, Site};

/// Most covers of one command: each is a mount or more.
pub const MOST: usize = 10_000;

/// What must be closed. A link stays where it is, with everything that is passed from it, and so does what one
/// on the way of a pattern leads to; what a covered one leads to is closed, where a command could see it at all.
///
/// # Errors
/// `CarveOut` for a link that cannot be followed by its path, and for a covered one to an allowed directory, or to
/// one around it.
pub fn covers(capability: &Capability, sites: &[Site], found: &Found) -> Result<Vec<Cover>, Refusal> {
    let mut covers = Vec::new();
    for hit in &found.hits {
        if hit.why == Why::Mount {
            continue;
        }
        if hit.kind != Kind::Symlink {
            covers.push(cover(sites, hit));
            continue;
        }
        if hit.way.is_empty() {
            // Its path is too long, or it was turned meanwhile.
            return Err(link_not_followed(hit));
        }
        let writable = |root: usize| capability.roots()[root].is_writable();
        for passed in &hit.way {
            if locate(sites, &with_slash(&passed.place)).is_some_and(|(root, _)| writable(root)) {
                covers.push(Cover {
                    path: with_slash(&passed.place),
                    closes: Closes::Moving,
                    kind: if passed.text.is_some() {
                        Standing::Link
                    } else {
                        Standing::Directory
                    },
                });
            }
        }
        let Some(target) = &hit.target else { continue };
        if hit.why == Why::LinkAbove {
            if target.writable {
                covers.push(Cover {
                    path: with_slash(&target.path),
                    closes: Closes::Moving,
                    kind: Standing::of(target.kind),
                });
            }
            continue;
        }
        let matters = |root: &Root| hit.effect == Effect::Deny || root.is_writable();
        let mut inside = sites.iter().zip(capability.roots());
        if let Some((site, _)) = inside.find(|(site, root)| site.names.starts_with(&target.path) && matters(root)) {
            return Err(link_to_root(hit, site));
        }
        // Outside of all roots a command sees system files at most, which hold no secrets.
        let Some(spot) = &target.spot else { continue };
        if !matters(&capability.roots()[spot.root]) {
            continue;
        }
        covers.push(Cover {
            path: with_slash(&target.path),
            closes: closes(hit),
            kind: Standing::of(target.kind),
        });
    }
    Ok(covers)
}

/// Refuses what no cover closes: a link that leads nowhere, where a command could make something of it.
///
/// # Errors
/// `CarveOut`.
pub fn leads_nowhere(capability: &Capability, sites: &[Site], found: &Found, covers: &[Cover]) -> Result<(), Refusal> {
    let mut ends = found
        .hits
        .iter()
        .filter_map(|hit| Some((hit, hit.nowhere.as_ref()?)))
        .peekable();
    if ends.peek().is_none() {
        return Ok(());
    }
    let closed: HashSet<&[u8]> = covers
        .iter()
        .filter(|cover| cover.kind == Standing::Directory && cover.closes != Closes::Moving)
        .map(|cover| cover.path.as_slice())
        .collect();
    for (hit, end) in ends {
        let path = with_slash(end);
        let Some((root, _)) = locate(sites, &path) else {
            continue;
        };
        let depth = sites[root].names.len();
        // In a closed directory nothing can be made.
        let is_closed = (depth..end.len()).any(|count| closed.contains(with_slash(&end[..count]).as_slice()));
        if capability.roots()[root].is_writable() && !is_closed {
            return Err(link_to_nowhere(hit, &path));
        }
    }
    Ok(())
}

fn closes(hit: &Hit) -> Closes {
    match hit.effect {
        Effect::Deny => Closes::All,
        Effect::Protect => Closes::Writing,
    }
}

fn cover(sites: &[Site], hit: &Hit) -> Cover {
    Cover {
        path: absolute(&sites[hit.lies.root], &hit.lies.names),
        closes: closes(hit),
        kind: Standing::of(hit.kind),
    }
}

/// The directories of other mounts that are not to be seen.
#[must_use]
pub fn mounts(sites: &[Site], found: &Found) -> Vec<Cover> {
    let hits = found.hits.iter().filter(|hit| hit.why == Why::Mount);
    hits.map(|hit| cover(sites, hit)).collect()
}

pub(super) fn denied_around(cover: &[u8], place: &[u8]) -> Refusal {
    Refusal::new(Code::CarveOut).say(format!(
        "\"{}\" lies in \"{}\", which is closed to commands of the capability that this one was narrowed from. Leave it out.",
        display(place),
        display(cover)
    ))
}

fn link_not_followed(hit: &Hit) -> Refusal {
    refused(
        hit,
        "a link that cannot be followed by its path",
        "cannot be kept there. Call again if it was changed meanwhile; shorten its path otherwise",
    )
}

fn link_to_nowhere(hit: &Hit, end: &[u8]) -> Refusal {
    refused(
        hit,
        "a link that leads nowhere",
        &format!(
            "would cover what a command made at \"{}\". Remove the link, or make what it names",
            display(end)
        ),
    )
}

fn link_to_root(hit: &Hit, site: &Site) -> Refusal {
    refused(
        hit,
        "a link to an allowed directory or to one around it",
        &format!(
            "would close \"{}\" to commands. Remove the link, or the pattern",
            display(&site.path)
        ),
    )
}

fn refused(hit: &Hit, is: &str, pattern: &str) -> Refusal {
    let shown = display(&hit.spelled.names);
    let (effect, rule) = (hit.effect.as_str(), &hit.rule);
    Refusal::new(Code::CarveOut)
        .say(format!(
            "\"{shown}\" is {is}, so that the {effect} pattern \"{rule}\" {pattern}."
        ))
        .with("path", shown)
        .with("rule", format!("{effect}: {rule}"))
        .with("carve_out", effect)
}

/// Sorts covers so that outer ones come first, each path once. What lies in a denied directory is not there
/// any more once that is closed.
pub fn order(covers: &mut Vec<Cover>) {
    // By components: "a/b" belongs behind "a" and before "a.b". Of two covers of one path the stricter counts.
    covers.sort_by(|a, b| {
        let steps = |cover: &Cover| path::names(&cover.path);
        steps(a).cmp(&steps(b)).then(a.closes.cmp(&b.closes))
    });
    let mut closed: Option<Vec<u8>> = None;
    let mut last: Option<Vec<u8>> = None;
    covers.retain(|cover| {
        let inside = closed
            .as_ref()
            .is_some_and(|closed| path::below(&cover.path, closed).is_some());
        if inside || last.as_ref() == Some(&cover.path) {
            return false;
        }
        if cover.kind == Standing::Directory && cover.closes == Closes::All {
            closed = Some(cover.path.clone());
        }
        last = Some(cover.path.clone());
        true
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_covers_come_first_and_each_path_once() {
        let cover = |path: &str, read, directory| Cover {
            path: path.as_bytes().to_vec(),
            closes: if read { Closes::Writing } else { Closes::All },
            kind: if directory { Standing::Directory } else { Standing::File },
        };
        let mut covers = vec![
            cover("/r/a.b", true, false),
            cover("/r/a/b", true, false),
            cover("/r/p/.env", false, false),
            cover("/r/p", true, true),
            cover("/r/s/x", true, false),
            cover("/r/s", true, true),
            cover("/r/s", false, true),
            cover("/r/a", true, true),
        ];
        order(&mut covers);
        let shown: Vec<_> = covers
            .iter()
            .map(|cover| {
                (
                    String::from_utf8_lossy(&cover.path).into_owned(),
                    cover.closes == Closes::Writing,
                )
            })
            .collect();
        let expected = [
            ("/r/a", true),
            ("/r/a/b", true),
            ("/r/a.b", true),
            ("/r/p", true),
            ("/r/p/.env", false),
            ("/r/s", false),
        ];
        assert_eq!(shown, expected.map(|(path, read)| (path.to_owned(), read)));
    }
}
