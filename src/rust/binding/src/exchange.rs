//! Serves `R/exchange.R`.

use std::cell::RefCell;

use extendr_api::prelude::*;
use rhocap_core::http::echo::Echo;
use rhocap_core::http::exchange::{exchange, Outgoing};
use rhocap_core::http::request::shown_url;
use rhocap_core::misuse::Misuse;
use rhocap_core::redact::Stream;

use crate::argument::{optional, text, texts};
use crate::condition::guard;
use crate::handle::{held, hold};
use crate::sexp::{element, Element};
use crate::value::Plain;

const ECHO: &str = "mask of an answer";
const ECHO_AGAIN: &str = "a request";

// What goes over the wire, from what a client holds. The one place where values become strings of R's, for the
// argument of a client that takes strings.
#[extendr]
fn core_exchange(url: Robj, names: Robj, values: Robj, body: Robj) -> Robj {
    guard(|| {
        let names = texts(&names, "headers")?;
        let values = texts(&values, "headers")?;
        if names.len() != values.len() {
            return Err(Misuse::new("value", "Each header has one name and one value."));
        }
        let headers: Vec<_> = names.into_iter().zip(values).collect();
        let body = optional(&body, "body", bytes)?;
        let request = Outgoing {
            url: text(&url, "url")?,
            headers: &headers,
            body,
        };
        let wire = exchange(request)?;
        let echo = wire.echo.map(|redactor| Echo::new(request, redactor));
        let (names, values): (Vec<_>, Vec<_>) = wire
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.to_string()))
            .unzip();
        Ok(Plain::Named(vec![
            ("url", wire.url.to_string().into()),
            ("names", names.into()),
            ("values", values.into()),
            (
                "body",
                wire.body.map_or(Plain::Null, |body| Plain::Bytes(body.to_vec())),
            ),
            ("echo", echo.map_or(Plain::Null, hold)),
        ]))
    })
}

/// The bytes of one string or of a raw vector, whatever they are.
fn bytes<'a>(value: &'a Robj, name: &str) -> Result<&'a [u8], Misuse> {
    if let Some(raw) = value.as_raw_slice() {
        return Ok(raw);
    }
    match element(value, 0) {
        Some(Element::Bytes(bytes) | Element::Other(bytes, _)) if value.len() == 1 => Ok(bytes),
        _ => Err(Misuse::new("type", format!("`{name}` must be one string or raw bytes.")).with("argument", name)),
    }
}

fn echo(handle: &Robj) -> Result<&Echo, Misuse> {
    held(handle, ECHO, ECHO_AGAIN)
}

// Bytes or strings of an answer, with what was put into its request masked; nothing when it holds none of that.
#[extendr]
fn core_echo_mask(handle: Robj, value: Robj) -> Robj {
    guard(|| {
        let echo = echo(&handle)?;
        if let Some(raw) = value.as_raw_slice() {
            let masked = echo.redactor().mask(raw);
            return Ok(match masked.count {
                0 => Plain::Null,
                _ => Plain::Bytes(masked.text.into_owned()),
            });
        }
        let mut count = 0;
        let masked = (0..value.len())
            .map(|index| match element(&value, index) {
                None | Some(Element::Missing) => None,
                Some(Element::Bytes(bytes) | Element::Other(bytes, _)) => {
                    let masked = echo.redactor().mask(bytes);
                    count += masked.count;
                    Some(String::from_utf8_lossy(&masked.text).into_owned())
                }
            })
            .collect();
        Ok(if count == 0 { Plain::Null } else { Plain::Texts(masked) })
    })
}

// The same for names of headers, which programs write in another case: `NULL` when none holds it.
#[extendr]
fn core_echo_names(handle: Robj, names: Robj) -> Robj {
    guard(|| {
        let echo = echo(&handle)?;
        let mut changed = false;
        let masked = (0..names.len())
            .map(|index| match element(&names, index) {
                None | Some(Element::Missing) => None,
                Some(Element::Bytes(bytes) | Element::Other(bytes, _)) => {
                    let masked = echo.mask_name(bytes);
                    changed |= masked.is_some();
                    Some(String::from_utf8_lossy(masked.as_deref().unwrap_or(bytes)).into_owned())
                }
            })
            .collect();
        Ok(if changed { Plain::Texts(masked) } else { Plain::Null })
    })
}

type Answer = RefCell<Stream>;

// The same for an answer that comes in pieces.
#[extendr]
fn core_echo_stream(handle: Robj) -> Robj {
    guard(|| Ok(hold::<Answer>(RefCell::new(echo(&handle)?.stream()))))
}

// The next piece of an answer, or its end.
#[extendr]
fn core_echo_push(handle: Robj, piece: Robj) -> Robj {
    guard(|| {
        let stream: &Answer = held(&handle, ECHO, ECHO_AGAIN)?;
        let mut stream = stream.borrow_mut();
        Ok(Plain::Bytes(match optional(&piece, "piece", bytes)? {
            Some(piece) => stream.push(piece),
            None => stream.finish(),
        }))
    })
}

// A URL for eyes.
#[extendr]
fn core_shown_url(url: Robj) -> Robj {
    guard(|| Ok(shown_url(text(&url, "url")?).into()))
}

extendr_module! {
    mod exchange;
    fn core_exchange;
    fn core_echo_mask;
    fn core_echo_names;
    fn core_echo_stream;
    fn core_echo_push;
    fn core_shown_url;
}
