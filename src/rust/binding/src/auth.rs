//! Serves `R/auth.R`.

use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::http::auth::{host_texts, ModelAuth};
use rhocap_core::http::header::{Given, Headers};
use rhocap_core::http::reference::{HeaderCredential, Template};
use rhocap_core::http::request::shown_url;
use rhocap_core::misuse::Misuse;

use crate::argument::{bad_word, text, texts, Fields};
use crate::condition::guard;
use crate::handle::{held, hold};
use crate::secret::{self, Hidden};
use crate::value::Plain;

/// The auth behind a handle.
pub fn of_handle(handle: &Robj) -> Result<Arc<ModelAuth>, Misuse> {
    Hidden::of_handle(handle, "auth", "rho_model_auth()")
}

/// The header value behind a handle.
pub fn header_value(handle: &Robj) -> Result<&HeaderCredential, Misuse> {
    held(handle, "header value", "rho_bearer() or rho_basic()")
}

/// Headers as `R/auth.R` hands them over: names, kinds and values.
pub fn headers(value: &Robj) -> Result<Vec<(String, Given)>, Misuse> {
    let fields = Fields::of(value, "headers")?;
    let names = texts(fields.need("names")?, "headers")?;
    let kinds = texts(fields.need("kinds")?, "headers")?;
    let values = fields.need("values")?.as_list().unwrap_or_default();
    if names.len() != kinds.len() || names.len() != values.len() {
        return Err(bad_word("headers"));
    }
    names
        .into_iter()
        .zip(kinds)
        .zip(values.values())
        .map(|((name, kind), value)| {
            let given = match kind.as_str() {
                "text" => Given::Text(text(&value, "headers")?.to_owned()),
                "credential" => Given::Credential(HeaderCredential::raw(secret::credential(&value)?)),
                "header" => Given::Credential(header_value(&value)?.clone()),
                _ => return Err(bad_word("headers")),
            };
            Ok((name, given))
        })
        .collect()
}

/// Names and values in a list with names.
pub fn lines(headers: &Headers) -> Plain {
    Plain::Object(
        headers
            .lines()
            .iter()
            .map(|(name, value)| (name.clone(), value.clone().into()))
            .collect(),
    )
}

/// A line for each header.
pub fn shown(headers: &Headers) -> Plain {
    let line = |(name, value): (String, String)| format!("{name}: {value}");
    headers.shown().into_iter().map(line).collect::<Vec<_>>().into()
}

// A credential in the form in which a header has it.
#[extendr]
fn core_header_credential(credential: Robj, form: Robj, user: Robj) -> Robj {
    guard(|| {
        let credential = secret::credential(&credential)?;
        let value = match text(&form, "form")? {
            "bearer" => HeaderCredential::bearer(credential),
            "basic" => HeaderCredential::basic(text(&user, "user")?, credential)?,
            _ => return Err(bad_word("form")),
        };
        let credential = value.credential();
        let facts = vec![
            ("id", rhocap_core::random::hex(16).into()),
            ("label", credential.secret().label().to_owned().into()),
            ("hosts", host_texts(credential).into()),
            ("scheme", scheme(&value).into()),
            ("handle", hold(value)),
        ];
        Ok(Plain::Named(facts))
    })
}

/// Strings and raw vectors as bytes.
fn pieces(value: &Robj) -> Result<Vec<Vec<u8>>, Misuse> {
    let list = value.as_list().unwrap_or_default();
    let one = |piece: Robj| match piece.as_raw_slice() {
        Some(bytes) => Ok(bytes.to_vec()),
        None => Ok(text(&piece, "metadata")?.as_bytes().to_vec()),
    };
    list.values().map(one).collect()
}

fn scheme(value: &HeaderCredential) -> &'static str {
    match value.template() {
        Template::Raw => "",
        Template::Bearer => "Bearer",
        Template::Basic(_) => "Basic",
    }
}

// An auth: what R holds of it are references.
#[extendr]
fn core_model_auth(credential: Robj, headers: Robj, base_url: Robj, others: Robj) -> Robj {
    guard(|| {
        let auth = ModelAuth::new(
            secret::credential(&credential)?,
            self::headers(&headers)?,
            text(&base_url, "base_url")?,
            &pieces(&others)?,
        )?;
        Ok(Plain::Named(vec![
            ("id", auth.id().to_owned().into()),
            ("label", auth.credential().secret().label().to_owned().into()),
            ("hosts", host_texts(auth.credential()).into()),
            ("api_key", auth.key().text().to_owned().into()),
            ("headers", lines(auth.headers())),
            ("base_url", auth.base_url().to_owned().into()),
            ("short", auth.short().to_vec().into()),
            ("handle", Hidden::hold(Arc::new(auth))),
        ]))
    })
}

// What print shows of an auth.
#[extendr]
fn core_auth_shown(handle: Robj) -> Robj {
    guard(|| {
        let auth = of_handle(&handle)?;
        let base_url = auth.base_url();
        Ok(Plain::Named(vec![
            ("headers", shown(auth.headers())),
            (
                "base_url",
                if base_url.is_empty() {
                    Plain::Word("")
                } else {
                    shown_url(base_url).into()
                },
            ),
        ]))
    })
}

// Whether two handles of a kind hold the same, in a time that does not tell where they differ.
#[extendr]
fn core_auth_equal(one: Robj, other: Robj, kind: Robj) -> Robj {
    guard(|| {
        Ok(match text(&kind, "kind")? {
            "auth" => of_handle(&one)? == of_handle(&other)?,
            "header" => header_value(&one)? == header_value(&other)?,
            "request" => crate::request::of_handle(&one)? == crate::request::of_handle(&other)?,
            _ => return Err(bad_word("kind")),
        }
        .into())
    })
}

extendr_module! {
    mod auth;
    fn core_header_credential;
    fn core_model_auth;
    fn core_auth_shown;
    fn core_auth_equal;
}
