//! Plain values for R.

use extendr_api::prelude::*;
use serde_json::Value;

/// A list with names.
pub fn named_list(pairs: Vec<(&str, Robj)>) -> Robj {
    List::from_pairs(pairs).into()
}

/// A JSON value as R's: objects are named lists, arrays of strings, numbers or truth values are
/// vectors, other arrays lists, and null is `NULL`.
pub fn from_json(value: &Value) -> Robj {
    match value {
        Value::Null => ().into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).into(),
        Value::String(text) => from_text(text),
        Value::Array(items) => from_array(items),
        Value::Object(fields) => named_list(
            fields
                .iter()
                .map(|(name, field)| (name.as_str(), from_json(field)))
                .collect(),
        ),
    }
}

fn from_array(items: &[Value]) -> Robj {
    if items.iter().all(Value::is_string) {
        return items
            .iter()
            .map(|item| without_nul(item.as_str().unwrap_or_default()))
            .collect_robj();
    }
    if items.iter().all(Value::is_number) {
        return items
            .iter()
            .map(|item| item.as_f64().unwrap_or(f64::NAN))
            .collect_robj();
    }
    if items.iter().all(Value::is_boolean) {
        return items
            .iter()
            .map(|item| item.as_bool().unwrap_or_default())
            .collect_robj();
    }
    List::from_values(items.iter().map(from_json).collect::<Vec<_>>()).into()
}

/// One string. A NUL byte, which R cannot hold, is shown escaped.
pub fn from_text(text: &str) -> Robj {
    without_nul(text).into()
}

fn without_nul(text: &str) -> String {
    text.replace('\0', "\\0")
}

/// A count as R's number, exact up to 2^53.
#[allow(clippy::cast_precision_loss)]
pub fn number(count: u64) -> f64 {
    count as f64
}
