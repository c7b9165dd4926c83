//! Confined commands under the real supervisor: what they cannot do, and what they still can. The
//! table follows the group "Containment" of the project's catalogue of commands.
//!
//! All of it runs as the user who runs it, and where that is root, once more as an ordinary user.

#![cfg(target_os = "linux")]

mod harness;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::fd::AsFd;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use harness::{cancel_at, deny, marked, on_a_thread, skip, ENDLESS, EXITS, LEFTOVERS, NAMESPACES, SUPERVISOR};
use rhocap_core::effect::Cancel;
use rhocap_core::process::confinement::{Bounds, Closes, Confinement, Cover, Enforcement, Place, Standing};
use rhocap_core::process::engine::{run, Command, Ending, Ran};
use rhocap_core::process::probe::{probe, Unenforceable};
use rhocap_core::process::protocol::{Cause, End, Exit, Stage, Start};
use rhocap_core::process::supervisor::{Descriptors, Program, Supervisor};
use tempfile::TempDir;

const PYTHON: &str = "/usr/bin/python3";

/// Set in the run as an ordinary user.
const AGAIN: &str = "RHOCAP_TEST_AGAIN";

/// A directory that a command may write to, one that it may read, and one that it may not see.
struct Fixture {
    base: TempDir,
    confinement: Confinement,
    required: Vec<String>,
    timeout: Duration,
    grace: Duration,
    environment: Vec<String>,
    directory: PathBuf,
}

impl Fixture {
    fn new() -> Self {
        let base = tempfile::Builder::new()
            .prefix("rhocap-confined-")
            .tempdir()
            .expect("a directory");
        for name in ["work", "read", "outside"] {
            std::fs::create_dir(base.path().join(name)).expect("a directory");
            std::fs::write(base.path().join(name).join("file"), format!("{name}\n")).expect("a file");
        }
        let mut fixture = Self {
            directory: base.path().join("work"),
            base,
            confinement: Confinement::default(),
            required: Vec::new(),
            timeout: Duration::from_secs(20),
            grace: Duration::from_millis(100),
            environment: Vec::new(),
        };
        fixture.place("work", true);
        fixture.place("read", false);
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.base.path().join(name)
    }

    fn place(&mut self, name: &str, write: bool) {
        let path = self.path(name);
        let found = std::fs::metadata(&path).expect("a place");
        self.confinement.places.push(Place {
            path: bytes(&path),
            device: found.dev(),
            inode: found.ino(),
            write,
            mounts: true,
            names: false,
        });
    }

    fn cover(&mut self, name: &str, read: bool) {
        let path = self.path(name);
        self.confinement.covers.push(Cover {
            path: bytes(&path),
            closes: if read { Closes::Writing } else { Closes::All },
            kind: if path.is_dir() {
                Standing::Directory
            } else {
                Standing::File
            },
        });
    }

    fn probe(&self) -> Result<Enforcement, Unenforceable> {
        probe(
            &Program::open(Path::new(SUPERVISOR)).expect("the supervisor"),
            &self.confinement,
            &Cancel::default(),
        )
    }

    /// `BASE`, `WORK`, `READ` and `OUTSIDE` in a command are the directories, `SLEEP` is a process that
    /// an independent scan can find.
    fn run(&self, command: &str) -> Answer {
        self.run_and_hear(command, &Cancel::default(), &mut |_| {})
    }

    /// Cancels it as soon as it has said this.
    fn run_until(&self, command: &str, said: &str) -> Answer {
        let cancel = Cancel::default();
        let mut hear = cancel_at(said, &cancel);
        self.run_and_hear(command, &cancel, &mut hear)
    }

    fn run_and_hear(&self, command: &str, cancel: &Cancel, hear: &mut dyn FnMut(&[u8])) -> Answer {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let mark = format!(
            "rhocap-mark-{}-{}.",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        );
        let text = self
            .spell(command)
            .replace("SLEEP", &format!("exec -a {mark} sleep 30"));
        let program = Program::open(Path::new(SUPERVISOR)).expect("the supervisor");
        let directory = std::fs::File::open(&self.directory).expect("a directory");
        let mut environment = vec![format!("MARK={mark}"), "PATH=/usr/bin:/bin:/usr/sbin:/sbin".to_owned()];
        environment.extend(self.environment.clone());
        let command = Command {
            start: Start {
                arguments: ["/bin/bash", "-c", &text].map(|text| text.as_bytes().to_vec()).to_vec(),
                environment: environment.into_iter().map(|text| text.into_bytes().into()).collect(),
                timeout: Some(self.timeout),
                grace: self.grace,
                confinement: Some(self.confinement.clone()),
                required: self.required.clone(),
            },
            input: None,
            directory: directory.as_fd(),
            output_bytes: 1 << 20,
            redactor: &rhocap_core::secret::known::redactor(),
        };
        let ran = run(&program, &command, cancel, &mut |bytes, _| hear(bytes)).expect("a supervisor");
        assert_eq!(marked(&mark), Vec::<String>::new(), "left of {text:?}");
        Answer { ran, text }
    }

    fn spell(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (word, name) in [("WORK", "work"), ("READ", "read"), ("OUTSIDE", "outside"), ("BASE", "")] {
            text = text.replace(word, &self.path(name).to_string_lossy());
        }
        text
    }

    /// Runs a Python script that prints one word a line.
    fn python(&self, script: &str) -> Answer {
        std::fs::write(self.path("work/script.py"), self.spell(script)).expect("a script");
        self.run(&format!("exec {PYTHON} -S WORK/script.py"))
    }
}

struct Answer {
    ran: Ran,
    text: String,
}

impl Answer {
    fn output(&self) -> String {
        assert_eq!(self.ran.output.dropped, 0);
        String::from_utf8_lossy(&self.ran.output.head).into_owned()
    }

    fn end(&self) -> &End {
        match &self.ran.ending {
            Ending::Ended(end) => {
                assert_eq!(end.survivors, Vec::<u32>::new());
                end
            }
            other => panic!("{:?}: {other:?}", self.text),
        }
    }

    fn exit(&self) -> Exit {
        self.end().leader.expect("an exit")
    }

    /// It ran, and did not come to its end.
    fn refused(&self) {
        assert!(
            matches!(self.exit(), Exit::Exited(status) if status != 0),
            "{:?} was not refused: {:?}",
            self.text,
            self.output()
        );
    }

    /// It ran, and printed this.
    fn says(&self, output: &str) {
        assert_eq!(
            (self.exit(), self.output().as_str()),
            (Exit::Exited(0), output),
            "{:?}",
            self.text
        );
    }
}

