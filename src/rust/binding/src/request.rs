//! Serves `R/request.R`.

use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::http::reference::{Place, Reference};
use rhocap_core::http::request::{declared, form, json, Auth, Body, Field, HttpRequest, RequestSpec};
use rhocap_core::misuse::Misuse;
use serde_json::{Map, Value};

use crate::argument::{bad_word, count, flag, text, texts, Fields};
use crate::auth;
use crate::condition::guard;
use crate::secret::{self, Hidden};
use crate::sexp::{element, Element};
use crate::value::Plain;

/// A list deeper than this is refused, because reading it takes stack.
const DEEPEST: usize = 200;

/// The request behind a handle.
pub fn of_handle(handle: &Robj) -> Result<Arc<HttpRequest>, Misuse> {
    Hidden::of_handle(handle, "request", "rho_http_request()")
}

// A request: what R holds of it are references.
#[extendr]
fn core_http_request(spec: Robj) -> Robj {
    guard(|| {
        let fields = Fields::of(&spec, "spec")?;
        let mut kept = Vec::new();
        let body = body(fields.get("body"), text(fields.need("body_kind")?, "body")?, &mut kept)?;
        let auth;
        let sender = match (fields.get("auth"), text(fields.need("auth_kind")?, "auth")?) {
            (None, _) => Auth::None,
            (Some(handle), "auth") => {
                auth = auth::of_handle(handle)?;
                Auth::Model(&auth)
            }
            (Some(handle), "header") => Auth::Header(auth::header_value(handle)?.clone()),
            (Some(handle), "credential") => Auth::Header(rhocap_core::http::reference::HeaderCredential::bearer(
                secret::credential(handle)?,
            )),
            _ => return Err(bad_word("auth")),
        };
        let request = HttpRequest::new(RequestSpec {
            method: text(fields.need("method")?, "method")?,
            url: text(fields.need("url")?, "url")?,
            query: fields.map("query", named_fields)?.unwrap_or_default(),
            headers: auth::headers(fields.need("headers")?)?,
            body,
            declared: kept,
            timeout_ms: count(fields.need("timeout_ms")?, "timeout_ms")?,
            response_headers: texts(fields.need("response_headers")?, "response_headers")?,
            convert: flag(fields.need("convert")?, "convert")?,
            auth: sender,
        })?;
        let body = match request.body() {
            Body::None => Plain::Null,
            Body::Bytes(bytes) => Plain::Bytes(bytes.clone()),
            Body::Text(text) | Body::Json(text) | Body::Form(text) => text.clone().into(),
        };
        Ok(Plain::Named(vec![
            ("id", request.id().to_owned().into()),
            ("method", request.method().into()),
            ("url", request.url().to_owned().into()),
            ("headers", auth::lines(request.headers())),
            ("body", body),
            ("short", request.short().to_vec().into()),
            ("handle", Hidden::hold(Arc::new(request))),
        ]))
    })
}

// What print shows of a request.
#[extendr]
fn core_request_shown(handle: Robj) -> Robj {
    guard(|| {
        let request = of_handle(&handle)?;
        Ok(Plain::Named(vec![
            ("method", request.method().into()),
            ("url", request.shown_url().into()),
            ("headers", auth::shown(request.headers())),
            ("body", request.body().shown().into()),
        ]))
    })
}

fn body(value: Option<&Robj>, kind: &str, kept: &mut Vec<Arc<Reference>>) -> Result<Body, Misuse> {
    let Some(value) = value else {
        return Ok(Body::None);
    };
    Ok(match kind {
        "raw" => Body::Bytes(value.as_raw_slice().ok_or_else(|| bad_word("body"))?.to_vec()),
        "text" => Body::Text(text(value, "body")?.to_owned()),
        "json" => json(&json_of(value, 0, kept)?),
        "form" => form(named_fields(value, "body")?, kept),
        _ => return Err(bad_word("body")),
    })
}

