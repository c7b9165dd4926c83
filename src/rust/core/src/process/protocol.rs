//! What R's side and the supervisor say to each other, over one socket pair.
//!
//! A frame is the length of its body (four bytes, little endian) and the body: one byte for the kind,
//! then the fields. Numbers are little endian; a list is its count and its items; bytes are their
//! length and themselves. Both sides check everything: a length beyond [`LONGEST`], a body that ends
//! early or late, and an unknown kind are [`Malformed`], and who gets such a frame hangs up.
//!
//! R's side sends one [`Order::Start`], with three descriptors beside its first byte (standard input,
//! output, working directory) and its own process number, and may send [`Order::Cancel`] any number of times. The supervisor
//! answers [`Event`]s and ends with [`Event::Ended`] or [`Event::Failed`]. A confined command has one
//! [`Event::Confined`] before [`Event::Started`]. Or R's side sends one [`Order::Probe`], without
//! descriptors: it is answered by [`Event::Confined`] or [`Event::Failed`], and nothing else. The end
//! of the stream is a message too: to the supervisor that R is gone, to R that the supervisor is.

use std::time::Duration;

use secrecy::zeroize::Zeroizing;

use super::confinement::{read_words, words, Confinement, Enforcement};
use super::mark::Mark;

/// The version of the protocol. The supervisor refuses an order of another one.
pub const VERSION: u16 = 5;

/// Longest body, in bytes. A command and its environment together can be no longer.
pub const LONGEST: usize = 8 << 20;

/// Most items of one list.
const MOST_ITEMS: u32 = 65_536;

/// How many descriptors come with [`Order::Start`].
pub const DESCRIPTORS: usize = 3;

/// A frame that no honest peer sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("malformed frame: {0}")]
pub struct Malformed(pub(super) &'static str);

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The program and its arguments; the first one is the path that is executed.
    pub arguments: Vec<Vec<u8>>,
    /// The whole environment.
    pub environment: Vec<Variable>,
    /// How long the command may run.
    pub timeout: Option<Duration>,
    /// How long processes have between being asked to end and being killed.
    pub grace: Duration,
    /// What the kernel is to enforce. None for an unrestricted command.
    pub confinement: Option<Confinement>,
    /// The mechanisms that must do so: those that a probe found. With less, nothing is started.
    pub required: Vec<String>,
}

/// A variable of a command's environment, `NAME=value`: wiped when it is dropped, because it may hold a secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Variable(Zeroizing<Vec<u8>>);

impl Variable {
    /// Of this name and value.
    #[must_use]
    pub fn new(name: &str, value: &[u8]) -> Self {
        Self(Zeroizing::new([name.as_bytes(), b"=", value].concat()))
    }

    /// Name and value.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Variable {
    fn from(text: Vec<u8>) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl std::fmt::Debug for Variable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Variable")
    }
}

/// What R's side says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// Run this, with this mark on what comes of it, for as long as the process of this number lives. That
    /// is the one that made the supervisor, which must find it as its parent.
    Start(Start, Mark, u32),
    /// End it.
    Cancel,
    /// Build this confinement, execute nothing in it, and tell what it is made of.
    Probe(Confinement),
}

/// Where a command could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The order was not understood, or came without its descriptors.
    Order,
    /// Making the process.
    Fork,
    /// Entering the working directory.
    WorkingDirectory,
    /// Setting up descriptors, session and signals.
    Setup,
    /// Executing the shell.
    Execute,
    /// Making namespaces.
    Namespace,
    /// Building what the command sees of the file system.
    Mount,
    /// Landlock.
    Landlock,
    /// Refusing system calls.
    Seccomp,
    /// Giving up privileges.
    Privileges,
    /// Setting bounds.
    Bounds,
    /// The mechanisms are fewer than those required.
    Required,
}

impl Stage {
    const ALL: [Self; 12] = [
        Self::Order,
        Self::Fork,
        Self::WorkingDirectory,
        Self::Setup,
        Self::Execute,
        Self::Namespace,
        Self::Mount,
        Self::Landlock,
        Self::Seccomp,
        Self::Privileges,
        Self::Bounds,
        Self::Required,
    ];

    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Fork => "fork",
            Self::WorkingDirectory => "cwd",
            Self::Setup => "setup",
            Self::Execute => "exec",
            Self::Namespace => "namespace",
            Self::Mount => "mount",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Privileges => "privileges",
            Self::Bounds => "bounds",
            Self::Required => "required",
        }
    }

    /// The stage of a number on the wire.
    #[must_use]
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
}

