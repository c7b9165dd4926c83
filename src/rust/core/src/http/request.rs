//! One request, with references where credentials go.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::auth::{host_texts, ModelAuth};
use super::framing::check_length;
use super::header::{self, Given, Headers};
use super::open;
use super::reference::{self, HeaderCredential, Place, Reference};
use super::url::{percent_encode_into, Url};
use crate::escape::display_bounded;
use crate::misuse::Misuse;
use crate::redact::MARKER;
use crate::secret::name::is_secret_field;
use crate::secret::{known, ProviderCredential};

/// The methods that are known.
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// The value of a field that may be a credential.
pub enum Field {
    /// Text.
    Text(String),
    /// A credential.
    Credential(ProviderCredential),
}

/// What is sent after the headers.
#[derive(Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// Bytes.
    Bytes(Vec<u8>),
    /// Text, of an unknown kind.
    Text(String),
    /// Text that is JSON.
    Json(String),
    /// Text that is an encoded form.
    Form(String),
}

impl Body {
    /// The bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::None => None,
            Self::Bytes(bytes) => Some(bytes),
            Self::Text(text) | Self::Json(text) | Self::Form(text) => Some(text.as_bytes()),
        }
    }

    fn media_type(&self) -> Option<&'static str> {
        match self {
            Self::Json(_) => Some("application/json"),
            Self::Form(_) => Some("application/x-www-form-urlencoded"),
            Self::None | Self::Bytes(_) | Self::Text(_) => None,
        }
    }

    /// Size and kind, never the content. A credential in it does not count, because its length would show.
    #[must_use]
    pub fn shown(&self) -> String {
        let what = match self {
            Self::None => return "none".to_owned(),
            Self::Bytes(_) => "raw bytes",
            Self::Text(_) => "text",
            Self::Json(_) => "JSON",
            Self::Form(_) => "form",
        };
        let bytes = self.bytes().unwrap_or_default();
        let held = reference::spans(bytes);
        let size = bytes.len() - held.iter().map(std::iter::ExactSizeIterator::len).sum::<usize>();
        let unit = if size == 1 { "byte" } else { "bytes" };
        match held.len() {
            0 => format!("{what}, {size} {unit}"),
            1 => format!("{what}, {size} {unit} and a credential"),
            count => format!("{what}, {size} {unit} and {count} credentials"),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.shown())
    }
}

/// Who a request is sent as.
pub enum Auth<'a> {
    /// Nobody.
    None,
    /// A model's auth: its key as a bearer token, its headers, its base URL.
    Model(&'a ModelAuth),
    /// The `Authorization` header.
    Header(HeaderCredential),
}

/// What a request is made of.
pub struct RequestSpec<'a> {
    /// One of [`METHODS`], in any case.
    pub method: &'a str,
    /// Absolute, or, with an auth that has a base URL, a path that begins with a slash.
    pub url: &'a str,
    /// Fields to add to the URL's query.
    pub query: Vec<(String, Field)>,
    /// Headers.
    pub headers: Vec<(String, Given)>,
    /// The body, in which references made by [`declared`] stand.
    pub body: Body,
    /// What keeps the references of the body alive.
    pub declared: Vec<Arc<Reference>>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Headers of the answer that are wanted.
    pub response_headers: Vec<String>,
    /// Whether the answer is text.
    pub convert: bool,
    /// Who sends it.
    pub auth: Auth<'a>,
}

/// A request. Its references are alive as long as it is.
pub struct HttpRequest {
    id: String,
    method: &'static str,
    url: String,
    headers: Headers,
    body: Body,
    timeout_ms: u64,
    response_headers: Vec<String>,
    convert: bool,
    held: Vec<Arc<Reference>>,
    short: Vec<String>,
}

/// The reference of a credential that stands in a declared field.
#[must_use]
pub fn declared(credential: ProviderCredential, place: Place) -> Arc<Reference> {
    Reference::new(HeaderCredential::raw(credential), place)
}

