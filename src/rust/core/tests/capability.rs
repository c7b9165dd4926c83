//! What a capability can be made of, what narrowing takes away, and what its digest covers.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rhocap_core::capability::{Capability, CapabilitySpec, CommandSpec, NarrowSpec, Reserved};
use rhocap_core::environment::{Entry, Source};
use rhocap_core::limits::Limits;
use rhocap_core::outcome::Code;
use rhocap_core::policy::{Network, Placement, Process};
use rhocap_core::resolve::Use;
use rhocap_core::verb::{self, Caller, Principal, ReadLimit, ReadPart, Request, Target};

type Change<'a> = dyn Fn(&mut CapabilitySpec) + 'a;

fn bytes(path: impl AsRef<Path>) -> Vec<u8> {
    path.as_ref().as_os_str().as_bytes().to_vec()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A directory with `root/a/b`, `root/f`, `root/.env` and `root/a/.env`.
fn tree() -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(tree.path().join("root/a/b")).unwrap();
    for path in ["root/f", "root/.env", "root/a/.env", "root/a/g", "root/a/b/h"] {
        std::fs::write(tree.path().join(path), "IN").unwrap();
    }
    tree
}

fn spec(tree: &tempfile::TempDir) -> CapabilitySpec {
    let root = bytes(tree.path().join("root"));
    CapabilitySpec {
        write: vec![root.clone()],
        // Opened, and never run here.
        commands: CommandSpec {
            supervisor: b"/bin/sh".to_vec(),
            beside: b"/tmp".to_vec(),
        },
        ..CapabilitySpec::new(root)
    }
}

fn kind(result: Result<Arc<Capability>, rhocap_core::misuse::Misuse>) -> &'static str {
    match result {
        Ok(_) => "made",
        Err(misuse) => {
            assert!(!misuse.message.is_empty());
            misuse.kind
        }
    }
}

fn read(capability: &Arc<Capability>, path: &str) -> Option<Code> {
    let request = Request::Read {
        target: Target::Path(path.as_bytes().to_vec()),
        part: ReadPart {
            lines: None,
            skip: 0,
            limit: ReadLimit::Default,
        },
    };
    run(capability, request)
}

fn write(capability: &Arc<Capability>, path: &str) -> Option<Code> {
    let request = Request::Write {
        target: Target::Path(path.as_bytes().to_vec()),
        content: b"NEW".into(),
        append: false,
        create_parents: false,
        expected: None,
    };
    run(capability, request)
}

fn run(capability: &Arc<Capability>, request: Request<'_>) -> Option<Code> {
    let caller = Caller {
        tool: "test".to_owned(),
        principal: Principal::User,
    };
    let call = verb::run(capability, request, caller, Use::Best);
    call.outcome.err().map(|refusal| refusal.code)
}

#[test]
fn roots_that_are_refused() {
    let tree = tree();
    std::os::unix::fs::symlink("nowhere", tree.path().join("dangling")).unwrap();
    std::os::unix::fs::symlink("root/f", tree.path().join("link")).unwrap();
    let at = |path: &str| bytes(tree.path().join(path));
    for (given, why) in [
        (at("root/.."), "`..`"),
        (at("root/a/../a"), "`..`"),
        (b"root".to_vec(), "relative"),
        (b".".to_vec(), "relative"),
        (b"~".to_vec(), "relative"),
        (b"".to_vec(), "empty"),
        ([at("root"), b"\0".to_vec()].concat(), "NUL"),
        (at("missing"), "missing"),
        (at("dangling"), "missing"),
        (at("root/f"), "a file"),
        (at("root/f/"), "a file"),
        (at("link"), "a file"),
        (b"/proc".to_vec(), "a kernel file system"),
        (b"/proc/self".to_vec(), "a kernel file system"),
        (b"/proc/self/fd".to_vec(), "a kernel file system"),
        (b"/sys/kernel".to_vec(), "a kernel file system"),
        (b"/dev/null".to_vec(), "a device"),
    ] {
        let shown = String::from_utf8_lossy(&given).into_owned();
        for part in ["read", "write", "libraries"] {
            let mut spec = spec(&tree);
            match part {
                "read" => spec.read.push(given.clone()),
                "write" => spec.write.push(given.clone()),
                _ => spec.libraries.push(given.clone()),
            }
            assert_eq!(kind(Capability::new(spec)), "root", "{part} {shown}: {why}");
        }
        let mut spec = spec(&tree);
        spec.cwd.clone_from(&given);
        assert_eq!(kind(Capability::new(spec)), "cwd", "cwd {shown}: {why}");
    }
}

