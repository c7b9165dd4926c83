//! The hosts that a credential may be sent to.

use std::fmt;

use crate::authority::{split_port, Host};
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
    Exact(Host),
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
        let named = Host::parse(below.unwrap_or(host)).ok_or_else(|| {
            bad(if text.is_ascii() {
                FORM
            } else {
                "write its ASCII form (xn--...)."
            })
        })?;
        let name = match (below, named) {
            (None, host) => Name::Exact(host),
            (Some(_), Host::Name(domain)) if domain.contains('.') => Name::Below(format!(".{domain}")),
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
    pub fn matches(&self, host: &Host, port: u16, default: u16) -> bool {
        let named = match (&self.name, host) {
            (Name::Exact(one), other) => one == other,
            (Name::Below(end), Host::Name(name)) => name.len() > end.len() && name.ends_with(end.as_str()),
            (Name::Below(_), _) => false,
        };
        named && port == self.port.unwrap_or(default)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Name::Exact(host) => write!(formatter, "{host}")?,
            Name::Below(end) => write!(formatter, "*{end}")?,
        }
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
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
            let bound = HostPattern::parse(pattern).unwrap();
            let matches = Host::parse(host).is_some_and(|host| bound.matches(&host, port, 443));
            assert_eq!(matches, wanted, "{pattern} {host}");
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
