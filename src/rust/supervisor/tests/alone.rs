//! The supervisor alone, over its socket: what it does with a peer that is not R's side of rhocap.

mod harness;

use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rhocap_core::process::mark::Mark;
use rhocap_core::process::protocol::{frame, Cause, Event, Exit, Frames, Order, Stage, Start, LONGEST};
use rustix::net::{sendmsg, SendAncillaryBuffer, SendAncillaryMessage, SendFlags};

/// Far longer than anything here takes; far shorter than the commands would run.
const PATIENCE: Duration = Duration::from_secs(20);

struct Alone {
    child: Child,
    socket: UnixStream,
    frames: Frames,
}

impl Alone {
    fn start() -> Self {
        Self::start_as(&mut Command::new(env!("CARGO_BIN_EXE_rhocap-supervisor")))
    }

    fn start_as(command: &mut Command) -> Self {
        let (ours, theirs) = UnixStream::pair().expect("a socket pair");
        ours.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        ours.set_write_timeout(Some(PATIENCE)).expect("a timeout");
        let child = command
            .env_clear()
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the supervisor");
        Self {
            child,
            socket: ours,
            frames: Frames::default(),
        }
    }

    /// Sends bytes with descriptors beside the first. A peer that has hung up is no error here.
    fn send(&mut self, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
        let mut rest = bytes;
        if !descriptors.is_empty() {
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
            let mut beside = SendAncillaryBuffer::new(&mut space);
            beside.push(SendAncillaryMessage::ScmRights(descriptors));
            let sent = sendmsg(&self.socket, &[IoSlice::new(bytes)], &mut beside, SendFlags::NOSIGNAL);
            rest = &bytes[sent.unwrap_or(bytes.len())..];
        }
        let _ = self.socket.write_all(rest);
    }

