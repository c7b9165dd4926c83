//! Arguments from R. R has checked them already, with messages that name what to do; what is found
//! here is checked again, because nothing that crosses is trusted.

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::verb::Target;

use crate::admission;
use crate::sexp::{element, Element};

/// A value of another type than the one that is wanted.
pub fn wrong_type(name: &str, wanted: &str) -> Misuse {
    Misuse::new("type", format!("`{name}` must be {wanted}.")).with("argument", name)
}

/// A word of a closed set that is none of them.
pub fn bad_word(name: &str) -> Misuse {
    Misuse::new("value", format!("`{name}` is no word that rhocap knows.")).with("argument", name)
}

fn missing(name: &str) -> Misuse {
    Misuse::new("value", format!("`{name}` is NA.")).with("argument", name)
}

fn not_utf8(name: &str) -> Misuse {
    Misuse::new(
        "encoding",
        format!("`{name}` is not valid UTF-8. Convert it with iconv() first."),
    )
    .with("argument", name)
}

/// The bytes of element `index`, valid UTF-8.
fn text_at<'a>(value: &'a Robj, index: usize, name: &str) -> Result<&'a str, Misuse> {
    match element(value, index) {
        None => Err(wrong_type(name, "one string")),
        Some(Element::Missing) => Err(missing(name)),
        Some(Element::Other(..)) => Err(not_utf8(name)),
        Some(Element::Bytes(bytes)) => std::str::from_utf8(bytes).map_err(|_| not_utf8(name)),
    }
}

/// One string.
pub fn text<'a>(value: &'a Robj, name: &str) -> Result<&'a str, Misuse> {
    if value.len() != 1 {
        return Err(wrong_type(name, "one string"));
    }
    text_at(value, 0, name)
}

/// A character vector.
pub fn texts(value: &Robj, name: &str) -> Result<Vec<String>, Misuse> {
    if !value.is_string() {
        return Err(wrong_type(name, "a character vector"));
    }
    (0..value.len())
        .map(|index| text_at(value, index, name).map(str::to_owned))
        .collect()
}

/// A character vector of paths.
pub fn paths(value: &Robj, name: &str) -> Result<Vec<Vec<u8>>, Misuse> {
    Ok(texts(value, name)?.into_iter().map(String::into_bytes).collect())
}

/// The strings of one call that stand for a path, a file's text or a command.
///
/// Where one is no valid text in its declared encoding, that is an outcome of the call, with its receipt,
/// and no mistake in the program: a model can have sent it.
#[derive(Default)]
pub struct Texts {
    /// The first argument that is none.
    pub invalid: Option<&'static str>,
}

impl Texts {
    /// The bytes of one string or of a raw vector, as R holds them.
    pub fn borrowed<'a>(&mut self, value: &'a Robj, name: &'static str) -> Result<&'a [u8], Misuse> {
        if let Some(raw) = value.as_raw_slice() {
            return Ok(raw);
        }
        if value.len() != 1 {
            return Err(wrong_type(name, "one string"));
        }
        let (bytes, valid) = match element(value, 0) {
            None => return Err(wrong_type(name, "one string")),
            Some(Element::Missing) => return Err(missing(name)),
            Some(Element::Other(bytes, _)) => (bytes, false),
            Some(Element::Bytes(bytes)) => (bytes, std::str::from_utf8(bytes).is_ok()),
        };
        if !valid {
            self.invalid.get_or_insert(name);
        }
        Ok(bytes)
    }

    /// A copy of the bytes of one string or of a raw vector.
    pub fn bytes(&mut self, value: &Robj, name: &'static str) -> Result<Vec<u8>, Misuse> {
        let given = self.borrowed(value, name)?;
        let mut copy = Vec::new();
        // An allocation that fails would end R.
        copy.try_reserve_exact(given.len())
            .map_err(|_| Misuse::new("memory", format!("There is no memory for a copy of `{name}`.")))?;
        copy.extend_from_slice(given);
        Ok(copy)
    }

    /// A path, or the handle of an admission, which is used up.
    pub fn target(&mut self, value: &Robj, name: &'static str) -> Result<Target, Misuse> {
        if value.is_external_pointer() {
            return Ok(Target::Admitted(Box::new(admission::take(value)?)));
        }
        Ok(Target::Path(self.bytes(value, name)?))
    }
}

/// TRUE or FALSE.
pub fn flag(value: &Robj, name: &str) -> Result<bool, Misuse> {
    value.as_bool().ok_or_else(|| wrong_type(name, "TRUE or FALSE"))
}

/// One number, not NA.
pub fn number(value: &Robj, name: &str) -> Result<f64, Misuse> {
    match value.as_real_slice() {
        Some([number]) if !number.is_nan() => Ok(*number),
        _ => Err(wrong_type(name, "one number")),
    }
}

/// A whole number that is not negative; infinity is the largest.
pub fn count(value: &Robj, name: &str) -> Result<u64, Misuse> {
    let number = number(value, name)?;
    whole(number).ok_or_else(|| wrong_type(name, "a whole number that is not negative"))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn whole(number: f64) -> Option<u64> {
    if number == f64::INFINITY {
        return Some(u64::MAX);
    }
    // A double holds whole numbers exactly up to 2^53, and every such number fits.
    ((0.0..=9_007_199_254_740_992.0).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// A first and a last number.
pub fn range(value: &Robj, name: &str) -> Result<(u64, u64), Misuse> {
    let bad = || wrong_type(name, "a first and a last number");
    match value.as_real_slice() {
        Some([first, last]) => Ok((whole(*first).ok_or_else(bad)?, whole(*last).ok_or_else(bad)?)),
        _ => Err(bad()),
    }
}

/// `NULL` is none.
pub fn optional<'a, T>(
    value: &'a Robj,
    name: &str,
    convert: impl FnOnce(&'a Robj, &str) -> Result<T, Misuse>,
) -> Result<Option<T>, Misuse> {
    if value.is_null() {
        return Ok(None);
    }
    convert(value, name).map(Some)
}

/// A list with names, as R's side builds them for more than a handful of arguments.
pub struct Fields(Vec<(String, Robj)>);

impl Fields {
    /// The fields of a list.
    pub fn of(value: &Robj, name: &str) -> Result<Self, Misuse> {
        let list = value.as_list().ok_or_else(|| wrong_type(name, "a list"))?;
        if list.is_empty() {
            return Ok(Self(Vec::new()));
        }
        let names = list
            .get_attrib("names")
            .ok_or_else(|| wrong_type(name, "a list with names"))?;
        Ok(Self(texts(&names, name)?.into_iter().zip(list.values()).collect()))
    }

    /// A field that may be absent or `NULL`.
    pub fn get(&self, name: &str) -> Option<&Robj> {
        self.0
            .iter()
            .find(|(known, value)| known == name && !value.is_null())
            .map(|(_, value)| value)
    }

    /// A field that must be there.
    pub fn need(&self, name: &str) -> Result<&Robj, Misuse> {
        self.get(name)
            .ok_or_else(|| Misuse::new("missing", format!("`{name}` was not given.")))
    }

    /// A field converted, if it is there.
    pub fn map<'a, T>(
        &'a self,
        name: &str,
        convert: impl FnOnce(&'a Robj, &str) -> Result<T, Misuse>,
    ) -> Result<Option<T>, Misuse> {
        self.get(name).map(|value| convert(value, name)).transpose()
    }
}