#[test]
fn a_root_behind_a_link_into_a_kernel_file_system_is_refused() {
    let tree = tree();
    std::os::unix::fs::symlink("/proc/self", tree.path().join("magic")).unwrap();
    std::os::unix::fs::symlink("/proc/self/root", tree.path().join("top")).unwrap();
    let mut one = spec(&tree);
    one.write = vec![bytes(tree.path().join("magic"))];
    assert_eq!(kind(Capability::new(one)), "root");
    // A magic link to an ordinary directory is that directory, which the user named.
    let mut other = spec(&tree);
    other.read = vec![bytes(tree.path().join("top"))];
    assert_eq!(kind(Capability::new(other)), "made");
}

#[test]
fn reserved_places() {
    let tree = tree();
    std::os::unix::fs::symlink("root", tree.path().join("alias")).unwrap();
    let reserved = |path: &str| Reserved {
        path: bytes(tree.path().join(path)),
        what: "a library".to_owned(),
    };
    for (write, place, answer) in [
        ("root", "root", "reserved"),
        ("root/a", "root", "reserved"),
        ("root/a/b", "root", "reserved"),
        ("root", "alias", "reserved"),
        ("alias", "root", "reserved"),
        ("alias/a", "root", "reserved"),
        // Below the root: a carve-out.
        ("root", "root/a", "made"),
        ("root/a", "root/a/b", "made"),
        ("alias", "root/a", "made"),
        // Beside it, or not there.
        ("root/a/b", "root/f", "made"),
        ("root", "missing", "made"),
    ] {
        let mut spec = spec(&tree);
        spec.write = vec![bytes(tree.path().join(write))];
        spec.reserved = vec![reserved(place)];
        assert_eq!(kind(Capability::new(spec)), answer, "write {write}, reserved {place}");
    }
    // Readable it may be.
    let mut readable = spec(&tree);
    (readable.read, readable.write) = (readable.write, Vec::new());
    readable.reserved = vec![reserved("root")];
    assert_eq!(kind(Capability::new(readable)), "made");

    let mut below = spec(&tree);
    below.reserved = vec![reserved("root/a/b")];
    let capability = Capability::new(below).unwrap();
    assert_eq!(read(&capability, "a/b/h"), None);
    assert_eq!(write(&capability, "a/b/h"), Some(Code::CarveOut));
    assert_eq!(write(&capability, "a/b/new"), Some(Code::CarveOut));
    assert_eq!(write(&capability, "a/g"), None);
    assert!(
        capability.describe()["added"].to_string().contains("/a/b/"),
        "it is printed"
    );
    // Narrowing neither loses it nor lets a root be made of it.
    let narrow = |write: &str| {
        capability.narrow(NarrowSpec {
            write: Some(vec![bytes(tree.path().join(write))]),
            ..NarrowSpec::default()
        })
    };
    assert_eq!(
        write_below(&narrow("root/a").unwrap(), &tree, "root/a/b/new"),
        Some(Code::CarveOut)
    );
    assert_eq!(kind(narrow("root/a/b")), "reserved");
}

fn write_below(capability: &Arc<Capability>, tree: &tempfile::TempDir, path: &str) -> Option<Code> {
    write(capability, tree.path().join(path).to_str().unwrap())
}

