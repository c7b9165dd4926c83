//! Serves `R/write.R`.

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::{Expected, Request};
use rhocap_core::version::is_version;

use crate::argument::{flag, optional, text, Texts};
use crate::condition::guard;
use crate::outcome::call;

// Writes text.
#[extendr]
#[allow(clippy::too_many_arguments)] // The verb's own.
fn core_write(
    handle: Robj,
    tool: Robj,
    principal: Robj,
    path: Robj,
    content: Robj,
    append: Robj,
    create_parents: Robj,
    expected: Robj,
) -> Robj {
    guard(|| {
        let mut texts = Texts::default();
        let request = Request::Write {
            target: texts.target(&path, "path")?,
            content: texts.borrowed(&content, "text")?.into(),
            append: flag(&append, "append")?,
            create_parents: flag(&create_parents, "create_parents")?,
            expected: self::expected(&expected)?,
        };
        call(&handle, &tool, &principal, &texts, request)
    })
}

/// The version that a file must have; the word for none cannot be one.
pub fn expected(value: &Robj) -> Result<Option<Expected>, Misuse> {
    let version = match optional(value, "expected", text)? {
        None => return Ok(None),
        Some("absent") => return Ok(Some(Expected::Absent)),
        Some(version) => version,
    };
    // What no file can have would be told as a change by somebody else.
    if !is_version(version) {
        return Err(Misuse::new(
            "value",
            "`expected` is no version. Give the `version` of a value that a verb gave, or \"absent\".",
        )
        .with("argument", "expected"));
    }
    Ok(Some(Expected::Version(version.to_owned())))
}

extendr_module! {
    mod write;
    fn core_write;
}
