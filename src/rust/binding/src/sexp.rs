//! The calls of R's own interface that extendr does not make, or does not make safely.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::slice;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;

use crate::value::Plain;

/// R's own pointer type, which extendr declares in a way that the compiler warns of here.
type Sexp = *mut c_void;

// Rinternals.h. Declared here because extendr does not re-export them.
extern "C" {
    static R_NaString: Sexp;
    static R_NilValue: Sexp;
    static R_NamesSymbol: Sexp;
    static R_NaReal: f64;
    fn STRING_ELT(vector: Sexp, index: isize) -> Sexp;
    fn R_CHAR(string: Sexp) -> *const c_char;
    fn LENGTH(object: Sexp) -> c_int;
    fn Rf_getCharCE(string: Sexp) -> c_int;
    fn Rf_mkCharLenCE(text: *const c_char, length: c_int, encoding: c_int) -> Sexp;
    fn Rf_ScalarString(string: Sexp) -> Sexp;
    fn Rf_ScalarLogical(value: c_int) -> Sexp;
    fn Rf_ScalarReal(value: f64) -> Sexp;
    fn Rf_allocVector(kind: c_uint, length: isize) -> Sexp;
    fn Rf_setAttrib(object: Sexp, name: Sexp, value: Sexp) -> Sexp;
    fn SET_STRING_ELT(vector: Sexp, index: isize, value: Sexp);
    fn SET_VECTOR_ELT(vector: Sexp, index: isize, value: Sexp) -> Sexp;
    fn LOGICAL(vector: Sexp) -> *mut c_int;
    fn REAL(vector: Sexp) -> *mut f64;
    fn RAW(vector: Sexp) -> *mut u8;
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

const LGLSXP: c_uint = 10;
const REALSXP: c_uint = 14;
const STRSXP: c_uint = 16;
const VECSXP: c_uint = 19;
const RAWSXP: c_uint = 24;
const CE_UTF8: c_int = 1;
const CE_LATIN1: c_int = 2;
const CE_BYTES: c_int = 3;

/// What one element of a character vector is.
pub enum Element<'a> {
    /// `NA`.
    Missing,
    /// Bytes in UTF-8, or in the session's encoding, which the reader must check.
    Bytes(&'a [u8]),
    /// Bytes marked as latin1 or as no text at all, so not to be taken as UTF-8.
    Other(&'a [u8], Encoding),
}

/// How R marks the bytes of a string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Without a mark: the session's own.
    Native,
    /// UTF-8.
    Utf8,
    /// latin1.
    Latin1,
    /// No text at all.
    Bytes,
}

impl Encoding {
    fn mark(self) -> c_int {
        match self {
            Self::Native => 0,
            Self::Utf8 => CE_UTF8,
            Self::Latin1 => CE_LATIN1,
            Self::Bytes => CE_BYTES,
        }
    }
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
    // SAFETY: the index lies in a character vector; R never moves or changes the bytes of a CHARSXP, and
    // `vector` keeps it alive: R's side hands over plain vectors (`check_string()`), not the deferred
    // kinds that make an element anew each time.
    unsafe {
        let string = STRING_ELT(vector.get().cast(), index);
        if std::ptr::eq(string, R_NaString) {
            return Some(Element::Missing);
        }
        let length = usize::try_from(LENGTH(string)).ok()?;
        let bytes = slice::from_raw_parts(R_CHAR(string).cast::<u8>(), length);
        Some(match Rf_getCharCE(string) {
            CE_LATIN1 if !bytes.is_ascii() => Element::Other(bytes, Encoding::Latin1),
            CE_BYTES if !bytes.is_ascii() => Element::Other(bytes, Encoding::Bytes),
            _ => Element::Bytes(bytes),
        })
    }
}

/// The tag of an external pointer.
pub fn pointer_tag(pointer: &Robj) -> Robj {
    // SAFETY: only called for external pointers.
    unsafe { Robj::from_sexp(R_ExternalPtrTag(pointer.get().cast()).cast()) }
}

/// From this size on, in bytes, R may well have no memory for a value.
const LARGE: usize = 1 << 16;

/// Makes R objects of a value.
///
/// R signals that it has no memory by a jump over our frames. A large value is made under R's own
/// `tryCatch`, in a frame that owns nothing. (R's side suspends interrupts where a value can be large,
/// because they jump too.) A small one is not worth the guard: with so little memory left R is lost.
///
/// # Errors
/// `memory` when R cannot hold the value.
pub fn build(plain: &Plain) -> Result<Robj, Misuse> {
    extern "C" fn body(data: *mut c_void) -> Sexp {
        // SAFETY: `data` is the value below, alive during the call.
        unsafe { make(&*data.cast::<Plain>()) }
    }
    extern "C" fn handler(_: Sexp, _: *mut c_void) -> Sexp {
        // SAFETY: a constant of R. What is returned here goes through R's evaluator, so it must be an object.
        unsafe { R_NilValue }
    }

    let no_memory = || {
        Misuse::new(
            "memory",
            "R cannot hold the whole result. Ask for less of it: a text in parts, with `lines`; fewer entries.",
        )
    };
    let size = size(plain).ok_or_else(no_memory)?;
    let data: *mut c_void = std::ptr::from_ref(plain).cast_mut().cast();
    // SAFETY: guarded functions run on R's own thread.
    single_threaded(|| unsafe {
        if size < LARGE {
            return Ok(Robj::from_sexp(body(data).cast()));
        }
        let made = R_tryCatchError(body, data, handler, std::ptr::null_mut());
        // No large value is `NULL`.
        if std::ptr::eq(made, R_NilValue) {
            return Err(no_memory());
        }
        Ok(Robj::from_sexp(made.cast()))
    })
}

/// About how many bytes R takes for a value; nothing when it holds a text that R cannot hold.
fn size(plain: &Plain) -> Option<usize> {
    const OBJECT: usize = 56;
    let text = |text: &str| c_int::try_from(text.len()).ok().map(|_| OBJECT + text.len());
    let of_contents = match plain {
        Plain::Null | Plain::Flag(_) | Plain::Number(_) | Plain::Word(_) | Plain::Handle(_) => 0,
        Plain::Text(given) => text(given)?,
        Plain::Flags(flags) => 4 * flags.len(),
        Plain::Numbers(numbers) => 8 * numbers.len(),
        Plain::Bytes(bytes) => bytes.len(),
        Plain::Texts(texts) => texts.iter().flatten().map(|given| text(given)).sum::<Option<usize>>()?,
        Plain::Encoded(texts) => {
            let bytes = |bytes: &[u8]| c_int::try_from(bytes.len()).ok().map(|_| OBJECT + bytes.len());
            texts.iter().map(|(given, _)| bytes(given)).sum::<Option<usize>>()?
        }
        Plain::List(items) => items.iter().map(size).sum::<Option<usize>>()?,
        Plain::Named(fields) => fields.iter().map(|(_, value)| size(value)).sum::<Option<usize>>()?,
        Plain::Object(fields) => fields
            .iter()
            .map(|(name, value)| Some(text(name)? + size(value)?))
            .sum::<Option<usize>>()?,
    };
    Some(OBJECT + of_contents)
}

/// The object is not protected; it must go into a protected one, or back to R, before the next is
/// made. No frame here owns anything, because R may jump over it.
unsafe fn make(plain: &Plain) -> Sexp {
    match plain {
        Plain::Null => R_NilValue,
        Plain::Flag(flag) => Rf_ScalarLogical(c_int::from(*flag)),
        Plain::Number(number) => Rf_ScalarReal(*number),
        Plain::Text(text) => one_string(text),
        Plain::Word(word) => one_string(word),
        Plain::Flags(flags) => {
            let vector = Rf_protect(Rf_allocVector(LGLSXP, length(flags.len())));
            for (index, flag) in flags.iter().enumerate() {
                *LOGICAL(vector).add(index) = c_int::from(*flag);
            }
            Rf_unprotect(1);
            vector
        }
        Plain::Numbers(numbers) => {
            let vector = Rf_protect(Rf_allocVector(REALSXP, length(numbers.len())));
            for (index, number) in numbers.iter().enumerate() {
                *REAL(vector).add(index) = number.unwrap_or(R_NaReal);
            }
            Rf_unprotect(1);
            vector
        }
        Plain::Bytes(bytes) => {
            let vector = Rf_allocVector(RAWSXP, length(bytes.len()));
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), RAW(vector), bytes.len());
            vector
        }
        Plain::Texts(texts) => {
            let vector = Rf_protect(Rf_allocVector(STRSXP, length(texts.len())));
            for (index, text) in texts.iter().enumerate() {
                let string = text.as_ref().map_or(R_NaString, |text| characters(text));
                SET_STRING_ELT(vector, length(index), string);
            }
            Rf_unprotect(1);
            vector
        }
        Plain::Encoded(texts) => {
            let vector = Rf_protect(Rf_allocVector(STRSXP, length(texts.len())));
            for (index, (bytes, encoding)) in texts.iter().enumerate() {
                SET_STRING_ELT(vector, length(index), encoded(bytes, *encoding));
            }
            Rf_unprotect(1);
            vector
        }
        Plain::List(items) => {
            let list = Rf_protect(Rf_allocVector(VECSXP, length(items.len())));
            fill(list, items.iter());
            Rf_unprotect(1);
            list
        }
        Plain::Named(fields) => named(
            fields.len(),
            fields.iter().map(|(name, _)| *name),
            fields.iter().map(|(_, value)| value),
        ),
        Plain::Object(fields) => named(
            fields.len(),
            fields.iter().map(|(name, _)| name.as_str()),
            fields.iter().map(|(_, value)| value),
        ),
        Plain::Handle(handle) => handle.get().cast(),
    }
}

