//! What a capability becomes for the kernel: places, links, covers, grants; and what is taken out of the
//! roots after a command.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rhocap_core::admission::admit;
use rhocap_core::capability::{Capability, CapabilitySpec, CommandSpec, NarrowSpec, Reserved};
use rhocap_core::confine::copy::MOST_BYTES;
use rhocap_core::confine::found::{Scope, Stop};
use rhocap_core::confine::grants::{self, Access};
use rhocap_core::confine::places;
use rhocap_core::confine::quarantine::{self, Fate, Look, Swept};
use rhocap_core::confine::scan::scan;
use rhocap_core::confine::{self, Plan};
use rhocap_core::effect::Cancel;
use rhocap_core::limits::Limits;
use rhocap_core::outcome::{Code, Refusal};
use rhocap_core::policy::{Network, Process};
use rhocap_core::process::confinement::{Closes, Standing};
use rhocap_core::resolve::{Use, Want};

mod skip;

/// A directory `root` in a directory of its own, by the kernel's own path.
struct Tree {
    _kept: tempfile::TempDir,
    top: PathBuf,
}

impl Tree {
    fn new() -> Self {
        let kept = tempfile::tempdir().unwrap();
        let top = kept.path().canonicalize().unwrap();
        fs::create_dir(top.join("root")).unwrap();
        fs::create_dir(top.join("quarantine")).unwrap();
        Self { _kept: kept, top }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.top.join(path)
    }

    /// Makes files, directories (`x/`) and links (`x -> y`), with all directories above.
    fn make(&self, paths: &[&str]) {
        for path in paths {
            let (name, target) = path.split_once(" -> ").map_or((*path, None), |(a, b)| (a, Some(b)));
            let place = self.at(name);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            match target {
                Some(target) => symlink(target.replace('@', self.top.to_str().unwrap()), place).unwrap(),
                None if name.ends_with('/') => fs::create_dir_all(place).unwrap(),
                None => fs::write(place, "IN").unwrap(),
            }
        }
    }

    fn spec(&self) -> CapabilitySpec {
        CapabilitySpec {
            write: vec![bytes(&self.at("root"))],
            ..CapabilitySpec::new(bytes(&self.top))
        }
    }

    fn capability(&self, change: impl FnOnce(&mut CapabilitySpec)) -> Arc<Capability> {
        let mut spec = self.spec();
        change(&mut spec);
        Capability::new(spec).unwrap()
    }

    fn quarantine(&self) -> OwnedFd {
        fs::File::open(self.at("quarantine")).unwrap().into()
    }

