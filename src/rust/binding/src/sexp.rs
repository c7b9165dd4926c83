//! The few calls of R's own interface that extendr does not make safe.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::slice;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;

/// R's own pointer type, which extendr declares in a way that the compiler warns of here.
type Sexp = *mut c_void;

// Rinternals.h. Declared here because extendr does not re-export them.
extern "C" {
    static R_NaString: Sexp;
    static R_NilValue: Sexp;
    fn STRING_ELT(vector: Sexp, index: isize) -> Sexp;
    fn R_CHAR(string: Sexp) -> *const c_char;
    fn LENGTH(object: Sexp) -> c_int;
    fn Rf_getCharCE(string: Sexp) -> c_int;
    fn Rf_mkCharLenCE(text: *const c_char, length: c_int, encoding: c_int) -> Sexp;
    fn Rf_ScalarString(string: Sexp) -> Sexp;
    fn Rf_protect(object: Sexp) -> Sexp;
    fn Rf_unprotect(count: c_int);
    fn R_ExternalPtrTag(pointer: Sexp) -> Sexp;
    fn R_tryCatchError(
        body: extern "C" fn(*mut c_void) -> Sexp,
        body_data: *mut c_void,
        handler: extern "C" fn(Sexp, *mut c_void) -> Sexp,
        handler_data: *mut c_void,
    ) -> Sexp;
}

const CE_UTF8: c_int = 1;
const CE_LATIN1: c_int = 4;
const CE_BYTES: c_int = 2;

/// What one element of a character vector is.
pub enum Element<'a> {
    /// `NA`.
    Missing,
    /// Bytes in UTF-8, or in the session's encoding, which the reader must check.
    Bytes(&'a [u8]),
    /// Marked as latin1 or as bytes, so not to be taken as UTF-8.
    Other,
}

/// The element `index` of a character vector.
///
/// extendr would make a `&str` of it without looking at its bytes, which is undefined behaviour for
/// a string that is not UTF-8.
pub fn element(vector: &Robj, index: usize) -> Option<Element<'_>> {
    if !vector.is_string() || index >= vector.len() {
        return None;
    }
    let index = isize::try_from(index).ok()?;
    // SAFETY: the index lies in a character vector, which `vector` keeps alive; R never moves or
    // changes the bytes of a CHARSXP.
    unsafe {
        let string = STRING_ELT(vector.get().cast(), index);
        if std::ptr::eq(string, R_NaString) {
            return Some(Element::Missing);
        }
        let length = usize::try_from(LENGTH(string)).ok()?;
        let bytes = slice::from_raw_parts(R_CHAR(string).cast::<u8>(), length);
        let marked = matches!(Rf_getCharCE(string), CE_LATIN1 | CE_BYTES);
        Some(if marked && !bytes.is_ascii() {
            Element::Other
        } else {
            Element::Bytes(bytes)
        })
    }
}

/// The tag of an external pointer.
pub fn pointer_tag(pointer: &Robj) -> Robj {
    // SAFETY: only called for external pointers.
    unsafe { Robj::from_sexp(R_ExternalPtrTag(pointer.get().cast()).cast()) }
}

struct Pending<'a>(&'a str);

/// One string, copied once.
///
/// R signals an error by a jump over our frames when it has no memory for the copy. For a long text
/// that jump ends in a frame of ours that holds nothing.
///
/// # Errors
/// `memory` when R cannot hold the text.
pub fn string(text: String) -> Result<Robj, Misuse> {
    const LONG: usize = 1 << 20;
    extern "C" fn body(data: *mut c_void) -> Sexp {
        // SAFETY: `data` is the `Pending` below, alive during the call. The length was checked.
        unsafe {
            let Pending(text) = &*data.cast::<Pending<'_>>();
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap)]
            let string = Rf_protect(Rf_mkCharLenCE(text.as_ptr().cast(), text.len() as c_int, CE_UTF8));
            let vector = Rf_ScalarString(string);
            Rf_unprotect(1);
            vector
        }
    }
    extern "C" fn handler(_: Sexp, _: *mut c_void) -> Sexp {
        // SAFETY: a constant of R.
        unsafe { R_NilValue }
    }

    if c_int::try_from(text.len()).is_err() || text.as_bytes().contains(&0) {
        return Err(Misuse::new(
            "memory",
            "The text is longer than an R string can be, or holds a NUL byte.",
        ));
    }
    let mut pending = Pending(&text);
    let data: *mut c_void = (&raw mut pending).cast();
    let made = single_threaded(|| {
        // SAFETY: R's own thread, and `data` lives until the call has returned.
        unsafe {
            let made = if text.len() < LONG {
                body(data)
            } else {
                R_tryCatchError(body, data, handler, std::ptr::null_mut())
            };
            Robj::from_sexp(made.cast())
        }
    });
    if made.is_null() {
        return Err(Misuse::new(
            "memory",
            "R has no memory for the text. Read it in parts, with `lines`.",
        ));
    }
    Ok(made)
}
