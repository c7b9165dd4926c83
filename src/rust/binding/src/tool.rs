//! Serves `R/tool.R`.

use extendr_api::prelude::*;
use rhocap_core::verb::Request;
use serde_json::{Map, Value};

use crate::argument::text;
use crate::condition::guard;
use crate::outcome::call;
use crate::sexp::{element, Element};

// Answers for arguments of a model that fit no request.
#[extendr]
fn core_reject(handle: Robj, tool: Robj, arguments: Robj, message: Robj) -> Robj {
    guard(|| {
        let mut left = MOST;
        let request = Request::Reject {
            arguments: to_json(&arguments, DEEPEST, &mut left),
            message: text(&message, "message")?.to_owned(),
        };
        call(&handle, &tool, &Robj::from("model"), request)
    })
}

// What a receipt shows of arguments is short; a model may send anything.
const MOST: usize = 200;
const DEEPEST: usize = 8;

/// Arguments as JSON, without running any R code: what is no plain value is named by its type.
fn to_json(value: &Robj, depth: usize, left: &mut usize) -> Value {
    let size = value.len().min(*left);
    *left -= size;
    if let Some(list) = value.as_list().filter(|_| depth > 0) {
        let items: Vec<Value> = list
            .values()
            .take(size)
            .map(|item| to_json(&item, depth - 1, left))
            .collect();
        let names = list.get_attrib("names").unwrap_or_default();
        if names.is_null() {
            return items.into();
        }
        let name = |index: usize| match element(&names, index) {
            Some(Element::Bytes(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            _ => String::new(),
        };
        return items
            .into_iter()
            .enumerate()
            .map(|(index, item)| (name(index), item))
            .collect::<Map<_, _>>()
            .into();
    }
    let items: Vec<Value> = if value.is_string() {
        (0..size)
            .map(|index| match element(value, index) {
                Some(Element::Bytes(bytes)) => String::from_utf8_lossy(bytes).into(),
                Some(Element::Missing) => Value::Null,
                Some(Element::Other) | None => "?".into(),
            })
            .collect()
    } else if let Some(numbers) = value.as_real_slice() {
        numbers[..size].iter().map(|number| Value::from(*number)).collect()
    } else if let Some(numbers) = value.as_integer_slice() {
        numbers[..size].iter().map(|number| Value::from(*number)).collect()
    } else if let Some(flags) = value.as_logical_slice() {
        flags[..size]
            .iter()
            .map(|flag| {
                if flag.is_na() {
                    Value::Null
                } else {
                    flag.to_bool().into()
                }
            })
            .collect()
    } else {
        return format!("({:?})", value.rtype()).into();
    };
    match <[Value; 1]>::try_from(items) {
        Ok([item]) => item,
        Err(items) => items.into(),
    }
}

extendr_module! {
    mod tool;
    fn core_reject;
}
