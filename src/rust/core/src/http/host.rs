//! Hosts, as they are compared.

use std::fmt;

/// A host as it is compared: lower case, without the dot that ends an absolute name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Host(String);

impl Host {
    /// The host in `text`, or nothing when it is no plain host name or address.
    ///
    /// What two programs could read in two ways is no host: percent signs, letters beyond ASCII, empty labels.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: std::net::Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self(format!("[{address}]")));
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let whole = !name.is_empty() && name.len() <= 253 && name.bytes().all(plain);
        (whole && !name.split('.').any(str::is_empty)).then(|| Self(name.to_ascii_lowercase()))
    }

    /// The host as it is compared.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether packets to it stay on this machine, so that they need no encryption.
    ///
    /// Only spellings that every resolver takes so: `localhost`, `127.0.0.0/8` with four numbers, `::1`.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.0 == "localhost"
            || self.0 == "[::1]"
            || self
                .0
                .parse::<std::net::Ipv4Addr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A host and the port after it, if there is one.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
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
            assert_eq!(Host::parse(text).unwrap().as_str(), "api.example.com", "{text}");
        }
        assert_eq!(Host::parse("[0:0:0:0:0:0:0:1]").unwrap().as_str(), "[::1]");
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
        ] {
            assert_eq!(Host::parse(text), None, "{text}");
        }
    }

    #[test]
    fn loopback_is_what_every_resolver_takes_for_it() {
        for text in ["localhost", "LOCALHOST.", "127.0.0.1", "127.1.2.3", "[::1]"] {
            assert!(Host::parse(text).unwrap().is_loopback(), "{text}");
        }
        for text in [
            "127.1",
            "localhost.example.com",
            "0.0.0.0",
            "[::]",
            "2130706433",
            "127.0.0.1.example.com",
        ] {
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