unsafe fn named<'a>(
    size: usize,
    names: impl Iterator<Item = &'a str>,
    values: impl Iterator<Item = &'a Plain>,
) -> Sexp {
    let list = Rf_protect(Rf_allocVector(VECSXP, length(size)));
    let labels = Rf_protect(Rf_allocVector(STRSXP, length(size)));
    for (index, name) in names.enumerate() {
        SET_STRING_ELT(labels, length(index), characters(name));
    }
    Rf_setAttrib(list, R_NamesSymbol, labels);
    fill(list, values);
    Rf_unprotect(2);
    list
}

unsafe fn fill<'a>(list: Sexp, values: impl Iterator<Item = &'a Plain>) {
    for (index, value) in values.enumerate() {
        SET_VECTOR_ELT(list, length(index), make(value));
    }
}

/// Bytes of R's interface are counted with a sign.
fn length(size: usize) -> isize {
    isize::try_from(size).unwrap_or(isize::MAX)
}

/// A string of R, up to a NUL byte, which it cannot hold.
unsafe fn characters(text: &str) -> Sexp {
    encoded(text.as_bytes(), Encoding::Utf8)
}

unsafe fn encoded(bytes: &[u8], encoding: Encoding) -> Sexp {
    let whole = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    // Longer texts were refused.
    Rf_mkCharLenCE(
        bytes.as_ptr().cast(),
        c_int::try_from(whole).unwrap_or(0),
        encoding.mark(),
    )
}

unsafe fn one_string(text: &str) -> Sexp {
    let string = Rf_protect(characters(text));
    let vector = Rf_ScalarString(string);
    Rf_unprotect(1);
    vector
}
