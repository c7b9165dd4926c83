//! Serves `R/command.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::text;
use crate::condition::guard;
use crate::outcome::call;

// Answers for a command.
#[extendr]
fn core_bash(handle: Robj, tool: Robj, principal: Robj, command: Robj) -> Robj {
    guard(|| {
        let command = text(&command, "command")?.to_owned();
        call(&handle, &tool, &principal, Request::Bash { command })
    })
}

extendr_module! {
    mod command;
    fn core_bash;
}
