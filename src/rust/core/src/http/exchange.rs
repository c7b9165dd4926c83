//! The last step before the wire: references become values, or nothing is sent.

use std::sync::Arc;

use secrecy::zeroize::Zeroizing;

use super::reference::{self, joined, Place, Reference};
use super::url::Url;
use super::{framing, header};
use crate::authority::{split_port, Host};
use crate::escape::display_bounded;
use crate::misuse::Misuse;
use crate::redact::Redactor;
use crate::secret::{known, Secret};

/// What a client is about to send.
#[derive(Clone, Copy)]
pub struct Outgoing<'a> {
    /// The URL.
    pub url: &'a str,
    /// Names and values.
    pub headers: &'a [(String, String)],
    /// The body, if there is one.
    pub body: Option<&'a [u8]>,
}

/// What goes over the wire: wiped when it is dropped.
pub struct Wire {
    /// The URL.
    pub url: Zeroizing<String>,
    /// Names and values, in their order.
    pub headers: Vec<(String, Zeroizing<String>)>,
    /// The body, when a value was put into it; otherwise it is sent as it is.
    pub body: Option<Zeroizing<Vec<u8>>>,
    /// Masks the values that were put in, wherever the answer holds them; nothing when there were none.
    pub echo: Option<Arc<Redactor>>,
}

/// A request that is not sent. `code` is one of a closed set of words.
fn refused(code: &'static str, message: impl std::fmt::Display) -> Misuse {
    Misuse::new("reference", message).with("code", code)
}

fn shown(text: &str) -> String {
    display_bounded(text.as_bytes(), 256)
}