/// Why the supervisor ended the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The command had ended; what it left behind was ended too.
    Natural,
    /// The time was over.
    TimedOut,
    /// R's side asked for it.
    Cancelled,
    /// R's side was gone.
    Orphaned,
}

impl Cause {
    const ALL: [Self; 4] = [Self::Natural, Self::TimedOut, Self::Cancelled, Self::Orphaned];
}

/// How the processes of a tree were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// By walking from parents to children, below a process that gets all orphans.
    Descent,
    /// By the members of a control group, too.
    Group,
    /// By a process namespace, all of which the kernel kills with its first process.
    Namespace,
    /// By walking from parents to children where the system gives orphans to nobody: who lost its parent is
    /// not found.
    Children,
}

impl Method {
    const ALL: [Self; 4] = [Self::Descent, Self::Group, Self::Namespace, Self::Children];

    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Descent => "descent",
            Self::Group => "cgroup",
            Self::Namespace => "pid_namespace",
            Self::Children => "children",
        }
    }
}

/// What became of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Why it was ended.
    pub cause: Cause,
    /// How its processes were found.
    pub method: Method,
    /// How the leader ended; none when it could not be ended.
    pub leader: Option<Exit>,
    /// How many processes were found beside the leader when the tree was to end.
    pub found: u32,
    /// How many processes were killed, the leader included.
    pub killed: u32,
    /// The processes that could not be ended.
    pub survivors: Vec<u32>,
    /// Which of the confinement's covers were no longer over what stands there: somebody else had removed that
    /// or put another in its place, and to the command it was open from then on.
    pub opened: Vec<u32>,
    /// From the start of the command to its own end.
    pub ran: Duration,
    /// From there until nothing was left.
    pub ending: Duration,
}

/// What the supervisor says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The command runs; its process id.
    Started(u32),
    /// It could not be started: where, and the error number.
    Failed(Stage, i32),
    /// A signal went to so many processes, so long after the start.
    Sent(i32, u32, Duration),
    /// The leader ended; its output may still be read.
    Left(Exit),
    /// Nothing is left, or nothing more can be done.
    Ended(End),
    /// What is enforced on the command, before it is executed.
    Confined(Enforcement),
}

/// A message that has a form on the wire.
pub trait Message: Sized {
    /// The body.
    fn write(&self, body: &mut Writer);

    /// From a body.
    ///
    /// # Errors
    /// [`Malformed`].
    fn read(body: &mut Reader<'_>) -> Result<Self, Malformed>;
}

/// The frame of a message.
///
/// # Errors
/// [`Malformed`] when the message is too long to be sent.
pub fn frame(message: &impl Message) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    framed(|body| message.write(body))
}

/// The frame of [`Order::Start`], of an order that the sender keeps: it may be long.
///
/// # Errors
/// As [`frame`].
pub fn frame_start(start: &Start, mark: Mark, host: u32) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    framed(|body| write_start(start, mark, host, body))
}

/// The frame of [`Order::Probe`].
///
/// # Errors
/// As [`frame`].
pub fn frame_probe(confinement: &Confinement) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    framed(|body| write_probe(confinement, body))
}

fn framed(write: impl FnOnce(&mut Writer)) -> Result<Zeroizing<Vec<u8>>, Malformed> {
    // The length is known, and written in its place, when the body is.
    let mut body = Writer(Zeroizing::new(vec![0; 4]));
    write(&mut body);
    let length = body.0.len() - 4;
    if length > LONGEST {
        return Err(Malformed("it is too long"));
    }
    let length = u32::try_from(length).map_err(|_| Malformed("it is too long"))?;
    body.0[..4].copy_from_slice(&length.to_le_bytes());
    Ok(body.0)
}

/// Puts frames together from what arrives in pieces.
#[derive(Debug, Default)]
pub struct Frames(Vec<u8>);