#[test]
fn patterns_limits_and_policies_that_are_refused() {
    let tree = tree();
    for pattern in ["", " ", "#x", "a/../b", "./x", "[", "x[1", "a\nb"] {
        let (mut deny, mut protect) = (spec(&tree), spec(&tree));
        deny.deny = texts(&[pattern]);
        protect.protect = texts(&[pattern]);
        assert_eq!(kind(Capability::new(deny)), "pattern", "{pattern:?}");
        assert_eq!(kind(Capability::new(protect)), "pattern", "{pattern:?}");
    }
    for seconds in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
        let mut spec = spec(&tree);
        spec.limits.timeout = seconds;
        assert_eq!(kind(Capability::new(spec)), "limit", "{seconds}");
    }
    for shell in ["bash", "", "./bash", "/bin/\0"] {
        let mut spec = spec(&tree);
        spec.limits.shell = shell.to_owned();
        assert_eq!(kind(Capability::new(spec)), "limit", "{shell:?}");
    }
    for (process, network, answer) in [
        (Process::Unrestricted, Network::None, "not_enforceable"),
        // Confined commands are probed by the supervisor itself: see its tests.
        (Process::Unrestricted, Network::Host, "made"),
        (Process::None, Network::None, "made"),
    ] {
        let mut spec = spec(&tree);
        (spec.process, spec.network) = (process, network);
        assert_eq!(kind(Capability::new(spec)), answer, "{process:?} {network:?}");
    }
    // What only the kernel enforces is refused where it does not.
    let mut bounded = spec(&tree);
    bounded.limits.processes = Some(10);
    assert_eq!(kind(Capability::new(bounded.clone())), "made");
    (bounded.process, bounded.network) = (Process::Unrestricted, Network::Host);
    assert_eq!(kind(Capability::new(bounded)), "not_enforceable");
    let mut lost = spec(&tree);
    (lost.process, lost.network) = (Process::Unrestricted, Network::Host);
    lost.commands.supervisor = b"/no/supervisor".to_vec();
    assert_eq!(kind(Capability::new(lost)), "supervisor");
    let mut elsewhere = spec(&tree);
    elsewhere.placement = Placement::Mirai { compute: None };
    assert_eq!(kind(Capability::new(elsewhere)), "not_enforceable");
}

#[test]
fn narrowing_takes_away_and_never_adds() {
    let tree = tree();
    let outside = tempfile::tempdir().unwrap();
    let at = |path: &str| bytes(tree.path().join(path));
    let mut wide = spec(&tree);
    (wide.read, wide.write) = (vec![at("root")], vec![at("root/a")]);
    wide.limits.read_bytes = 1000;
    wide.limits.entries = 10;
    wide.limits.symlinks = false;
    let wide = Capability::new(wide).unwrap();

    let limits = |change: fn(&mut Limits)| {
        let mut limits = wide.limits().clone();
        change(&mut limits);
        NarrowSpec {
            limits: Some(limits),
            ..NarrowSpec::default()
        }
    };
    let read_of = |path: Vec<u8>| NarrowSpec {
        read: Some(vec![path]),
        ..NarrowSpec::default()
    };
    let write_of = |path: Vec<u8>| NarrowSpec {
        write: Some(vec![path]),
        ..NarrowSpec::default()
    };
    for (what, wider) in [
        ("read outside", read_of(bytes(outside.path()))),
        ("read above", read_of(bytes(tree.path()))),
        ("write outside", write_of(bytes(outside.path()))),
        ("write what is readable", write_of(at("root"))),
        (
            "process",
            NarrowSpec {
                process: Some(Process::Unrestricted),
                network: Some(Network::Host),
                ..NarrowSpec::default()
            },
        ),
        ("read_bytes", limits(|limits| limits.read_bytes = 1001)),
        ("entries", limits(|limits| limits.entries = 11)),
        ("symlinks", limits(|limits| limits.symlinks = true)),
        ("mounts", limits(|limits| limits.mounts = true)),
        ("hard_links", limits(|limits| limits.hard_links = true)),
        ("timeout", limits(|limits| limits.timeout += 1.0)),
        ("output_bytes", limits(|limits| limits.output_bytes += 1)),
        ("shell", limits(|limits| limits.shell = "/bin/sh".to_owned())),
    ] {
        assert_eq!(kind(wide.narrow(wider)), "wider", "{what}");
    }
    for (what, smaller) in [
        ("nothing", NarrowSpec::default()),
        ("read", read_of(at("root/a/b"))),
        ("write", write_of(at("root/a/b"))),
        (
            "no root",
            NarrowSpec {
                read: Some(vec![]),
                write: Some(vec![]),
                ..NarrowSpec::default()
            },
        ),
        ("read_bytes", limits(|limits| limits.read_bytes = 1)),
    ] {
        assert_eq!(kind(wide.narrow(smaller)), "made", "{what}");
    }
    let same = wide.narrow(NarrowSpec::default()).unwrap();
    assert_eq!(same.digest(), wide.digest(), "nothing was taken away");
    assert_ne!(same.id(), wide.id());

    let smaller = wide.narrow(write_of(at("root/a/b"))).unwrap();
    assert_eq!(write_below(&smaller, &tree, "root/a/b/h"), None);
    assert_eq!(write_below(&smaller, &tree, "root/a/g"), Some(Code::NotWritable));
    assert_eq!(read(&smaller, "a/g"), None, "what was writable stays readable");
}

