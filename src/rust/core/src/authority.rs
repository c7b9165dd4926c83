//! Hosts and the ports after them, as they are compared: in URLs and in what a credential is bound to.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// A host as it is compared: an address, or a name in lower case without the dot that ends an absolute one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Host {
    /// An address of four numbers.
    V4(Ipv4Addr),
    /// An address, in brackets where it is written.
    V6(Ipv6Addr),
    /// A name.
    Name(String),
}

impl Host {
    /// The host in `text`, or nothing when it is no plain host name or address.
    ///
    /// What two programs could read in two ways is no host: percent signs, letters beyond ASCII, empty labels, and
    /// an address in another spelling than that of four numbers (`127.1`, `0x7f000001`, `127.0.0.1.`, which is a name
    /// to a resolver).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            return inner.strip_suffix(']')?.parse().ok().map(Self::V6);
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if let Ok(address) = name.parse() {
            return (name == text).then_some(Self::V4(address));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(plain);
        let number =
            |last: &str| last.bytes().all(|byte| byte.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
        let whole = name.len() <= 253 && name.split('.').all(label) && !name.rsplit('.').next().is_some_and(number);
        whole.then(|| Self::Name(name.to_ascii_lowercase()))
    }

    /// Whether packets to it stay on this machine, so that they need no encryption.
    ///
    /// Only spellings that every resolver takes so: `localhost`, `127.0.0.0/8` with four numbers, `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            Self::V4(address) => address.is_loopback(),
            Self::V6(address) => address.is_loopback(),
            Self::Name(name) => name == "localhost",
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => write!(formatter, "{address}"),
            Self::V6(address) => write!(formatter, "[{address}]"),
            Self::Name(name) => formatter.write_str(name),
        }
    }
}

/// A host and the port after it, if there is one.
pub(crate) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    // The colons of an IPv6 address stand in brackets.
    let from = text.rfind(']').map_or(0, |end| end + 1);
    let Some(colon) = text[from..].find(':') else {
        return (from == 0 || from == text.len()).then_some((text, None));
    };
    let (host, port) = (&text[..from + colon], &text[from + colon + 1..]);
    let digits = !port.is_empty() && port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || (from > 0 && colon > 0) {
        return None;
    }
    let port: u16 = port.parse().ok()?;
    (port > 0).then_some((host, Some(port)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_host() {
        for text in ["API.Example.com", "api.example.com.", "api.example.com"] {
            assert_eq!(Host::parse(text).unwrap().to_string(), "api.example.com", "{text}");
        }
        assert_eq!(Host::parse("[0:0:0:0:0:0:0:1]").unwrap().to_string(), "[::1]");
        for text in [
            "",
            ".",
            "..",
            "a..b",
            "a%2eb",
            "a b",
            "bücher.de",
            "a/b",
            "[::1",
            "::1",
            "a@b",
            "*.a",
            "[1.2.3.4]",
            "127.1",
            "0x7f000001",
            "2130706433",
            "127.0.0.1.",
            "10.0.0.1.",
            "[::1].",
            "127.1.",
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn loopback_is_what_every_resolver_takes_for_it() {
        for text in ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "[::1]"] {
            assert!(Host::parse(text).unwrap().is_loopback(), "{text}");
        }
        for text in ["localhost.example.com", "0.0.0.0", "[::]", "127.0.0.1.example.com"] {
            assert!(!Host::parse(text).unwrap().is_loopback(), "{text}");
        }
    }

    #[test]
    fn a_port_is_a_number() {
        assert_eq!(split_port("a:8443"), Some(("a", Some(8443))));
        assert_eq!(split_port("[::1]:80"), Some(("[::1]", Some(80))));
        assert_eq!(split_port("[::1]"), Some(("[::1]", None)));
        for text in ["a:", "a:0", "a:65536", "a:+1", "a:1:2", "[::1]x:1", "[::1]x", "a:80 "] {
            assert_eq!(split_port(text), None, "{text}");
        }
    }
}
