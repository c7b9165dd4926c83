//! A path outside all roots is refused without a system call: what the kernel is not asked, it cannot
//! tell, and a slow or trapped file system outside cannot hold the caller.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use rhocap_core::admission::admit;
use rhocap_core::capability::{Capability, CapabilitySpec};
use rhocap_core::outcome::Code;
use rhocap_core::resolve::{Use, Want};
use seccompiler::{SeccompAction, SeccompFilter};

const CHILD: &str = "RHOCAP_TEST_NO_SYSTEM_CALL";

/// The calls that a process needs to end, by their numbers on this architecture: munmap, brk,
/// sigaltstack, futex, `exit_group`. None of them tells anything of a file.
const ENDING: [i64; 5] = [11, 12, 131, 202, 231];

#[test]
fn outside_paths_are_refused_without_a_system_call() {
    if let Ok(path) = std::env::var(CHILD) {
        child(&path);
    }
    for (path, status) in [("/etc/passwd", Some(0)), ("//etc//passwd", Some(0)), ("inside", None)] {
        let ended = Command::new(std::env::current_exe().expect("this test"))
            .args([
                "--exact",
                "outside_paths_are_refused_without_a_system_call",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(CHILD, path)
            .output()
            .expect("the child");
        // The last row shows that the filter works: a path inside needs the kernel, and is killed.
        assert_eq!(
            ended.status.code(),
            status,
            "{path}: {}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }
}

fn child(path: &str) -> ! {
    let base = tempfile::tempdir().expect("a temporary directory").keep();
    let root = base.canonicalize().expect("its name").as_os_str().as_bytes().to_vec();
    let capability = Capability::new(CapabilitySpec {
        read: vec![root.clone()],
        deny: vec![],
        protect: vec![],
        ..CapabilitySpec::new(root)
    })
    .expect("a capability");
    let filter = SeccompFilter::new(
        ENDING.iter().map(|call| (*call, vec![])).collect(),
        SeccompAction::KillProcess,
        SeccompAction::Allow,
        seccompiler::TargetArch::x86_64,
    )
    .expect("a filter");
    let program: seccompiler::BpfProgram = filter.try_into().expect("a program");
    // Whatever is allocated for the first time is allocated now.
    let before = admit(&capability, b"/nowhere", Want::File, Use::Best);
    drop(before);
    let _ = std::fs::remove_dir(&base);
    seccompiler::apply_filter(&program).expect("the filter in place");
    let refused = admit(&capability, path.as_bytes(), Want::File, Use::Best);
    let expected = matches!(&refused, Err(refused) if refused.refusal.code == Code::NotUnderRoot);
    std::process::exit(i32::from(!expected))
}