#[test]
fn a_root_inside_a_directory_that_is_kept_keeps_its_rules() {
    let tree = tree();
    let at = |path: &str| bytes(tree.path().join(path));
    let capability = |change: &Change<'_>| {
        let mut spec = spec(&tree);
        change(&mut spec);
        Capability::new(spec).unwrap()
    };
    let dropped = |read: Option<Vec<Vec<u8>>>, write: Option<Vec<Vec<u8>>>| NarrowSpec {
        read,
        write,
        ..NarrowSpec::default()
    };
    let outer = || Some(vec![at("root")]);

    // A read-only root in a writable one.
    let inner = capability(&|spec| spec.read = vec![at("root/a")]);
    for narrow in [
        dropped(Some(vec![]), None),
        dropped(outer(), None),
        dropped(None, outer()),
        dropped(Some(vec![]), outer()),
    ] {
        let narrowed = inner.narrow(narrow).unwrap();
        assert_eq!(write(&narrowed, "a/g"), Some(Code::NotWritable));
        assert_eq!(read(&narrowed, "a/g"), None);
        assert_eq!(write(&narrowed, "f"), None);
    }
    // A library there, as renv makes it.
    let library = capability(&|spec| spec.libraries = vec![at("root/a")]);
    for keep in [None, Some(Vec::new())] {
        let narrowed = library
            .narrow(NarrowSpec {
                environment: keep,
                ..dropped(Some(vec![]), outer())
            })
            .unwrap();
        assert_eq!(write(&narrowed, "a/g"), Some(Code::NotWritable));
    }
    // A root with carve-outs in a library, which has none.
    let denied = capability(&|spec| {
        spec.libraries = vec![at("root")];
        spec.write = vec![at("root/a")];
    });
    for narrow in [
        dropped(outer(), Some(vec![])),
        dropped(Some(vec![]), Some(vec![])),
        dropped(outer(), None),
    ] {
        let narrowed = denied.narrow(narrow).unwrap();
        assert_eq!(read(&narrowed, "a/.env"), Some(Code::CarveOut));
    }
    // A writable root in a read-only one in a writable one: as much as both allow.
    let three = capability(&|spec| {
        spec.read = vec![at("root/a")];
        spec.write = vec![at("root"), at("root/a/b")];
    });
    let narrowed = three.narrow(dropped(Some(vec![]), outer())).unwrap();
    assert_eq!(write(&narrowed, "a/b/h"), None);
    assert_eq!(write(&narrowed, "a/g"), Some(Code::NotWritable));
    let narrowed = three.narrow(dropped(outer(), Some(vec![]))).unwrap();
    assert_eq!(write(&narrowed, "a/b/h"), Some(Code::NotWritable));
}

