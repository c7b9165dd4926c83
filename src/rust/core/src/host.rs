//! What this host can enforce, for people who choose a policy.

use std::path::Path;

use serde_json::{json, Value};

use crate::confine;
use crate::effect::Cancel;
use crate::process::confinement::Confinement;
use crate::process::probe::probe;
use crate::process::supervisor::Program;

/// A report of what the kernel offers and what this version of rhocap makes of it.
#[must_use]
pub fn host_report(supervisor: &Path) -> Value {
    let confined = confined(supervisor);
    let policies: &[&str] = if confined["kernel"].is_array() {
        &["none", "confined", "unrestricted"]
    } else {
        &["none", "unrestricted"]
    };
    json!({
        "system": std::env::consts::OS,
        "architecture": std::env::consts::ARCH,
        "kernel": kernel(),
        "openat2": openat2(),
        "mount_ids": mount_ids(),
        "exchange": exchange(),
        "most_user_namespaces": user_namespaces(),
        "seccomp": std::fs::read_to_string("/proc/sys/kernel/seccomp/actions_avail").is_ok(),
        "processes": policies,
        "confined": confined,
        "system_files": confine::system::files(true),
        "not_yet": ["mirai"],
    })
}

/// What confined commands would be confined by: it is built, and nothing is run in it.
fn confined(supervisor: &Path) -> Value {
    let refused = |why: String| json!({"refused": why});
    let program = match Program::open(supervisor) {
        Ok(program) => program,
        Err(error) => return refused(format!("the supervisor cannot be used: {error}")),
    };
    match probe(&program, &Confinement::default(), &Cancel::default()) {
        Ok(found) => json!({"kernel": found.mechanisms, "gaps": confine::gaps(&found)}),
        Err(error) => refused(error.reason),
    }
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}

#[cfg(target_os = "linux")]
fn openat2() -> bool {
    use rustix::fs::{openat2, Mode, OFlags, ResolveFlags, CWD};
    openat2(
        CWD,
        c"/",
        OFlags::PATH | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_MAGICLINKS,
    )
    .is_ok()
}

#[cfg(not(target_os = "linux"))]
const fn openat2() -> bool {
    false
}

fn mount_ids() -> bool {
    cfg!(target_os = "linux")
        && rustix::fs::open(
            "/",
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )
        .is_ok_and(|root| crate::facts::of_handle(root).is_ok())
}

/// Whether two names can be exchanged in one step, in the directory for temporary files.
fn exchange() -> Option<bool> {
    let place = std::env::temp_dir();
    let name = |part: &str| {
        place.join(format!(
            "{}{part}-{}",
            crate::effect::temporary::TEMPORARY_PREFIX,
            crate::random::hex(8)
        ))
    };
    let (one, other) = (name("a"), name("b"));
    let made = std::fs::write(&one, b"").and_then(|()| std::fs::write(&other, b""));
    let answer = made.ok().map(|()| {
        rustix::fs::renameat_with(
            rustix::fs::CWD,
            &one,
            rustix::fs::CWD,
            &other,
            rustix::fs::RenameFlags::EXCHANGE,
        )
        .is_ok()
    });
    let _ = std::fs::remove_file(&one);
    let _ = std::fs::remove_file(&other);
    answer
}

/// How many user namespaces the system allows; 0 is none.
fn user_namespaces() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/user/max_user_namespaces")
        .ok()?
        .trim()
        .parse()
        .ok()
}