fn abstract_address(name: &str) -> std::os::unix::net::SocketAddr {
    use std::os::linux::net::SocketAddrExt;
    std::os::unix::net::SocketAddr::from_abstract_name(name).expect("a name")
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

fn root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this is root. In the run as an ordinary user nothing is missed: root's came before it.
fn needs_root(why: &str) -> bool {
    if !root() && std::env::var_os(AGAIN).is_none() {
        skip("root", why);
    }
    root()
}

/// Whether this host gives namespaces; says why what needs them is skipped.
fn namespaces(test: &str) -> bool {
    match Fixture::new().probe() {
        Ok(enforcement) if enforcement.mechanisms.contains(&"mount_namespace".to_owned()) => true,
        other => {
            let mechanism = if root() { "mount_namespace" } else { "user_namespace" };
            skip(mechanism, format!("{test}: {other:?}"));
            false
        }
    }
}

fn python(test: &str) -> bool {
    let there = Path::new(PYTHON).exists();
    if !there {
        skip("python3", format!("{test}: no {PYTHON}"));
    }
    there
}

fn without_namespaces(test: impl FnOnce() + Send + 'static) {
    on_a_thread(move || {
        deny(NAMESPACES, libc::EPERM);
        test();
    });
}

fn without_landlock(test: impl FnOnce() + Send + 'static) {
    on_a_thread(move || {
        deny(&[(libc::SYS_landlock_create_ruleset, None)], libc::ENOSYS);
        test();
    });
}

/// On a thread that has mounts of its own. `test` is given what mounts there.
fn with_own_mounts(test: impl FnOnce(&dyn Fn(&[&str])) + Send + 'static) {
    if !needs_root("mounting needs root") {
        return;
    }
    on_a_thread(|| {
        // SAFETY: the mounts of this thread alone, which shares them with no other from now on.
        #[allow(unsafe_code)]
        let unshared = unsafe { libc::unshare(libc::CLONE_NEWNS) };
        if unshared != 0 {
            return skip("mount_namespace", "no mounts for this thread");
        }
        let mount = |arguments: &[&str]| {
            let status = std::process::Command::new("mount").args(arguments).status();
            assert!(status.expect("mount").success(), "mount {arguments:?}");
        };
        mount(&["--make-rprivate", "/"]);
        test(&mount);
    });
}

#[test]
fn all_of_it_again_as_an_ordinary_user() {
    if !needs_root("all of it ran as an ordinary user already") {
        return;
    }
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program)
        .args(["--test-threads=2", "--nocapture"])
        // What needs root has been run as root.
        .env(AGAIN, "1")
        .env_remove("TMPDIR")
        .current_dir("/")
        .output();
    match output {
        Err(error) => skip("setpriv", error),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            for line in text
                .lines()
                .filter(|line| line.starts_with("skipped: ") || line.contains("MEASURED"))
            {
                println!("as an ordinary user: {line}");
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{text}\n{errors}");
        }
    }
}

#[test]
fn a_probe_tells_what_enforces() {
    let fixture = Fixture::new();
    let enforcement = fixture.probe().expect("something that enforces");
    println!("MEASURED here: {enforcement:?}");
    let answer = fixture.run("echo hi");
    answer.says("hi\n");
    assert_eq!(answer.ran.enforcement, Some(enforcement.clone()));
    // A call that must have what the probe found has it; one that must have more does not start.
    let mut fixture = fixture;
    fixture.required = enforcement.mechanisms;
    fixture.run("echo hi").says("hi\n");
    fixture.required.push("landlock:99".to_owned());
    let answer = fixture.run("echo hi > WORK/started");
    assert_eq!(answer.ran.ending, Ending::NotStarted(Stage::Required, libc::EPERM));
    assert_eq!(answer.ran.enforcement, None);
    assert!(!fixture.path("work/started").exists());
}

#[test]
fn exits_and_output() {
    let fixture = Fixture::new();
    for (command, exit, text) in EXITS {
        let answer = fixture.run(command);
        assert_eq!(answer.end().cause, Cause::Natural, "{command}");
        assert_eq!(answer.exit(), *exit, "{command}: {:?}", answer.output());
        assert_eq!(answer.output(), *text, "{command}");
    }
    assert_eq!(fixture.run("umask").exit(), Exit::Exited(0));
    assert_eq!(fixture.run("nosuchcmd").exit(), Exit::Exited(127));
    assert_eq!(fixture.run("if then").exit(), Exit::Exited(2));
}

#[test]
fn what_cannot_be_started_says_where() {
    let mut fixture = Fixture::new();
    fixture.directory = fixture.path("outside");
    let expected = Ending::NotStarted(Stage::WorkingDirectory, libc::ENOENT);
    if namespaces("working directory") {
        assert_eq!(fixture.run("true").ran.ending, expected);
    }
    // A place that is another directory by now.
    let mut fixture = Fixture::new();
    fixture.confinement.places[1].inode += 1;
    assert_eq!(
        fixture.run("true").ran.ending,
        Ending::NotStarted(Stage::Mount, libc::ESTALE)
    );
    let refused = fixture.probe().expect_err("a refusal");
    assert_eq!((refused.stage, refused.errno), (Some(Stage::Mount), libc::ESTALE));
    let mut fixture = Fixture::new();
    std::fs::remove_file(fixture.path("read/file")).expect("a file");
    std::fs::remove_dir(fixture.path("read")).expect("a directory");
    symlink(fixture.path("outside"), fixture.path("read")).expect("a link");
    let found = std::fs::metadata(fixture.path("outside")).expect("a directory");
    fixture.confinement.places[1].inode = found.ino();
    assert!(matches!(
        fixture.run("true").ran.ending,
        Ending::NotStarted(Stage::Mount, _)
    ));
}

#[test]
fn files_outside_cannot_be_reached() {
    let fixture = Fixture::new();
    symlink("/etc/passwd", fixture.path("work/link")).expect("a link");
    symlink(fixture.path("outside/file"), fixture.path("work/out")).expect("a link");
    let victim = fixture.path("outside/file");
    std::fs::set_permissions(fixture.base.path(), std::fs::Permissions::from_mode(0o777)).expect("a mode");
    for command in [
        "echo x > /etc/zz",
        "echo x > /zz",
        "echo x >> WORK/link",
        "echo x >> WORK/out",
        "echo x > READ/new",
        ": > READ/file",
        "echo x >> READ/file",
        "rm READ/file",
        "mv READ/file WORK/moved",
        "ln READ/file WORK/linked",
        "mkdir READ/new",
        "cat OUTSIDE/file",
        "ls OUTSIDE",
        "cd OUTSIDE",
        "cat WORK/../outside/file",
        "cat /etc/shadow",
        "ls /root/",
        "cat /root/.bashrc",
        "ls /home/*",
        "test -n \"$(ls -A /run /var 2>/dev/null)\"",
        "cat /proc/kcore | head -c 1 | grep -q .",
        "echo x > BASE/new",
        "echo 1 > /proc/sys/kernel/printk",
        "echo 1 > /proc/sysrq-trigger",
        "mknod WORK/device b 8 0",
        "cp /bin/true /usr/bin/rhocap-true",
        "echo x > /usr/rhocap-x",
        "test -e SUPERVISOR",
    ] {
        fixture.run(&command.replace("SUPERVISOR", SUPERVISOR)).refused();
    }
    assert_eq!(std::fs::read_to_string(&victim).expect("a file"), "outside\n");
    assert_eq!(
        std::fs::read_to_string(fixture.path("read/file")).expect("a file"),
        "read\n"
    );
    // What is granted can be done.
    for (command, output) in [
        ("echo x > new; cat new WORK/file READ/file", "x\nwork\nread\n"),
        (
            "mkdir -p a/b; mv new a/b/; ln a/b/new c; mv a d; cat d/b/new c",
            "x\nx\n",
        ),
        ("printf '#!/bin/bash\\necho ran' > s; chmod +x s; ./s", "ran\n"),
        ("touch -d 2001-02-03 new; ln -s new l; readlink l; rm -r d l", "new\n"),
        ("truncate -s 3 c; stat -c %s c; pwd", "3\nWORK\n"),
        (
            "echo hi > /dev/null; head -c 2 /dev/zero | wc -c; head -c 2 /dev/urandom | wc -c",
            "2\n2\n",
        ),
        (
            "id -un > /dev/null; git --version > /dev/null 2>&1; perl -e 'print 1'",
            "1",
        ),
    ] {
        fixture.run(command).says(&fixture.spell(output));
    }
}

