//! Owns the process tree of one command: starts it, ends it when it is to end, and tells what became of it.
//!
//! rhocap starts this program with a socket as standard input and nothing else; what is said there is
//! described in `rhocap_core::process::protocol`. It is small, has one thread and an empty environment,
//! so that making the command's process takes the same short time however large R is, and so that the
//! command finds nothing in it.

#[cfg(target_os = "linux")]
mod confine;
#[cfg(not(target_os = "linux"))]
#[path = "confine_not.rs"]
mod confine;
mod descriptors;
mod fork;
mod leader;
mod peer;
mod supervision;
mod tree;
mod waiting;

use std::process::ExitCode;

use crate::peer::Peer;

/// `EX_USAGE` of sysexits.h.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == "--version")
    {
        println!("rhocap-supervisor {}", env!("CARGO_PKG_VERSION"));
        return ExitCode::SUCCESS;
    }
    let Some(peer) = Peer::on_standard_input() else {
        eprintln!("rhocap starts this program itself; it is of no use by hand.");
        return ExitCode::from(USAGE);
    };
    // R's own that it did not mark for closing: a pipe whose reader waits for its end would wait for ours.
    descriptors::keep_only(&[0, 1, 2, peer.number()]);
    supervision::run(peer);
    ExitCode::SUCCESS
}