impl Frames {
    /// Takes what arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// The next message, once it is whole.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn take<M: Message>(&mut self) -> Result<Option<M>, Malformed> {
        let Some(head) = self.0.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head) as usize;
        if length > LONGEST {
            return Err(Malformed("it is too long"));
        }
        let Some(body) = self.0.get(4..4 + length) else {
            return Ok(None);
        };
        let mut reader = Reader(body);
        let message = M::read(&mut reader)?;
        if !reader.0.is_empty() {
            return Err(Malformed("it goes on after its end"));
        }
        self.0.drain(..4 + length);
        Ok(Some(message))
    }
}

/// Writes fields.
#[derive(Debug)]
pub struct Writer(Zeroizing<Vec<u8>>);

impl Writer {
    /// Grows by itself: a vector would leave its old bytes behind.
    fn put(&mut self, bytes: &[u8]) {
        let length = self.0.len() + bytes.len();
        if length > self.0.capacity() {
            let mut larger = Zeroizing::new(Vec::with_capacity(length.max(2 * self.0.capacity())));
            larger.extend_from_slice(&self.0);
            self.0 = larger;
        }
        self.0.extend_from_slice(bytes);
    }

    pub(super) fn byte(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn short(&mut self, value: u16) {
        self.put(&value.to_le_bytes());
    }

    fn number(&mut self, value: u32) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn long(&mut self, value: u64) {
        self.put(&value.to_le_bytes());
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.byte(u8::from(value));
    }

    pub(super) fn optional(&mut self, value: Option<u64>) {
        self.flag(value.is_some());
        if let Some(value) = value {
            self.long(value);
        }
    }

    fn signed(&mut self, value: i32) {
        self.put(&value.to_le_bytes());
    }

    /// A time in microseconds; the longest one stands for all that are longer.
    fn time(&mut self, value: Duration) {
        self.long(u64::try_from(value.as_micros()).unwrap_or(u64::MAX));
    }

    pub(super) fn count(&mut self, count: usize) {
        // A longer list makes the frame too long, so that the number is never read.
        self.number(u32::try_from(count).unwrap_or(u32::MAX));
    }

    pub(super) fn bytes(&mut self, value: &[u8]) {
        self.count(value.len());
        self.put(value);
    }

    fn list<'a>(&mut self, items: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.count(items.len());
        items.for_each(|item| self.bytes(item));
    }
}

/// Reads fields.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(Malformed("it ends before its end"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.take(N)?
            .try_into()
            .map_err(|_| Malformed("it ends before its end"))
    }

    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }

    fn short(&mut self) -> Result<u16, Malformed> {
        self.array().map(u16::from_le_bytes)
    }

    fn number(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn long(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a flag is neither true nor false")),
        }
    }

    pub(super) fn optional(&mut self) -> Result<Option<u64>, Malformed> {
        self.flag()?.then(|| self.long()).transpose()
    }

    fn signed(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_le_bytes)
    }

    fn time(&mut self) -> Result<Duration, Malformed> {
        self.long().map(Duration::from_micros)
    }

    pub(super) fn count(&mut self) -> Result<u32, Malformed> {
        let count = self.number()?;
        if count > MOST_ITEMS {
            return Err(Malformed("it has too many items"));
        }
        Ok(count)
    }

    /// Bytes that go into a C string.
    pub(super) fn text(&mut self) -> Result<Vec<u8>, Malformed> {
        let length = self.number()? as usize;
        let text = self.take(length)?;
        if text.contains(&0) {
            return Err(Malformed("a text holds a NUL byte"));
        }
        Ok(text.to_vec())
    }

    fn list(&mut self) -> Result<Vec<Vec<u8>>, Malformed> {
        // Not with the capacity that the peer claims.
        (0..self.count()?).map(|_| self.text()).collect()
    }
}

fn write_start(start: &Start, mark: Mark, host: u32, body: &mut Writer) {
    body.byte(1);
    body.short(VERSION);
    body.list(start.arguments.iter().map(Vec::as_slice));
    body.list(start.environment.iter().map(Variable::as_bytes));
    // No limit is a time of nothing.
    body.time(start.timeout.unwrap_or_default());
    body.time(start.grace);
    body.flag(start.confinement.is_some());
    if let Some(confinement) = &start.confinement {
        confinement.write(body);
    }
    words(&start.required, body);
    body.long(mark.number());
    body.number(host);
}