#[test]
fn names_outside_cannot_be_changed_either() {
    if !namespaces("metadata") {
        return;
    }
    let fixture = Fixture::new();
    let before = std::fs::metadata(fixture.path("outside/file")).expect("a file");
    for command in [
        "chmod 777 OUTSIDE/file",
        "touch -d 2001-02-03 OUTSIDE/file",
        "stat OUTSIDE/file",
        "chmod 777 READ/file",
        "touch -d 2001-02-03 READ/file",
        "stat /etc/shadow",
        "stat /../etc/shadow",
        "stat /../home",
        "chmod 777 /usr/bin/true",
        "chmod 777 /dev/null",
        "chmod 777 /",
        "chmod 777 BASE",
    ] {
        fixture.run(command).refused();
    }
    let after = std::fs::metadata(fixture.path("outside/file")).expect("a file");
    assert_eq!((before.mode(), before.mtime()), (after.mode(), after.mtime()));
    if python("setxattr") {
        let script = "import os\nfor f in ['OUTSIDE/file', 'READ/file', '/usr/bin/true']:\n  try: \
                      os.setxattr(f, 'user.rhocap', b'x'); print('set')\n  except OSError: print('no')\n";
        fixture.python(script).says("no\nno\nno\n");
    }
    // Nothing of the host's root is left above, whichever way one goes there.
    let listed = fixture.run("cd /; ls -A; cd ../..; ls -A; ls -A /proc/self/root/ /proc/1/root/ 2>/dev/null");
    let allowed = [
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sbin", "tmp", "usr",
    ];
    let top = fixture
        .base
        .path()
        .components()
        .nth(1)
        .expect("a name")
        .as_os_str()
        .to_string_lossy()
        .into_owned();
    for name in listed
        .output()
        .lines()
        .filter(|name| !name.is_empty() && !name.starts_with('/'))
    {
        assert!(allowed.contains(&name) || name == top, "{name} is there");
    }
}

#[test]
fn what_is_closed_in_a_place_stays_closed() {
    if !namespaces("covers") {
        return;
    }
    let mut fixture = Fixture::new();
    let work = fixture.path("work");
    for directory in [".git/hooks", "keys", "a/b/c"] {
        std::fs::create_dir_all(work.join(directory)).expect("a directory");
    }
    for (file, text) in [
        (".env", "SECRET\n"),
        (".Rprofile", "old\n"),
        (".git/config", "old\n"),
        (".git/hooks/pre-commit", "old\n"),
        ("keys/id_rsa", "SECRET\n"),
        ("a/b/c/.env", "SECRET\n"),
    ] {
        std::fs::write(work.join(file), text).expect("a file");
    }
    for (name, read) in [
        ("work/.Rprofile", true),
        ("work/.env", false),
        ("work/.git/config", true),
        ("work/.git/hooks", true),
        ("work/a/b/c/.env", false),
        ("work/keys", false),
        ("work/gone", false),
    ] {
        fixture.cover(name, read);
    }
    let enforcement = fixture.probe().expect("something that enforces");
    assert!(enforcement.gaps.is_empty(), "{enforcement:?}");
    for command in [
        "cat .env",
        "cat keys/id_rsa",
        "ls keys",
        "cd keys",
        "cat a/b/c/.env",
        "chmod 777 .env",
        "chmod 777 keys && ls keys",
        "echo x > .env",
        "rm -f .env",
        "mv .env x",
        "ln .env x",
        "ln .Rprofile x",
        "mv x .env 2>/dev/null || (echo y > z; mv -f z .env)",
        "echo x > .Rprofile",
        "rm -f .Rprofile",
        "echo y > z; mv -f z .Rprofile",
        "mv .Rprofile x",
        "chmod 777 .Rprofile",
        "touch .Rprofile",
        "echo x > .git/config",
        "echo x > .git/hooks/x",
        "rm .git/hooks/pre-commit",
        "mv .git/hooks .git/h",
        "mv .git x",
        "mv .git x; mkdir -p .git/hooks; echo > .git/hooks/post-commit",
        "rm -rf .git",
        "mkdir n; mv -T n .git",
        "mv a x",
        "mv a/b x",
        "mv a/b/c x",
        "rm -rf keys",
        "rmdir keys",
        "umount WORK/.env",
        "unshare -Urm umount WORK/.env",
        "unshare -Urm true",
        "unshare -m true",
        "mount --bind /usr WORK/a",
    ] {
        fixture.run(command).refused();
    }
    if python("exchange") {
        // renameat2 with RENAME_EXCHANGE, which moves both.
        let script = "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nos.mkdir('e')\n\
                      for a, b in [(b'e', b'.git'), (b'file', b'.env'), (b'file', b'.Rprofile'), (b'e', b'keys')]:\n  \
                      print(c.renameat2(-100, a, -100, b, 2), ctypes.get_errno() in (16, 18))\n";
        fixture.python(script).says(&"-1 True\n".repeat(4));
    }
    for (file, text) in [
        (".env", "SECRET\n"),
        (".Rprofile", "old\n"),
        (".git/config", "old\n"),
        (".git/hooks/pre-commit", "old\n"),
        ("keys/id_rsa", "SECRET\n"),
        ("a/b/c/.env", "SECRET\n"),
    ] {
        assert_eq!(
            std::fs::read_to_string(work.join(file)).expect("a file"),
            text,
            "{file}"
        );
    }
    let hooks = std::fs::read_dir(work.join(".git/hooks")).expect("hooks").count();
    assert_eq!(hooks, 1, "a hook was written on the host");
    // What is protected can be read, and what is beside what is closed can be written.
    fixture
        .run("cat .Rprofile .git/config .git/hooks/pre-commit; echo i > .git/index.lock; mv .git/index.lock .git/index; \
              mkdir -p .git/objects/00; echo y > a/b/new; mv a/b/new a/b/c/; cat .git/index a/b/c/new")
        .says("old\nold\nold\ni\ny\n");
    assert_eq!(std::fs::read_to_string(work.join(".git/index")).expect("a file"), "i\n");
}

#[test]
fn a_place_within_a_place_keeps_its_own_rule() {
    if !namespaces("nested places") {
        return;
    }
    let mut fixture = Fixture::new();
    std::fs::create_dir_all(fixture.path("work/in/lib")).expect("a directory");
    std::fs::write(fixture.path("work/in/lib/f"), "lib\n").expect("a file");
    std::fs::create_dir_all(fixture.path("read/out")).expect("a directory");
    fixture.place("work/in/lib", false);
    fixture.place("read/out", true);
    for command in [
        "echo x > in/lib/f",
        "mv in x; mkdir -p in/lib; echo x > in/lib/f",
        "mv in/lib x",
        "echo x > READ/x",
    ] {
        fixture.run(command).refused();
    }
    fixture
        .run("echo x > READ/out/x; echo y > in/y; cat in/lib/f in/y READ/out/x")
        .says("lib\ny\nx\n");
    assert_eq!(
        std::fs::read_to_string(fixture.path("work/in/lib/f")).expect("a file"),
        "lib\n"
    );
    // Another spelling of a place, and a cover that is a link, which cannot be closed.
    fixture
        .confinement
        .links
        .push((b"/data/project".to_vec(), bytes(&fixture.path("work"))));
    fixture.run("cat /data/project/file").says("work\n");
    symlink("file", fixture.path("work/.envrc")).expect("a link");
    fixture.cover("work/.envrc", false);
    assert_eq!(
        fixture.run("true").ran.ending,
        Ending::NotStarted(Stage::Mount, libc::ELOOP)
    );
    // A root that would show the host's processes, or everything.
    for path in ["/", "/proc"] {
        let mut fixture = Fixture::new();
        let found = std::fs::metadata(path).expect("a directory");
        fixture.confinement.places[1] = Place {
            path: path.into(),
            device: found.dev(),
            inode: found.ino(),
            write: false,
            mounts: true,
            names: false,
        };
        assert_eq!(
            fixture.run("true").ran.ending,
            Ending::NotStarted(Stage::Mount, libc::EINVAL)
        );
    }
}

