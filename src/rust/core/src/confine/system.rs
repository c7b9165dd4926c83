//! The system's files that a confined command can read beside its roots: what R, bash, git, Python,
//! Perl and TLS need to run. The list is fixed and printed with a capability.
//!
//! `/etc` as a whole is not in it, nor `/root`, `/home`, `/run`, `/var` and `/sys`: passwords, keys,
//! machine-wide tokens and the sockets of daemons are there. `/etc/gitconfig` is not, because it may
//! hold a header with a token. What does not exist on a host is left out.

/// Programs and libraries. Where one is a link (`/bin` to `usr/bin`) it stays one.
pub const PROGRAMS: [&str; 7] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];

/// Configuration that holds no secrets.
pub const CONFIGURATION: [&str; 21] = [
    // R, and the links by which BLAS, editors and Java are chosen: R does not start without them. Not a
    // site's own start-up files, in which tokens stand.
    "/etc/R/Renviron",
    "/etc/R/ldpaths",
    "/etc/R/Makeconf",
    "/etc/R/repositories",
    "/etc/alternatives",
    // The dynamic linker.
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    // Names of users and groups. No password has stood in them for decades.
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    // The time zone.
    "/etc/localtime",
    "/etc/timezone",
    // Certificates of authorities, not the machine's own keys.
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/pki/tls/certs",
    "/etc/pki/ca-trust/extracted",
    // Fonts for R's graphics.
    "/etc/fonts",
    "/etc/os-release",
];

/// What finding other hosts needs, with the host's network only.
pub const NETWORK: [&str; 6] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/gai.conf",
];

/// The devices of `/dev`; beside them stand the links `fd`, `stdin`, `stdout` and `stderr`, and, where
/// there are mounts, shared memory (`shm`, 64 MiB) and terminals (`pts`, `ptmx`) of the command's own.
pub const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// The whole list, for print and reports.
#[must_use]
pub fn files(network: bool) -> Vec<String> {
    let devices = DEVICES.iter().map(|name| format!("/dev/{name}"));
    let more: &[&str] = if network { &NETWORK } else { &[] };
    let named = PROGRAMS.iter().chain(&CONFIGURATION).chain(more);
    named.map(|path| (*path).to_owned()).chain(devices).collect()
}
