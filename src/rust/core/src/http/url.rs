//! URLs, read strictly: what two programs could read in two ways is no URL here.

use std::fmt::Write as _;

use crate::authority::{split_port, Host};

/// The parts of an absolute `http`, `https`, `ws` or `wss` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url<'a> {
    text: &'a str,
    scheme: Scheme,
    userinfo: Option<&'a str>,
    host: Host,
    port: Option<u16>,
    /// Path, query and fragment, as they were written.
    rest: &'a str,
}

const NO_SCHEME: &str = "is no absolute URL with the scheme https, http, wss or ws.";

/// How a URL's host is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Plain text.
    Http,
    /// Encrypted.
    Https,
    /// A plain WebSocket.
    Ws,
    /// An encrypted WebSocket.
    Wss,
}

impl Scheme {
    /// The port where none is named.
    #[must_use]
    pub fn port(self) -> u16 {
        match self {
            Self::Http | Self::Ws => 80,
            Self::Https | Self::Wss => 443,
        }
    }

    /// Whether what is sent is encrypted.
    #[must_use]
    pub fn is_encrypted(self) -> bool {
        matches!(self, Self::Https | Self::Wss)
    }

    /// The word before the colon.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Ws => "ws",
            Self::Wss => "wss",
        }
    }
}

impl<'a> Url<'a> {
    /// The parts of `text`, or nothing when it is no such URL.
    ///
    /// White space, control characters and backslashes are refused anywhere: programs differ in whether they
    /// drop them or take a backslash for a slash.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        Self::read(text).ok()
    }

    /// The same, or what is wrong in words that follow the name of what was given.
    ///
    /// # Errors
    /// Which part no URL has so.
    pub fn read(text: &'a str) -> Result<Self, &'static str> {
        if text.bytes().any(|byte| byte <= b' ' || byte == 0x7f || byte == b'\\') {
            return Err("has white space, a control character or a backslash in it. Encode it as %20 and the like.");
        }
        let (scheme, after) = text.split_once("://").ok_or(NO_SCHEME)?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            "ws" => Scheme::Ws,
            "wss" => Scheme::Wss,
            _ => return Err(NO_SCHEME),
        };
        let end = after.find(['/', '?', '#']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        let (userinfo, place) = match authority.rsplit_once('@') {
            Some((userinfo, place)) => (Some(userinfo), place),
            None => (None, authority),
        };
        let (host, port) = split_port(place).ok_or(
            "has a port that is none, or a host with a colon outside of brackets. A port is a number from 1 to 65535.",
        )?;
        let host = Host::parse(host).ok_or(if host.is_empty() {
            "names no host."
        } else if host.is_ascii() {
            "has a host that is no plain name or address: give letters, digits, `-` and `_` between single dots, or \
             all four numbers of an address."
        } else {
            "has a host with letters beyond ASCII. Write its ASCII form (xn--...)."
        })?;
        Ok(Self {
            text,
            scheme,
            userinfo,
            host,
            port,
            rest,
        })
    }

    /// The scheme.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port, named or the scheme's own.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.scheme.port())
    }

    /// Whether a name or password stands before the host.
    #[must_use]
    pub fn has_userinfo(&self) -> bool {
        self.userinfo.is_some()
    }

    /// What stands before the query and the fragment.
    #[must_use]
    pub fn before_query(&self) -> &'a str {
        let length = self.text.len() - self.rest.len();
        &self.text[..length + self.rest.find(['?', '#']).unwrap_or(self.rest.len())]
    }

    /// The query, without its question mark.
    #[must_use]
    pub fn query(&self) -> Option<&'a str> {
        let before = self.rest.split_once('#').map_or(self.rest, |(before, _)| before);
        before.split_once('?').map(|(_, query)| query)
    }

    /// The fragment, without its hash.
    #[must_use]
    pub fn fragment(&self) -> Option<&'a str> {
        self.rest.split_once('#').map(|(_, fragment)| fragment)
    }

    /// The URL for eyes: without userinfo, and without the values of query fields for which `hidden` says so.
    pub fn shown(&self, marker: &str, hidden: impl Fn(&str, &str) -> bool) -> String {
        let mut text = format!("{}://{}", self.scheme.word(), self.host);
        if let Some(port) = self.port {
            let _ = write!(text, ":{port}");
        }
        let path_end = self.rest.find(['?', '#']).unwrap_or(self.rest.len());
        text.push_str(&self.rest[..path_end]);
        if let Some(query) = self.query() {
            text.push('?');
            for (index, field) in query.split('&').enumerate() {
                if index > 0 {
                    text.push('&');
                }
                match field.split_once('=') {
                    Some((name, value)) if hidden(name, value) => {
                        text.push_str(name);
                        text.push('=');
                        text.push_str(marker);
                    }
                    _ => text.push_str(field),
                }
            }
        }
        if let Some(fragment) = self.fragment() {
            text.push('#');
            text.push_str(fragment);
        }
        text
    }
}

