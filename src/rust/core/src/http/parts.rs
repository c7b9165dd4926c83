//! What is secret alone within the value of a header: a program may show it without what is around it.

use secrecy::zeroize::Zeroizing;

use super::base64;
use crate::secret::known;

/// Parameters of `Authorization` that say who asks and how, and open nothing.
const PUBLIC: &[&str] = &[
    "algorithm",
    "cnonce",
    "created",
    "credential",
    "email",
    "expires",
    "headers",
    "keyid",
    "nc",
    "nonce",
    "oauth_nonce",
    "oauth_signature_method",
    "oauth_timestamp",
    "opaque",
    "qop",
    "realm",
    "signedheaders",
    "timestamp",
    "uri",
    "username",
    "version",
];

/// The values of a cookie's pairs or of the parameters after a scheme, and the password of an encoded pair, where they
/// can be masked. `value` stands after `scheme`, which may be empty.
pub(super) fn secret_parts(name: &str, scheme: &str, value: &str) -> Vec<Zeroizing<String>> {
    let mut parts = if scheme.eq_ignore_ascii_case("basic") {
        password(value).into_iter().collect()
    } else {
        let cookie = name.to_ascii_lowercase().contains("cookie");
        values(value, cookie)
    };
    parts.retain(|part| known::can_be_masked(part.as_bytes()) && part.as_str() != value);
    parts
}

/// The password of `user:password`, encoded.
fn password(encoded: &str) -> Option<Zeroizing<String>> {
    let pair = base64::decode(encoded.trim())?;
    let (_, password) = std::str::from_utf8(&pair).ok()?.split_once(':')?;
    Some(Zeroizing::new(password.to_owned()))
}

/// The values of `name=value` pairs.
fn values(text: &str, cookie: bool) -> Vec<Zeroizing<String>> {
    pieces(text, cookie)
        .into_iter()
        .filter_map(|piece| piece.split_once('='))
        .filter(|(name, _)| cookie || !PUBLIC.iter().any(|known| name.trim().eq_ignore_ascii_case(known)))
        .map(|(_, value)| unquoted(value.trim()))
        .collect()
}

/// `text` where it is separated, but not within quotes. A cookie's values may hold commas and blanks.
fn pieces(text: &str, cookie: bool) -> Vec<&str> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        let ends = match byte {
            _ if std::mem::take(&mut escaped) => false,
            b'\\' => {
                escaped = quoted;
                false
            }
            b'"' => {
                quoted = !quoted;
                false
            }
            b';' => !quoted,
            b',' | b' ' | b'\t' => !quoted && !cookie,
            _ => false,
        };
        if ends {
            pieces.push(&text[from..at]);
            from = at + 1;
        }
    }
    pieces.push(&text[from..]);
    pieces
}

/// A value without its quotes, and without the marks within them that keep a character from ending it.
fn unquoted(value: &str) -> Zeroizing<String> {
    let Some(inner) = value
        .strip_prefix('"')
        .map(|inner| inner.strip_suffix('"').unwrap_or(inner))
    else {
        return Zeroizing::new(value.to_owned());
    };
    let mut text = Zeroizing::new(String::with_capacity(inner.len()));
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::tests::canary;

    #[test]
    fn what_is_secret_within_a_value() {
        let (one, two) = (canary(), canary());
        let basic = base64::encode(format!("ada.lovelace:{one}:x").as_bytes()).to_string();
        let password = format!("{one}:x");
        let quotes = format!("{one}\\\"\\\\, {two}");
        let unquoted = format!("{one}\"\\, {two}");
        for (name, scheme, value, wanted) in [
            (
                "Cookie",
                "",
                format!("a={one}; theme=dark; b=\"{two}\""),
                vec![&one, &two],
            ),
            ("Cookie", "", format!("a={one}, {two}"), vec![&format!("{one}, {two}")]),
            (
                "Authorization",
                "Token",
                format!("token=\"{one}\", email=\"ada@example.org\""),
                vec![&one],
            ),
            ("Authorization", "Token", format!("token={one}"), vec![&one]),
            (
                "Proxy-Authorization",
                "Digest",
                format!(
                    "username=\"ada.lovelace\", realm=\"of the house\", nonce=\"{two}\", uri=\"/a/b/c/d\", \
                     algorithm=SHA-256-sess, qop=auth, nc=00000001, opaque=\"{two}\", response=\"{one}\""
                ),
                vec![&one],
            ),
            (
                "Authorization",
                "",
                format!(
                    "AWS4-HMAC-SHA256 Credential={two}/20260101/eu-west-1/s3/aws4_request,\
                     SignedHeaders=host;x-amz-date,Signature={one}"
                ),
                vec![&one],
            ),
            ("Authorization", "Some", format!("key=\"{quotes}\""), vec![&unquoted]),
            ("Authorization", "bAsIc", basic, vec![&password]),
            (
                "Authorization",
                "Basic",
                base64::encode(b"ada.lovelace:pass").to_string(),
                vec![],
            ),
            ("Authorization", "Bearer", format!("{one}=="), vec![]),
            (
                "Authorization",
                "Token",
                "token=password, key=changeme".to_owned(),
                vec![],
            ),
            ("X-Api-Key", "", one.clone(), vec![]),
        ] {
            let found = secret_parts(name, scheme, &value);
            let found: Vec<_> = found.iter().map(|part| part.as_str()).collect();
            assert_eq!(found, wanted, "{name}: {scheme} {value}");
        }
    }
}
