//! Header names and values, and which names carry credentials.

/// Whether `name` is a header name: a token of RFC 9110.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(token)
}

/// Whether `value` can be sent as a header's value: no line end or other control character, which would
/// begin a header of its own, and no white space at its ends, which would be dropped.
#[must_use]
pub fn is_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    !value.iter().any(|&byte| (byte < b' ' && byte != b'\t') || byte == 0x7f)
        && !blank(value.first())
        && !blank(value.last())
}

/// Whether a header of this name carries a credential, so that its value is never shown.
#[must_use]
pub fn is_sensitive(name: &str) -> bool {
    const PARTS: [&str; 10] = [
        "authorization",
        "cookie",
        "api-key",
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "credential",
        "signature",
    ];
    let name = name.to_ascii_lowercase().replace('_', "-");
    PARTS.iter().any(|part| name.contains(part)) || name.ends_with("-key") || name == "key"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_tokens() {
        for name in ["Accept", "x-api-key", "X_1"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "a b", "a:", "a\r\nb", "ä", "a\0"] {
            assert!(!is_name(name), "{name:?}");
        }
    }

    #[test]
    fn values_have_no_line_ends() {
        for value in ["", "a", "a b", "a\tb", "\u{e4}"] {
            assert!(is_value(value.as_bytes()), "{value:?}");
        }
        for value in ["a\r\nX: y", "a\n", "a\0", " a", "a\t", "\u{7f}"] {
            assert!(!is_value(value.as_bytes()), "{value:?}");
        }
    }

    #[test]
    fn names_that_carry_credentials() {
        for name in ["Authorization", "proxy-authorization", "X-API-Key", "x_api_key", "Cookie", "api-key", "X-Goog-Api-Key"] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["Accept", "Content-Type", "User-Agent", "x-request-id", "keep-alive"] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