#[test]
fn no_network_is_no_socket_of_any_family() {
    if !python("families") {
        return;
    }
    let fixture = Fixture::new();
    let listener = UnixListener::bind(fixture.path("work/stream")).expect("a socket");
    let datagrams = UnixDatagram::bind(fixture.path("work/datagram")).expect("a socket");
    let name = format!("rhocap-abstract-{}", std::process::id());
    let address = abstract_address(&name);
    let hidden = UnixDatagram::bind_addr(&address).expect("a socket");
    datagrams.set_nonblocking(true).expect("a flag");
    hidden.set_nonblocking(true).expect("a flag");
    listener.set_nonblocking(true).expect("a flag");
    let script = format!(
        "import socket, errno\n\
         def t(name, f):\n  try: f(); print(name, 'done')\n  except OSError as e: print(name, errno.errorcode[e.errno])\n\
         for family in (1, 2, 10, 16, 17, 38, 40):\n  t(family, lambda: socket.socket(family, socket.SOCK_DGRAM))\n  \
         t(family, lambda: socket.socket(family, socket.SOCK_STREAM))\n\
         a, b = socket.socketpair()\na.send(b'x'); print('pair', b.recv(1))\n\
         t('datagrams', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))\n\
         t('datagrams', lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC))\n\
         t('connect', lambda: a.connect('WORK/stream'))\nt('sendto', lambda: a.sendto(b'x', 'WORK/datagram'))\n\
         s, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
         t('sequence', lambda: s.sendto(b'x', 'WORK/datagram'))\nt('sequence', lambda: s.sendto(b'x', '\\0{name}'))\n\
         t('sequence', lambda: s.sendmsg([b'x'], [], 0, '\\0{name}'))\nt('bind', lambda: a.bind('WORK/new'))\n"
    );
    let answer = fixture.python(&script);
    let output = answer.output();
    for line in output.lines() {
        let fine = match line.split(' ').next() {
            Some("pair") => line == "pair b'x'",
            // One of this kind ignores the address and sends to its pair: nothing came to the host's.
            Some("sequence") => line.ends_with("done"),
            Some("sendto") => line.ends_with("EISCONN"),
            _ => line.ends_with("EPERM"),
        };
        assert!(fine, "{line} of {output}");
    }
    assert_eq!(output.lines().count(), 23, "{output}");
    assert!(listener.accept().is_err() && datagrams.recv(&mut [0]).is_err() && hidden.recv(&mut [0]).is_err());
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = port.local_addr().expect("an address").port();
    fixture.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{at}")).refused();
    // It ends by itself: there is nobody whose answer it would wait for.
    fixture.run("getent hosts example.org").refused();
}

#[test]
fn the_hosts_network_is_no_way_to_its_daemons() {
    if !python("network") {
        return;
    }
    let mut fixture = Fixture::new();
    fixture.confinement.network = true;
    let enforcement = fixture.probe().expect("something that enforces");
    assert!(!enforcement.mechanisms.contains(&"network_namespace".to_owned()));
    let _outside = UnixListener::bind(fixture.path("outside/socket")).expect("a socket");
    let name = format!("rhocap-abstract-net-{}", std::process::id());
    let address = abstract_address(&name);
    let _hidden = UnixListener::bind_addr(&address).expect("a socket");
    let port = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = port.local_addr().expect("an address").port();
    let script = format!(
        "import socket\n\
         def t(name, f):\n  try: f(); print(name, 'done')\n  except OSError as e: print(name, 'refused')\n\
         t('tcp', lambda: socket.create_connection(('127.0.0.1', {at})))\n\
         t('path', lambda: socket.socket(1).connect('OUTSIDE/socket'))\n\
         t('abstract', lambda: socket.socket(1).connect('\\0{name}'))\n\
         t('packet', lambda: socket.socket(17, socket.SOCK_DGRAM))\nt('vsock', lambda: socket.socket(40))\n\
         t('bluetooth', lambda: socket.socket(31))\nt('alg', lambda: socket.socket(38, socket.SOCK_SEQPACKET))\n"
    );
    let expected =
        "tcp done\npath refused\nabstract refused\npacket refused\nvsock refused\nbluetooth refused\nalg refused\n";
    fixture.python(&script).says(expected);
    let script = script.clone();
    without_namespaces(move || {
        let mut fixture = Fixture::new();
        fixture.confinement.network = true;
        // The same socket's path is outside here too.
        fixture.python(&script).says(expected);
    });
}

/// Calls by number, each with arguments that would make it succeed or fail otherwise than by EPERM.
fn refused_calls() -> Vec<(&'static str, i64, &'static str)> {
    vec![
        ("ptrace", libc::SYS_ptrace, "0, 0, 0, 0"),
        (
            "process_vm_readv",
            libc::SYS_process_vm_readv,
            "os.getpid(), 0, 0, 0, 0, 0",
        ),
        (
            "process_vm_writev",
            libc::SYS_process_vm_writev,
            "os.getpid(), 0, 0, 0, 0, 0",
        ),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, "-1, 0, 0"),
        ("bpf", libc::SYS_bpf, "99, 0, 0"),
        ("setns", libc::SYS_setns, "-1, 0"),
        ("unshare user", libc::SYS_unshare, "0x10000000"),
        ("unshare mounts", libc::SYS_unshare, "0x20000"),
        ("unshare time", libc::SYS_unshare, "0x80"),
        ("clone user", libc::SYS_clone, "0x10000000 | 17, 0, 0, 0, 0"),
        ("clone pid", libc::SYS_clone, "0x20000000 | 17, 0, 0, 0, 0"),
        ("clone net", libc::SYS_clone, "0x40000000 | 17, 0, 0, 0, 0"),
        ("mount", libc::SYS_mount, "0, 0, 0, 0, 0"),
        ("umount2", libc::SYS_umount2, "0, 0"),
        ("open_tree", libc::SYS_open_tree, "-100, b'/', 0"),
        ("move_mount", libc::SYS_move_mount, "-1, b'', -1, b'', 0"),
        ("fsopen", libc::SYS_fsopen, "b'nosuch', 0"),
        ("mount_setattr", libc::SYS_mount_setattr, "-1, b'', 0, 0, 0"),
        ("pivot_root", libc::SYS_pivot_root, "0, 0"),
        ("chroot", libc::SYS_chroot, "b'/nosuch'"),
        ("io_uring_setup", libc::SYS_io_uring_setup, "0, 0"),
        ("io_uring_enter", libc::SYS_io_uring_enter, "-1, 0, 0, 0, 0, 0"),
        ("userfaultfd", libc::SYS_userfaultfd, "0xffff"),
        ("keyctl", libc::SYS_keyctl, "0, -3, 0, 0, 0"),
        ("add_key", libc::SYS_add_key, "0, 0, 0, 0, 0"),
        ("request_key", libc::SYS_request_key, "0, 0, 0, 0"),
        ("perf_event_open", libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
        ("kexec_load", libc::SYS_kexec_load, "0, 0, 0, 0"),
        ("init_module", libc::SYS_init_module, "0, 0, 0"),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, "-1, 0, 0"),
        ("syslog", libc::SYS_syslog, "99, 0, 0"),
        ("kcmp", libc::SYS_kcmp, "0, 0, 99, 0, 0"),
        ("TIOCSTI", libc::SYS_ioctl, "0, 0x5412, b'x'"),
        ("TIOCLINUX", libc::SYS_ioctl, "0, 0x541c, b'x'"),
    ]
}

