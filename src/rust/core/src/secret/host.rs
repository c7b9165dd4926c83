//! The hosts that a credential may be sent to.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::escape::display;
use crate::misuse::Misuse;

const FORM: &str =
    "give a name such as \"api.example.org\", with a port where it is not the scheme's own, and without \
                    a scheme or a path.";

/// `host`, `host:port`, or `*.domain` for the hosts below a domain.
///
/// Without a port only the scheme's own is meant: another port can be another person's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    name: Name,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    V4(Ipv4Addr),
    V6(Ipv6Addr),
    Exact(String),
    /// Hosts that end in this, which starts with a dot.
    Below(String),
}

impl HostPattern {
    /// The pattern in `text`, in lower case, without the dot that ends an absolute name.
    ///
    /// # Errors
    /// `hosts`: what two programs could read in two ways, and what stands for a whole registry.
    pub fn parse(text: &str) -> Result<Self, Misuse> {
        let bad = |why: &str| {
            let shown = display(text.as_bytes());
            Misuse::new("hosts", format!("\"{shown}\" is no host of a credential: {why}")).with("host", shown)
        };
        let (host, port) = split_port(text).ok_or_else(|| bad(FORM))?;
        let below = host.strip_prefix("*.");
        let name = parse_name(below.unwrap_or(host)).ok_or_else(|| {
            bad(if text.is_ascii() {
                FORM
            } else {
                "write its ASCII form (xn--...)."
            })
        })?;
        let name = match (below, name) {
            (None, name) => name,
            (Some(_), Name::Exact(domain)) if domain.contains('.') => Name::Below(format!(".{domain}")),
            (Some(_), _) => {
                return Err(bad(
                    "a pattern needs a domain of two names at least, as \"*.example.org\".",
                ))
            }
        };
        Ok(Self { name, port })
    }

    /// Whether the place is meant; `default` is the port of the scheme in use.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16, default: u16) -> bool {
        let bare = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let given = match bare {
            Some(inner) => inner.parse().ok().map(Name::V6),
            None => parse_name(host),
        };
        let Some(given) = given else { return false };
        let named = match (&self.name, &given) {
            (Name::Below(end), Name::Exact(name)) => name.len() > end.len() && name.ends_with(end.as_str()),
            (one, other) => one == other,
        };
        named && port == self.port.unwrap_or(default)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::V4(address) => write!(formatter, "{address}")?,
            Name::V6(address) => write!(formatter, "[{address}]")?,
            Name::Exact(name) => formatter.write_str(name)?,
            Name::Below(end) => write!(formatter, "*{end}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let end = text.rfind(']').map_or(0, |bracket| bracket + 1);
    let Some(colon) = text[end..].find(':') else {
        return Some((text, None));
    };
    let (host, port) = (&text[..end + colon], &text[end + colon + 1..]);
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse().ok().filter(|port| digits && *port > 0)?;
    Some((host, Some(port)))
}

fn parse_name(text: &str) -> Option<Name> {
    if let Some(inner) = text.strip_prefix('[') {
        return inner.strip_suffix(']')?.parse().ok().map(Name::V6);
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    if let Ok(address) = name.parse() {
        return Some(Name::V4(address));
    }
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= 63
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    // What ends in a number is an address in one of its other spellings.
    let number =
        |last: &str| last.bytes().all(|byte| byte.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
    let plain = name.len() <= 253 && name.split('.').all(label) && !name.rsplit('.').next().is_some_and(number);
    plain.then(|| Name::Exact(name.to_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant() {
        for (pattern, host, port, wanted) in [
            ("api.example.org", "api.example.org", 443, true),
            ("API.Example.org.", "api.EXAMPLE.org", 443, true),
            ("api.example.org", "api.example.org.", 443, true),
            ("api.example.org", "api.example.org", 8443, false),
            ("api.example.org:8443", "api.example.org", 8443, true),
            ("api.example.org:8443", "api.example.org", 443, false),
            ("api.example.org", "xapi.example.org", 443, false),
            ("api.example.org", "api.example.org.evil.net", 443, false),
            ("*.example.org", "a.example.org", 443, true),
            ("*.example.org", "a.b.example.org", 443, true),
            ("*.example.org", "example.org", 443, false),
            ("*.example.org", "evilexample.org", 443, false),
            ("*.example.org", ".example.org", 443, false),
            ("127.0.0.1:8080", "127.0.0.1", 8080, true),
            ("127.0.0.1:8080", "127.1", 8080, false),
            ("[::1]:80", "[::1]", 80, true),
            ("[0:0:0:0:0:0:0:1]", "[::1]", 443, true),
            ("localhost:8080", "LOCALHOST", 8080, true),
            ("api.example.org", "api.example.org%00", 443, false),
        ] {
            assert_eq!(
                HostPattern::parse(pattern).unwrap().matches(host, port, 443),
                wanted,
                "{pattern} {host}"
            );
        }
    }

    #[test]
    fn what_is_no_pattern() {
        for text in [
            "",
            "*",
            "*.",
            "*.com",
            "*.com.",
            "a.*.org",
            "**.example.org",
            "*example.org",
            "https://example.org",
            "example.org/",
            "user@example.org",
            "example.org:",
            "example.org:0",
            "example.org:65536",
            "example.org:+1",
            "exa mple.org",
            "exämple.org",
            "a..org",
            ".org",
            "[::1",
            "::1",
            "*.127.0.0.1",
            "[::1]x",
            "127.1",
            "0x7f000001",
            "a\0b",
            "a\nb",
            "*.[::1]",
        ] {
            assert_eq!(
                HostPattern::parse(text).err().map(|misuse| misuse.kind),
                Some("hosts"),
                "{text:?}"
            );
        }
    }

    #[test]
    fn shown_as_it_is_compared() {
        for (given, shown) in [
            ("API.Example.org.:8443", "api.example.org:8443"),
            ("*.Example.org", "*.example.org"),
            ("[0:0::1]:1", "[::1]:1"),
        ] {
            assert_eq!(HostPattern::parse(given).unwrap().to_string(), shown);
        }
    }
}