/// The JSON text of a value.
#[must_use]
pub fn json(value: &Value) -> Body {
    Body::Json(value.to_string())
}

/// The form of these fields; the references in it go to `held`.
#[must_use]
pub fn form(fields: Vec<(String, Field)>, held: &mut Vec<Arc<Reference>>) -> Body {
    let mut text = String::new();
    add_fields(fields, Place::Form, &mut text, held);
    Body::Form(text)
}

fn add_fields(fields: Vec<(String, Field)>, place: Place, text: &mut String, held: &mut Vec<Arc<Reference>>) {
    for (index, (name, value)) in fields.into_iter().enumerate() {
        if index > 0 {
            text.push('&');
        }
        percent_encode_into(name.as_bytes(), text);
        text.push('=');
        match value {
            Field::Text(value) => percent_encode_into(value.as_bytes(), text),
            Field::Credential(credential) => {
                let reference = declared(credential, place);
                text.push_str(reference.text());
                held.push(reference);
            }
        }
    }
}

impl HttpRequest {
    /// A request.
    ///
    /// # Errors
    /// `value` for an unknown method, and where a known secret stands as text: in the URL, in a header, in the body or
    /// in `response_headers`; `url` for what is no URL or names a user; `header` for one that is
    /// [`misleading`](super::framing::misleading); those of [`Headers::new`].
    pub fn new(spec: RequestSpec<'_>) -> Result<Self, Misuse> {
        let upper = spec.method.to_ascii_uppercase();
        let method = METHODS.into_iter().find(|known| *known == upper).ok_or_else(|| {
            Misuse::new("value", format!("`method` must be one of {}.", METHODS.join(", "))).with("argument", "method")
        })?;
        let mut held = spec.declared;
        let whole =
            match &spec.auth {
                Auth::Model(auth) if spec.url.starts_with('/') && !auth.base_url().is_empty() => {
                    format!("{}{}", auth.base_url().trim_end_matches('/'), spec.url)
                }
                Auth::Model(_) if spec.url.starts_with('/') => return Err(Misuse::new(
                    "url",
                    "`url` is the path after a base URL, and `auth` has none. Give rho_model_auth() a `base_url`, or \
                     `url` as a whole.",
                )
                .with("argument", "url")),
                _ => spec.url.to_owned(),
            };
        let url = with_query(&whole, spec.query, &mut held)?;
        let own = Url::parse(&url).map_or_else(Vec::new, |parsed| {
            // A literal credential is bound to where this request goes.
            vec![format!("{}:{}", parsed.host(), parsed.port())]
        });
        let mut headers = match spec.auth {
            Auth::None => Headers::default(),
            Auth::Model(auth) => {
                held.push(Arc::clone(auth.key()));
                let mut key = Headers::default();
                let bearer = Given::Text(format!("Bearer {}", auth.key().text()));
                key.add("Authorization".to_owned(), bearer, &[])?;
                key.replaced_by(auth.headers().clone())
            }
            Auth::Header(value) => {
                let hosts = host_texts(value.credential());
                Headers::new(vec![("Authorization".to_owned(), Given::Credential(value))], &hosts)?
            }
        };
        let id = crate::random::hex(16);
        let own_headers = Headers::new(spec.headers, &own)?;
        let short = own_headers.owned_by(&id);
        headers = headers.replaced_by(own_headers);
        if let Some(media_type) = spec.body.media_type().filter(|_| !headers.has("content-type")) {
            headers.add("Content-Type".to_owned(), Given::Text(media_type.to_owned()), &own)?;
        }
        // Now that every secret of it is known.
        open::check("url", "`url`", whole.as_bytes())?;
        open::check("query", "`query`", url.as_bytes())?;
        headers.check()?;
        open::check("body", "`body`", spec.body.bytes().unwrap_or_default())?;
        for name in &spec.response_headers {
            open::check("response_headers", "`response_headers`", name.as_bytes())?;
        }
        check_length(&headers, &spec.body)?;
        Ok(Self {
            id,
            method,
            url,
            headers,
            short,
            body: spec.body,
            timeout_ms: spec.timeout_ms,
            response_headers: spec.response_headers,
            convert: spec.convert,
            held,
        })
    }