/// Fields of which each is one string, number, flag or a credential.
fn named_fields(value: &Robj, name: &str) -> Result<Vec<(String, Field)>, Misuse> {
    let list = value.as_list().unwrap_or_default();
    if list.is_empty() {
        return Ok(Vec::new());
    }
    let names = list.get_attrib("names").ok_or_else(|| bad_word(name))?;
    texts(&names, name)?
        .into_iter()
        .zip(list.values())
        .map(|(label, value)| {
            let field = if value.is_external_pointer() {
                Field::Credential(secret::credential(&value)?)
            } else if value.is_string() {
                Field::Text(text(&value, name)?.to_owned())
            } else {
                Field::Text(scalar(&value).ok_or_else(|| bad_word(name))?.to_string())
            };
            Ok((label, field))
        })
        .collect()
}

/// A list of R's as JSON: one element is a value, several an array, names make an object. The credentials in it are
/// handles.
fn json_of(value: &Robj, depth: usize, kept: &mut Vec<Arc<Reference>>) -> Result<Value, Misuse> {
    if depth > DEEPEST {
        return Err(Misuse::new("value", "`body` is nested too deeply."));
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    if value.is_external_pointer() {
        let reference = declared(secret::credential(value)?, Place::Json);
        let text = reference.text().to_owned();
        kept.push(reference);
        return Ok(text.into());
    }
    if let Some(list) = value.as_list() {
        let items = list.values().map(|item| json_of(&item, depth + 1, kept));
        return match list.get_attrib("names") {
            None => items.collect::<Result<Vec<_>, _>>().map(Value::Array),
            Some(names) => {
                let names = texts(&names, "body")?;
                let fields = names.into_iter().zip(items);
                fields
                    .map(|(name, item)| Ok((name, item?)))
                    .collect::<Result<Map<_, _>, Misuse>>()
                    .map(Value::Object)
            }
        };
    }
    let size = value.len();
    let items: Vec<Value> = if value.is_string() {
        (0..size)
            .map(|index| match element(value, index) {
                Some(Element::Bytes(bytes)) => std::str::from_utf8(bytes)
                    .map(Value::from)
                    .map_err(|_| Misuse::new("encoding", "`body` holds text that is not valid UTF-8.")),
                Some(Element::Other(..)) => Err(Misuse::new("encoding", "`body` holds text that is not valid UTF-8.")),
                Some(Element::Missing) | None => Ok(Value::Null),
            })
            .collect::<Result<_, _>>()?
    } else if let Ok(numbers) = Doubles::try_from(value) {
        (0..size)
            .map(|index| number(Option::<f64>::from(numbers.elt(index))))
            .collect()
    } else if let Ok(numbers) = Integers::try_from(value) {
        (0..size)
            .map(|index| Option::<i32>::from(numbers.elt(index)).into())
            .collect()
    } else if let Ok(flags) = Logicals::try_from(value) {
        (0..size)
            .map(|index| Option::<bool>::from(flags.elt(index)).into())
            .collect()
    } else {
        return Err(Misuse::new("type", "`body` holds something that JSON has no word for."));
    };
    Ok(match <[Value; 1]>::try_from(items) {
        Ok([item]) => item,
        Err(items) => items.into(),
    })
}

/// One number or flag.
fn scalar(value: &Robj) -> Option<Value> {
    let json = if let Ok(numbers) = Doubles::try_from(value) {
        number(Option::<f64>::from(numbers.elt(0)))
    } else if let Ok(numbers) = Integers::try_from(value) {
        Option::<i32>::from(numbers.elt(0)).into()
    } else {
        Option::<bool>::from(Logicals::try_from(value).ok()?.elt(0)).into()
    };
    (value.len() == 1 && !json.is_null()).then_some(json)
}

/// Whole numbers without a point, as every other writer of JSON in R gives them; JSON has no NaN and no infinity.
#[allow(clippy::cast_possible_truncation)]
fn number(value: Option<f64>) -> Value {
    match value {
        Some(value) if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 => (value as i64).into(),
        other => other.into(),
    }
}

extendr_module! {
    mod request;
    fn core_http_request;
    fn core_request_shown;
}