#[test]
fn narrowing_keeps_every_spelling_the_libraries_and_the_open_directories() {
    let tree = tree();
    let at = |path: &str| tree.path().join(path);
    std::os::unix::fs::symlink("root", at("alias")).unwrap();
    std::fs::create_dir(at("library")).unwrap();
    std::fs::write(at("library/p"), "IN").unwrap();
    let mut spec = spec(&tree);
    spec.write.push(bytes(at("alias")));
    spec.libraries = vec![bytes(at("library"))];
    let literal = |name: &str| Entry {
        name: name.to_owned(),
        source: Source::Literal("x".to_owned()),
    };
    spec.environment.entries = vec![literal("R_LIBS"), literal("OTHER")];
    spec.environment.hooks = texts(&["R_LIBS"]);
    let whole = Capability::new(spec).unwrap();
    let path = |of: &str| at(of).to_str().unwrap().to_owned();

    let narrowed = whole
        .narrow(NarrowSpec {
            write: Some(vec![]),
            ..NarrowSpec::default()
        })
        .unwrap();
    for of in ["root/f", "alias/f", "library/p"] {
        assert_eq!(read(&narrowed, &path(of)), None, "{of}");
    }
    // The libraries go with the entry that names them.
    for (keep, found) in [
        (None, None),
        (Some(texts(&["R_LIBS"])), None),
        (Some(texts(&["OTHER"])), Some(Code::NotUnderRoot)),
    ] {
        let narrowed = whole
            .narrow(NarrowSpec {
                read: Some(vec![]),
                environment: keep,
                ..NarrowSpec::default()
            })
            .unwrap();
        assert_eq!(read(&narrowed, &path("library/p")), found);
    }

    // Renamed, and replaced by a link to another place.
    std::fs::rename(at("root"), at("renamed")).unwrap();
    std::fs::create_dir(at("other")).unwrap();
    std::fs::write(at("other/f"), "OUT").unwrap();
    for replaced in [false, true] {
        if replaced {
            std::os::unix::fs::symlink("other", at("root")).unwrap();
        }
        let narrowed = whole
            .narrow(NarrowSpec {
                write: Some(vec![]),
                ..NarrowSpec::default()
            })
            .unwrap();
        assert_eq!(narrowed.describe()["cwd"], whole.describe()["cwd"]);
        assert_eq!(read(&narrowed, "a/g"), None);
    }
}

#[test]
fn a_narrower_environment_starts_from_the_minimal_set() {
    let tree = tree();
    let made = |change: &Change<'_>| {
        let mut spec = spec(&tree);
        change(&mut spec);
        Capability::new(spec).unwrap()
    };
    let minimal = made(&|_| {});
    let names = |capability: &Capability| -> Vec<(String, &str)> {
        let named = capability.environment().names();
        named.map(|(name, kind)| (name.to_owned(), kind.as_str())).collect()
    };
    let narrow = |capability: &Arc<Capability>, keep: &[&str]| {
        capability
            .narrow(NarrowSpec {
                environment: Some(texts(keep)),
                ..NarrowSpec::default()
            })
            .unwrap()
    };
    let path = Entry {
        name: "PATH".to_owned(),
        source: Source::Literal("/opt/bin".to_owned()),
    };
    let literal = made(&|spec| spec.environment.entries = vec![path.clone()]);
    let inherited = made(&|spec| spec.environment.inherit_all = true);
    for wide in [&literal, &inherited] {
        let narrowed = narrow(wide, &[]);
        assert_eq!(narrowed.environment().describe(), minimal.environment().describe());
        assert_eq!(narrowed.digest(), minimal.digest());
        assert!(!narrowed.environment().is_inherited());
    }
    let kept = names(&narrow(&literal, &["PATH"]));
    assert!(kept.contains(&("PATH".to_owned(), "literal")), "{kept:?}");
    let kept = names(&narrow(&inherited, &["PATH"]));
    assert!(kept.contains(&("PATH".to_owned(), "inherited")), "{kept:?}");
    assert_eq!(kept.len(), names(&minimal).len());
}

/// A smaller capability would not see the `HEAD` beside which it stands.
#[test]
fn what_a_repository_protects_is_not_narrowed_to_for_writing() {
    let tree = tempfile::tempdir().unwrap();
    let top = tree.path().canonicalize().unwrap();
    for name in [
        "bare/hooks/sub",
        "bare/info",
        "bare/sequencer",
        "bare/rebase-merge/in",
        "bare/refs",
        "plain/hooks",
    ] {
        std::fs::create_dir_all(top.join(name)).unwrap();
    }
    std::fs::write(top.join("bare/HEAD"), "").unwrap();
    let bytes = |name: &str| top.join(name).as_os_str().as_bytes().to_vec();
    let whole = Capability::new(CapabilitySpec {
        write: vec![bytes("")],
        ..CapabilitySpec::new(bytes("."))
    })
    .unwrap();
    let narrow = |name: &str, write: bool| {
        let paths = Some(vec![bytes(name)]);
        let spec = if write {
            NarrowSpec {
                write: paths,
                ..NarrowSpec::default()
            }
        } else {
            NarrowSpec {
                read: paths,
                write: Some(Vec::new()),
                ..NarrowSpec::default()
            }
        };
        whole.narrow(spec).map(drop).map_err(|misuse| misuse.kind)
    };
    for name in [
        "bare/hooks",
        "bare/hooks/sub",
        "bare/info",
        "bare/sequencer",
        "bare/rebase-merge",
    ] {
        assert_eq!(narrow(name, true), Err("wider"), "{name}");
        assert_eq!(narrow(name, false), Ok(()), "{name}");
    }
    for name in ["bare", "bare/refs", "plain/hooks"] {
        assert_eq!(narrow(name, true), Ok(()), "{name}");
    }
}