/// `text` with all but RFC 3986's unreserved characters percent-encoded.
pub fn percent_encode_into(text: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts() {
        let url = Url::parse("HTTPS://Api.Example.COM.:8443/v1/x?key=1&b#frag").unwrap();
        assert_eq!(url.scheme(), Scheme::Https);
        assert_eq!(url.host().to_string(), "api.example.com");
        assert_eq!(url.port(), 8443);
        assert_eq!(url.query(), Some("key=1&b"));
        assert_eq!(url.fragment(), Some("frag"));
        assert_eq!(url.before_query(), "HTTPS://Api.Example.COM.:8443/v1/x");
        assert!(!url.has_userinfo());
        assert_eq!(Url::parse("http://a").unwrap().port(), 80);
        assert_eq!(Url::parse("wss://a?x").unwrap().query(), Some("x"));
        assert_eq!(Url::parse("http://a#?x").unwrap().query(), None);
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_url() {
        for text in [
            "",
            "a",
            "/x",
            "//a/x",
            "ftp://a",
            "http:/a",
            "http:a",
            "http://",
            "http:///x",
            "http://a b",
            "http://a\n",
            "http://a\t/",
            "http://a\\@b",
            "http://a%00",
            "http://a:b",
            "http://a:80:90",
            "http://[::1",
            "http://\u{430}pi.example.com",
            "file:///etc/passwd",
        ] {
            assert_eq!(Url::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn userinfo_is_found_at_the_last_at_sign() {
        let url = Url::parse("https://good.example@evil.example/").unwrap();
        assert!(url.has_userinfo());
        assert_eq!(url.host().to_string(), "evil.example");
        let url = Url::parse("https://a@b@c/").unwrap();
        assert_eq!(url.host().to_string(), "c");
    }

    #[test]
    fn shown_without_userinfo_and_hidden_values() {
        let url = Url::parse("https://u:p@a:1/x?key=v&b=c&key2#f").unwrap();
        assert_eq!(
            url.shown("*", |name, _| name == "key"),
            "https://a:1/x?key=*&b=c&key2#f"
        );
    }

    #[test]
    fn percent_signs_there_and_back() {
        let mut text = String::new();
        percent_encode_into("a b/ü%".as_bytes(), &mut text);
        assert_eq!(text, "a%20b%2F%C3%BC%25");
    }

    #[test]
    fn what_is_wrong_is_told_by_its_part() {
        for (text, wanted) in [
            ("https://127.1/", "four numbers"),
            ("https://a_b..c/", "single dots"),
            ("https://a:99999/", "65535"),
            ("https://::1/", "brackets"),
            ("https://b\u{fc}cher.example/", "xn--"),
            ("https:///x", "names no host"),
            ("https://a b/", "white space"),
            ("https://a\\b/", "backslash"),
            ("/x", "scheme"),
            ("ftp://a/", "scheme"),
        ] {
            let why = Url::read(text).unwrap_err();
            assert!(why.contains(wanted), "{text}: {why}");
        }
    }
}
