//! Serves `R/tool.R`.

use extendr_api::prelude::*;
use rhocap_core::escape;
use rhocap_core::misuse::Misuse;
use rhocap_core::outcome::{Code, Refusal};
use rhocap_core::verb::Request;
use serde_json::{Map, Value};

use crate::argument::{text, Texts};
use crate::condition::guard;
use crate::outcome::call;
use crate::sexp::{element, Element};

// Answers a tool call that fits no request: because of its arguments, or of a defect.
#[extendr]
fn core_reject(handle: Robj, tool: Robj, arguments: Robj, code: Robj, message: Robj) -> Robj {
    guard(|| {
        let code = match text(&code, "code")? {
            "InvalidArguments" => Code::InvalidArguments,
            "SystemError" => Code::SystemError,
            _ => return Err(Misuse::new("value", "`code` is not one of a rejected call.")),
        };
        let mut left = MOST;
        let request = Request::Reject {
            arguments: to_json(&arguments, DEEPEST, &mut left),
            refusal: Refusal::new(code).say(text(&message, "message")?),
        };
        call(&handle, &tool, &Robj::from("model"), &Texts::default(), request)
    })
}

// What a receipt shows of arguments is short; a model may send anything.
const MOST: usize = 200;
const DEEPEST: usize = 8;
const LONGEST: usize = 4096;

/// Arguments as JSON, without running any R code: what is no plain value is named by its type. Elements
/// are taken one by one, because a vector such as `1:1e9` takes no memory until all of it is asked for.
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
            Some(Element::Bytes(bytes) | Element::Other(bytes, _)) => shown(bytes),
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
                Some(Element::Bytes(bytes) | Element::Other(bytes, _)) => shown(bytes).into(),
                Some(Element::Missing) | None => Value::Null,
            })
            .collect()
    } else if let Ok(numbers) = Doubles::try_from(value) {
        // JSON has no NaN and no infinity: they become null as well.
        let number = |index| Option::<f64>::from(numbers.elt(index));
        (0..size).map(|index| number(index).into()).collect()
    } else if let Ok(numbers) = Integers::try_from(value) {
        let number = |index| Option::<i32>::from(numbers.elt(index));
        (0..size).map(|index| number(index).into()).collect()
    } else if let Ok(flags) = Logicals::try_from(value) {
        let flag = |index| Option::<bool>::from(flags.elt(index));
        (0..size).map(|index| flag(index).into()).collect()
    } else {
        return format!("({:?})", value.rtype()).into();
    };
    match <[Value; 1]>::try_from(items) {
        Ok([item]) => item,
        Err(items) => items.into(),
    }
}

/// The start of a text, which is all that can stand in a receipt; text as it is, other bytes escaped.
fn shown(bytes: &[u8]) -> String {
    let start = &bytes[..bytes.len().min(LONGEST)];
    std::str::from_utf8(start).map_or_else(|_| escape::display(start), str::to_owned)
}

extendr_module! {
    mod tool;
    fn core_reject;
}
