//! Headers that say where a request ends: none that two programs could read in two ways.

use super::header::Headers;
use super::reference;
use super::request::Body;
use crate::misuse::Misuse;

/// A header that two programs could understand in two ways, so that they differ in where a request ends or in what
/// it holds: its name, and what is wrong in words. RFC 9112, section 6.3; RFC 9110, section 7.6.1.
///
/// A name with `_` in place of `-` counts: to some servers it is the same.
#[must_use]
pub fn misleading<'a>(lines: impl IntoIterator<Item = (&'a str, &'a str)>) -> Option<(&'a str, &'static str)> {
    let (mut length, mut encoding) = (false, false);
    for (name, value) in lines {
        let value = value.trim_ascii();
        let mut words = value.split(',').map(|word| word.trim_ascii().to_ascii_lowercase());
        let wrong = match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "content-length" if encoding => Some(BOTH),
            "content-length" if std::mem::replace(&mut length, true) => Some("is given twice."),
            "content-length" if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some("must be a number of bytes. Leave it out: the client says how long the body is.")
            }
            "transfer-encoding" if length => Some(BOTH),
            "transfer-encoding" if std::mem::replace(&mut encoding, true) => Some("is given twice."),
            "transfer-encoding" if !value.eq_ignore_ascii_case("chunked") => {
                Some("can be `chunked` alone. Leave it out: the client says how it sends the body.")
            }
            "connection" if !words.all(|word| ["close", "keep-alive", "upgrade", "te"].contains(&word.as_str())) => {
                Some("names a header that would be taken away on the way. It can be `close` or `keep-alive`.")
            }
            "upgrade" if !value.eq_ignore_ascii_case("websocket") => {
                Some("asks for another protocol, in which nobody on the way looks at what is sent. Leave it out.")
            }
            "http2-settings" => Some("asks for another protocol. Leave it out."),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Some((name, wrong));
        }
    }
    None
}

const BOTH: &str = "stands beside one that says in another way where the body ends (`Content-Length`, \
                    `Transfer-Encoding`): another request could be hidden in it. Leave both out.";

/// A length that is named is that of the body; with a reference in it, nobody knows it yet.
pub(super) fn check_length(headers: &Headers, body: &Body) -> Result<(), Misuse> {
    let bytes = body.bytes().unwrap_or_default();
    let wrong = |named: &str| {
        let named = named.trim_ascii().parse::<usize>().ok();
        named != Some(bytes.len()) || !reference::spans(bytes).is_empty()
    };
    if headers.value("content-length").is_some_and(wrong) {
        return Err(Misuse::new(
            "header",
            "The header `Content-Length` is not the length of what is sent, so that what follows could be taken for \
             another request. Leave it out: the client says how long the body is.",
        )
        .with("name", "Content-Length"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_programs_could_read_in_two_ways() {
        let te = ("Transfer-Encoding", "chunked");
        let length = ("Content-Length", "5");
        for (lines, wanted) in [
            (vec![te], None),
            (vec![length], None),
            (
                vec![("Connection", "close"), ("TE", "trailers"), ("Keep-Alive", "timeout=5")],
                None,
            ),
            (vec![("Connection", "Upgrade"), ("Upgrade", "websocket")], None),
            (vec![te, length], Some("Content-Length")),
            (vec![length, te], Some("Transfer-Encoding")),
            (
                vec![length, ("transfer_encoding", "chunked")],
                Some("transfer_encoding"),
            ),
            (vec![te, ("CONTENT-LENGTH", "5")], Some("CONTENT-LENGTH")),
            (vec![length, length], Some("Content-Length")),
            (vec![te, te], Some("Transfer-Encoding")),
            (
                vec![("Transfer-Encoding", "chunked, identity")],
                Some("Transfer-Encoding"),
            ),
            (vec![("Transfer-Encoding", "xchunked")], Some("Transfer-Encoding")),
            (vec![("Content-Length", "+5")], Some("Content-Length")),
            (vec![("Content-Length", "5, 5")], Some("Content-Length")),
            (vec![("Content-Length", "")], Some("Content-Length")),
            (vec![("Connection", "close, Authorization")], Some("Connection")),
            (vec![("Connection", "Content-Length")], Some("Connection")),
            (vec![("Upgrade", "h2c")], Some("Upgrade")),
            (vec![("HTTP2-Settings", "AAMAAABk")], Some("HTTP2-Settings")),
        ] {
            assert_eq!(misleading(lines.clone()).map(|(name, _)| name), wanted, "{lines:?}");
        }
    }
}
