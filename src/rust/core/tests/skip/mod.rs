//! What becomes of a test that needs what this host lacks: a mechanism of the kernel, a right, a
//! program. It says so and is counted as skipped, or fails where the host must have it.

#![allow(dead_code, reason = "the path fixtures count for themselves")]

use std::fmt::Display;
use std::io::Write;

/// Names what the host must have, with commas between, or is `all`. The tests of R read it too.
const REQUIRE: &str = "RHOCAP_REQUIRE";

/// Names a file that gets a line for each skip: what a test prints is shown only when it fails.
const SKIPS: &str = "RHOCAP_TEST_SKIPS";

/// Whether a test that misses this fails.
pub fn required(mechanism: &str) -> bool {
    let required = std::env::var(REQUIRE).unwrap_or_default();
    required
        .split(',')
        .any(|word| ["all", mechanism].contains(&word.trim()))
}

/// To be called by a test that ends here, or leaves out a part of what it would do.
pub fn skip(mechanism: &str, why: impl Display) {
    assert!(!required(mechanism), "{REQUIRE} has {mechanism}: {why}");
    let program = std::env::current_exe().unwrap_or_default();
    let program = program.file_stem().unwrap_or_default().to_string_lossy();
    // Without what cargo appends to it.
    let program = program.rsplit_once('-').map_or(&*program, |(name, _)| name);
    let thread = std::thread::current();
    let line = format!(
        "skipped: {program} {}: {mechanism}: {why}\n",
        thread.name().unwrap_or_default()
    );
    print!("{line}");
    if let Some(path) = std::env::var_os(SKIPS) {
        // A test that became another user cannot write to it, and prints to one that can.
        if let Ok(mut file) = std::fs::File::options().append(true).open(path) {
            let _ = file.write_all(line.as_bytes());
        }
    }
}