#[test]
fn system_calls_that_lead_out_are_refused() {
    if !python("system calls") {
        return;
    }
    let fixture = Fixture::new();
    let mut script = "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\n\
                      def t(name, *a):\n  ctypes.set_errno(0); r = c.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n  \
                      if r == 0 and 'clone' in name and 'clone3' != name: os._exit(0)\n  \
                      print(name, r, ctypes.get_errno())\n"
        .to_owned();
    for (name, number, arguments) in refused_calls() {
        writeln!(script, "t('{name}', {number}, {arguments})").expect("a line");
    }
    let mut expected = String::new();
    for (name, ..) in refused_calls() {
        writeln!(expected, "{name} -1 {}", libc::EPERM).expect("a line");
    }
    writeln!(
        script,
        "t('clone3', {}, 0, 0)\nt('next', 470, 0)\nt('later', 600, 0)",
        libc::SYS_clone3
    )
    .expect("a line");
    expected.push_str("clone3 -1 38\nnext -1 38\nlater -1 38\n");
    if cfg!(target_arch = "x86_64") {
        // getpid and socket by x32's numbers.
        script.push_str("t('x32', 0x40000000 + 39)\nt('x32', 0x40000000 + 41, 1, 1, 0)\n");
        expected.push_str("x32 -1 1\nx32 -1 1\n");
    }
    let answer = fixture.python(&script);
    assert_eq!(answer.output(), expected);
    // The same script without confinement, so that it is not something else that refuses.
    if cfg!(target_arch = "x86_64") {
        let script = "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7)\n\
                      m.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')\n\
                      f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nprint('got', f())\n";
        let answer = fixture.python(script);
        // A kernel without calls of that kind ends it too, by another signal.
        let ended = [libc::SIGSYS, libc::SIGSEGV].map(Exit::Signalled);
        assert!(ended.contains(&answer.exit()), "{:?}", answer.output());
    }
    // Threads and processes can still be made.
    let script =
        "import threading, subprocess\nx = []\nt = threading.Thread(target=lambda: x.append(1)); t.start(); t.join()\n\
                  print(x, subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout)\n";
    fixture.python(script).says("[1] b'hi\\n'\n");
}

#[test]
fn no_privilege_is_held_or_gained() {
    let fixture = Fixture::new();
    let status = fixture.run("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status");
    if status.exit() == Exit::Exited(0) {
        for line in status.output().lines() {
            let (name, value) = line.split_once(":\t").expect("a line");
            let expected = match name {
                "NoNewPrivs" => "1",
                "Seccomp" => "2",
                // An ordinary user without namespaces cannot lower what bounds it, and has nothing to gain.
                "CapBnd" if !root() && !namespaces("bounding set") => continue,
                _ => "0000000000000000",
            };
            assert_eq!(value, expected, "{name}");
        }
        assert_eq!(status.output().lines().count(), 7);
    }
    if namespaces("the first process") {
        // Nor by the one that stands above it, which executes nothing and so loses none by that.
        let first = fixture.run("grep -E '^Cap(Eff|Prm|Inh|Bnd|Amb)' /proc/1/status | cut -f 2 | sort -u");
        first.says("0000000000000000\n");
    }
    fixture.run("id -u; id -g").says(&format!(
        "{}\n{}\n",
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw()
    ));
    fixture
        .run("su -c true nobody </dev/null; test $? -ne 0 && echo no")
        .output();
    if root() {
        // A file that would make an ordinary user root, and one that would give root another user.
        for command in [
            "chown 1:1 file",
            "setpriv --reuid=1 true",
            "chroot / true",
            "nice -n -5 nice | grep -qx -- -5",
        ] {
            fixture.run(command).refused();
        }
    }
}

#[test]
fn shared_memory_and_terminals_are_its_own() {
    if !namespaces("shared memory") {
        return;
    }
    let fixture = Fixture::new();
    let name = format!("/dev/shm/rhocap-{}", std::process::id());
    let there = std::fs::write(&name, "host").is_ok();
    let own = fixture.run(&format!("ls -A /dev/shm; echo x > {name}; cat {name}; ls /dev/pts"));
    own.says("x\nptmx\n");
    if there {
        assert_eq!(std::fs::read_to_string(&name).expect("a file"), "host");
        std::fs::remove_file(&name).expect("a file");
    }
    assert!(!Path::new(&name).exists());
    fixture
        .run("cp /bin/true /dev/shm/t; chmod +x /dev/shm/t; /dev/shm/t")
        .refused();
    if python("terminals") {
        let script = "import os, pty, multiprocessing\nmultiprocessing.Lock().acquire()\n\
                      pid, fd = pty.fork()\nif pid == 0: os.execvp('tty', ['tty'])\nprint(os.read(fd, 99))\n";
        fixture.python(script).says("b'/dev/pts/0\\r\\n'\n");
    }
    // A place there is the host's own.
    let Ok(base) = tempfile::tempdir_in("/dev/shm") else {
        return;
    };
    let mut fixture = fixture;
    let found = base.path().metadata().expect("a directory");
    fixture.confinement.places.push(Place {
        path: bytes(base.path()),
        device: found.dev(),
        inode: found.ino(),
        write: true,
        mounts: true,
        names: false,
    });
    fixture
        .run(&format!(
            "echo x > {}/new; echo y > /dev/shm/y || echo no",
            base.path().display()
        ))
        .output();
    assert_eq!(std::fs::read_to_string(base.path().join("new")).expect("a file"), "x\n");
}

#[test]
fn no_file_is_left_that_makes_others_the_user() {
    let fixture = Fixture::new();
    for command in [
        "chmod u+s file",
        "chmod 4755 file",
        "chmod g+s file",
        "cp /bin/true t; chmod 6755 t",
        "install -m 4755 /bin/true t",
    ] {
        fixture.run(command).refused();
    }
    if python("modes") {
        let script = "import os, ctypes\nc = ctypes.CDLL(None, use_errno=True)\n\
                      def t(f):\n  try: f(); print('made')\n  except OSError as e: print(e.errno)\n\
                      t(lambda: os.open('a', os.O_CREAT | os.O_WRONLY, 0o4755))\n\
                      t(lambda: os.open('b', os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o2755))\n\
                      t(lambda: os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755))\n\
                      t(lambda: os.mknod('c', 0o104755))\n\
                      t(lambda: os.fchmod(os.open('file', os.O_RDONLY), 0o4755))\n\
                      print(c.syscall(452, -100, b'file', 0o4755, 0), ctypes.get_errno())\n\
                      print(c.syscall(437, -100, b'file', 0, 0), ctypes.get_errno())\n";
        fixture.python(script).says("1\n1\n1\n1\n1\n-1 1\n-1 38\n");
    }
    let entries = std::fs::read_dir(fixture.path("work")).expect("a directory").flatten();
    for entry in entries {
        let mode = entry.metadata().expect("a file").mode();
        assert_eq!(mode & 0o6000, 0, "{}", entry.path().display());
    }
    fixture
        .run("chmod 1777 .; chmod 755 file; umask 0; touch n; install -m 700 file m; stat -c %a n m")
        .says("666\n700\n");
}