    /// A random, public name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The names of the headers whose credentials were given as text, and are short.
    #[must_use]
    pub fn short(&self) -> &[String] {
        &self.short
    }

    /// The method, in upper case.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.method
    }

    /// The URL, with references.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The headers, with references.
    #[must_use]
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The body, with references.
    #[must_use]
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// The URL for eyes.
    #[must_use]
    pub fn shown_url(&self) -> String {
        shown_url(&self.url)
    }

    fn references(&self) -> Vec<Arc<Reference>> {
        let body = self.body.bytes().unwrap_or_default();
        [self.url.as_bytes(), body]
            .into_iter()
            .flat_map(|text| {
                reference::spans(text)
                    .into_iter()
                    .filter_map(|span| reference::find(std::str::from_utf8(&text[span]).ok()?))
            })
            .collect()
    }
}

/// A URL for eyes: no userinfo, no values of fields that carry credentials, nothing that is known.
#[must_use]
pub fn shown_url(url: &str) -> String {
    let hidden = |name: &str, value: &str| {
        is_secret_field(name) && reference::spans(value.as_bytes()).is_empty() && !value.is_empty()
    };
    let text = match Url::parse(url) {
        Some(parsed) => parsed.shown(MARKER, hidden),
        // What is no URL may hold anything.
        None => MARKER.to_owned(),
    };
    let text = header::shown_references(&text);
    display_bounded(known::redactor().mask_text(&text).text.as_bytes(), 2048)
}

fn with_query(url: &str, query: Vec<(String, Field)>, held: &mut Vec<Arc<Reference>>) -> Result<String, Misuse> {
    let bad = |message: &str| Misuse::new("url", message).with("argument", "url");
    let parsed = Url::read(url).map_err(|why| bad(&format!("`url` {why}")))?;
    if parsed.has_userinfo() {
        return Err(bad(
            "`url` names a user before its host, which would be shown. Give the user and the password with rho_basic().",
        ));
    }
    if query.is_empty() {
        return Ok(url.to_owned());
    }
    let mut text = parsed.before_query().to_owned();
    text.push('?');
    if let Some(before) = parsed.query().filter(|before| !before.is_empty()) {
        text.push_str(before);
        text.push('&');
    }
    add_fields(query, Place::Query, &mut text, held);
    if let Some(fragment) = parsed.fragment() {
        text.push('#');
        text.push_str(fragment);
    }
    Ok(text)
}

/// Whether both send the same, in a time that tells nothing of the credentials.
impl PartialEq for HttpRequest {
    fn eq(&self, other: &Self) -> bool {
        let plain = |request: &Self| {
            let body = request.body.bytes().map(reference::without_references);
            (
                request.method,
                reference::without_references(request.url.as_bytes()),
                body,
                request.timeout_ms,
                request.response_headers.clone(),
                request.convert,
            )
        };
        let mut same = plain(self) == plain(other);
        same &= self.headers.same(&other.headers);
        let (one, two) = (self.references(), other.references());
        same &= one.len() == two.len();
        for (first, second) in one.iter().zip(&two) {
            same &= first.value() == second.value();
        }
        same
    }
}