#[test]
fn no_root_is_left_out_while_other_mounts_are_entered() {
    let tree = tree();
    let at = |path: &str| bytes(tree.path().join(path));
    std::fs::create_dir(tree.path().join("other")).unwrap();
    let mut spec = spec(&tree);
    spec.read = vec![at("other")];
    spec.limits.mounts = true;
    let mounts = spec.limits.clone();
    let whole = Capability::new(spec).unwrap();
    let without = |limits: Limits| NarrowSpec {
        read: Some(vec![]),
        limits: Some(limits),
        ..NarrowSpec::default()
    };
    assert_eq!(kind(whole.narrow(without(mounts))), "wider");
    assert_eq!(kind(whole.narrow(without(Limits::default()))), "made");
    assert_eq!(kind(whole.narrow(NarrowSpec::default())), "made");
}

#[test]
fn narrowing_by_nothing_leaves_the_digest() {
    let tree = tree();
    let whole = Capability::new(spec(&tree)).unwrap();
    let root = bytes(tree.path().join("root"));
    let deny = || Some(texts(&["private/"]));
    let denied = whole
        .narrow(NarrowSpec {
            deny: deny(),
            ..NarrowSpec::default()
        })
        .unwrap();
    for (narrow, same) in [
        (NarrowSpec::default(), &whole),
        (
            NarrowSpec {
                deny: Some(vec![]),
                protect: Some(vec![]),
                ..NarrowSpec::default()
            },
            &whole,
        ),
        (
            NarrowSpec {
                write: Some(vec![root.clone()]),
                deny: deny(),
                ..NarrowSpec::default()
            },
            &denied,
        ),
    ] {
        assert_eq!(whole.narrow(narrow).unwrap().digest(), same.digest());
    }
}

#[test]
fn narrowed_carve_outs_stay_where_they_were() {
    let tree = tree();
    let at = |path: &str| bytes(tree.path().join(path));
    let mut wide = spec(&tree);
    wide.deny = texts(&["/a/g", "/f", ".env"]);
    let wide = Capability::new(wide).unwrap();
    std::fs::write(tree.path().join("root/a/f"), "IN").unwrap();
    std::fs::write(tree.path().join("root/a/x"), "IN").unwrap();

    // `/a/g` still means the file that it meant; and each pattern holds in the new root too.
    let narrow = wide
        .narrow(NarrowSpec {
            write: Some(vec![at("root/a")]),
            cwd: Some(at("root/a")),
            deny: Some(texts(&["/b", "!.env", "!/a/g"])),
            ..NarrowSpec::default()
        })
        .unwrap();
    let path = |path: &str| tree.path().join(path).to_str().unwrap().to_owned();
    assert_eq!(
        read(&narrow, &path("root/a/g")),
        Some(Code::CarveOut),
        "anchored at the outer root"
    );
    assert_eq!(
        read(&narrow, &path("root/a/.env")),
        Some(Code::CarveOut),
        "`!` opens nothing"
    );
    assert_eq!(
        read(&narrow, &path("root/a/b/h")),
        Some(Code::CarveOut),
        "what was added"
    );
    assert_eq!(
        read(&narrow, &path("root/a/f")),
        Some(Code::CarveOut),
        "anchored at the new root too"
    );
    assert_eq!(read(&narrow, &path("root/a/x")), None);

    // And once more, through two steps.
    let again = narrow
        .narrow(NarrowSpec {
            deny: Some(texts(&["!g", "!.env", "!b"])),
            protect: Some(texts(&["x"])),
            ..NarrowSpec::default()
        })
        .unwrap();
    for covered in ["root/a/g", "root/a/.env", "root/a/b/h"] {
        assert_eq!(read(&again, &path(covered)), Some(Code::CarveOut), "{covered}");
    }
    assert_eq!(write(&narrow, &path("root/a/x")), None);
    assert_eq!(read(&again, &path("root/a/x")), None);
    assert_eq!(write(&again, &path("root/a/x")), Some(Code::CarveOut));
}