#[test]
fn other_processes_cannot_be_seen_signalled_or_read() {
    let fixture = Fixture::new();
    let own = std::process::id();
    for command in [
        format!("kill -0 {own}"),
        format!("kill -9 {own}"),
        format!("cat /proc/{own}/environ"),
        format!("head -c 1 /proc/{own}/mem"),
        format!("cat /proc/{own}/cmdline"),
        "kill -0 1".to_owned(),
        "kill -9 1; sleep 0.05; exit 1".to_owned(),
        "cat /proc/$PPID/environ".to_owned(),
        "cat /proc/1/environ".to_owned(),
        "head -c 1 /proc/1/mem".to_owned(),
        "cat /proc/1/maps".to_owned(),
        "readlink /proc/1/exe".to_owned(),
        "readlink /proc/1/fd/*".to_owned(),
        "ls /proc/1/root/".to_owned(),
    ] {
        fixture.run(&command).refused();
    }
    if namespaces("process list") {
        let seen = fixture.run("ls /proc | grep -cE '^[0-9]+$'");
        let count: u32 = seen.output().trim().parse().expect("a number");
        assert!(count <= 5, "{count} processes are seen");
    }
    // Whatever can be found in /proc, nothing of ours is in it.
    let mut fixture = fixture;
    fixture.environment.push("OWN=own".to_owned());
    let answer = fixture.run("cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'");
    let names: BTreeSet<String> = answer
        .output()
        .lines()
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.to_owned()))
        .collect();
    for name in &names {
        assert!(
            ["MARK", "OWN", "PATH", "PWD", "SHLVL", "_", "OLDPWD"].contains(&name.as_str()),
            "{names:?}"
        );
    }
    // Its supervisor cannot be ended by it, nor can anything but its own tree.
    fixture
        .run("kill -9 $PPID 2>/dev/null; sleep 0.1; echo alive")
        .says("alive\n");
    let answer = fixture.run("sleep 30 & kill -9 -1; echo alive");
    assert!(
        matches!(answer.exit(), Exit::Exited(0) | Exit::Signalled(9)),
        "{:?}",
        answer.exit()
    );
    // Not even stopped, or slowed down.
    fixture.run("kill -STOP $PPID 2>/dev/null; echo alive").says("alive\n");
    fixture.run(&format!("renice -n 19 -p {own}")).refused();
}

#[test]
fn descriptors_of_ours_do_not_come_along() {
    if !python("descriptors") {
        return;
    }
    let _socket = UnixListener::bind(Fixture::new().path("outside/socket")).expect("a socket");
    let fixture = Fixture::new();
    let script = "import os\nfor n in range(0, 1024):\n  try: os.fstat(n); print(n)\n  except OSError: pass\n";
    // The fourth is the script.
    let output = fixture.python(&format!("{script}\n")).output();
    assert!(output == "0\n1\n2\n" || output == "0\n1\n2\n3\n", "{output}");
    let link = fixture.run("ls -l /proc/self/fd 2>/dev/null | grep -oE '/[^ ]*$' | grep -v '^/proc' | sort -u");
    assert!(!link.output().contains("outside"), "{}", link.output());
}

#[test]
fn bounds_hold() {
    let mut fixture = Fixture::new();
    fixture.confinement.bounds = Bounds {
        file_size: Some(4096),
        open_files: Some(20),
        cpu: Some(1),
        memory: Some(256 << 20),
        processes: None,
    };
    let enforcement = fixture.probe().expect("something that enforces");
    assert!(enforcement.mechanisms.contains(&"rlimits".to_owned()));
    let answer = fixture.run("ulimit -f -n -t -v -c; ulimit -H -n");
    let values: Vec<&str> = answer
        .output()
        .leak()
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().last())
        .collect();
    assert_eq!(values, ["4", "20", "1", "262144", "0", "20"]);
    assert_eq!(
        fixture.run("head -c 8192 /dev/zero > big; exit $?").exit(),
        Exit::Exited(128 + libc::SIGXFSZ)
    );
    assert_eq!(std::fs::metadata(fixture.path("work/big")).expect("a file").len(), 4096);
    fixture.run("ulimit -n 100").refused();
    fixture
        .run("for i in $(seq 3 30); do eval \"exec $i</dev/null\" || exit 1; done")
        .refused();
    let answer = fixture.run("while :; do :; done");
    assert_eq!(answer.exit(), Exit::Signalled(libc::SIGXCPU));
    if python("memory") {
        fixture.confinement.bounds.cpu = None;
        fixture
            .python("try: x = bytearray(1 << 30); print('had')\nexcept MemoryError: print('no')\n")
            .says("no\n");
    }
}

#[test]
fn a_bound_on_processes_holds_or_is_refused() {
    let mut fixture = Fixture::new();
    fixture.confinement.bounds.processes = Some(8);
    if root() || !namespaces("processes") {
        let refused = fixture.probe().expect_err("a refusal");
        assert_eq!((refused.stage, refused.errno), (Some(Stage::Bounds), libc::EPERM));
        assert_eq!(
            fixture.run("true").ran.ending,
            Ending::NotStarted(Stage::Bounds, libc::EPERM)
        );
        return;
    }
    // The bash is one of the eight.
    fixture
        .run("for i in 1 2 3 4 5 6 7; do sleep 0.2 & done; wait; echo fine")
        .says("fine\n");
    let answer = fixture.run("for i in 1 2 3 4 5 6 7 8 9 10; do sleep 5 & done 2>&1; echo end");
    assert!(
        answer.output().contains("Resource temporarily unavailable"),
        "{:?}",
        answer.output()
    );
    // Processes of the user outside do not count.
    let others: Vec<_> = (0..10)
        .map(|_| std::process::Command::new("sleep").arg("3").spawn().expect("a process"))
        .collect();
    fixture
        .run("for i in 1 2 3 4 5 6 7; do sleep 0.1 & done; wait; echo fine")
        .says("fine\n");
    for mut other in others {
        let _ = other.kill();
        let _ = other.wait();
    }
}

#[test]
fn nothing_is_left_of_any_tree() {
    let fixture = Fixture::new();
    for command in LEFTOVERS {
        let answer = fixture.run(command);
        answer.says("done\n");
        // It was there, and had not come to its end.
        let end = answer.end();
        assert!(end.found >= 1 && end.killed >= 1, "{command}: {end:?}");
    }
    let answer = fixture.run("(sleep 5; echo late) & echo early");
    answer.says("early\n");
    assert!(
        answer.end().found >= 1 && answer.end().killed >= 1,
        "{:?}",
        answer.end()
    );
    let answer = fixture.run("sleep 30 & echo early");
    assert_eq!(
        (answer.end().found, answer.end().killed),
        (1, 1),
        "the init counts for nothing"
    );
    let alone = fixture.run("true");
    assert_eq!(
        (alone.end().found, alone.end().killed),
        (0, 0),
        "the init counts for nothing"
    );

    let mut fixture = fixture;
    fixture.timeout = Duration::from_secs(1);
    for command in ENDLESS.iter().chain(&[
        "hop() { trap '' TERM; local i; for ((i = 0; i < 2000; i++)); do ( setsid -f true ); done; }; \
         for i in $(seq 20); do hop & done; wait",
    ]) {
        let answer = fixture.run(command);
        assert_eq!(answer.end().cause, Cause::TimedOut, "{command}");
        assert!(
            answer.ran.signals.iter().any(|(signal, ..)| *signal == libc::SIGTERM),
            "{command}"
        );
    }
    fixture.timeout = Duration::from_secs(20);
    fixture.grace = Duration::from_secs(20);
    let command = "trap 'echo cleaned; exit 3' TERM; echo ready; sleep 30 & wait";
    let answer = fixture.run_until(command, "ready\n");
    assert_eq!(
        (answer.exit(), answer.output().as_str()),
        (Exit::Exited(3), "ready\ncleaned\n")
    );
    fixture.grace = Duration::from_millis(100);
    let command = "trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 1; done";
    let answer = fixture.run_until(command, "ready\n");
    assert_eq!(
        (answer.end().cause, answer.exit()),
        (Cause::Cancelled, Exit::Signalled(9))
    );
}