    fn hang_up(&self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// All events until it hangs up, and its exit status.
    fn finish(&mut self) -> (Vec<Event>, Option<i32>) {
        let mut events = Vec::new();
        let mut bytes = [0; 4096];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => break,
                // It hung up on bytes that it had not read.
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
                Ok(read) => self.frames.push(&bytes[..read]),
                Err(error) => panic!("the supervisor does not end: {error}"),
            }
            while let Some(event) = self.frames.take().expect("an event") {
                events.push(event);
            }
        }
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("its status") {
                return (events, status.code());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("the supervisor does not end");
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An order that leaves a file when it is obeyed.
struct Trap {
    file: PathBuf,
    order: Vec<u8>,
    directory: std::fs::File,
    null: std::fs::File,
}

impl Trap {
    fn new(name: &str) -> Self {
        let file = std::env::temp_dir().join(format!("rhocap-alone-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        let mut trap = Self {
            file,
            order: Vec::new(),
            directory: std::fs::File::open("/").expect("a directory"),
            null: std::fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .expect("the null device"),
        };
        trap.order = trap.order_of(std::process::id());
        trap
    }

    fn start(&self) -> Start {
        let file = self.file.as_os_str().as_encoded_bytes().to_vec();
        Start {
            arguments: vec![b"/bin/touch".to_vec(), file],
            environment: Vec::new(),
            timeout: Some(PATIENCE),
            grace: Duration::ZERO,
            confinement: None,
            required: Vec::new(),
        }
    }

    fn order_of(&self, host: u32) -> Vec<u8> {
        frame(&Order::Start(self.start(), Mark::new(), host))
            .expect("a frame")
            .to_vec()
    }

    fn descriptors(&self) -> [BorrowedFd<'_>; 3] {
        [self.null.as_fd(), self.null.as_fd(), self.directory.as_fd()]
    }

    fn sprang(&self) -> bool {
        std::fs::remove_file(&self.file).is_ok()
    }
}

fn framed(body: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(body.len()).expect("a length").to_le_bytes().to_vec();
    bytes.extend_from_slice(body);
    bytes
}

#[test]
fn an_order_is_obeyed() {
    let trap = Trap::new("obeyed");
    let mut alone = Alone::start();
    alone.send(&trap.order, &trap.descriptors());
    let (events, status) = alone.finish();
    assert!(matches!(events[0], Event::Started(_)), "{events:?}");
    assert_eq!(events[1], Event::Left(Exit::Exited(0)));
    let Event::Ended(end) = &events[2] else {
        panic!("{events:?}")
    };
    assert_eq!((end.cause, end.leader), (Cause::Natural, Some(Exit::Exited(0))));
    assert_eq!((events.len(), status), (3, Some(0)));
    assert!(trap.sprang());
}

#[test]
fn an_order_that_comes_byte_by_byte_is_obeyed() {
    let trap = Trap::new("slow");
    let mut alone = Alone::start();
    alone.send(&trap.order[..1], &trap.descriptors());
    for byte in &trap.order[1..] {
        alone.send(&[*byte], &[]);
    }
    let (events, _) = alone.finish();
    assert!(matches!(events.last(), Some(Event::Ended(_))), "{events:?}");
    assert!(trap.sprang());
}

#[test]
fn what_is_no_order_starts_nothing() {
    let trap = Trap::new("malformed");
    let whole = &trap.order;
    let body = &whole[4..];
    let changed = |at: usize, byte: u8| {
        let mut body = body.to_vec();
        body[at] = byte;
        framed(&body)
    };
    let nul = body.iter().position(|byte| *byte == b'/').expect("a path");
    for (name, bytes) in [
        ("nothing", Vec::new()),
        ("half a length", whole[..2].to_vec()),
        ("half a frame", whole[..whole.len() / 2].to_vec()),
        ("all but a byte", whole[..whole.len() - 1].to_vec()),
        ("an empty body", framed(b"")),
        ("an unknown kind", framed(&[77])),
        ("another version", changed(1, 99)),
        ("a NUL byte in a text", changed(nul, 0)),
        ("a longer body", framed(&[body, b"x"].concat())),
        ("a shorter body", framed(&body[..body.len() - 1])),
        ("too long", u32::MAX.to_le_bytes().to_vec()),
        (
            "too long by one",
            u32::try_from(LONGEST + 1).expect("a length").to_le_bytes().to_vec(),
        ),
        (
            "a list that claims too much",
            framed(&[&[1, 1, 0][..], &u32::MAX.to_le_bytes()].concat()),
        ),
        ("a longest frame of nothing", framed(&vec![0; LONGEST])),
        ("no order", framed(&[2])),
        ("an event", frame(&Event::Started(1)).expect("a frame").to_vec()),
        ("cancelled before it starts", [&framed(&[2]), whole.as_slice()].concat()),
        ("noise", (0..=255_u8).cycle().take(100_000).collect()),
    ] {
        let mut alone = Alone::start();
        alone.send(&bytes, &trap.descriptors()[..if bytes.is_empty() { 0 } else { 3 }]);
        alone.hang_up();
        let (events, status) = alone.finish();
        assert_eq!((events, status), (Vec::new(), Some(0)), "{name}");
        assert!(!trap.sprang(), "{name}");
    }
}

#[test]
fn an_order_has_exactly_its_descriptors() {
    let trap = Trap::new("descriptors");
    let given = trap.descriptors();
    for count in [0, 1, 2, 4, 5, 30] {
        let descriptors: Vec<BorrowedFd<'_>> = given.iter().copied().cycle().take(count).collect();
        let mut alone = Alone::start();
        alone.send(&trap.order, &descriptors);
        let (events, status) = alone.finish();
        assert_eq!(events, [Event::Failed(Stage::Order, libc::EBADF)], "{count}");
        assert_eq!(status, Some(0), "{count}");
        assert!(!trap.sprang(), "{count}");
    }
    // In two parts they are as many as in one.
    let mut alone = Alone::start();
    alone.send(&trap.order[..5], &given[..2]);
    alone.send(&trap.order[5..], &given[2..]);
    assert!(matches!(alone.finish().0.last(), Some(Event::Ended(_))));
    assert!(trap.sprang());
}

#[test]
fn what_is_no_socket_is_refused() {
    for input in [Stdio::null(), Stdio::piped()] {
        let status = Command::new(env!("CARGO_BIN_EXE_rhocap-supervisor"))
            .stdin(input)
            .stderr(Stdio::null())
            .status()
            .expect("the supervisor");
        assert_eq!(status.code(), Some(64));
    }
    let version = Command::new(env!("CARGO_BIN_EXE_rhocap-supervisor"))
        .arg("--version")
        .output()
        .expect("the supervisor");
    assert!(version.stdout.starts_with(b"rhocap-supervisor "));
}

/// A supervisor made by a shell, which is not in the way of its socket.
fn made_by_shell(then: &str) -> Alone {
    let script = format!("exec 3<&0; \"$0\" <&3 3<&- & exec 3<&- </dev/null; {then}");
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_rhocap-supervisor")]);
    Alone::start_as(&mut shell)
}

/// A fork of R's holds the socket, and R is gone before the supervisor could look.
#[test]
fn an_order_of_a_host_that_is_gone_starts_nothing() {
    let trap = Trap::new("gone");
    let mut alone = made_by_shell("exit");
    alone.child.wait().expect("the shell");
    alone.send(&trap.order_of(alone.child.id()), &trap.descriptors());
    assert_eq!(alone.finish().0, [Event::Failed(Stage::Order, libc::ESRCH)]);
    assert!(!trap.sprang());

    // A process that lives, but is no parent; and numbers of none.
    for host in [1, 0, u32::MAX] {
        let mut alone = Alone::start();
        alone.send(&trap.order_of(host), &trap.descriptors());
        let (events, status) = alone.finish();
        assert_eq!(events, [Event::Failed(Stage::Order, libc::ESRCH)], "{host}");
        assert_eq!(status, Some(0), "{host}");
        assert!(!trap.sprang(), "{host}");
    }
}

/// The same, while its command runs.
#[test]
fn a_running_command_ends_with_its_host() {
    let trap = Trap::new("host");
    let mut alone = made_by_shell("exec sleep 3");
    let order = Start {
        arguments: ["/bin/sh", "-c", "setsid -f sleep 30; sleep 30"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec(),
        environment: vec![b"PATH=/usr/bin:/bin".to_vec().into()],
        ..trap.start()
    };
    let order = frame(&Order::Start(order, Mark::new(), alone.child.id())).expect("a frame");
    alone.send(&order, &trap.descriptors());
    let (events, _) = alone.finish();
    assert!(matches!(events[0], Event::Started(_)), "{events:?}");
    let Some(Event::Ended(end)) = events.last() else {
        panic!("{events:?}")
    };
    assert_eq!((end.cause, end.survivors.len()), (Cause::Orphaned, 0), "{end:?}");
}

/// A peer that hangs up, or talks nonsense, while a command runs: its tree is ended.
#[test]
fn a_running_command_ends_with_its_peer() {
    let trap = Trap::new("running");
    let start = Start {
        arguments: ["/bin/bash", "-c", "setsid -f sleep 30; sleep 30"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec(),
        environment: vec![b"PATH=/usr/bin:/bin".to_vec().into()],
        timeout: None,
        grace: Duration::from_secs(1),
        confinement: None,
        required: Vec::new(),
    };
    let order = frame(&Order::Start(start, Mark::new(), std::process::id())).expect("a frame");
    for nonsense in [&b""[..], &[0xff; 64], &[2, 0, 0, 0, 2]] {
        let mut alone = Alone::start();
        alone.send(&order, &trap.descriptors());
        alone.send(nonsense, &[]);
        alone.hang_up();
        let (events, status) = alone.finish();
        // What it says then, nobody need hear; that it ends is what counts.
        assert_eq!(status, Some(0));
        let started = events.iter().find_map(|event| match event {
            Event::Started(process) => Some(*process),
            _ => None,
        });
        if let Some(leader) = started {
            assert!(!Path::new(&format!("/proc/{leader}")).exists());
        }
    }
}

/// `CONFIG_PROC_CHILDREN` may be missing. It is hidden from one supervisor by a directory of nothing over
/// its own threads: there it looks first.
#[test]
fn trees_are_ended_where_the_kernel_does_not_tell_children() {
    let empty = std::env::temp_dir().join(format!("rhocap-alone-{}-empty", std::process::id()));
    std::fs::create_dir_all(&empty).expect("a directory");
    // exec keeps the number, and with it what is mounted there.
    let hide = format!(
        "mount --bind {} /proc/$$/task && ! test -e /proc/$$/task/$$/children || exit 77; exec \"$@\"",
        empty.display()
    );
    let hidden = |program: &[&str]| {
        let mut command = Command::new("/usr/bin/unshare");
        command.args(["-Urm", "/bin/sh", "-c", &hide, "sh"]).args(program);
        command
    };
    let possible = hidden(&["/bin/true"]).status().is_ok_and(|status| status.success());
    if !possible {
        return harness::skip("user_namespace", "no mount namespace in which it can be hidden");
    }
    let trap = Trap::new("told");
    let mark = format!("rhocap-alone-{}-told.", std::process::id());
    for (end, cause) in [("exit 3", Cause::Natural), ("sleep 30", Cause::TimedOut)] {
        let away = format!("exec -a {mark} sleep 30");
        let command = format!(
            "setsid -f env -i /bin/bash -c '{away}' </dev/null >/dev/null 2>&1; ( ( ( trap '' TERM; {away} ) & ) & ); \
             for i in 1 2 3; do setsid -f bash -c 'sleep 30; {away}'; done; {end}"
        );
        let start = Start {
            arguments: ["/bin/bash", "-c", &command]
                .map(|text| text.as_bytes().to_vec())
                .to_vec(),
            environment: vec![b"PATH=/usr/bin:/bin".to_vec().into()],
            timeout: Some(Duration::from_secs(2)),
            grace: Duration::from_millis(50),
            confinement: None,
            required: Vec::new(),
        };
        let order = frame(&Order::Start(start, Mark::new(), std::process::id())).expect("a frame");
        let mut alone = Alone::start_as(&mut hidden(&[env!("CARGO_BIN_EXE_rhocap-supervisor")]));
        alone.send(&order, &trap.descriptors());
        let (events, _) = alone.finish();
        let Some(Event::Ended(ended)) = events.last() else {
            panic!("{events:?}")
        };
        assert_eq!(ended.cause, cause);
        assert!(ended.survivors.is_empty() && ended.found >= 5, "{ended:?}");
        assert_eq!(harness::marked(&mark), Vec::<String>::new());
    }
    std::fs::remove_dir(&empty).expect("removed");
}
