//! Ratios of admission against the plain calls of the standard library, from one interleaved run.
//!
//! Both sides get the same relative path below the same current directory, so that the peer is at
//! its fastest. Prints rows of a Markdown table.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use rhocap_core::admission::admit;
use rhocap_core::capability::{Capability, CapabilitySpec};
use rhocap_core::effect::{read, Cancel};
use rhocap_core::resolve::{Object, Use, Want};

const ROUNDS: usize = 201;
const EACH: u32 = 200;

fn main() {
    let base = tempfile::tempdir().expect("a temporary directory");
    let root = base.path().join("root");
    std::fs::create_dir(&root).expect("the root");
    let capability = Capability::new(CapabilitySpec {
        read: vec![bytes(&root)],
        ..CapabilitySpec::new(bytes(&root))
    })
    .expect("a capability");
    std::env::set_current_dir(&root).expect("the root as current directory");
    let cancel = Cancel::default();
    let load = |path: &str, using: Use| {
        let found = admit(&capability, path.as_bytes(), Want::File, using).expect("admitted");
        let Object::File { handle, facts } = found.object else {
            panic!("no file")
        };
        read::bytes(handle, &facts, 1 << 28, &cancel).expect("read")
    };

    for components in [1_usize, 5, 12] {
        let path = file(&root, components);
        compare(
            &format!("core: admit + read 4 KiB, {components} components"),
            "`std::fs::read`",
            "<= 1.10",
            || load(&path, Use::Best),
            || std::fs::read(&path).expect("read"),
        );
    }
    let outside = bytes(&base.path().join("root-evil/secret"));
    let outside_path = base.path().join("root-evil/secret");
    compare(
        "core: refuse an outside absolute path",
        "one `stat` call",
        "<= 1.0",
        || admit(&capability, &outside, Want::File, Use::Best).is_err(),
        || rustix::fs::stat(&outside_path).is_err(),
    );
    let path = file(&root, 12);
    compare(
        "core: walk resolver, 12 components",
        "`std::fs::File::open`",
        "<= 9",
        || admit(&capability, path.as_bytes(), Want::File, Use::Walk).expect("admitted"),
        || std::fs::File::open(&path).expect("open"),
    );
}

fn bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

/// A file of 4 KiB at a path of so many components.
fn file(root: &Path, components: usize) -> String {
    let mut path = String::new();
    for level in 1..components {
        let _ = write!(path, "directory{level}/");
    }
    std::fs::create_dir_all(root.join(&path)).expect("directories");
    path.push_str("file.txt");
    std::fs::write(root.join(&path), "text of a line\n".repeat(273) + "x").expect("the file");
    path
}

fn time<T>(call: &impl Fn() -> T) -> Duration {
    let start = Instant::now();
    for _ in 0..EACH {
        black_box(call());
    }
    start.elapsed() / EACH
}

/// Medians of interleaved rounds, and the median of the rounds' own ratios.
fn compare<A, B>(work: &str, peer: &str, reach: &str, ours: impl Fn() -> A, theirs: impl Fn() -> B) {
    let mut rounds: Vec<(Duration, Duration)> = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        // Which side goes first alternates, so that neither always finds a warm cache.
        if round % 2 == 0 {
            let first = time(&ours);
            rounds.push((first, time(&theirs)));
        } else {
            let first = time(&theirs);
            rounds.push((time(&ours), first));
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let micros = |duration: &Duration| duration.as_secs_f64() * 1e6;
    let mine = median(rounds.iter().map(|(ours, _)| micros(ours)).collect());
    let peers = median(rounds.iter().map(|(_, theirs)| micros(theirs)).collect());
    let ratio = median(
        rounds
            .iter()
            .map(|(ours, theirs)| micros(ours) / micros(theirs))
            .collect(),
    );
    println!("| {work} | {peer} | {mine:.2} us | {peers:.2} us | {ratio:.2} | {reach} |");
}