impl Eq for HttpRequest {}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HttpRequest")
            .field("id", &self.id)
            .field("method", &self.method)
            .field("url", &self.shown_url())
            .field("headers", &self.headers)
            .field("body", &self.body)
            .field("held", &self.held.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::exchange::{exchange, Outgoing};
    use super::super::reference::tests::credential;
    use super::*;
    use crate::secret::tests::canary;

    fn spec(url: &str) -> RequestSpec<'_> {
        RequestSpec {
            method: "post",
            url,
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::None,
            declared: Vec::new(),
            timeout_ms: 1000,
            response_headers: Vec::new(),
            convert: true,
            auth: Auth::None,
        }
    }

    #[test]
    fn an_auth_fills_a_request() {
        let value = canary();
        let auth = ModelAuth::new(
            credential(&value, "a.example"),
            vec![("x-version".to_owned(), Given::Text("2".to_owned()))],
            "https://a.example/v1/",
            &[],
        )
        .unwrap();
        let request = HttpRequest::new(RequestSpec {
            auth: Auth::Model(&auth),
            body: json(&serde_json::json!({"a": 1})),
            ..spec("/chat")
        })
        .unwrap();
        drop(auth);
        assert_eq!((request.method(), request.url()), ("POST", "https://a.example/v1/chat"));
        let wire = exchange(Outgoing {
            url: request.url(),
            headers: request.headers().lines(),
            body: request.body().bytes(),
        })
        .unwrap();
        let sent: Vec<_> = wire
            .headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.as_str()))
            .collect();
        assert_eq!(
            sent,
            [
                format!("Authorization: Bearer {value}"),
                "x-version: 2".to_owned(),
                "Content-Type: application/json".to_owned()
            ]
        );
    }

    #[test]
    fn nothing_shows_the_value() {
        let value = canary();
        let key = || credential(&value, "a.example");
        let mut held = Vec::new();
        let body = form(vec![("client_secret".to_owned(), Field::Credential(key()))], &mut held);
        let request = HttpRequest::new(RequestSpec {
            query: vec![
                ("key".to_owned(), Field::Credential(key())),
                ("a".to_owned(), Field::Text("b c".to_owned())),
            ],
            headers: vec![("Cookie".to_owned(), Given::Text(format!("session={value}")))],
            body,
            declared: held,
            ..spec("https://a.example/x?token=abc#f")
        })
        .unwrap();
        assert_eq!(
            request.shown_url(),
            format!("https://a.example/x?token={MARKER}&key=[credential label]&a=b%20c#f")
        );
        // Of names that are no headers' too, and not where they are a part of another.
        let url = "https://a.example/?pass=a&sig=b&JWT=c&auth=d&passage=e&max_tokens=f";
        let hidden = format!("https://a.example/?pass={MARKER}&sig={MARKER}&JWT={MARKER}&auth={MARKER}");
        assert_eq!(shown_url(url), format!("{hidden}&passage=e&max_tokens=f"));
        assert_eq!(request.body().shown(), "form, 14 bytes and a credential");
        let shown = format!(
            "{request:?} {} {:?} {:?} {:?}",
            request.url(),
            request.headers().lines(),
            request.headers().shown(),
            request.body()
        );
        assert!(!shown.contains(&value), "{shown}");
    }

    #[test]
    fn what_is_no_request() {
        let kind = |spec: RequestSpec<'_>| HttpRequest::new(spec).err().map(|misuse| misuse.kind);
        assert_eq!(
            kind(RequestSpec {
                method: "CONNECT",
                ..spec("https://a.example")
            }),
            Some("value")
        );
        for url in ["https://u:p@a.example/", "/x", "a.example", "https://a example"] {
            assert_eq!(kind(spec(url)), Some("url"), "{url}");
        }
    }

    #[test]
    fn a_known_secret_is_no_text_of_a_request() {
        let value = canary();
        let held = crate::secret::tests::secret(&value);
        let url = "https://a.example/";
        let header = |name: &str, value: &str| vec![(name.to_owned(), Given::Text(value.to_owned()))];
        let text = |value: &str| Field::Text(value.to_owned());
        let argument = |spec: RequestSpec<'_>| {
            let misuse = HttpRequest::new(spec).expect_err("it is refused");
            assert_eq!(misuse.kind, "value", "{misuse}");
            assert!(!misuse.message.contains(&value), "{misuse}");
            misuse
                .fields
                .iter()
                .find(|(name, _)| *name == "argument")
                .unwrap()
                .1
                .clone()
        };
        let path = format!("{url}{value}");
        let query = format!("{url}?api_key={value}");
        let fragment = format!("{url}#{value}");
        for url in [&path, &query, &fragment] {
            assert_eq!(argument(spec(url)), "url");
        }
        let fields = [("k".to_owned(), text(&value)), (value.clone(), text("v"))];
        for field in fields {
            let query = vec![field];
            assert_eq!(argument(RequestSpec { query, ..spec(url) }), "query");
        }
        let reference = Reference::new(HeaderCredential::raw(credential(&canary(), "a.example")), Place::Header);
        let beside = format!("{} {value}", reference.text());
        for headers in [
            header("X-Custom", &value),
            header("X-Custom", &format!("Bearer {value}")),
            header(&value, "v"),
            header("Authorization", &beside),
        ] {
            assert_eq!(argument(RequestSpec { headers, ..spec(url) }), "headers");
        }
        let mut kept = Vec::new();
        for body in [
            Body::Text(value.clone()),
            Body::Bytes([b"\0\xff", value.as_bytes(), b"\0"].concat()),
            json(&serde_json::json!({"a": [{"b": value}]})),
            json(&serde_json::json!({ value.as_str(): 1 })),
            form(vec![("k".to_owned(), text(&format!("a b/{value}")))], &mut kept),
        ] {
            assert_eq!(argument(RequestSpec { body, ..spec(url) }), "body");
        }
        let response_headers = vec![value.clone()];
        assert_eq!(
            argument(RequestSpec {
                response_headers,
                ..spec(url)
            }),
            "response_headers"
        );
        // Where it has a place it stands, also beside what only looks like one.
        let other = format!("{url}?api_key={}", canary());
        for name in ["Authorization", "X-Auth", "Cookie", "x-api-key"] {
            let headers = header(name, &value);
            assert!(
                HttpRequest::new(RequestSpec {
                    headers,
                    ..spec(&other)
                })
                .is_ok(),
                "{name}"
            );
        }
        // One that is known through this request alone.
        let literal = canary();
        let both = format!("{url}?k={literal}");
        let headers = header("Authorization", &format!("Bearer {literal}"));
        assert!(HttpRequest::new(RequestSpec { headers, ..spec(&both) }).is_err());
        drop(held);
        assert!(crate::secret::tests::soon(|| HttpRequest::new(spec(&query)).is_ok()));
    }

    #[test]
    fn a_length_is_that_of_the_body() {
        let mut kept = Vec::new();
        let key = || Field::Credential(credential(&canary(), "a.example"));
        let with_key = form(vec![("k".to_owned(), key())], &mut kept);
        let size = with_key.bytes().map_or(0, <[u8]>::len).to_string();
        for (length, body, wanted) in [
            ("0", Body::None, None),
            ("1", Body::None, Some("header")),
            ("3", Body::Text("abc".to_owned()), None),
            ("2", Body::Text("abc".to_owned()), Some("header")),
            ("99999999999999999999999", Body::Text("abc".to_owned()), Some("header")),
            (size.as_str(), with_key, Some("header")),
        ] {
            let headers = vec![("content-length".to_owned(), Given::Text(length.to_owned()))];
            let made = HttpRequest::new(RequestSpec {
                headers,
                body,
                ..spec("https://a.example/")
            });
            assert_eq!(made.err().map(|misuse| misuse.kind), wanted, "{length}");
        }
    }

    #[test]
    fn equal_by_what_is_sent() {
        let value = canary();
        let made = |value: &str| {
            HttpRequest::new(RequestSpec {
                auth: Auth::Header(HeaderCredential::bearer(credential(value, "a.example"))),
                query: vec![("k".to_owned(), Field::Credential(credential(value, "a.example")))],
                ..spec("https://a.example/")
            })
            .unwrap()
        };
        assert_eq!(made(&value), made(&value));
        assert_ne!(made(&value), made(&canary()));
    }
}