#[test]
fn all_of_it_dies_with_its_supervisor() {
    // Not by R's side, which finds what a lost supervisor leaves as well: R may be gone too.
    let fixture = Fixture::new();
    let mark = format!("rhocap-mark-{}-dies.", std::process::id());
    let text = format!("setsid -f bash -c 'exec -a {mark} sleep 30'; trap '' TERM; exec -a {mark} sleep 30");
    let null = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/null")
        .expect("a device");
    let directory = std::fs::File::open(&fixture.directory).expect("a directory");
    let start = Start {
        arguments: ["/bin/bash", "-c", &text].map(|text| text.as_bytes().to_vec()).to_vec(),
        environment: vec![b"PATH=/usr/bin:/bin".to_vec().into()],
        timeout: None,
        grace: Duration::ZERO,
        confinement: Some(fixture.confinement.clone()),
        required: Vec::new(),
    };
    let descriptors = Descriptors {
        input: null.as_fd(),
        output: null.as_fd(),
        directory: directory.as_fd(),
    };
    let program = Program::open(Path::new(SUPERVISOR)).expect("the supervisor");
    let mut supervisor = Supervisor::start(&program, &start, &descriptors, &Cancel::default()).expect("a supervisor");
    let until = |reached: &dyn Fn(usize) -> bool| {
        let begun = Instant::now();
        while !reached(marked(&mark).len()) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", marked(&mark));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    until(&|count| count == 2);
    supervisor.kill();
    supervisor.reap();
    until(&|count| count == 0);
}

#[test]
fn mounts_below_a_place_are_hidden_unless_granted() {
    with_own_mounts(|mount| {
        let mut fixture = Fixture::new();
        let disk = fixture.path("work/disk a");
        std::fs::create_dir(&disk).expect("a directory");
        mount(&["-t", "tmpfs", "none", disk.to_str().expect("a path")]);
        std::fs::write(disk.join("file"), "disk\n").expect("a file");
        fixture.run("cat 'disk a/file'").says("disk\n");
        fixture.confinement.places[0].mounts = false;
        fixture.run("ls -A 'disk a'; echo x > 'disk a/y' || echo no").output();
        fixture.run("ls -A 'disk a'").says("");
        fixture.run("echo x > 'disk a/y'").refused();
        assert!(!disk.join("y").exists());
        let _ = std::process::Command::new("umount").arg(&disk).status();
    });
}

#[test]
fn where_proc_is_partly_hidden_there_is_none() {
    with_own_mounts(|mount| {
        // As in a container.
        mount(&["--bind", "/dev/null", "/proc/version"]);
        let fixture = Fixture::new();
        let enforcement = fixture.probe().expect("something that enforces");
        println!("MEASURED with a masked /proc: {enforcement:?}");
        assert!(enforcement.mechanisms.contains(&"mount_namespace".to_owned()));
        if !enforcement.gaps.contains(&"no_proc".to_owned()) {
            return skip("masked_proc", "this kernel gives a fresh one all the same");
        }
        fixture.run("ls /proc").says("");
        fixture.run("cat /proc/1/environ").refused();
        fixture.run("kill -9 $PPID 2>/dev/null; cat /proc/version").refused();
        assert_eq!(fixture.run("kill -9 $$").exit(), Exit::Signalled(9));
        fixture.run("cat WORK/file").says("work\n");
    });
}

#[test]
fn without_namespaces_landlock_enforces_and_the_gaps_are_said() {
    without_namespaces(|| {
        let mut fixture = Fixture::new();
        let enforcement = match fixture.probe() {
            Ok(enforcement) => enforcement,
            Err(refused) if refused.stage == Some(Stage::Landlock) => {
                return skip("landlock", refused);
            }
            Err(refused) => panic!("{refused:?}"),
        };
        println!("MEASURED without namespaces: {enforcement:?}");
        assert!(enforcement.mechanisms[0].starts_with("landlock:"), "{enforcement:?}");
        assert_eq!(enforcement.gaps, ["metadata", "process_list", "no_proc"]);
        fixture.required = enforcement.mechanisms.clone();
        let own = std::process::id();
        for command in [
            "echo x > /etc/zz",
            "echo x > READ/new",
            ": > READ/file",
            "cat OUTSIDE/file",
            "ls OUTSIDE",
            "cat /etc/shadow",
            "ls /root",
            "ls /home",
            "ls /run",
            "ls /proc",
            "echo x > BASE/new",
            "mv READ/file WORK/",
            "echo 1 > /proc/sys/kernel/printk",
            &format!("kill -0 {own}"),
            &format!("kill -9 {own}"),
            &format!("cat /proc/{own}/environ"),
            &format!("cat /proc/{own}/cmdline"),
            &format!("head -c 1 /proc/{own}/mem"),
            &format!("prlimit --pid {own} --nofile=1000:1000"),
            "cat /proc/$PPID/environ",
            "kill -9 $PPID",
            "ipcmk -S 1",
            "unshare -Ur true",
        ] {
            fixture.run(command).refused();
        }
        fixture
            .run("mkdir -p a/b; echo x > a/b/c; mv a/b/c d; ln d e; cat d READ/file; echo > /dev/null; cat <(echo sub)")
            .says("x\nread\nsub\n");
        assert_eq!(fixture.run("kill -9 $$").exit(), Exit::Signalled(9));
        fixture.timeout = Duration::from_secs(1);
        assert_eq!(
            fixture.run("setsid -f bash -c 'SLEEP'; (SLEEP)").end().cause,
            Cause::TimedOut
        );
        // What only mounts can close is refused.
        let mut fixture = Fixture::new();
        fixture.cover("work/file", true);
        let refused = fixture.probe().expect_err("a refusal");
        assert_eq!((refused.stage, refused.errno), (Some(Stage::Namespace), libc::EPERM));
        let mut fixture = Fixture::new();
        std::fs::create_dir(fixture.path("work/lib")).expect("a directory");
        fixture.place("work/lib", false);
        assert_eq!(fixture.probe().expect_err("a refusal").stage, Some(Stage::Namespace));
        // A file as a place: what is left of a root when its closed names are taken out.
        let mut fixture = Fixture::new();
        fixture.place("outside/file", false);
        fixture.run("cat OUTSIDE/file").says("outside\n");
        fixture.run("echo x > OUTSIDE/file").refused();
        // Names alone: of a directory of which some entries are granted and others are not.
        let mut fixture = Fixture::new();
        fixture.place("outside", false);
        fixture.confinement.places.last_mut().expect("a place").names = true;
        fixture.run("cd OUTSIDE; echo *").says("file\n");
        fixture.run("cat OUTSIDE/file").refused();
        fixture.run("echo x > OUTSIDE/new").refused();
    });
    // What a probe found with namespaces is not given up when they are gone.
    let fixture = Fixture::new();
    let enforcement = fixture.probe().expect("something that enforces");
    if enforcement.mechanisms.contains(&"mount_namespace".to_owned()) {
        without_namespaces(move || {
            let mut fixture = Fixture::new();
            fixture.required = enforcement.mechanisms;
            let ending = fixture.run("true").ran.ending;
            assert_eq!(ending, Ending::NotStarted(Stage::Namespace, libc::EPERM));
        });
    }
}

/// A process's own priority, processors and limits are its own matter; those of the user's other processes
/// are not.
#[test]
fn without_namespaces_a_command_schedules_only_itself() {
    without_namespaces(|| {
        let fixture = Fixture::new();
        if let Err(refused) = fixture.probe() {
            assert_eq!(refused.stage, Some(Stage::Landlock), "{refused:?}");
            return skip("landlock", refused);
        }
        let own = std::process::id();
        for command in [
            format!("renice -n 5 -p {own}"),
            format!("taskset -p 1 {own}"),
            format!("chrt -o -p 0 {own}"),
            format!("ionice -c 3 -p {own}"),
            format!("prlimit --pid {own} --nofile=1000:1000"),
            "renice -n 5 -u $UID".to_owned(),
        ] {
            fixture.run(&command).refused();
        }
        fixture.run("nice -n 5 nice").says("5\n");
        fixture
            .run("mask=$(taskset -p $$) && taskset ${mask##* } true")
            .says("");
        fixture.run("chrt -b 0 true").says("");
        fixture.run("ionice -c 3 true").says("");
        fixture
            .run("ulimit -n 99; prlimit --nofile=88 bash -c 'ulimit -n'")
            .says("88\n");
        if !python("scheduling calls") {
            return;
        }
        // Calls with the number of another process of the user's, of a group and of the user; none of them
        // changes anything, should it not be refused.
        let calls = [
            ("setaffinity", libc::SYS_sched_setaffinity, "OWN, 8, m"),
            ("setparam", libc::SYS_sched_setparam, "OWN, z"),
            ("setscheduler", libc::SYS_sched_setscheduler, "OWN, 0, z"),
            ("setattr", libc::SYS_sched_setattr, "OWN, a, 0"),
            ("setpriority", libc::SYS_setpriority, "0, OWN, 0"),
            ("setpriority of a group", libc::SYS_setpriority, "1, 0, 0"),
            ("setpriority of a user", libc::SYS_setpriority, "2, 0, 0"),
            ("ioprio_set", libc::SYS_ioprio_set, "1, OWN, 0"),
            ("ioprio_set of a group", libc::SYS_ioprio_set, "2, 0, 0"),
            ("ioprio_set of a user", libc::SYS_ioprio_set, "3, 0, 0"),
            ("prlimit", libc::SYS_prlimit64, "OWN, 7, 0, 0"),
        ];
        let own_calls = [
            ("own affinity", libc::SYS_sched_setaffinity, "0, 8, m"),
            ("own param", libc::SYS_sched_setparam, "0, z"),
            ("own scheduler", libc::SYS_sched_setscheduler, "0, 0, z"),
            ("own attr", libc::SYS_sched_setattr, "0, a, 0"),
            ("own priority", libc::SYS_setpriority, "0, 0, 0"),
            ("own ioprio", libc::SYS_ioprio_set, "1, 0, 0"),
            ("own limit", libc::SYS_prlimit64, "0, 7, 0, 0"),
        ];
        let mut script = "import ctypes, struct\nc = ctypes.CDLL(None, use_errno=True)\n\
                          def t(name, *a):\n  ctypes.set_errno(0); r = c.syscall(*[ctypes.c_long(x) if isinstance(x, int) else x for x in a])\n  \
                          print(name, r, ctypes.get_errno())\n\
                          m = b'\\xff' * 8\nz = b'\\0' * 8\na = struct.pack('=IIQiIQQQ', 48, 0, 0, 0, 0, 0, 0, 0)\n"
            .to_owned();
        let mut expected = String::new();
        for (name, number, arguments) in calls {
            let arguments = arguments.replace("OWN", &own.to_string());
            writeln!(script, "t('{name}', {number}, {arguments})").expect("a line");
            writeln!(expected, "{name} -1 {}", libc::EPERM).expect("a line");
        }
        for (name, number, arguments) in own_calls {
            writeln!(script, "t('{name}', {number}, {arguments})").expect("a line");
            writeln!(expected, "{name} 0 0").expect("a line");
        }
        fixture.python(&script).says(&expected);
    });
}

#[test]
fn without_landlock_namespaces_enforce() {
    if !namespaces("without Landlock") {
        return;
    }
    without_landlock(|| {
        let mut fixture = Fixture::new();
        std::fs::write(fixture.path("work/.env"), "SECRET\n").expect("a file");
        fixture.cover("work/.env", false);
        let enforcement = fixture.probe().expect("something that enforces");
        println!("MEASURED without Landlock: {enforcement:?}");
        assert!(!enforcement.mechanisms.iter().any(|word| word.starts_with("landlock")));
        assert_eq!(enforcement.gaps, Vec::<String>::new());
        let own = std::process::id();
        for command in [
            "echo x > /etc/zz",
            "echo x > READ/new",
            "cat OUTSIDE/file",
            "cat .env",
            "cat /etc/shadow",
            "cat /../etc/passwd /../etc/hostname",
            "ls /../root /../home",
            "kill -9 1; sleep 0.05; exit 1",
            "cat /proc/1/environ",
            "head -c 1 /proc/1/mem",
            "ls /proc/1/root/",
            "echo 1 > /proc/sys/kernel/printk",
            &format!("kill -0 {own}"),
        ] {
            fixture.run(command).refused();
        }
        fixture
            .run("kill -9 $PPID 2>/dev/null; sleep 0.05; echo alive")
            .says("alive\n");
        fixture.confinement.network = true;
        if python("sockets") {
            let script =
                "import socket\ntry: socket.socket(1); print('had')\nexcept OSError: print('no')\nsocket.socket(2)\n";
            fixture.python(script).says("no\n");
        }
    });
}

#[test]
fn with_neither_it_is_refused() {
    without_namespaces(|| {
        deny(&[(libc::SYS_landlock_create_ruleset, None)], libc::ENOSYS);
        let fixture = Fixture::new();
        let refused = fixture.probe().expect_err("a refusal");
        assert_eq!((refused.stage, refused.errno), (Some(Stage::Landlock), libc::ENOSYS));
        println!("MEASURED with neither: {refused}");
        let answer = fixture.run("echo x > WORK/started");
        assert_eq!(answer.ran.ending, Ending::NotStarted(Stage::Landlock, libc::ENOSYS));
        assert!(!fixture.path("work/started").exists());
    });
}

#[test]
fn root_without_user_namespaces_has_the_others() {
    if !needs_root("an ordinary user has no namespaces without a user namespace") {
        return;
    }
    on_a_thread(|| {
        deny(&[(libc::SYS_clone, Some(libc::CLONE_NEWUSER))], libc::EPERM);
        let mut fixture = Fixture::new();
        std::fs::write(fixture.path("work/.env"), "SECRET\n").expect("a file");
        fixture.cover("work/.env", false);
        let enforcement = match fixture.probe() {
            Ok(enforcement) => enforcement,
            Err(refused) => return skip("mount_namespace", refused),
        };
        println!("MEASURED without user namespaces: {enforcement:?}");
        assert!(!enforcement.mechanisms.contains(&"user_namespace".to_owned()));
        assert!(enforcement.mechanisms.contains(&"mount_namespace".to_owned()));
        for command in [
            "echo x > /etc/zz",
            "cat .env",
            "cat OUTSIDE/file",
            "cat /etc/shadow",
            "cat /proc/1/environ",
            "echo 1 > /proc/sys/kernel/printk",
            "mount -t tmpfs none WORK",
            "chown 1:1 file",
            "mknod WORK/device c 1 3",
        ] {
            fixture.run(command).refused();
        }
        fixture.run("echo x > y; cat y").says("x\n");
    });
}

#[test]
fn many_at_once_and_none_left_behind() {
    let fixtures: Vec<_> = (0..12).map(|_| Fixture::new()).collect();
    let threads: Vec<_> = fixtures
        .into_iter()
        .enumerate()
        .map(|(number, fixture)| {
            std::thread::spawn(move || {
                let answer = fixture.run(&format!("sleep 0.1; exit {number}"));
                assert_eq!(answer.exit(), Exit::Exited(i32::try_from(number).expect("a number")));
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a command");
    }
}

/// A figure, not a bound: machines differ.
#[test]
fn what_it_costs() {
    let fixture = Fixture::new();
    let median = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let confined = median((0..60).map(|_| fixture.run("true").ran.duration).collect());
    let probed = median(
        (0..20)
            .map(|_| {
                let begun = Instant::now();
                fixture.probe().expect("something that enforces");
                begun.elapsed()
            })
            .collect(),
    );
    println!("MEASURED bash -c true: confined {confined:?}; a probe {probed:?}");
}
