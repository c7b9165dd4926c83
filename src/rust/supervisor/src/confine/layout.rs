//! In which order a place's insides are laid over it: outer ones first, so that each finds what it
//! stands on.

use std::collections::BTreeMap;

use rhocap_core::process::confinement::{Closes, Confinement, Cover, Place};

/// What is mounted at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer<'a> {
    /// A directory of the host.
    Place(&'a Place),
    /// Nothing that could be read, or written, or moved.
    Cover(&'a Cover),
    /// The directory itself, so that it cannot be renamed. Otherwise `mv .git x; mkdir .git` would put
    /// another directory where `.git/hooks` is covered, and the host would find that one.
    Pin,
    /// A directory instead of what the host has mounted there, with nothing but the way to the places in it.
    Hidden,
}

/// All layers below the new root, in order. `mounted` are the host's mount points.
pub fn layers<'a>(confinement: &'a Confinement, mounted: &[Vec<u8>]) -> Vec<(Vec<u8>, Layer<'a>)> {
    // By their names, so that a directory comes before what is in it.
    let mut layers: BTreeMap<Vec<&[u8]>, Layer<'a>> = BTreeMap::new();
    for place in &confinement.places {
        layers.insert(names(&place.path), Layer::Place(place));
    }
    let places: Vec<(Vec<&[u8]>, &Place)> = confinement
        .places
        .iter()
        .map(|place| (names(&place.path), place))
        .collect();
    let around = |path: &[&[u8]]| {
        let outer = places.iter().filter(|(outer, _)| strictly_below(path, outer));
        outer.max_by_key(|(outer, _)| outer.len())
    };
    for cover in &confinement.covers {
        // A place that is itself closed stays a place: whoever named it meant it.
        layers.entry(names(&cover.path)).or_insert(Layer::Cover(cover));
    }
    for point in mounted {
        let point = names(point);
        if around(&point).is_some_and(|(_, place)| !place.mounts) {
            layers.entry(point).or_insert(Layer::Hidden);
        }
    }
    let standing: Vec<Vec<&[u8]>> = layers
        .iter()
        .filter(|(_, layer)| matches!(layer, Layer::Place(_) | Layer::Cover(_)))
        .map(|(path, _)| path.clone())
        .collect();
    for path in standing {
        let Some((outer, _)) = around(&path) else { continue };
        for length in outer.len() + 1..path.len() {
            layers.entry(path[..length].to_vec()).or_insert(Layer::Pin);
        }
    }
    // What lies in something that is wholly closed cannot be seen, and so not be mounted on; but a place in
    // it is there, with what is closed in that.
    let mut around: Vec<(Vec<&[u8]>, bool)> = Vec::new();
    layers.retain(|path, layer| {
        while around.last().is_some_and(|(outer, _)| !strictly_below(path, outer)) {
            around.pop();
        }
        let place = matches!(layer, Layer::Place(_));
        if !place && around.last().is_some_and(|(_, closed)| *closed) {
            return false;
        }
        let closes = matches!(
            layer,
            Layer::Hidden
                | Layer::Cover(Cover {
                    closes: Closes::All,
                    ..
                })
        );
        if place || closes {
            around.push((path.clone(), closes));
        }
        true
    });
    layers.into_iter().map(|(path, layer)| (joined(&path), layer)).collect()
}

fn names(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/')
        .filter(|name| !name.is_empty())
        .collect()
}

fn joined(names: &[&[u8]]) -> Vec<u8> {
    names.join(&b'/')
}

fn strictly_below(path: &[&[u8]], outer: &[&[u8]]) -> bool {
    path.len() > outer.len() && path.starts_with(outer)
}

#[cfg(test)]
mod tests {
    use rhocap_core::process::confinement::Standing;

    use super::*;

    fn place(path: &str, mounts: bool) -> Place {
        Place {
            path: path.into(),
            device: 0,
            inode: 0,
            write: true,
            mounts,
            names: false,
        }
    }

    fn cover(path: &str, read: bool) -> Cover {
        Cover {
            path: path.into(),
            closes: if read { Closes::Writing } else { Closes::All },
            kind: Standing::Directory,
        }
    }

    fn words(confinement: &Confinement, mounted: &[&str]) -> Vec<String> {
        let mounted: Vec<Vec<u8>> = mounted.iter().map(|path| path.as_bytes().to_vec()).collect();
        layers(confinement, &mounted)
            .iter()
            .map(|(path, layer)| {
                let word = match layer {
                    Layer::Place(_) => "place",
                    Layer::Cover(_) => "cover",
                    Layer::Pin => "pin",
                    Layer::Hidden => "hidden",
                };
                format!("{word} {}", String::from_utf8_lossy(path))
            })
            .collect()
    }

    #[test]
    fn every_directory_between_a_place_and_what_is_closed_is_pinned() {
        let confinement = Confinement {
            places: vec![place("/w", true), place("/w/a/b/c", true), place("/x", true)],
            covers: vec![
                cover("/w/.git/hooks", true),
                cover("/w/.git/config", true),
                cover("/w/.env", false),
                cover("/w/a/b/c/d/e", false),
            ],
            ..Confinement::default()
        };
        assert_eq!(
            words(&confinement, &[]),
            [
                "place w",
                "cover w/.env",
                "pin w/.git",
                "cover w/.git/config",
                "cover w/.git/hooks",
                "pin w/a",
                "pin w/a/b",
                "place w/a/b/c",
                "pin w/a/b/c/d",
                "cover w/a/b/c/d/e",
                "place x",
            ]
        );
    }

    #[test]
    fn a_place_in_what_is_hidden_keeps_what_is_closed_in_it() {
        let confinement = Confinement {
            places: vec![place("/w", false), place("/w/disk/a/b", false)],
            covers: vec![
                cover("/w/disk/.env", false),
                cover("/w/disk/a/b/.git/hooks", true),
                cover("/w/disk/z", true),
                cover("/w/z", true),
            ],
            ..Confinement::default()
        };
        assert_eq!(
            words(
                &confinement,
                &["/w/disk", "/w/disk/a/b/more", "/w/disk/a/b/more/deep", "/w/disk/a/c"]
            ),
            [
                "place w",
                "hidden w/disk",
                "place w/disk/a/b",
                "pin w/disk/a/b/.git",
                "cover w/disk/a/b/.git/hooks",
                "hidden w/disk/a/b/more",
                "cover w/z",
            ]
        );
    }

    #[test]
    fn nothing_is_laid_over_what_cannot_be_seen() {
        let confinement = Confinement {
            places: vec![place("/w", false), place("/v", true)],
            covers: vec![
                cover("/w/.ssh", false),
                cover("/w/.ssh/keys/x", false),
                cover("/w/.vscode", true),
                cover("/w/.vscode/secret", false),
                cover("/w/disk/.env", false),
            ],
            ..Confinement::default()
        };
        assert_eq!(
            words(
                &confinement,
                &["/", "/proc", "/w", "/w/disk", "/w/disk/deep", "/v/disk", "/wx"]
            ),
            [
                "place v",
                "place w",
                "cover w/.ssh",
                "cover w/.vscode",
                "cover w/.vscode/secret",
                "hidden w/disk",
            ]
        );
    }
}
