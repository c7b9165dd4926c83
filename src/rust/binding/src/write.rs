//! Serves `R/write.R`.

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::{Expected, Request};

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
    Ok(optional(value, "expected", text)?.map(|version| match version {
        "absent" => Expected::Absent,
        _ => Expected::Version(version.to_owned()),
    }))
}

extendr_module! {
    mod write;
    fn core_write;
}