fn write_probe(confinement: &Confinement, body: &mut Writer) {
    body.byte(3);
    body.short(VERSION);
    confinement.write(body);
}

impl Message for Order {
    fn write(&self, body: &mut Writer) {
        match self {
            Self::Start(start, mark, host) => write_start(start, *mark, *host, body),
            Self::Cancel => body.byte(2),
            Self::Probe(confinement) => write_probe(confinement, body),
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Self, Malformed> {
        match body.byte()? {
            1 => {
                if body.short()? != VERSION {
                    return Err(Malformed("it is of another version"));
                }
                let arguments = body.list()?;
                if arguments.is_empty() {
                    return Err(Malformed("it names no program"));
                }
                let start = Start {
                    arguments,
                    environment: body.list()?.into_iter().map(Variable::from).collect(),
                    timeout: Some(body.time()?).filter(|timeout| !timeout.is_zero()),
                    grace: body.time()?,
                    confinement: body.flag()?.then(|| Confinement::read(body)).transpose()?,
                    required: read_words(body)?,
                };
                Ok(Self::Start(start, Mark::from_number(body.long()?), body.number()?))
            }
            2 => Ok(Self::Cancel),
            3 => {
                if body.short()? != VERSION {
                    return Err(Malformed("it is of another version"));
                }
                Ok(Self::Probe(Confinement::read(body)?))
            }
            _ => Err(Malformed("its kind is unknown")),
        }
    }
}

impl Exit {
    fn write(self, body: &mut Writer) {
        let (kind, value) = match self {
            Self::Exited(status) => (0, status),
            Self::Signalled(signal) => (1, signal),
        };
        body.byte(kind);
        body.signed(value);
    }

    fn read(body: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = body.byte()?;
        let value = body.signed()?;
        match kind {
            0 => Ok(Self::Exited(value)),
            1 => Ok(Self::Signalled(value)),
            _ => Err(Malformed("a process ended in an unknown way")),
        }
    }
}

impl Message for Event {
    fn write(&self, body: &mut Writer) {
        match self {
            Self::Started(process) => {
                body.byte(1);
                body.number(*process);
            }
            Self::Failed(stage, errno) => {
                body.byte(2);
                body.byte(*stage as u8);
                body.signed(*errno);
            }
            Self::Sent(signal, processes, at) => {
                body.byte(3);
                body.signed(*signal);
                body.number(*processes);
                body.time(*at);
            }
            Self::Left(exit) => {
                body.byte(4);
                exit.write(body);
            }
            Self::Ended(end) => {
                body.byte(5);
                body.byte(end.cause as u8);
                body.byte(end.method as u8);
                match end.leader {
                    None => body.byte(0),
                    Some(exit) => {
                        body.byte(1);
                        exit.write(body);
                    }
                }
                body.number(end.found);
                body.number(end.killed);
                for list in [&end.survivors, &end.opened] {
                    body.count(list.len());
                    for number in list {
                        body.number(*number);
                    }
                }
                body.time(end.ran);
                body.time(end.ending);
            }
            Self::Confined(enforcement) => {
                body.byte(6);
                enforcement.write(body);
            }
        }
    }

    fn read(body: &mut Reader<'_>) -> Result<Self, Malformed> {
        match body.byte()? {
            1 => Ok(Self::Started(body.number()?)),
            2 => {
                let stage = Stage::of(body.byte()?).ok_or(Malformed("its stage is unknown"))?;
                Ok(Self::Failed(stage, body.signed()?))
            }
            3 => Ok(Self::Sent(body.signed()?, body.number()?, body.time()?)),
            4 => Ok(Self::Left(Exit::read(body)?)),
            5 => {
                let cause = Cause::ALL.get(usize::from(body.byte()?)).copied();
                let method = Method::ALL.get(usize::from(body.byte()?)).copied();
                let leader = match body.byte()? {
                    0 => None,
                    1 => Some(Exit::read(body)?),
                    _ => return Err(Malformed("a process ended in an unknown way")),
                };
                Ok(Self::Ended(End {
                    cause: cause.ok_or(Malformed("its cause is unknown"))?,
                    method: method.ok_or(Malformed("its method is unknown"))?,
                    leader,
                    found: body.number()?,
                    killed: body.number()?,
                    survivors: numbers(body)?,
                    opened: numbers(body)?,
                    ran: body.time()?,
                    ending: body.time()?,
                }))
            }
            6 => Ok(Self::Confined(Enforcement::read(body)?)),
            _ => Err(Malformed("its kind is unknown")),
        }
    }
}

fn numbers(body: &mut Reader<'_>) -> Result<Vec<u32>, Malformed> {
    (0..body.count()?).map(|_| body.number()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::confinement::{Bounds, Closes, Cover, Place, Standing};
    use super::*;

    fn confinement() -> Confinement {
        let place = Place {
            path: b"/home/\xff".to_vec(),
            device: u64::MAX,
            inode: 2,
            write: true,
            mounts: false,
            names: false,
        };
        Confinement {
            places: vec![
                place.clone(),
                Place {
                    path: b"/".to_vec(),
                    write: false,
                    mounts: true,
                    names: true,
                    ..place
                },
            ],
            covers: vec![Cover {
                path: b"/home/\xff/.env".to_vec(),
                closes: Closes::All,
                kind: Standing::Directory,
            }],
            links: vec![(b"/data".to_vec(), b"home".to_vec())],
            network: true,
            bounds: Bounds {
                processes: Some(7),
                cpu: Some(u64::MAX),
                ..Bounds::default()
            },
        }
    }

    fn start() -> Start {
        Start {
            arguments: vec![b"/bin/bash".to_vec(), b"-c".to_vec(), b"echo \xff".to_vec()],
            environment: vec![Variable::new("A", b"1"), Variable::new("B", b"")],
            timeout: Some(Duration::from_millis(1500)),
            grace: Duration::ZERO,
            confinement: None,
            required: Vec::new(),
        }
    }

    fn orders() -> Vec<Order> {
        vec![
            Order::Start(start(), Mark::from_number(u64::MAX), u32::MAX),
            Order::Start(
                Start {
                    timeout: None,
                    environment: Vec::new(),
                    ..start()
                },
                Mark::from_number(0),
                0,
            ),
            Order::Start(
                Start {
                    confinement: Some(confinement()),
                    required: vec!["landlock:7".to_owned(), "seccomp".to_owned()],
                    ..start()
                },
                Mark::from_number(3),
                4,
            ),
            Order::Cancel,
            Order::Probe(confinement()),
            Order::Probe(Confinement::default()),
        ]
    }

    fn events() -> Vec<Event> {
        let end = End {
            cause: Cause::TimedOut,
            method: Method::Group,
            leader: Some(Exit::Signalled(9)),
            found: 3,
            killed: 4,
            survivors: vec![17, u32::MAX],
            opened: vec![0, 3],
            ran: Duration::from_secs(1),
            ending: Duration::from_micros(9),
        };
        vec![
            Event::Started(1),
            Event::Failed(Stage::Execute, 2),
            Event::Sent(15, 2, Duration::from_secs(2)),
            Event::Left(Exit::Exited(255)),
            Event::Ended(End {
                method: Method::Descent,
                leader: None,
                ..end.clone()
            }),
            Event::Ended(end),
            Event::Failed(Stage::Required, 1),
            Event::Confined(Enforcement {
                mechanisms: vec!["landlock:7".to_owned()],
                gaps: vec!["metadata".to_owned()],
            }),
            Event::Confined(Enforcement::default()),
        ]
    }

    fn whole<M: Message + PartialEq + std::fmt::Debug>(messages: &[M], step: usize) {
        let bytes: Vec<u8> = messages
            .iter()
            .flat_map(|message| frame(message).unwrap().to_vec())
            .collect();
        let mut frames = Frames::default();
        let mut found = Vec::new();
        for piece in bytes.chunks(step) {
            frames.push(piece);
            while let Some(message) = frames.take::<M>().unwrap() {
                found.push(message);
            }
        }
        assert_eq!(found, messages);
    }

    #[test]
    fn messages_come_through_whole_however_they_are_cut() {
        for step in [1, 2, 3, 7, 64, 4096] {
            whole(&orders(), step);
            whole(&events(), step);
        }
    }

    #[test]
    fn an_order_that_is_kept_has_the_same_frame() {
        for order in orders() {
            let kept = match &order {
                Order::Start(start, mark, host) => frame_start(start, *mark, *host),
                Order::Probe(confinement) => frame_probe(confinement),
                Order::Cancel => continue,
            };
            assert_eq!(kept, frame(&order));
        }
    }

    #[test]
    fn every_shorter_or_longer_body_is_refused() {
        fn check<M: Message + std::fmt::Debug>(messages: &[M]) {
            for message in messages {
                let whole = frame(message).unwrap();
                for cut in 0..whole.len() - 4 {
                    let mut frames = Frames::default();
                    frames.push(&u32::try_from(cut).unwrap().to_le_bytes());
                    frames.push(&whole[4..4 + cut]);
                    assert!(frames.take::<M>().is_err(), "{message:?} cut to {cut}");
                }
                let mut frames = Frames::default();
                frames.push(&u32::try_from(whole.len() - 3).unwrap().to_le_bytes());
                frames.push(&whole[4..]);
                frames.push(&[0]);
                assert!(frames.take::<M>().is_err(), "{message:?} with one byte more");
            }
        }
        check(&orders());
        check(&events());
    }

    #[test]
    fn lengths_are_bounded_before_memory_is_taken() {
        let mut frames = Frames::default();
        frames.push(&u32::MAX.to_le_bytes());
        assert!(frames.take::<Order>().is_err());
        // A list of four thousand million items in a short body.
        let mut body = vec![1];
        body.extend_from_slice(&VERSION.to_le_bytes());
        body.extend_from_slice(&u32::MAX.to_le_bytes());
        let mut frames = Frames::default();
        frames.push(&u32::try_from(body.len()).unwrap().to_le_bytes());
        frames.push(&body);
        assert!(frames.take::<Order>().is_err());
        let long = Start {
            arguments: vec![vec![b'x'; LONGEST]],
            ..start()
        };
        let long = Order::Start(long, Mark::from_number(1), 2);
        assert!(frame(&long).is_err());
    }

    #[test]
    fn nul_bytes_other_versions_and_unknown_kinds_are_refused() {
        let refuse = |body: &[u8]| {
            let mut frames = Frames::default();
            frames.push(&u32::try_from(body.len()).unwrap().to_le_bytes());
            frames.push(body);
            assert!(frames.take::<Order>().is_err(), "{body:?}");
        };
        refuse(&[]);
        refuse(&[0]);
        refuse(&[3]);
        refuse(&[4]);
        let whole = frame(&Order::Start(start(), Mark::from_number(1), 2)).unwrap();
        let mut other = whole[4..].to_vec();
        other[1] = 99;
        refuse(&other);
        let mut nul = whole[4..].to_vec();
        let at = nul.iter().position(|byte| *byte == b'b').unwrap();
        nul[at] = 0;
        refuse(&nul);
    }

    #[test]
    fn paths_that_are_not_plain_and_words_that_are_none_are_refused() {
        fn refused(order: &Order) {
            let mut frames = Frames::default();
            frames.push(&frame(order).unwrap());
            assert!(frames.take::<Order>().is_err(), "{order:?}");
        }
        for path in ["", "home", "/home/", "//home", "/home/../etc", "/.", "/a//b"] {
            let path = path.as_bytes().to_vec();
            let mut asked = confinement();
            asked.places[0].path.clone_from(&path);
            refused(&Order::Probe(asked));
            let mut asked = confinement();
            asked.covers[0].path.clone_from(&path);
            refused(&Order::Probe(asked));
            let mut asked = confinement();
            asked.links[0].0 = path;
            refused(&Order::Probe(asked));
        }
        for word in ["", "Landlock", "a b", "\u{e9}", &"x".repeat(65)] {
            let order = Start {
                required: vec![word.to_owned()],
                ..start()
            };
            refused(&Order::Start(order, Mark::from_number(1), 2));
        }
        // A flag is one of two bytes, so that a message has one form.
        let mut body = frame(&Order::Probe(Confinement::default())).unwrap();
        let network = body.len() - 6;
        body[network] = 2;
        let mut frames = Frames::default();
        frames.push(&body);
        assert!(frames.take::<Order>().is_err());
    }
}