#[test]
fn narrowing_goes_through_what_the_capability_reaches() {
    let tree = tree();
    let outside = tempfile::tempdir().unwrap();
    let capability = Capability::new(spec(&tree)).unwrap();
    // The root's name is given to another directory meanwhile.
    std::fs::rename(tree.path().join("root"), tree.path().join("moved")).unwrap();
    std::os::unix::fs::symlink(outside.path(), tree.path().join("root")).unwrap();
    let narrow = |path: &str| {
        capability.narrow(NarrowSpec {
            write: Some(vec![bytes(tree.path().join(path))]),
            cwd: Some(bytes(outside.path())),
            ..NarrowSpec::default()
        })
    };
    assert_eq!(kind(narrow("root")), "wider");
    assert_eq!(kind(narrow("moved")), "wider", "no name of the capability's");
    // Put another directory of the same names there.
    std::fs::remove_file(tree.path().join("root")).unwrap();
    std::fs::create_dir_all(tree.path().join("root/a")).unwrap();
    assert_eq!(kind(narrow("root")), "wider", "another directory");
    assert_eq!(kind(narrow("root/a")), "wider", "another directory");
}

#[test]
fn a_directory_in_a_denied_place_is_no_root() {
    let tree = tree();
    std::fs::create_dir_all(tree.path().join("root/.ssh/keys")).unwrap();
    let capability = Capability::new(spec(&tree)).unwrap();
    for place in ["root/.ssh", "root/.ssh/keys"] {
        let mut both = spec(&tree);
        both.read = vec![bytes(tree.path().join(place))];
        assert_eq!(kind(Capability::new(both)), "root", "{place}");
        let narrow = NarrowSpec {
            read: Some(vec![bytes(tree.path().join(place))]),
            ..NarrowSpec::default()
        };
        assert_eq!(kind(capability.narrow(narrow)), "wider", "{place}");
    }
}

