//! Crossing the boundary: a mistake or a defect becomes a plain value, which `check_boundary()` in
//! `R/condition.R` turns into a condition.

use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::sync::Once;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::secret::known;

use crate::sexp::build;
use crate::value::Plain;

/// Runs the body of an exported function.
///
/// Returning `Err` from an exported function, or panicking, would have extendr call `Rf_error` with
/// our text as a format: a `%` crashes R, a NUL byte aborts it, and the text stays in a static
/// buffer. So both become values.
pub fn guard(body: impl FnOnce() -> Result<Plain, Misuse>) -> Robj {
    static SILENT: Once = Once::new();
    // A panic's text may hold what a caller gave; it must not reach the console.
    SILENT.call_once(|| set_hook(Box::new(|_| {})));
    match catch_unwind(AssertUnwindSafe(|| body().and_then(|plain| build(&plain)))) {
        Ok(Ok(value)) => value,
        Ok(Err(misuse)) => describe(misuse),
        Err(_) => describe(Misuse::new(
            "internal",
            "rhocap met a defect of its own. R is not harmed; what was asked for may be done or not. \
             Please report what you called.",
        )),
    }
}

fn describe(misuse: Misuse) -> Robj {
    let redactor = known::redactor();
    let masked = |text: &str| redactor.mask_text(text).text.into_owned();
    let fields = misuse
        .fields
        .iter()
        .map(|(name, value)| (*name, masked(value).into()))
        .collect();
    let described = Plain::Named(vec![
        ("rhocap_misuse", misuse.kind.into()),
        ("message", masked(&misuse.message).into()),
        ("fields", Plain::Named(fields)),
    ]);
    // Short texts: nothing here can fail.
    build(&described).unwrap_or_default()
}
