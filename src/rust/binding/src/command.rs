//! Serves `R/command.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;

use crate::argument::Texts;
use crate::condition::guard;
use crate::outcome::call;

// Answers for a command.
#[extendr]
fn core_bash(handle: Robj, tool: Robj, principal: Robj, command: Robj) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let command = texts.bytes(&command, "command")?;
        call(&handle, &tool, &principal, &texts, Request::Bash { command })
    })
}

extendr_module! {
    mod command;
    fn core_bash;
}
