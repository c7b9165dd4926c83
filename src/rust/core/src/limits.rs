//! Bounds on what one call may take.

use serde::Serialize;

use crate::misuse::Misuse;

/// Bounds on one call. Times are seconds, sizes bytes.
#[allow(clippy::struct_excessive_bools)] // Each is a switch of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Limits {
    /// Longest run of a command.
    pub timeout: f64,
    /// Time between the request to end and the kill.
    pub grace: f64,
    /// Most bytes of a command's output that are kept.
    pub output_bytes: u64,
    /// Largest file that is read.
    pub read_bytes: u64,
    /// Whether symbolic links are followed, inside the roots.
    pub symlinks: bool,
    /// Whether mounts inside a root are entered.
    pub mounts: bool,
    /// Whether files with several names may be written.
    pub hard_links: bool,
    /// Whether a write waits until file and directory are on stable storage.
    pub fsync: bool,
    /// Most entries of one listing.
    pub entries: u64,
    /// The shell of commands, an absolute path.
    pub shell: String,
    /// Most processes of a confined command at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Most bytes of address space of one process of a confined command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// Largest file that a confined command writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_size: Option<u64>,
    /// Most seconds of CPU time of one process of a confined command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u64>,
    /// Most open files of one process of a confined command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
}

/// Most bytes of a command's output.
const MOST_OUTPUT: u64 = (i32::MAX as u64) / 3;

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: 600.0,
            grace: 2.0,
            output_bytes: 1 << 20,
            read_bytes: 1 << 28,
            symlinks: true,
            mounts: false,
            hard_links: false,
            fsync: true,
            entries: 100_000,
            shell: "/bin/bash".to_owned(),
            processes: None,
            memory: None,
            file_size: None,
            cpu: None,
            open_files: None,
        }
    }
}

impl Limits {
    /// Checks what a type cannot say.
    ///
    /// # Errors
    /// `limit` for a time that is not finite and positive, a bound that nothing could run under, or a
    /// shell that is no absolute path.
    pub fn check(&self) -> Result<(), Misuse> {
        let time = |name: &'static str, seconds: f64, least: f64| {
            if seconds.is_finite() && seconds >= least {
                return Ok(());
            }
            Err(Misuse::new(
                "limit",
                format!("`{name}` must be a finite number of seconds, at least {least}."),
            )
            .with("limit", name))
        };
        time("timeout", self.timeout, 0.001)?;
        time("grace", self.grace, 0.0)?;
        // As text each byte can become three, and R holds no longer string.
        if self.output_bytes > MOST_OUTPUT {
            return Err(
                Misuse::new("limit", format!("`output_bytes` must be at most {MOST_OUTPUT}."))
                    .with("limit", "output_bytes"),
            );
        }
        if !self.shell.starts_with('/') || self.shell.contains('\0') {
            return Err(
                Misuse::new("limit", "`shell` must be an absolute path, such as \"/bin/bash\".").with("limit", "shell"),
            );
        }
        for (name, bound, least) in [
            ("processes", self.processes, 1),
            ("memory", self.memory, 1),
            ("file_size", self.file_size, 0),
            ("cpu", self.cpu, 1),
            // The three standard streams, and one to load a library by.
            ("open_files", self.open_files, 4),
        ] {
            // The kernel reads its largest numbers as "no limit".
            if bound.is_some_and(|bound| bound < least || bound > i64::MAX.unsigned_abs()) {
                return Err(
                    Misuse::new("limit", format!("`{name}` must be a whole number, at least {least}."))
                        .with("limit", name),
                );
            }
        }
        Ok(())
    }

    /// The name of the first bound that only the kernel can enforce, if there is one.
    #[must_use]
    pub fn bound(&self) -> Option<&'static str> {
        [
            ("processes", self.processes),
            ("memory", self.memory),
            ("file_size", self.file_size),
            ("cpu", self.cpu),
            ("open_files", self.open_files),
        ]
        .into_iter()
        .find_map(|(name, bound)| bound.map(|_| name))
    }

    /// Bounds of the kernel's that are not given are those of `outer`.
    pub fn keep_bounds(&mut self, outer: &Self) {
        self.processes = self.processes.or(outer.processes);
        self.memory = self.memory.or(outer.memory);
        self.file_size = self.file_size.or(outer.file_size);
        self.cpu = self.cpu.or(outer.cpu);
        self.open_files = self.open_files.or(outer.open_files);
    }

    /// The name of the first bound in which `self` allows more than `outer`, if there is one.
    #[must_use]
    pub fn wider_than(&self, outer: &Self) -> Option<&'static str> {
        let more =
            |inner: Option<u64>, outer: Option<u64>| outer.is_some_and(|outer| inner.is_none_or(|inner| inner > outer));
        [
            ("timeout", self.timeout > outer.timeout),
            ("grace", self.grace > outer.grace),
            ("output_bytes", self.output_bytes > outer.output_bytes),
            ("read_bytes", self.read_bytes > outer.read_bytes),
            ("symlinks", self.symlinks && !outer.symlinks),
            ("mounts", self.mounts && !outer.mounts),
            ("hard_links", self.hard_links && !outer.hard_links),
            ("entries", self.entries > outer.entries),
            ("shell", self.shell != outer.shell),
            ("processes", more(self.processes, outer.processes)),
            ("memory", more(self.memory, outer.memory)),
            ("file_size", more(self.file_size, outer.file_size)),
            ("cpu", more(self.cpu, outer.cpu)),
            ("open_files", more(self.open_files, outer.open_files)),
        ]
        .into_iter()
        .find_map(|(name, wider)| wider.then_some(name))
    }
}
