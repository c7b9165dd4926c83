//! Serves `R/admission.R`.

use std::cell::RefCell;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::{Access, Admitted, Request};

use crate::argument::{bad_word, text, Texts};
use crate::condition::guard;
use crate::handle::held;
use crate::outcome::call;

/// An admission until a verb took it.
pub struct Admission(RefCell<Option<Admitted>>);

impl Admission {
    /// An admission that can be used once.
    pub fn new(admitted: Admitted) -> Self {
        Self(RefCell::new(Some(admitted)))
    }
}

/// Takes the admission out of its handle.
pub fn take(handle: &Robj) -> Result<Admitted, Misuse> {
    let admission: &Admission = held(handle, "admission", "rho_admit()")?;
    admission.0.borrow_mut().take().ok_or_else(|| {
        Misuse::new(
            "handle_used",
            "This admission was used before. Each is accepted once: call rho_admit() again.",
        )
    })
}

// Admits a path.
#[extendr]
fn core_admit(handle: Robj, tool: Robj, principal: Robj, path: Robj, access: Robj) -> Robj {
    guard(|| {
        let access = match text(&access, "access")? {
            "read" => Access::Read,
            "write" => Access::Write,
            "list" => Access::List,
            _ => return Err(bad_word("access")),
        };
        let mut texts = Texts::default();
        let path = texts.bytes(&path, "path")?;
        call(&handle, &tool, &principal, &texts, Request::Admit { path, access })
    })
}

// Whether an admission was used; a handle that is dead is a mistake that says so.
#[extendr]
fn core_admission_used(handle: Robj) -> Robj {
    guard(|| {
        let admission: &Admission = held(&handle, "admission", "rho_admit()")?;
        Ok(admission.0.borrow().is_none().into())
    })
}

extendr_module! {
    mod admission;
    fn core_admit;
    fn core_admission_used;
}