    /// A path below the tree's top, for comparing.
    fn short(&self, path: &[u8]) -> String {
        let path = Path::new(std::ffi::OsStr::from_bytes(path));
        path.strip_prefix(&self.top).unwrap_or(path).display().to_string()
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn plan(capability: &Capability) -> Plan {
    try_plan(capability).unwrap()
}

fn try_plan(capability: &Capability) -> Result<Plan, Refusal> {
    let plan = confine::plan(capability, Scope::BEFORE, &Cancel::default())?;
    plan.check(capability)?;
    Ok(plan)
}

/// Covers as `deny path` and `protect path/`.
fn covers(tree: &Tree, plan: &Plan) -> Vec<String> {
    let covers = plan.confinement.covers.iter().map(|cover| {
        format!(
            "{} {}{}",
            match cover.closes {
                Closes::All => "deny",
                Closes::Writing => "protect",
                Closes::Moving => "keep",
            },
            tree.short(&cover.path),
            match cover.kind {
                Standing::File => "",
                Standing::Directory => "/",
                Standing::Link => "@",
            }
        )
    });
    covers.collect()
}

fn sweep(tree: &Tree, capability: &Capability, plan: &Plan) -> Swept {
    sweep_into(tree.quarantine(), capability, plan)
}

fn sweep_into(quarantine: OwnedFd, capability: &Capability, plan: &Plan) -> Swept {
    let here = places::sites(capability).unwrap();
    let look = Look {
        capability,
        sites: &plan.sites,
        here: &here,
        before: &plan.before,
        opened: &[],
        within: None,
    };
    quarantine::sweep(&look, quarantine, Scope::AFTER, &Cancel::default()).unwrap()
}

/// What was made, as `deny path`, sorted.
fn created(swept: &Swept) -> Vec<String> {
    let shown: BTreeSet<String> = swept
        .created
        .iter()
        .map(|made| {
            assert!(!matches!(made.fate, Fate::Left(_)), "{made:?}");
            format!("{} {}", made.effect, made.path)
        })
        .collect();
    shown.into_iter().collect()
}

#[test]
fn what_is_covered() {
    // What is there, what must be closed.
    for (there, closed) in [
        (vec!["root/f"], vec![]),
        (vec!["root/.env"], vec!["deny root/.env"]),
        (vec!["root/.env.example"], vec![]),
        (vec!["root/.Rprofile"], vec!["protect root/.Rprofile"]),
        (vec!["root/.git/hooks/x"], vec!["protect root/.git/hooks/"]),
        (
            vec!["root/.git/config", "root/.git/HEAD"],
            vec!["protect root/.git/config"],
        ),
        (vec!["root/a/b/sub/.env"], vec!["deny root/a/b/sub/.env"]),
        (
            vec!["root/.ENV", "root/.rPROFILE"],
            vec!["deny root/.ENV", "protect root/.rPROFILE"],
        ),
        // A directory alone, and what only a directory is.
        (vec!["root/.ssh/id_rsa", "root/.ssh/x"], vec!["deny root/.ssh/"]),
        (vec!["root/.ssh"], vec![]),
        (vec!["root/.git"], vec!["protect root/.git"]),
        (vec!["root/.git/"], vec![]),
        // Denied names in a protected directory.
        (
            vec!["root/.vscode/.env", "root/.vscode/x"],
            vec!["protect root/.vscode/", "deny root/.vscode/.env"],
        ),
        // What is protected already needs no more of it.
        (vec!["root/.vscode/.Rprofile"], vec!["protect root/.vscode/"]),
        // Several components, at any depth or at the top only.
        (vec!["root/x/renv/activate.R"], vec!["protect root/x/renv/activate.R"]),
        (vec!["root/only/here", "root/x/only/here"], vec!["deny root/only/here"]),
        // Links stay, and what they lead to is closed, where it can be seen.
        (
            vec!["root/.env -> secret", "root/secret"],
            vec!["keep root/.env@", "deny root/secret"],
        ),
        (vec!["root/.env -> ../beside", "beside"], vec!["keep root/.env@"]),
        (
            vec!["root/.Rprofile -> a/b", "root/a/b"],
            vec!["keep root/.Rprofile@", "protect root/a/b"],
        ),
        // So do all that are passed, but for those outside.
        (
            vec![
                "root/.env -> a/hop",
                "root/a -> b",
                "root/b/hop -> ../../out/more",
                "out/more -> ../root/x",
                "root/x -> y",
                "root/y",
            ],
            vec![
                "keep root/.env@",
                "keep root/a@",
                "keep root/b/hop@",
                "keep root/x@",
                "deny root/y",
            ],
        ),
        // Links on the way of a pattern.
        (
            vec!["root/renv -> shared", "root/shared/activate.R"],
            vec!["keep root/renv@", "keep root/shared/", "protect root/shared/activate.R"],
        ),
        (
            vec!["root/renv -> @/root/one", "root/one -> two", "root/two/activate.R"],
            vec![
                "keep root/one@",
                "keep root/renv@",
                "keep root/two/",
                "protect root/two/activate.R",
            ],
        ),
        (
            vec!["root/renv -> .", "root/activate.R"],
            vec!["keep root/", "protect root/activate.R", "keep root/renv@"],
        ),
        (vec!["root/renv -> ../out", "out/activate.R"], vec!["keep root/renv@"]),
        // Links in what is protected, and in what a protected link leads to.
        (
            vec![
                "root/.vscode -> vs",
                "root/vs/settings.json -> ../made.json",
                "root/made.json",
                "root/.github/workflows/more -> ../../w",
                "root/w/ci.yml -> ../x/y",
                "root/x/y",
                "root/w/.env",
            ],
            vec![
                "protect root/.github/workflows/",
                "keep root/.github/workflows/more@",
                "keep root/.vscode@",
                "protect root/made.json",
                "protect root/vs/",
                "keep root/vs/settings.json@",
                "protect root/w/",
                "deny root/w/.env",
                "keep root/w/ci.yml@",
                "protect root/x/y",
            ],
        ),
        (
            vec!["root/l1 -> d1", "root/d1/l2 -> ../d2", "root/d2/x", "root/d1/x"],
            vec![
                "keep root/d1/",
                "keep root/d1/l2@",
                "keep root/d2/",
                "deny root/d2/x",
                "keep root/l1@",
            ],
        ),
    ] {
        let tree = Tree::new();
        tree.make(&there);
        let capability = tree.capability(|spec| spec.deny.extend(texts(&["/only/here", "/l1/l2/x"])));
        assert_eq!(covers(&tree, &plan(&capability)), closed, "{there:?}");
    }
}

/// Files whose names meet many patterns, in each other's directories.
fn draw(tree: &Tree) -> Vec<String> {
    const NAMES: &[&str] = &[
        ".env",
        ".ENV.x",
        ".env.example",
        ".git",
        "hooks",
        "config",
        "modules",
        "renv",
        "activate.R",
        ".vscode",
        ".ssh",
        "HEAD",
        "x.git",
        ".docker",
        "config.json",
        "a",
        "b",
        "info",
        "attributes",
        "key.pem",
        ".R",
        "Makevars",
    ];
    // Numbers that look random and are the same each time.
    let mut state = 1_u64;
    let mut next = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % below
    };
    let mut files = Vec::new();
    for _ in 0..1_500 {
        let depth = 1 + next(5);
        let path: Vec<&str> = (0..depth).map(|_| NAMES[next(NAMES.len())]).collect();
        let place = tree.at("root").join(path.join("/"));
        // A file may be where a directory is wanted, and the other way round.
        if fs::create_dir_all(place.parent().unwrap()).is_ok() && fs::write(&place, "x").is_ok() {
            files.push(path.join("/"));
        }
    }
    files
}

fn with_many_patterns(tree: &Tree) -> Arc<Capability> {
    tree.capability(|spec| {
        spec.write.push(bytes(&tree.at("root/a")));
        spec.read.push(bytes(&tree.at("root/b")));
        spec.cwd = bytes(&tree.at("root"));
        spec.protect
            .extend(texts(&["/a/**/info/", "b/*/config", "!b/a/config"]));
        spec.deny.extend(texts(&["a/renv/**", "/b/info", "!a/renv/a/**"]));
    })
}

/// Every file that admission refuses because of a pattern is closed, and no other one.
#[test]
fn admission_and_covers_agree() {
    let tree = Tree::new();
    let files = draw(&tree);
    let capability = with_many_patterns(&tree);
    let planned = plan(&capability);
    let (mut denied, mut protected) = (0, 0);
    for file in &files {
        let whole = bytes(&tree.at("root").join(file));
        let closed = |closes: Closes| {
            planned
                .confinement
                .covers
                .iter()
                .any(|cover| cover.closes == closes && rhocap_core::path::below(&whole, &cover.path).is_some())
        };
        let refused = |want| {
            let code = admit(&capability, file.as_bytes(), want, Use::Walk)
                .err()
                .map(|it| it.refusal.code);
            assert!(
                matches!(code, None | Some(Code::CarveOut | Code::NotWritable)),
                "{file}"
            );
            code
        };
        let entry = Want::Entry { create_parents: false };
        assert_eq!(refused(Want::File).is_some(), closed(Closes::All), "reading {file}");
        match refused(entry) {
            // What is only readable needs no cover to be protected.
            Some(Code::NotWritable) => assert!(!closed(Closes::Writing), "{file}"),
            code => assert_eq!(
                code.is_some(),
                closed(Closes::All) || closed(Closes::Writing),
                "writing {file}"
            ),
        }
        denied += usize::from(closed(Closes::All));
        protected += usize::from(closed(Closes::Writing));
    }
    // The draws are worth something.
    assert!(
        denied > 100 && protected > 100 && files.len() > denied + protected + 100,
        "{denied} {protected}"
    );
}

#[test]
fn after_a_sweep_nothing_is_left_to_cover() {
    let tree = Tree::new();
    tree.make(&["root/a/", "root/b/"]);
    let capability = with_many_patterns(&tree);
    let before = plan(&capability);
    draw(&tree);
    let covered = covers(&tree, &plan(&capability));
    let swept = sweep(&tree, &capability, &before);
    assert!(swept.is_clean() && swept.created.len() > 50);
    // Where commands only read, none of it is a command's doing.
    let read: Vec<_> = covered
        .into_iter()
        .filter(|cover| cover.starts_with("deny root/b/"))
        .collect();
    assert!(!read.is_empty());
    assert_eq!(covers(&tree, &plan(&capability)), read);
}

/// Runs a test as a user to whom modes matter.
fn as_another_user(test: &str) {
    const NOBODY: u32 = 65_534;
    let place = tempfile::tempdir().unwrap();
    let program = place.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::os::unix::fs::chown(place.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let done = std::process::Command::new(program)
        .args(["--exact", test])
        .env("TMPDIR", place.path())
        .current_dir(place.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output();
    let done = match done {
        Ok(done) => done,
        Err(error) => return skip::skip("another_user", error),
    };
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
fn an_unlistable_directory_is_closed() {
    if rustix::process::geteuid().is_root() {
        // Root reads it all the same: what lies in it is found.
        let tree = Tree::new();
        tree.make(&["root/locked/.env"]);
        fs::set_permissions(tree.at("root/locked"), fs::Permissions::from_mode(0o000)).unwrap();
        let capability = tree.capability(|_| {});
        assert_eq!(covers(&tree, &plan(&capability)), ["deny root/locked/.env"]);
        return as_another_user("an_unlistable_directory_is_closed");
    }
    for mode in [0, 0o300, 0o400, 0o600] {
        let tree = Tree::new();
        tree.make(&["root/locked/.env"]);
        fs::set_permissions(tree.at("root/locked"), fs::Permissions::from_mode(mode)).unwrap();
        let capability = tree.capability(|_| {});
        symlink("locked/x", tree.at("root/.Rprofile")).unwrap();
        symlink("locked", tree.at("root/renv")).unwrap();
        let before = plan(&capability);
        let closed = ["keep root/.Rprofile@", "deny root/locked/", "keep root/renv@"];
        assert_eq!(covers(&tree, &before), closed, "{mode:o}");
        assert!(sweep(&tree, &capability, &before).is_clean(), "{mode:o}");
        // Out of it a link may lead to anything.
        symlink("locked/../x", tree.at("root/.envrc")).unwrap();
        assert_eq!(try_plan(&capability).unwrap_err().code, Code::CarveOut, "{mode:o}");
        fs::remove_file(tree.at("root/.envrc")).unwrap();
        // By another name it is it.
        fs::rename(tree.at("root/locked"), tree.at("root/moved")).unwrap();
        let swept = sweep(&tree, &capability, &before);
        assert!(swept.created.iter().all(|made| made.fate == Fate::Replaced), "{mode:o}");
        fs::rename(tree.at("root/moved"), tree.at("root/locked")).unwrap();
        // Another one is not it, though it may have its number.
        let again = Tree::new();
        again.make(&["root/locked/"]);
        fs::set_permissions(again.at("root/locked"), fs::Permissions::from_mode(mode)).unwrap();
        let other = again.capability(|_| {});
        let locked = plan(&other);
        fs::remove_dir(again.at("root/locked")).unwrap();
        again.make(&["root/locked/.env"]);
        assert_eq!(
            created(&sweep(&again, &other, &locked)),
            ["deny locked/.env"],
            "{mode:o}"
        );
        // Who opens it meanwhile finds what was there.
        fs::set_permissions(tree.at("root/locked"), fs::Permissions::from_mode(0o700)).unwrap();
        tree.make(&["root/locked/x"]);
        let swept = sweep(&tree, &capability, &before);
        assert_eq!(created(&swept), ["protect .Rprofile"], "{mode:o}");
        assert_eq!(swept.created[0].fate, Fate::Replaced, "{mode:o}");
        assert!(tree.at("root/locked/.env").exists() && tree.at("root/locked/x").exists());
    }
}

#[test]
fn a_covered_link_to_a_root_is_refused() {
    for (link, refused) in [
        ("root/.env -> .", true),
        ("root/.env -> ..", true),
        ("root/.env -> /", true),
        ("root/.env -> @/other", true),
        ("root/.idea -> .", true),
        // Only readable anyway.
        ("root/.idea -> @/other", false),
    ] {
        let tree = Tree::new();
        tree.make(&["other/", link]);
        let capability = tree.capability(|spec| spec.read.push(bytes(&tree.at("other"))));
        let code = try_plan(&capability).err().map(|refusal| refusal.code);
        assert_eq!(code, refused.then_some(Code::CarveOut), "{link}");
    }
}

/// What a command could make there would have a covered name, and not be told from the user's.
#[test]
fn a_covered_link_that_leads_nowhere_is_refused() {
    // What is there, and where a command could make something of the link.
    for (there, end) in [
        (vec!["root/.env -> later"], Some("root/later")),
        (vec!["root/.env -> later/"], Some("root/later")),
        (vec!["root/.env -> sub/later"], Some("root/sub")),
        (vec!["root/.env -> a", "root/a -> b/c", "root/b/"], Some("root/b/c")),
        (vec!["root/.env -> build/../gen/x", "root/gen/x"], Some("root/build")),
        (vec!["root/.env -> f/x", "root/f"], Some("root/f/x")),
        (vec!["root/.env -> f/../x", "root/f", "root/x"], Some("root/f")),
        (vec!["root/.env -> f/", "root/f"], Some("root/f")),
        (vec!["root/.env -> .env"], Some("root/.env")),
        (vec!["root/.env -> a", "root/a -> b", "root/b -> a"], Some("root/b")),
        (vec!["root/renv -> later"], Some("root/later")),
        (vec!["root/.git/hooks/x -> ../later"], Some("root/.git/later")),
        (vec!["root/.vscode -> vs", "root/vs/x -> ../y"], Some("root/y")),
        (vec!["other/.envrc -> ../root/x"], Some("root/x")),
        (vec!["other/.envrc -> ../out/x", "out/x -> ../root/y"], Some("root/y")),
        // Nothing can be made where nothing can be written.
        (vec!["root/.env -> ../out/later", "out/"], None),
        (vec!["root/.env -> ../other/later"], None),
        (vec!["root/.env -> /proc/nothing/x"], None),
        (vec!["root/.env -> a/later", "root/a -> ../out", "out/"], None),
        // As an editor's locks are.
        (vec!["root/.git/hooks/.#x -> me@here.1:2"], None),
        (vec!["root/.vscode -> vs", "root/vs/x -> y"], None),
        (vec!["root/.ssh/x -> ../y"], None),
        // No such name.
        (vec!["root/plain -> later"], None),
    ] {
        let tree = Tree::new();
        tree.make(&["other/"]);
        tree.make(&there);
        let capability = tree.capability(|spec| spec.read.push(bytes(&tree.at("other"))));
        let told = try_plan(&capability).err().map(|refusal| {
            assert_eq!(refusal.code, Code::CarveOut, "{there:?}");
            refusal.message
        });
        match (&told, end) {
            (Some(told), Some(end)) => assert!(told.contains(&format!("\"{}\"", tree.at(end).display())), "{told}"),
            (told, end) => assert_eq!(told.as_deref(), end, "{there:?}"),
        }
    }
}

#[test]
fn inner_roots_are_judged_by_themselves() {
    let tree = Tree::new();
    tree.make(&[
        "root/data/.env",
        "root/data/.Rprofile",
        "root/data/deep/.Rprofile",
        "root/lib/pkg/.Rprofile",
        "root/lib/pkg/.env",
        "root/.env",
        // A link on the way of a pattern, to a directory that holds a root.
        "root/top -> real",
        "root/real/kept",
        "root/real/inner/kept",
    ]);
    let capability = tree.capability(|spec| {
        spec.protect.push("/top/**/kept".to_owned());
        spec.read.push(bytes(&tree.at("root/real/inner")));
        spec.read.push(bytes(&tree.at("root/data")));
        spec.write.push(bytes(&tree.at("root/data/deep")));
        spec.libraries.push(bytes(&tree.at("root/lib")));
    });
    let plan = plan(&capability);
    let places: Vec<_> = plan
        .confinement
        .places
        .iter()
        .map(|place| (tree.short(&place.path), place.write))
        .collect();
    let expected = [
        ("root", true),
        ("root/data", false),
        ("root/data/deep", true),
        ("root/lib", false),
        ("root/real/inner", false),
    ];
    assert_eq!(places, expected.map(|(path, write)| (path.to_owned(), write)));
    // What is only readable needs no protection, but denial.
    let expected = [
        "deny root/.env",
        "deny root/data/.env",
        "protect root/data/deep/.Rprofile",
        "deny root/lib/pkg/.env",
        "keep root/real/",
        "protect root/real/kept",
        "keep root/top@",
    ];
    assert_eq!(covers(&tree, &plan), expected);
    for (place, root) in plan.confinement.places.iter().zip(["root", "root/data"]) {
        let there = fs::metadata(tree.at(root)).unwrap();
        assert_eq!((place.device, place.inode), (there.dev(), there.ino()), "{root}");
    }
}

/// What is closed in a capability for the sake of names elsewhere is closed in a smaller one.
#[test]
fn narrowing_opens_nothing() {
    let tree = Tree::new();
    tree.make(&[
        "root/CLAUDE.md -> sub/ai.md",
        "root/sub/ai.md",
        "root/.env -> sub/deep/prod",
        "root/sub/deep/prod",
        "root/renv -> sub/lib",
        "root/sub/lib/activate.R",
        "root/.git/hooks -> ../sub/hk",
        "root/sub/hk/x",
        "root/.claude/docs -> ../docs",
        "root/docs/in/x",
        "root/sub/f",
    ]);
    let whole = tree.capability(|_| {});
    let narrow = |from: &Arc<Capability>, names: &[&str]| {
        let paths = names.iter().map(|name| bytes(&tree.at(name))).collect();
        from.narrow(NarrowSpec {
            read: Some(Vec::new()),
            write: Some(paths),
            cwd: Some(bytes(&tree.at(names[0]))),
            ..NarrowSpec::default()
        })
        .unwrap()
    };
    let smaller = narrow(&whole, &["root/sub", "root/docs/in"]);
    let expected = [
        "protect root/sub/ai.md",
        "deny root/sub/deep/prod",
        "protect root/sub/hk/",
        "keep root/sub/lib/",
        "protect root/sub/lib/activate.R",
    ];
    let planned = plan(&smaller);
    assert_eq!(covers(&tree, &planned), expected);
    let writable: Vec<_> = planned
        .confinement
        .places
        .iter()
        .map(|place| (tree.short(&place.path), place.write))
        .collect();
    let expected = [("root/docs/in", false), ("root/sub", true)];
    assert_eq!(writable, expected.map(|(path, write)| (path.to_owned(), write)));
    // And in one that is smaller still.
    let smallest = narrow(&smaller, &["root/sub/deep"]);
    assert_eq!(covers(&tree, &plan(&smallest)), ["deny root/sub/deep/prod"]);
    // Where nothing is left out, once is enough.
    assert!(whole.narrow(NarrowSpec::default()).unwrap().around().is_none());
    // What is denied, is denied as a whole.
    tree.make(&["root/.aws -> secrets", "root/secrets/in/x"]);
    let refusal = try_plan(&narrow(&whole, &["root/secrets/in"])).unwrap_err();
    assert_eq!(refusal.code, Code::CarveOut);
}

#[test]
fn a_writable_root_in_a_readable_one_behind_a_link() {
    let tree = Tree::new();
    tree.make(&[
        "root/.git/modules -> ../x",
        "root/x/ro/w/sub/hooks/old",
        "root/x/ro/hooks/old",
    ]);
    let capability = tree.capability(|spec| {
        spec.read.push(bytes(&tree.at("root/x/ro")));
        spec.write.push(bytes(&tree.at("root/x/ro/w")));
    });
    let closed = covers(&tree, &plan(&capability));
    assert!(
        closed.contains(&"protect root/x/ro/w/sub/hooks/".to_owned()),
        "{closed:?}"
    );
}

#[test]
fn a_reserved_directory_below_a_write_root_is_protected() {
    let tree = Tree::new();
    tree.make(&["root/renv/library/pkg/R/x", "root/renv/library/pkg/.env"]);
    let capability = tree.capability(|spec| {
        spec.reserved.push(Reserved {
            path: bytes(&tree.at("root/renv/library")),
            what: "a library".to_owned(),
        });
    });
    let expected = ["protect root/renv/library/", "deny root/renv/library/pkg/.env"];
    assert_eq!(covers(&tree, &plan(&capability)), expected);
}

#[test]
fn a_root_in_a_protected_directory_is_only_readable() {
    let tree = Tree::new();
    tree.make(&["root/.vscode/inner/x"]);
    let capability = tree.capability(|spec| spec.write.push(bytes(&tree.at("root/.vscode/inner"))));
    let plan = plan(&capability);
    let writable: Vec<_> = plan.confinement.places.iter().map(|place| place.write).collect();
    assert_eq!(writable, [true, false]);
}

#[test]
fn of_the_private_directory_home_and_temporary_are_places() {
    let tree = Tree::new();
    tree.make(&["beside/", "root/f"]);
    // Nothing runs: any program will do.
    let program = tree.at("program");
    fs::write(&program, "").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let capability = tree.capability(|spec| {
        (spec.process, spec.network) = (Process::Unrestricted, Network::Host);
        spec.commands = CommandSpec {
            supervisor: bytes(&program),
            beside: bytes(&tree.at("beside")),
        };
    });
    let private = capability.private().unwrap();
    // A covered link to what no place shows closes nothing.
    symlink(private.output(), tree.at("root/.env")).unwrap();
    let planned = plan(&capability);
    let places: BTreeSet<_> = planned
        .confinement
        .places
        .iter()
        .map(|place| (place.path.clone(), place.write))
        .collect();
    let expected = [private.temporary(), private.home(), tree.at("root")].map(|path| (bytes(&path), true));
    assert_eq!(places, BTreeSet::from(expected));
    assert_eq!(covers(&tree, &planned), ["keep root/.env@"]);
    fs::remove_file(tree.at("root/.env")).unwrap();
    let planned = plan(&capability);
    let granted = grants::grants(&capability, &planned, &Cancel::default()).unwrap();
    let granted: BTreeSet<_> = granted.grants.into_iter().map(|grant| (grant.path, true)).collect();
    assert_eq!(granted, places);
}

#[test]
fn roots_are_where_they_are_now() {
    let tree = Tree::new();
    tree.make(&["root/.env"]);
    let capability = tree.capability(|_| {});
    fs::rename(tree.at("root"), tree.at("moved")).unwrap();
    tree.make(&["root/other"]);
    let planned = plan(&capability);
    assert_eq!(tree.short(&planned.confinement.places[0].path), "moved");
    assert_eq!(covers(&tree, &planned), ["deny moved/.env"]);
    // Verbs still take the old spelling, so commands get it too.
    let link = (bytes(&tree.at("root")), bytes(&tree.at("moved")));
    assert_eq!(planned.confinement.links, [link]);

    fs::remove_dir_all(tree.at("moved")).unwrap();
    assert_eq!(try_plan(&capability).unwrap_err().code, Code::RootGone);
}

#[test]
fn links_that_spellings_need() {
    // Links on the host, the spelling of a root, another root, the links that a view needs.
    for (there, spelled, other, needed) in [
        (vec![], "root", None, vec![]),
        (vec!["alias -> root"], "alias", None, vec!["alias -> root"]),
        (
            vec!["home/u -> @/disk/u", "disk/u/p/"],
            "home/u/p",
            None,
            vec!["home/u -> @/disk/u"],
        ),
        // Through several, relative and absolute.
        (
            vec!["a -> b", "b -> @/c", "c/d -> ../root"],
            "a/d",
            None,
            vec!["a -> b", "b -> @/c", "c/d -> ../root"],
        ),
        // The host's own link is seen in another place.
        (vec!["c/d -> ../root"], "c/d", Some("c"), vec![]),
        (vec!["x -> c", "c/d -> ../root"], "x/d", Some("c"), vec!["x -> c"]),
    ] {
        let tree = Tree::new();
        tree.make(&there);
        let capability = tree.capability(|spec| {
            spec.write = vec![bytes(&tree.at(spelled))];
            spec.read.extend(other.map(|other| bytes(&tree.at(other))));
        });
        let links: Vec<String> = plan(&capability)
            .confinement
            .links
            .iter()
            .map(|(at, text)| {
                let text = String::from_utf8(text.clone()).unwrap();
                format!(
                    "{} -> {}",
                    tree.short(at),
                    text.replace(tree.top.to_str().unwrap(), "@")
                )
            })
            .collect();
        assert_eq!(links, needed, "{spelled} {there:?}");
    }
}

#[test]
fn a_link_that_is_gone_is_made_for_the_spelling() {
    let tree = Tree::new();
    tree.make(&["alias -> root"]);
    let capability = tree.capability(|spec| spec.write = vec![bytes(&tree.at("alias"))]);
    fs::remove_file(tree.at("alias")).unwrap();
    let link = (bytes(&tree.at("alias")), bytes(&tree.at("root")));
    assert_eq!(plan(&capability).confinement.links, [link]);
}

#[test]
fn bounds_and_network() {
    let tree = Tree::new();
    let limits = Limits {
        processes: Some(10),
        memory: Some(1 << 30),
        file_size: Some(0),
        cpu: Some(5),
        open_files: Some(64),
        ..Limits::default()
    };
    let capability = tree.capability(|spec| {
        spec.limits = limits.clone();
        spec.network = Network::Host;
    });
    let confinement = plan(&capability).confinement;
    assert!(confinement.network);
    let bounds = confinement.bounds;
    assert_eq!(
        [
            bounds.processes,
            bounds.memory,
            bounds.file_size,
            bounds.cpu,
            bounds.open_files
        ],
        [Some(10), Some(1 << 30), Some(0), Some(5), Some(64)]
    );
    // No bound is wider than any.
    assert_eq!(Limits::default().wider_than(&limits), Some("processes"));
    assert_eq!(limits.wider_than(&Limits::default()), None);
    let fewer = Limits {
        cpu: Some(6),
        ..limits.clone()
    };
    assert_eq!(fewer.wider_than(&limits), Some("cpu"));
    for bad in [
        Limits {
            processes: Some(0),
            ..Limits::default()
        },
        Limits {
            open_files: Some(3),
            ..Limits::default()
        },
        Limits {
            memory: Some(u64::MAX),
            ..Limits::default()
        },
    ] {
        assert_eq!(bad.check().unwrap_err().kind, "limit");
    }
}

#[test]
fn a_tree_beyond_the_bounds_is_refused() {
    let tree = Tree::new();
    tree.make(&["root/a/b", "root/c"]);
    let capability = tree.capability(|_| {});
    let plan = |entries, time| confine::plan(&capability, Scope { entries, time }, &Cancel::default());
    let long = Duration::from_secs(600);
    assert!(plan(3, long).is_ok());
    for refusal in [plan(2, long).unwrap_err(), plan(3, Duration::ZERO).unwrap_err()] {
        assert_eq!(refusal.code, Code::TooLarge);
        assert!(
            refusal.message.contains("Allow smaller directories"),
            "{}",
            refusal.message
        );
    }
    // Without patterns there is nothing to look for.
    let open = tree.capability(|spec| (spec.deny, spec.protect) = (Vec::new(), Vec::new()));
    assert!(confine::plan(&open, Scope { entries: 0, time: long }, &Cancel::default()).is_ok());
    let cancel = Cancel::default();
    cancel.cancel();
    assert_eq!(
        confine::plan(&capability, Scope::BEFORE, &cancel).unwrap_err().code,
        Code::Cancelled
    );
}

#[test]
fn what_a_command_makes_is_taken_out() {
    // What is there, what the command makes, what is taken out.
    for (there, made, out) in [
        (vec![], vec!["root/f", "root/.env.example"], vec![]),
        (vec![], vec!["root/.env"], vec!["deny .env"]),
        (vec![], vec!["root/new/.Rprofile"], vec!["protect new/.Rprofile"]),
        (vec![], vec!["root/.SSH/x/y"], vec!["deny .SSH"]),
        (
            vec![],
            vec!["root/sub/.git/hooks/x", "root/sub/.git/config", "root/sub/.git/HEAD"],
            vec!["protect sub/.git/config", "protect sub/.git/hooks"],
        ),
        // Links: of a covered name, dangling, and on the way of a pattern.
        (vec![], vec!["root/.Rprofile -> x"], vec!["protect .Rprofile"]),
        (vec![], vec!["root/.ssh -> /etc"], vec!["deny .ssh"]),
        (vec![], vec!["root/.git -> x"], vec!["protect .git"]),
        (
            vec![],
            vec!["root/renv -> x", "root/x/activate.R"],
            vec!["protect renv"],
        ),
        (vec![], vec!["root/plain -> x"], vec![]),
        // Behind a link that was there.
        (
            vec!["root/renv -> shared", "root/shared/"],
            vec!["root/shared/activate.R"],
            vec!["protect renv/activate.R"],
        ),
        // What was there stays.
        (vec!["root/.env", "root/.git/hooks/x"], vec!["root/f"], vec![]),
        (vec!["root/.git/hooks/x"], vec!["root/.git/hooks2/y"], vec![]),
    ] {
        let tree = Tree::new();
        tree.make(&there);
        let capability = tree.capability(|_| {});
        let before = plan(&capability);
        tree.make(&made);
        let swept = sweep(&tree, &capability, &before);
        assert_eq!(created(&swept), out, "{made:?}");
        assert!(swept.is_clean() && swept.removed.is_empty(), "{made:?}");
        for one in &swept.created {
            let kept = tree.at("quarantine").join(one.kept_as().unwrap());
            assert!(kept.symlink_metadata().is_ok(), "{one:?}");
        }
        assert_eq!(fs::read_dir(tree.at("quarantine")).unwrap().count(), out.len());
        // Nothing is left that a second look would find.
        assert_eq!(sweep(&tree, &capability, &before).created, [], "{made:?}");
    }
}

/// What no command can have made stays.
#[test]
fn what_the_user_does_meanwhile_stays() {
    type Doing = fn(&Tree);
    // What is there, what the user does, what is told.
    let table: &[(&[&str], Doing, &[&str])] = &[
        // In what is closed to the command.
        (
            &["root/.claude/x", "root/.git/hooks/x", "root/.vscode -> vs", "root/vs/x"],
            |tree| {
                tree.make(&[
                    "root/.claude/skills -> ../skills",
                    "root/.claude/.env",
                    "root/.git/hooks/pre-commit -> ../../scripts/pre-commit",
                    "root/vs/.env",
                    "root/vs/link -> x",
                ]);
            },
            &[],
        ),
        (
            &["root/.claude/link -> x", "root/.claude/x", "root/.claude/y"],
            |tree| {
                fs::remove_file(tree.at("root/.claude/link")).unwrap();
                tree.make(&["root/.claude/link -> y"]);
            },
            &[],
        ),
        (
            &["root/.claude/x", "root/.vscode/x"],
            |tree| {
                fs::rename(tree.at("root"), tree.at("renamed")).unwrap();
                tree.make(&["renamed/.claude/skills -> ../skills", "renamed/.vscode/.env"]);
            },
            &[],
        ),
        // Links in what is only readable.
        (
            &["other/x", "root/v1/activate.R", "root/gh/workflows/x", "root/cl/.envrc"],
            |tree| {
                tree.make(&[
                    "other/renv -> ../root/v1",
                    "other/.github -> ../root/gh",
                    "other/.claude -> ../root/cl",
                ]);
            },
            &[],
        ),
        (
            &["other/renv -> ../root/v1", "root/v1/activate.R", "root/v2/activate.R"],
            |tree| {
                fs::remove_file(tree.at("other/renv")).unwrap();
                tree.make(&["other/renv -> ../root/v2"]);
            },
            &[],
        ),
        // Moving what is closed, by whatever directory.
        (
            &[
                "root/a/.env",
                "root/a/.git/hooks/x",
                "root/a/CLAUDE.md -> b",
                "root/a/b",
            ],
            |tree| fs::rename(tree.at("root/a"), tree.at("root/z")).unwrap(),
            &[
                "gone a/.env",
                "gone a/.git/hooks",
                "gone a/CLAUDE.md",
                "replaced z/.env",
                "replaced z/.git/hooks",
                "replaced z/CLAUDE.md",
            ],
        ),
    ];
    for (there, user, told) in table {
        let tree = Tree::new();
        tree.make(&["other/"]);
        tree.make(there);
        let capability = tree.capability(|spec| spec.read.push(bytes(&tree.at("other"))));
        let before = plan(&capability);
        user(&tree);
        let swept = sweep(&tree, &capability, &before);
        let made = swept.created.iter().map(|made| {
            assert_eq!(made.fate, Fate::Replaced, "{there:?}");
            format!("replaced {}", made.path)
        });
        let gone = swept.removed.iter().map(|gone| format!("gone {}", gone.path));
        let shown: Vec<_> = gone.chain(made).collect::<BTreeSet<_>>().into_iter().collect();
        assert_eq!(shown, *told, "{there:?}");
        assert_eq!(fs::read_dir(tree.at("quarantine")).unwrap().count(), 0, "{there:?}");
    }
    // By another name it was open to the command.
    let tree = Tree::new();
    tree.make(&["root/.env"]);
    fs::hard_link(tree.at("root/.env"), tree.at("root/alias")).unwrap();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    fs::rename(tree.at("root/alias"), tree.at("root/.Rprofile")).unwrap();
    assert_eq!(
        created(&sweep(&tree, &capability, &before)),
        ["deny .env", "protect .Rprofile"]
    );
}

/// A link that was moved with its directory leads elsewhere from there.
#[test]
fn a_moved_link_is_told() {
    for (link, onto, name) in [
        ("CLAUDE.md -> ../../ai.md", "ai.md", "x/y/p/CLAUDE.md"),
        ("renv -> ../../lib", "lib/activate.R", "x/y/p/renv"),
    ] {
        let tree = Tree::new();
        tree.make(&[&format!("root/a/p/{link}"), &format!("root/{onto}"), "root/x/y/"]);
        let capability = tree.capability(|_| {});
        let before = plan(&capability);
        fs::rename(tree.at("root/a/p"), tree.at("root/x/y/p")).unwrap();
        tree.make(&[&format!("root/x/{onto}")]);
        let swept = sweep(&tree, &capability, &before);
        let told: Vec<_> = swept
            .created
            .iter()
            .map(|made| (made.path.as_str(), &made.fate))
            .collect();
        assert_eq!(told, [(name, &Fate::Replaced)]);
    }
}

/// What another directory holds that stands where a closed one did is the command's.
#[test]
fn a_closed_directory_that_is_made_again() {
    let tree = Tree::new();
    tree.make(&["root/.claude/docs -> ../docs", "root/docs/x"]);
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    fs::remove_dir_all(tree.at("root/docs")).unwrap();
    tree.make(&["root/docs/.Rprofile"]);
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(created(&swept), ["protect .claude/docs", "protect docs/.Rprofile"]);
    assert!(!tree.at("root/docs/.Rprofile").exists());
}

#[test]
fn what_a_command_replaces_or_removes_is_told() {
    let tree = Tree::new();
    tree.make(&["root/.git/hooks/x", "root/.env", "root/.envrc"]);
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    fs::rename(tree.at("root/.git"), tree.at("root/x")).unwrap();
    tree.make(&["root/.git/hooks/pre-commit", "root/new"]);
    fs::rename(tree.at("root/new"), tree.at("root/.env")).unwrap();
    fs::remove_file(tree.at("root/.envrc")).unwrap();
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(created(&swept), ["deny .env", "protect .git/hooks"]);
    // Not taken away: who replaced it may have been the user.
    assert!(swept.created.iter().all(|made| made.fate == Fate::Replaced));
    assert!(!swept.is_clean());
    let removed: Vec<_> = swept.removed.iter().map(|gone| gone.path.as_str()).collect();
    assert_eq!(removed, [".envrc"]);
    assert!(tree.at("root/.git/hooks/pre-commit").exists());
    assert!(tree.at("root/.env").exists());
}

/// A file with the number that another one had, which a file system with few of them gives away at once;
/// nothing where it does not.
fn with_number(tree: &Tree, inode: u64) -> Option<PathBuf> {
    (0..500).map(|count| tree.at(&format!("made-{count}"))).find(|file| {
        fs::write(file, "IN").unwrap();
        fs::metadata(file).unwrap().ino() == inode
    })
}

fn tells_when_made(path: &Path) -> bool {
    fs::metadata(path).unwrap().created().is_ok()
}

#[test]
fn what_the_user_edits_in_place_is_what_it_was() {
    let tree = Tree::new();
    tree.make(&["root/.env", "root/.Rprofile", "root/.git/hooks/x"]);
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    fs::write(tree.at("root/.env"), "another content").unwrap();
    fs::set_permissions(tree.at("root/.Rprofile"), fs::Permissions::from_mode(0o600)).unwrap();
    tree.make(&["root/.git/hooks/y"]);
    let swept = sweep(&tree, &capability, &before);
    if tells_when_made(&tree.at("root/.env")) {
        assert_eq!(created(&swept), texts(&[]));
        assert!(swept.is_clean());
    } else {
        assert_eq!(created(&swept).len(), 3);
        assert!(swept.created.iter().all(|made| made.fate == Fate::Replaced));
    }
}

/// By its other name it may be open to the command.
#[test]
fn a_file_of_two_names_that_was_written_to_is_told() {
    let tree = Tree::new();
    tree.make(&["root/.Rprofile"]);
    fs::hard_link(tree.at("root/.Rprofile"), tree.at("root/other")).unwrap();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    assert!(sweep(&tree, &capability, &before).is_clean());
    fs::write(tree.at("root/other"), "another content").unwrap();
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(created(&swept), ["protect .Rprofile"]);
    assert_eq!(swept.created[0].fate, Fate::Replaced);
}

#[test]
fn a_number_that_was_given_again_is_another_object() {
    let tree = Tree::new();
    tree.make(&["root/.env"]);
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    let inode = fs::metadata(tree.at("root/.env")).unwrap().ino();
    fs::remove_file(tree.at("root/.env")).unwrap();
    let Some(again) = with_number(&tree, inode) else {
        return skip::skip("inode_reuse", "numbers are not given again here");
    };
    fs::rename(again, tree.at("root/.env")).unwrap();
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(created(&swept), ["deny .env"]);
    assert_eq!(swept.created[0].fate, Fate::Replaced);
}

#[test]
fn nothing_is_taken_out_of_what_is_only_readable() {
    let tree = Tree::new();
    tree.make(&["read/x"]);
    let capability = tree.capability(|spec| spec.read.push(bytes(&tree.at("read"))));
    let before = plan(&capability);
    // Another program's doing: no command could.
    tree.make(&["read/.env"]);
    assert_eq!(sweep(&tree, &capability, &before).created, []);
    assert!(tree.at("read/.env").exists());
}

#[test]
fn a_link_to_what_no_command_can_change_is_no_concern() {
    let tree = Tree::new();
    tree.make(&[
        "root/.Rprofile -> @/dots/Rprofile",
        "root/.envrc -> @/read/envrc",
        "dots/Rprofile",
        "read/envrc",
    ]);
    let capability = tree.capability(|spec| spec.read.push(bytes(&tree.at("read"))));
    let before = plan(&capability);
    // The user's editor, meanwhile.
    for path in ["dots/Rprofile", "read/envrc"] {
        fs::rename(tree.at(path), tree.at("old")).unwrap();
        tree.make(&[path]);
    }
    assert_eq!(created(&sweep(&tree, &capability, &before)), [] as [&str; 0]);
    // The same place, spelled by another link into the root.
    fs::remove_dir_all(tree.at("dots")).unwrap();
    tree.make(&["dots -> root", "root/Rprofile"]);
    assert_eq!(created(&sweep(&tree, &capability, &before)), ["protect .Rprofile"]);
}

#[test]
fn names_of_any_bytes_and_kinds() {
    let tree = Tree::new();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    let odd = tree.at("root").join(std::ffi::OsStr::from_bytes(b"d\xff\n"));
    fs::create_dir(&odd).unwrap();
    fs::write(odd.join(".env"), "x").unwrap();
    fs::create_dir_all(tree.at("root/kinds")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        tree.at("root/kinds/.env").as_path(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    UnixListener::bind(tree.at("root/kinds/.netrc")).unwrap();
    tree.make(&["root/kinds/.aws/a/b"]);
    fs::set_permissions(tree.at("root/kinds/.aws"), fs::Permissions::from_mode(0o000)).unwrap();
    let swept = sweep(&tree, &capability, &before);
    let expected = [
        "deny d\\xff\\n/.env",
        "deny kinds/.aws",
        "deny kinds/.env",
        "deny kinds/.netrc",
    ];
    assert_eq!(created(&swept), expected);
    let kinds: BTreeSet<_> = swept.created.iter().map(|made| made.kind).collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["directory", "fifo", "file", "socket"]
    );
}

#[test]
fn modes_hide_nothing() {
    let tree = Tree::new();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    tree.make(&["root/a/b/c/.env", "root/fixed/.env"]);
    let mode = |path: &str, mode| fs::set_permissions(tree.at(path), fs::Permissions::from_mode(mode)).unwrap();
    mode("root/a/b/c", 0);
    mode("root/a/b", 0o400);
    mode("root/a", 0o100);
    mode("root/fixed", 0o555);
    mode("root", 0);
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(created(&swept), ["deny a/b/c/.env", "deny fixed/.env"]);
    // The modes are as the command left them.
    let read = |path: &str| fs::metadata(tree.at(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(read("root"), 0);
    mode("root", 0o700);
    assert_eq!(read("root/a"), 0o100);
    assert_eq!(read("root/fixed"), 0o555);
    mode("root/a", 0o700);
    assert_eq!(read("root/a/b"), 0o400);
}

#[test]
fn deep_trees() {
    let tree = Tree::new();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    // Each level has a name beside the way down, so that every directory is kept in mind.
    let mut at: OwnedFd = fs::File::open(tree.at("root")).unwrap().into();
    for _ in 0..3_000 {
        use rustix::fs::{mkdirat, openat, Mode, OFlags};
        for name in ["aside", "down"] {
            mkdirat(&at, name, Mode::RWXU).unwrap();
        }
        at = openat(&at, "down", OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).unwrap();
    }
    rustix::fs::mkdirat(&at, ".ssh", rustix::fs::Mode::RWXU).unwrap();
    let swept = sweep(&tree, &capability, &before);
    assert_eq!(swept.created.len(), 1);
    assert!(swept.is_clean());
}

/// Each could govern what is in all those below.
#[test]
fn directories_in_each_other_that_git_would_obey() {
    let tree = Tree::new();
    let path = format!("root/{}x", "config/".repeat(400));
    tree.make(&[&path]);
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    assert_eq!(covers(&tree, &before), [""; 0]);
    let head = format!("root/{}HEAD", "config/".repeat(200));
    tree.make(&[&head]);
    assert_eq!(
        covers(&tree, &plan(&capability)),
        [
            format!("protect root/{}HEAD", "config/".repeat(200)),
            format!("protect root/{}", "config/".repeat(201)),
        ]
    );
    assert_eq!(created(&sweep(&tree, &capability, &before)).len(), 1);
}

/// What a link leads to is closed by its path.
#[test]
fn a_link_to_what_is_too_deep_is_refused() {
    let tree = Tree::new();
    // A link says at most 4,095 bytes, and so is the longest path.
    let deep = vec!["d".repeat(250); 16].join("/");
    fs::create_dir_all(tree.at("root").join(&deep)).unwrap();
    let last = "e".repeat(4_095 - 1 - deep.len());
    let above = fs::File::open(tree.at("root").join(&deep)).unwrap();
    rustix::fs::mkdirat(&above, &last, rustix::fs::Mode::RWXU).unwrap();
    for link in [".Rprofile", "renv"] {
        for (text, refused) in [(deep.clone(), false), (format!("{deep}/{last}"), true)] {
            symlink(&text, tree.at("root").join(link)).unwrap();
            let capability = tree.capability(|_| {});
            let code = try_plan(&capability).map_err(|refusal| refusal.code).err();
            assert_eq!(code, refused.then_some(Code::CarveOut), "{link} {}", text.len());
            fs::remove_file(tree.at("root").join(link)).unwrap();
        }
    }
}

#[test]
fn links_to_where_they_are() {
    let tree = Tree::new();
    for index in 0..6 {
        tree.make(&[&format!("root/.git/modules/l{index} -> .")]);
    }
    let capability = tree.capability(|_| {});
    assert_eq!(covers(&tree, &plan(&capability)).len(), 7);
    // Each leads to where all the others are.
    for (from, to) in [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f")] {
        for index in 0..6 {
            tree.make(&[
                &format!("root/.git/modules/{from}/l{index} -> ../{to}"),
                &format!("root/.git/modules/{to}/x"),
            ]);
        }
    }
    let refusal = try_plan(&capability).unwrap_err();
    assert_eq!(refusal.code, Code::TooLarge);
    assert!(refusal.message.contains("too many links"), "{refusal:?}");
}

#[test]
fn links_behind_each_other_are_all_followed() {
    let tree = Tree::new();
    tree.make(&["root/.claude/l0 -> ../d0"]);
    for index in 0..20 {
        tree.make(&[&format!("root/d{index}/l -> ../d{}", index + 1)]);
    }
    tree.make(&["root/d20/x -> ../evil", "root/evil"]);
    let capability = tree.capability(|_| {});
    assert!(covers(&tree, &plan(&capability)).contains(&"protect root/evil".to_owned()));
}

#[test]
fn ten_thousand_new_names() {
    let tree = Tree::new();
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    for index in 0..10_000 {
        fs::write(tree.at(&format!("root/.env.{index}")), "").unwrap();
    }
    let start = Instant::now();
    let swept = sweep(&tree, &capability, &before);
    println!("10,000 names taken out: {:?}", start.elapsed());
    assert_eq!(swept.created.len(), 10_000);
    assert_eq!(fs::read_dir(tree.at("root")).unwrap().count(), 0);
}

#[test]
fn a_quarantine_on_another_file_system() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        return skip::skip("shm", "no /dev/shm");
    };
    let tree = Tree::new();
    if fs::metadata(other.path()).unwrap().dev() == fs::metadata(&tree.top).unwrap().dev() {
        return skip::skip("shm", "one file system");
    }
    let capability = tree.capability(|_| {});
    let before = plan(&capability);
    tree.make(&["root/.env", "root/.Rprofile -> x", "root/.ssh/a/b/c", "root/.ssh/a/d"]);
    fs::set_permissions(tree.at("root/.ssh/a"), fs::Permissions::from_mode(0o500)).unwrap();
    let big = fs::File::create(tree.at("root/.netrc")).unwrap();
    big.set_len(MOST_BYTES + 1).unwrap();
    for index in 0..1_100 {
        tree.make(&[&format!("root/.aws/{index}"), &format!("root/.vscode/{index}")]);
    }
    tree.make(&["root/.gnupg/x"]);
    UnixListener::bind(tree.at("root/.gnupg/socket")).unwrap();
    tree.make(&["root/.kube/x", "root/.kube/y -> /etc/passwd"]);
    fs::set_permissions(tree.at("root/.kube/x"), fs::Permissions::from_mode(0o000)).unwrap();
    let into = fs::File::open(other.path()).unwrap();
    let swept = sweep_into(into.into(), &capability, &before);
    let mut fates: Vec<_> = swept
        .created
        .iter()
        .map(|made| (made.path.as_str(), matches!(made.fate, Fate::Kept(_))))
        .collect();
    fates.sort_unstable();
    assert_eq!(
        fates,
        [
            (".Rprofile", true),
            // Too many entries.
            (".aws", false),
            (".env", true),
            // A socket in it.
            (".gnupg", false),
            (".kube", true),
            // Too large.
            (".netrc", false),
            (".ssh", true),
            (".vscode", false),
        ]
    );
    assert!(!swept.is_clean());
    // Nothing is destroyed, and what is denied gets no name that is not.
    let mut aside: Vec<_> = swept
        .created
        .iter()
        .filter_map(|made| match &made.fate {
            Fate::Aside(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    aside.sort_unstable();
    assert_eq!(aside.len(), 4);
    let mut left: Vec<_> = fs::read_dir(tree.at("root"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(left, aside);
    // No command may change it, or read what was denied.
    let closed = covers(&tree, &plan(&capability));
    for (start, effect, count) in [("rhocap-quarantine-", "protect", 1), ("rhocap-denied-", "deny", 3)] {
        assert_eq!(left.iter().filter(|name| name.starts_with(start)).count(), count);
        let cover = format!("{effect} root/{start}");
        assert_eq!(closed.iter().filter(|closed| closed.starts_with(&cover)).count(), count);
    }
    assert_eq!(fs::read_dir(other.path()).unwrap().count(), 4);
    let kept = |path: &str| {
        let made = swept.created.iter().find(|made| made.path == path).unwrap();
        other.path().join(made.kept_as().unwrap())
    };
    assert_eq!(fs::read_to_string(kept(".ssh").join("a/b/c")).unwrap(), "IN");
    assert_eq!(fs::read_to_string(kept(".kube").join("x")).unwrap(), "IN");
    assert_eq!(
        fs::read_link(kept(".kube").join("y")).unwrap(),
        Path::new("/etc/passwd")
    );
}

/// Where its new name would be open, what is denied stays.
#[test]
fn what_is_denied_is_not_opened_by_moving_it_aside() {
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else {
        return skip::skip("shm", "no /dev/shm");
    };
    let tree = Tree::new();
    let capability = tree.capability(|spec| spec.deny = texts(&["secret"]));
    let before = plan(&capability);
    let big = fs::File::create(tree.at("root/secret")).unwrap();
    big.set_len(MOST_BYTES + 1).unwrap();
    let into = fs::File::open(other.path()).unwrap();
    let swept = sweep_into(into.into(), &capability, &before);
    assert_eq!(swept.created[0].fate, Fate::Left(libc::EXDEV));
}

#[test]
fn grants_hold_no_cover() {
    let tree = Tree::new();
    tree.make(&[
        "root/f",
        "root/.env",
        "root/.git/hooks/x",
        "root/.git/config",
        "root/.git/objects/y",
        "root/src/a/b",
        "root/home/.ssh/k",
        "root/home/z",
        "root/lib/pkg/x",
        "root/link -> f",
        "free/x",
        "around/x",
        "around/inner/y",
    ]);
    let capability = tree.capability(|spec| {
        spec.write.push(bytes(&tree.at("free")));
        // Without carve-outs, but with a directory in it that is only readable.
        spec.write.push(bytes(&tree.at("around")));
        spec.read.push(bytes(&tree.at("around/inner")));
        spec.libraries.push(bytes(&tree.at("root/lib")));
    });
    let plan = plan(&capability);
    let granted = grants::grants(&capability, &plan, &Cancel::default()).unwrap();
    let shown: Vec<_> = granted
        .grants
        .iter()
        .map(|grant| {
            let word = match grant.access {
                Access::Names => "names",
                Access::Read => "read",
                Access::Write => "write",
            };
            format!(
                "{word} {}{}",
                tree.short(&grant.path),
                if grant.directory { "/" } else { "" }
            )
        })
        .collect();
    let expected = [
        "names around/",
        "write around/x",
        "read around/inner/",
        "write free/",
        // Not the names of `root` and `root/home`: a right to list them would list `.ssh` too.
        "names root/.git/",
        "read root/.git/config",
        "read root/.git/hooks/",
        "write root/.git/objects/",
        "write root/f",
        "write root/home/z",
        "write root/src/",
        "read root/lib/",
    ];
    assert_eq!(shown, expected);
    let short = |paths: &[Vec<u8>]| paths.iter().map(|path| tree.short(path)).collect::<Vec<_>>();
    assert_eq!(short(&granted.fixed), ["around", "root", "root/.git", "root/home"]);
    assert_eq!(short(&granted.unlisted), ["root", "root/home"]);
    assert_eq!(granted.restrictions(), ["new_names", "listing"]);
}

#[test]
fn a_tree_of_20_000_files() {
    let tree = Tree::new();
    // More of them by an environment variable, for measuring.
    let hundreds = std::env::var("RHOCAP_TEST_HUNDREDS_OF_FILES").map_or(200, |text| text.parse().unwrap());
    for directory in 0..hundreds {
        let at = tree.at(&format!("root/d{}/e{directory}", directory % 20));
        fs::create_dir_all(&at).unwrap();
        for file in 0..100 {
            fs::write(at.join(format!("file_{file}.R")), "").unwrap();
        }
    }
    let capability = tree.capability(|_| {});
    let sites = plan(&capability).sites;
    let start = Instant::now();
    let found = scan(&capability, &sites, None, Scope::BEFORE, &Cancel::default()).unwrap();
    println!("{} names looked at: {:?}", found.entries, start.elapsed());
    assert_eq!(found.entries, hundreds * 101 + 20);
    assert_eq!(found.stopped, None::<Stop>);
}

/// Runs the test of mounts in a mount namespace of its own.
#[test]
fn other_mounts() {
    let program = std::env::current_exe().unwrap();
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--mount"]);
    if !unshare.arg("true").status().is_ok_and(|status| status.success()) {
        return skip::skip("user_namespace", "no mount namespace can be had");
    }
    let done = std::process::Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(program)
        .args(["--ignored", "--exact", "mounts_in_a_namespace"])
        .output()
        .unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && output.contains("1 passed"), "{output}");
}

#[test]
#[ignore = "run by other_mounts, in a namespace"]
fn mounts_in_a_namespace() {
    use rustix::mount::{mount, mount_bind, mount_bind_recursive, unmount, MountFlags, UnmountFlags};
    let tree = Tree::new();
    tree.make(&[
        "root/disk/",
        "root/vol/",
        "root/proc/",
        "root/file",
        "root/plain",
        "other",
    ]);
    for at in ["root/disk", "root/vol"] {
        mount("tmpfs", tree.at(at), "tmpfs", MountFlags::empty(), None).unwrap();
    }
    mount_bind_recursive("/proc", tree.at("root/proc")).unwrap();
    mount_bind(tree.at("other"), tree.at("root/file")).unwrap();
    tree.make(&["root/disk/.env", "root/vol/deep/.env", "root/vol/aside/x", "root/vol/f"]);
    let make = |mounts| {
        tree.capability(|spec| {
            spec.read.push(bytes(&tree.at("root/vol/deep")));
            spec.limits.mounts = mounts;
        })
    };
    let hidden = |plan: &Plan| {
        let hidden = plan.hidden.iter().map(|cover| tree.short(&cover.path));
        hidden.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };

    let closed = make(false);
    let planned = plan(&closed);
    assert_eq!(covers(&tree, &planned), ["deny root/vol/deep/.env"]);
    let expected = ["root/disk", "root/file", "root/proc", "root/vol/aside", "root/vol/f"];
    assert_eq!(hidden(&planned), expected);
    let granted = grants::grants(&closed, &planned, &Cancel::default()).unwrap();
    let granted: Vec<_> = granted
        .places()
        .iter()
        .map(|place| (tree.short(&place.path), place.names))
        .collect();
    let expected = [("root/plain", false), ("root/vol/deep", true)];
    assert_eq!(granted, expected.map(|(path, names)| (path.to_owned(), names)));

    let open = plan(&make(true));
    assert_eq!(hidden(&open), [] as [&str; 0]);
    let expected = ["deny root/disk/.env", "deny root/proc/", "deny root/vol/deep/.env"];
    assert_eq!(covers(&tree, &open), expected);

    // What is mounted or unmounted meanwhile is none of a command's making.
    tree.make(&["root/late/", "root/under/.env"]);
    for mounts in [false, true] {
        mount("tmpfs", tree.at("root/under"), "tmpfs", MountFlags::empty(), None).unwrap();
        let capability = make(mounts);
        let before = plan(&capability);
        mount("tmpfs", tree.at("root/late"), "tmpfs", MountFlags::empty(), None).unwrap();
        tree.make(&["root/late/.env", "root/late/x/.Rprofile"]);
        unmount(tree.at("root/under"), UnmountFlags::empty()).unwrap();
        let swept = sweep(&tree, &capability, &before);
        assert_eq!((swept.created.len(), swept.stopped), (0, Some("mounts")), "{mounts}");
        unmount(tree.at("root/late"), UnmountFlags::empty()).unwrap();
    }

    // And stays when what holds it goes.
    let other = tempfile::tempdir_in("/dev/shm").unwrap();
    let capability = make(true);
    let before = plan(&capability);
    tree.make(&["root/.aws/there/", "mounted/x"]);
    mount_bind(tree.at("mounted"), tree.at("root/.aws/there")).unwrap();
    let into = fs::File::open(other.path()).unwrap();
    let swept = sweep_into(into.into(), &capability, &before);
    assert!(matches!(swept.created[0].fate, Fate::Aside(_)), "{:?}", swept.created);
    assert!(tree.at("mounted/x").exists());
}