#[test]
fn the_digest_covers_what_is_allowed_and_nothing_else() {
    let tree = tree();
    std::os::unix::fs::symlink("root", tree.path().join("alias")).unwrap();
    let at = |path: &str| bytes(tree.path().join(path));
    let digest = |change: &Change<'_>| {
        let mut spec = spec(&tree);
        spec.read = vec![at("root/a"), at("root/a/b")];
        change(&mut spec);
        Capability::new(spec).unwrap().digest().to_owned()
    };
    let entry = |name: &str, source: Source| Entry {
        name: name.to_owned(),
        source,
    };
    let literal = |name: &str, value: &str| entry(name, Source::Literal(value.to_owned()));
    let plain = digest(&|_| {});
    assert_eq!(plain.len(), 32);
    let same: [(&str, &Change<'_>); 4] = [
        ("again", &|_| {}),
        ("another order of roots", &|spec| spec.read.reverse()),
        ("a root twice", &|spec| spec.read.push(at("root/a"))),
        ("another spelling", &|spec| spec.write = vec![at("alias/")]),
    ];
    for (what, change) in same {
        assert_eq!(digest(change), plain, "{what}");
    }
    let other: [(&str, &Change<'_>); 13] = [
        ("fewer roots", &|spec| spec.read.clear()),
        ("another access", &|spec| spec.write.push(at("root/a"))),
        ("another working directory", &|spec| spec.cwd = at("root/a")),
        ("deny", &|spec| spec.deny.push("x".to_owned())),
        ("no deny", &|spec| spec.deny.clear()),
        ("protect", &|spec| spec.protect.push("x".to_owned())),
        ("deny becomes protect", &|spec| {
            std::mem::swap(&mut spec.deny, &mut spec.protect);
        }),
        ("a limit", &|spec| spec.limits.read_bytes += 1),
        ("another limit", &|spec| spec.limits.mounts = true),
        ("a literal", &|spec| spec.environment.entries.push(literal("X", "1"))),
        ("process", &|spec| {
            (spec.process, spec.network) = (Process::Unrestricted, Network::Host);
        }),
        ("a library", &|spec| spec.libraries.push(bytes("/usr/lib"))),
        ("reserved below", &|spec| {
            spec.reserved.push(Reserved {
                path: at("root/a"),
                what: "x".to_owned(),
            });
        }),
    ];
    let mut seen = vec![plain];
    for (what, change) in other {
        let digest = digest(change);
        assert!(!seen.contains(&digest), "{what}");
        seen.push(digest);
    }
    // Of entries: the values of literal ones, the names of inherited ones.
    let with = |entries: &[Entry]| digest(&|spec| spec.environment.entries = entries.to_vec());
    assert_ne!(with(&[literal("X", "1")]), with(&[literal("X", "2")]));
    assert_eq!(
        with(&[literal("X", "1"), literal("Y", "2")]),
        with(&[literal("Y", "2"), literal("X", "1")])
    );
}

#[test]
fn what_narrowing_keeps_closed_is_in_the_digest() {
    let tree = tree();
    let narrow = |spec: CapabilitySpec, change: NarrowSpec| Capability::new(spec).unwrap().narrow(change).unwrap();
    let with = |deny: &[&str], write: &str| CapabilitySpec {
        deny: texts(deny),
        write: vec![bytes(tree.path().join(write))],
        ..spec(&tree)
    };
    // A pattern that opens within one list, and one that opens nothing in a list of its own.
    let open = Capability::new(with(&["f", "!f"], "root")).unwrap();
    let added = NarrowSpec {
        deny: Some(texts(&["!f"])),
        ..NarrowSpec::default()
    };
    let closed = narrow(with(&["f"], "root"), added);
    assert_eq!((read(&open, "f"), read(&closed, "f")), (None, Some(Code::CarveOut)));
    assert_ne!(open.digest(), closed.digest());
    // A pattern that is anchored at a root which is gone.
    let inner = bytes(tree.path().join("root/a"));
    let kept = NarrowSpec {
        write: Some(vec![inner.clone()]),
        read: Some(Vec::new()),
        ..NarrowSpec::default()
    };
    let narrowed = narrow(with(&["/a/g"], "root"), kept);
    let direct = Capability::new(with(&["/a/g"], "root/a")).unwrap();
    assert_eq!(
        (read(&narrowed, "a/g"), read(&direct, "a/g")),
        (Some(Code::CarveOut), None)
    );
    assert_ne!(narrowed.digest(), direct.digest());
}

#[test]
fn an_inherited_value_is_in_no_digest_and_not_shown() {
    // In processes of their own: the environment of this one is shared by all tests.
    if std::env::var_os("RHOCAP_TEST_DIGEST").is_some() {
        let tree = tree();
        let mut spec = spec(&tree);
        // The same roots in each process.
        (spec.write, spec.read, spec.cwd) = (Vec::new(), vec![b"/usr".to_vec()], b"/usr".to_vec());
        spec.environment.entries.push(Entry {
            name: "RHOCAP_TEST_DIGEST".to_owned(),
            source: Source::Inherit,
        });
        let capability = Capability::new(spec).unwrap();
        println!("digest={}", capability.digest());
        println!("shown={}", capability.describe());
        return;
    }
    let run = |value: &str| {
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "an_inherited_value_is_in_no_digest_and_not_shown",
                "--nocapture",
            ])
            .env("RHOCAP_TEST_DIGEST", value)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let (one, other) = (run("hunter2-first-value"), run("hunter2-other-value"));
    let digest = |text: &str| {
        text.lines()
            .find_map(|line| Some(line.split_once("digest=")?.1.to_owned()))
            .expect("a digest")
    };
    assert_eq!(digest(&one), digest(&other));
    assert!(one.contains("RHOCAP_TEST_DIGEST"), "the name is shown");
    assert!(!one.contains("hunter2"), "the value is not");
}
