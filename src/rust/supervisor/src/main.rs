//! The small executable that will own a command's process tree. Commands are not available yet, and
//! it says so.

use std::process::ExitCode;

/// `EX_UNAVAILABLE` of sysexits.h.
const UNAVAILABLE: u8 = 69;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == "--version")
    {
        println!("rhocap-supervisor {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    eprintln!("rhocap starts this program itself, and this version of rhocap has no commands yet.");
    ExitCode::from(UNAVAILABLE)
}
