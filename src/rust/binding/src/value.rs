//! Plain values on their way to R.

use extendr_api::prelude::*;
use serde_json::Value;

use crate::sexp::Encoding;

/// What an exported function gives back. It becomes R objects in one place, [`crate::sexp::build`],
/// because extendr takes a lock and a hash table for each object that it makes.
pub enum Plain {
    /// `NULL`.
    Null,
    /// TRUE or FALSE.
    Flag(bool),
    /// One number.
    Number(f64),
    /// One string.
    Text(String),
    /// One string that is part of the program.
    Word(&'static str),
    /// A logical vector.
    Flags(Vec<bool>),
    /// A vector of numbers, with `NA` where there is none.
    Numbers(Vec<Option<f64>>),
    /// A character vector, with `NA` where there is none.
    Texts(Vec<Option<String>>),
    /// A character vector of bytes, each in the encoding that it is marked with.
    Encoded(Vec<(Vec<u8>, Encoding)>),
    /// A raw vector.
    Bytes(Vec<u8>),
    /// A list without names.
    List(Vec<Plain>),
    /// A list with names.
    Named(Vec<(&'static str, Plain)>),
    /// A list with names that come from data.
    Object(Vec<(String, Plain)>),
    /// A handle.
    Handle(Robj),
}

impl From<bool> for Plain {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

// Counts are exact up to 2^53, which no size or number here exceeds.
impl From<u64> for Plain {
    #[allow(clippy::cast_precision_loss)]
    fn from(count: u64) -> Self {
        Self::Number(count as f64)
    }
}

impl From<String> for Plain {
    fn from(text: String) -> Self {
        Self::Text(without_nul(text))
    }
}

/// R's strings cannot hold a NUL byte; it is shown escaped.
fn without_nul(text: String) -> String {
    if text.as_bytes().contains(&0) {
        text.replace('\0', "\\0")
    } else {
        text
    }
}

impl From<&'static str> for Plain {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

impl From<Vec<String>> for Plain {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts.into_iter().map(Some).collect())
    }
}

impl From<&'static [&'static str]> for Plain {
    fn from(words: &'static [&'static str]) -> Self {
        words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>().into()
    }
}

// Objects are named lists, arrays of one kind vectors, other arrays lists.
impl From<&Value> for Plain {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Flag(*flag),
            Value::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Value::String(text) => text.clone().into(),
            Value::Array(items) if items.iter().all(Value::is_string) => {
                let text = |item: &Value| item.as_str().map(|text| without_nul(text.to_owned()));
                Self::Texts(items.iter().map(text).collect())
            }
            Value::Array(items) if items.iter().all(Value::is_number) => {
                Self::Numbers(items.iter().map(Value::as_f64).collect())
            }
            Value::Array(items) if items.iter().all(Value::is_boolean) => {
                Self::Flags(items.iter().filter_map(Value::as_bool).collect())
            }
            Value::Array(items) => Self::List(items.iter().map(Self::from).collect()),
            Value::Object(fields) => Self::Object(
                fields
                    .iter()
                    .map(|(name, field)| (without_nul(name.clone()), field.into()))
                    .collect(),
            ),
        }
    }
}
