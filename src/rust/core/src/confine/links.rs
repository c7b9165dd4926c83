//! The links that must stand in a command's view, so that the spellings by which roots were named lead to
//! them there too.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::CWD;
use rustix::io::Errno;

use crate::capability::{with_slash, Capability};
use crate::facts;
use crate::path::{self, Component};
use crate::resolve::MOST_LINKS;

use super::places::Site;
use super::system::PROGRAMS;

/// Directories that a view has beside the system's programs.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Where links stand, and what they say.
pub(super) fn links(capability: &Capability, sites: &[Site]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut links = BTreeMap::new();
    let mut spell = |spelling: &Vec<Vec<u8>>, site: Option<&Site>| {
        let Some((passed, end)) = follow(spelling) else { return };
        let passed: Vec<_> = passed
            .into_iter()
            .filter_map(|passed| Some((passed.place, passed.text?)))
            .collect();
        let leads = site.is_none_or(|site| site.names == end);
        if leads {
            for (at, text) in passed {
                if !is_there(&at, sites) {
                    links.insert(at, text);
                }
            }
        } else if let Some(site) = site.filter(|_| passed.is_empty() && !is_there(spelling, sites)) {
            // The directory was renamed, or its link is gone: verbs still take the spelling.
            links.insert(spelling.clone(), site.path.clone());
        }
    };
    for (root, site) in capability.roots().iter().zip(sites) {
        for spelling in root.declared.iter().chain([&root.canonical]) {
            spell(spelling, Some(site));
        }
    }
    spell(&capability.cwd().opened.declared, None);
    // Nothing stands below a link.
    let kept: Vec<_> = links
        .iter()
        .filter(|(at, _)| {
            !links
                .keys()
                .any(|above| at.len() > above.len() && at.starts_with(above))
        })
        .map(|(at, text)| (with_slash(at), text.clone()))
        .collect();
    kept
}

/// Whether a view has something at a path already, from a place or from the system, or a place below it.
fn is_there(at: &[Vec<u8>], sites: &[Site]) -> bool {
    let system = |first: &[u8]| {
        let mut paths = PROGRAMS.iter().chain(&KERNEL);
        paths.any(|path| path.as_bytes()[1..] == *first)
    };
    at.first().is_none_or(|first| system(first))
        || sites
            .iter()
            .any(|site| at.starts_with(&site.names) || site.names.starts_with(at))
}

/// What a path passes, and what could be put in the place of which would change where it leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The names of its place, without links.
    pub place: Vec<Vec<u8>>,
    /// What a link says; none for a directory that is left by `..`.
    pub text: Option<Vec<u8>>,
}

/// What a path passes on this host, and where it ends, or does not go on. None where that is too long to be
/// read by its path.
pub(super) fn follow(spelling: &[Vec<u8>]) -> Option<(Vec<Passed>, Vec<Vec<u8>>)> {
    let mut passed: Vec<Passed> = Vec::new();
    let mut left = MOST_LINKS;
    let mut here: Vec<Vec<u8>> = Vec::new();
    let name = |name: &Vec<u8>| Component::Name(name.as_slice().into());
    let mut pending: VecDeque<Component> = spelling.iter().map(name).collect();
    while let Some(step) = pending.pop_front() {
        let Component::Name(name) = step else {
            if facts::of_entry(CWD, &[with_slash(&here).as_slice(), b"/."].concat()).is_err() {
                return Some((passed, here));
            }
            // What is above a link stays for the link's sake.
            if !passed.iter().any(|passed| passed.place.starts_with(&here)) {
                passed.push(Passed {
                    place: here.clone(),
                    text: None,
                });
            }
            here.pop();
            continue;
        };
        here.push(name.to_vec());
        let place = with_slash(&here);
        let text = match std::fs::read_link(OsStr::from_bytes(&place)) {
            Ok(text) => text,
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INVAL) => continue,
                Some(Errno::NAMETOOLONG) => return None,
                _ => return Some((passed, here)),
            },
        };
        let text = text.as_os_str().as_bytes().to_vec();
        let parsed = path::parse(&text).ok().filter(|_| left > 0);
        let Some(parsed) = parsed else {
            return Some((passed, here));
        };
        left -= 1;
        passed.push(Passed {
            place: here.clone(),
            text: Some(text),
        });
        here.pop();
        if parsed.absolute {
            here.clear();
        }
        for step in path::steps(&parsed.names)
            .chain(parsed.rest)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
        {
            pending.push_front(step);
        }
    }
    Some((passed, here))
}