/// Puts the values in.
///
/// # Errors
/// `reference` with a `code`: `place` (a reference stands where none may), `url`, `userinfo`, `host`, `insecure`,
/// `host_header`, `header`; `stale_handle` when the auth that a reference stands for is gone.
pub fn exchange(request: Outgoing<'_>) -> Result<Wire, Misuse> {
    let mut used = Vec::new();
    let url = in_url(request.url, &mut used)?;
    let headers = request
        .headers
        .iter()
        .map(|(name, value)| {
            if !reference::spans(name.as_bytes()).is_empty() {
                return Err(refused(
                    "place",
                    "A credential's reference stands in the name of a header. Only values of headers are exchanged.",
                ));
            }
            Ok((name.clone(), in_header(name, value, &mut used)?))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let body = request.body.map_or(Ok(None), |body| in_body(body, &mut used))?;
    let mut echo = None;
    if !used.is_empty() {
        check_place(request, &headers, &used)?;
        for reference in &used {
            reference.value().secrets().for_each(known::remember);
        }
        echo = Some(echo_of(&used));
    }
    Ok(Wire {
        url,
        headers,
        body,
        echo,
    })
}

/// The reference that stands in `text`.
fn find(text: &str) -> Result<Arc<Reference>, Misuse> {
    reference::find(text).ok_or_else(|| {
        Misuse::new(
            "stale_handle",
            "The request holds the reference of a credential that is gone: the value that it stands for was removed, or \
             belongs to another R process. Keep what rho_model_auth() or rho_http_request() gave as long as requests \
             are made with it, or make it again.",
        )
    })
}

fn in_header(name: &str, value: &str, used: &mut Vec<Arc<Reference>>) -> Result<Zeroizing<String>, Misuse> {
    let misplaced = || {
        refused(
            "place",
            format!(
                "The header `{}` holds a reference that was made for another place.",
                shown(name)
            ),
        )
    };
    let mut parts: Vec<Zeroizing<String>> = Vec::new();
    let mut from = 0;
    for span in reference::spans(value.as_bytes()) {
        let reference = find(&value[span.clone()])?;
        let whole = span == (0..value.len());
        if reference.place() != Place::Header || (reference.is_whole() && !whole) {
            return Err(misplaced());
        }
        parts.push(Zeroizing::new(value[from..span.start].to_owned()));
        parts.push(reference.rendered());
        from = span.end;
        used.push(reference);
    }
    parts.push(Zeroizing::new(value[from..].to_owned()));
    Ok(joined(&parts))
}

/// A URL holds references only as the values of query fields that were declared.
fn in_url(url: &str, used: &mut Vec<Arc<Reference>>) -> Result<Zeroizing<String>, Misuse> {
    let spans = reference::spans(url.as_bytes());
    if spans.is_empty() {
        return Ok(Zeroizing::new(url.to_owned()));
    }
    let misplaced = || {
        refused(
            "place",
            "The URL holds a credential's reference. Give it in a header, or declare the field of the query: \
             rho_http_request(query = list(key = credential)).",
        )
    };
    let parsed = Url::parse(url).ok_or_else(misplaced)?;
    let query = parsed.query().ok_or_else(misplaced)?;
    let start = parsed.before_query().len() + 1;
    let mut parts: Vec<Zeroizing<String>> = Vec::new();
    let mut from = 0;
    for span in spans {
        let declared = span.start > start && url.as_bytes()[span.start - 1] == b'=';
        let ends = matches!(url.as_bytes().get(span.end), None | Some(b'&' | b'#'));
        // The second equals sign of a field would belong to its value.
        let field = url[start..span.start.max(start)].rsplit('&').next().unwrap_or_default();
        let first = field.matches('=').count() == 1;
        let inside = span.end <= start + query.len();
        if !(declared && ends && first && inside) {
            return Err(misplaced());
        }
        let reference = find(&url[span.clone()])?;
        if reference.place() != Place::Query {
            return Err(misplaced());
        }
        parts.push(Zeroizing::new(url[from..span.start].to_owned()));
        parts.push(reference.rendered());
        from = span.end;
        used.push(reference);
    }
    parts.push(Zeroizing::new(url[from..].to_owned()));
    Ok(joined(&parts))
}

/// A body holds references only as strings that were declared. One that stands for nothing here is text: a model
/// can have read it somewhere.
fn in_body(body: &[u8], used: &mut Vec<Arc<Reference>>) -> Result<Option<Zeroizing<Vec<u8>>>, Misuse> {
    let mut parts: Vec<(usize, Zeroizing<String>, usize)> = Vec::new();
    for span in reference::spans(body) {
        let text = std::str::from_utf8(&body[span.clone()]).unwrap_or_default();
        let Some(reference) = reference::find(&text.to_ascii_lowercase()) else {
            continue;
        };
        let before = span.start.checked_sub(1).and_then(|at| body.get(at));
        let after = body.get(span.end);
        let declared = match reference.place() {
            Place::Json => before == Some(&b'"') && after == Some(&b'"'),
            Place::Form => before == Some(&b'=') && matches!(after, None | Some(b'&')),
            Place::Header | Place::Query => false,
        };
        if !declared || reference.text() != text {
            return Err(refused(
                "place",
                "The body holds a credential's reference. Give it in a header, or declare the field of the body: \
                 rho_http_request(body = list(key = credential)).",
            ));
        }
        parts.push((span.start, reference.rendered(), span.end));
        used.push(reference);
    }
    if parts.is_empty() {
        return Ok(None);
    }
    let room = body.len() + parts.iter().map(|(_, value, _)| value.len()).sum::<usize>();
    let mut out = Zeroizing::new(Vec::with_capacity(room));
    let mut from = 0;
    for (start, value, end) in parts {
        out.extend_from_slice(&body[from..start]);
        out.extend_from_slice(value.as_bytes());
        from = end;
    }
    out.extend_from_slice(&body[from..]);
    Ok(Some(out))
}

/// Whether the request goes where all that was put in may go.
fn check_place(
    request: Outgoing<'_>,
    headers: &[(String, Zeroizing<String>)],
    used: &[Arc<Reference>],
) -> Result<(), Misuse> {
    let url = Url::parse(request.url).ok_or_else(|| {
        refused(
            "url",
            "A credential is only sent to a URL that every program reads in the same way: absolute, of the scheme \
             https or wss, without white space, backslashes and characters of other alphabets in its host.",
        )
    })?;
    let host = shown(&url.host().to_string());
    if url.has_userinfo() {
        return Err(refused(
            "userinfo",
            "The URL names a user before its host, so the credential is not sent. Leave the user out; for a user \
             and a password use rho_basic().",
        )
        .with("host", &host));
    }
    if !url.scheme().is_encrypted() && !url.host().is_loopback() {
        return Err(refused(
            "insecure",
            format!("A credential is not sent to {host} without encryption. Use https or wss."),
        )
        .with("host", &host));
    }
    for reference in used {
        let credential = reference.value().credential();
        if !credential.allows(url.host(), url.port(), url.scheme().port()) {
            let place = match url.port() {
                port if port == url.scheme().port() => host.clone(),
                port => format!("{host}:{port}"),
            };
            return Err(refused(
                "host",
                format!(
                    "The credential `{}` is not bound to {place}. It may be sent to: {}. Bind it to another with \
                     rho_provider_credential(secret, hosts =).",
                    shown(credential.secret().label()),
                    credential
                        .hosts()
                        .iter()
                        .map(ToString::to_string)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            )
            .with("host", place));
        }
    }
    for (name, value) in headers {
        if !header::is_name(name) || !header::is_value(value.as_bytes()) {
            return Err(refused(
                "header",
                format!(
                    "The header `{}` has a name or a value that cannot be sent: a line ending in it would begin \
                     another header.",
                    shown(name)
                ),
            ));
        }
        if name.eq_ignore_ascii_case("host") && !names_host(value, &url) {
            return Err(refused(
                "host_header",
                "The `Host` header differs from the URL's host, so the credential is not sent. Leave the header out.",
            )
            .with("host", &host));
        }
    }
    let lines = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    if let Some((name, why)) = framing::misleading(lines) {
        return Err(refused("header", format!("The header `{}` {why}", shown(name))));
    }
    Ok(())
}

/// Whether a `Host` header means the URL's host.
fn names_host(value: &str, url: &Url<'_>) -> bool {
    split_port(value).is_some_and(|(host, port)| {
        Host::parse(host).as_ref() == Some(url.host()) && port.unwrap_or_else(|| url.scheme().port()) == url.port()
    })
}

fn echo_of(used: &[Arc<Reference>]) -> Arc<Redactor> {
    let first = &used[0];
    if used.iter().all(|other| Arc::ptr_eq(first, other)) {
        return first.echo();
    }
    let encoded: Vec<_> = used.iter().map(|reference| reference.encoded()).collect();
    let values = used
        .iter()
        .flat_map(|reference| reference.value().secrets().map(Secret::expose))
        .chain(encoded.iter().flatten().map(|text| text.as_bytes()));
    Arc::new(Redactor::of_values(values))
}

#[cfg(test)]
mod tests {
    use super::super::reference::tests::credential;
    use super::super::reference::HeaderCredential;
    use super::*;
    use crate::secret::tests::canary;

    fn raw(value: &str, host: &str, place: Place) -> Arc<Reference> {
        Reference::new(HeaderCredential::raw(credential(value, host)), place)
    }

    fn send(url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Result<Wire, Misuse> {
        let headers: Vec<_> = headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        exchange(Outgoing {
            url,
            headers: &headers,
            body: body.map(str::as_bytes),
        })
    }

    fn code(result: Result<Wire, Misuse>) -> String {
        match result {
            Ok(_) => "sent".to_owned(),
            Err(misuse) => misuse
                .fields
                .iter()
                .find(|(name, _)| *name == "code")
                .map_or(misuse.kind.to_owned(), |(_, code)| code.clone()),
        }
    }

    #[test]
    fn a_header_gets_the_value() {
        let value = canary();
        let reference = raw(&value, "api.example.org", Place::Header);
        let bearer = format!("Bearer {}", reference.text());
        let wire = send(
            "https://API.example.org./v1",
            &[
                ("Accept", "a"),
                ("Authorization", &bearer),
                ("x-api-key", reference.text()),
            ],
            Some("{}"),
        )
        .unwrap();
        assert_eq!(wire.headers[0].1.as_str(), "a");
        assert_eq!(wire.headers[1].1.as_str(), format!("Bearer {value}"));
        assert_eq!(wire.headers[2].1.as_str(), value);
        assert!(wire.body.is_none());
        assert_eq!(wire.echo.unwrap().mask(value.as_bytes()).count, 1);
        assert!(known::is_known(reference.value().credential().secret().id()));
    }

    #[test]
    fn only_where_the_credential_is_bound_to() {
        let value = canary();
        for (bound, url, wanted) in [
            ("api.example.org", "https://api.example.org/", "sent"),
            ("api.example.org", "HTTPS://API.EXAMPLE.ORG:443/", "sent"),
            ("api.example.org", "https://api.example.org.:443", "sent"),
            ("api.example.org", "wss://api.example.org/", "sent"),
            ("*.example.org", "https://api.example.org/", "sent"),
            ("api.example.org", "https://api.example.org:8443/", "host"),
            ("api.example.org", "https://evil.example.org/", "host"),
            ("api.example.org", "https://api.example.org.evil.net/", "host"),
            ("api.example.org", "https://api.example.org@evil.net/", "userinfo"),
            ("api.example.org", "https://u:p@api.example.org/", "userinfo"),
            ("api.example.org", "http://api.example.org/", "insecure"),
            ("api.example.org", "ws://api.example.org/", "insecure"),
            ("api.example.org", "http://api.example.org:443/", "insecure"),
            ("api.example.org", "https://api.example.org\\@evil.net/", "url"),
            ("api.example.org", "https://api.example.org%00.evil.net/", "url"),
            ("api.example.org", "https:api.example.org", "url"),
            ("api.example.org", "//api.example.org", "url"),
            ("api.example.org", "https://api.example.org\u{3002}evil.net/", "url"),
            ("api.example.org", " https://api.example.org/", "url"),
            ("127.0.0.1:8080", "http://127.0.0.1:8080/", "sent"),
            ("127.0.0.1:8080", "http://127.0.0.1:8081/", "host"),
            ("127.0.0.1:8080", "http://127.0.0.1/", "host"),
            ("127.0.0.1", "http://127.0.0.1/", "sent"),
            ("127.0.0.1", "http://localhost/", "host"),
            ("localhost:80", "http://localhost/", "sent"),
        ] {
            let reference = raw(&value, bound, Place::Header);
            assert_eq!(
                code(send(url, &[("x-api-key", reference.text())], None)),
                wanted,
                "{url}"
            );
        }
    }

    #[test]
    fn a_host_header_means_the_same_host() {
        let reference = raw(&canary(), "api.example.org", Place::Header);
        for (host, wanted) in [
            ("api.example.org", "sent"),
            ("API.example.org.:443", "sent"),
            ("api.example.org:8443", "host_header"),
            ("evil.net", "host_header"),
            ("", "host_header"),
            ("api.example.org, evil.net", "host_header"),
        ] {
            let headers = [("HOST", host), ("x-api-key", reference.text())];
            assert_eq!(code(send("https://api.example.org/", &headers, None)), wanted, "{host}");
        }
    }

    #[test]
    fn nowhere_but_in_the_values_of_headers() {
        let reference = raw(&canary(), "a.example", Place::Header);
        let text = reference.text();
        let upper = text.to_ascii_uppercase();
        for (url, name, value, body, wanted) in [
            (format!("https://a.example/{text}"), "a", "b", None, "place"),
            (format!("https://a.example/?k={text}"), "a", "b", None, "place"),
            (format!("https://a.example/#{text}"), "a", "b", None, "place"),
            (format!("https://{text}.example/"), "a", "b", None, "place"),
            (format!("https://a.example/{upper}"), "a", "b", None, "place"),
            ("https://a.example/".to_owned(), text, "b", None, "place"),
            (
                "https://a.example/".to_owned(),
                "a",
                upper.as_str(),
                None,
                "stale_handle",
            ),
            (
                "https://a.example/".to_owned(),
                "a",
                "b",
                Some(format!("\"{text}\"")),
                "place",
            ),
            ("https://a.example/".to_owned(), "a", "b", Some(upper.clone()), "place"),
            ("not a url".to_owned(), "a", "b", None, "sent"),
        ] {
            assert_eq!(
                code(send(&url, &[(name, value)], body.as_deref())),
                wanted,
                "{url} {name} {value}"
            );
        }
    }

    #[test]
    fn a_reference_that_is_gone() {
        let gone = raw(&canary(), "a.example", Place::Header).text().to_owned();
        assert_eq!(
            code(send("https://a.example", &[("x-api-key", &gone)], None)),
            "stale_handle"
        );
        let field = raw(&canary(), "a.example", Place::Query).text().to_owned();
        let url = format!("https://a.example/?key={field}");
        assert_eq!(code(send(&url, &[], None)), "stale_handle");
        // In a body it is text like any other.
        assert_eq!(code(send("https://a.example", &[], Some(&gone))), "sent");
    }

    #[test]
    fn nothing_begins_another_header() {
        let reference = raw(&canary(), "a.example", Place::Header);
        for (name, value) in [("X", "a\r\nHost: evil.net"), ("X\r\nHost", "evil.net"), ("X", "a\0")] {
            let headers = [(name, value), ("x-api-key", reference.text())];
            assert_eq!(code(send("https://a.example", &headers, None)), "header", "{name:?}");
        }
    }

    #[test]
    fn nothing_hides_another_request() {
        let reference = raw(&canary(), "a.example", Place::Header);
        for lines in [
            [("Transfer-Encoding", "chunked"), ("Content-Length", "1")],
            [("Content-Length", "1"), ("Transfer-Encoding", "chunked")],
            [("Connection", "x-api-key"), ("Accept", "a/b")],
        ] {
            let headers = [lines[0], lines[1], ("x-api-key", reference.text())];
            assert_eq!(code(send("https://a.example", &headers, None)), "header", "{lines:?}");
        }
    }

    #[test]
    fn declared_fields() {
        let value = format!("{}/\"", canary());
        let query = raw(&value, "a.example", Place::Query);
        let url = format!("https://a.example/x?a=b&key={}&c=d#f", query.text());
        let mut encoded = String::new();
        super::super::url::percent_encode_into(value.as_bytes(), &mut encoded);
        let wire = send(&url, &[], None).unwrap();
        assert_eq!(
            wire.url.as_str(),
            format!("https://a.example/x?a=b&key={encoded}&c=d#f")
        );
        for url in [
            format!("https://a.example/{}?a", query.text()),
            format!("https://a.example/?a={}x", query.text()),
            format!("https://a.example/?a=b={}", query.text()),
            format!("https://a.example/?{}", query.text()),
            format!("https://a.example/?a#k={}", query.text()),
        ] {
            assert_eq!(code(send(&url, &[], None)), "place", "{url}");
        }
        assert_eq!(
            code(send(&format!("https://b.example/?k={}", query.text()), &[], None)),
            "host"
        );
        let json = raw(&value, "a.example", Place::Json);
        let wire = send(
            "https://a.example/",
            &[],
            Some(&format!("{{\"k\":\"{}\"}}", json.text())),
        )
        .unwrap();
        let sent: serde_json::Value = serde_json::from_slice(&wire.body.unwrap()).unwrap();
        assert_eq!(sent["k"], value.as_str());
        assert_eq!(code(send("https://a.example/", &[("k", json.text())], None)), "place");
        let form = raw(&value, "a.example", Place::Form);
        let wire = send("https://a.example/", &[], Some(&format!("a=b&k={}", form.text()))).unwrap();
        assert_eq!(*wire.body.unwrap(), format!("a=b&k={encoded}").into_bytes());
        assert_eq!(
            code(send("https://a.example/", &[], Some(&format!("a={}x", form.text())))),
            "place"
        );
    }

    #[test]
    fn two_credentials_are_both_masked() {
        let (one, other) = (canary(), canary());
        let first = raw(&one, "a.example", Place::Header);
        let basic = HeaderCredential::basic("user", credential(&other, "a.example")).unwrap();
        let second = Reference::new(basic, Place::Header);
        let headers = [("x-api-key", first.text()), ("Authorization", second.text())];
        let wire = send("https://a.example", &headers, None).unwrap();
        let text = format!("{one} {other} {}", wire.headers[1].1.as_str());
        assert_eq!(wire.echo.unwrap().mask(text.as_bytes()).count, 3);
        let headers = [("Authorization", format!("x {}", second.text()))];
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(code(send("https://a.example", &headers, None)), "place");
    }
}
