//! Which names say that the value that has them is secret: of environment variables, headers, fields and list items.
//!
//! The name belongs to its value here. Where both stand in the middle of a text, which can be prose or a program,
//! more is asked of them: see [`redact::names`](crate::redact::names).

/// The last word of such a name.
const ENDS: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pass",
    "pwd",
    "pat",
    "credential",
    "credentials",
    "auth",
    "cookie",
    "jwt",
    "dsn",
];

/// Words are split, so that `PATH` and `OLDPWD` are none; these stand joined to another one too (`APIKEY`).
const JOINED: &[&str] = &[
    "key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credentials",
];

/// Anywhere in the name of a header or a field. A variable of such a name may be a switch or a place.
const WITHIN: &[&str] = &[
    "authorization",
    "cookie",
    "api-key",
    "apikey",
    "secret",
    "password",
    "passwd",
    "credential",
    "signature",
];

/// Whole names of fields.
const FIELDS: &[&str] = &["sig", "sid"];

/// They end like keys, mark a request or a connection, and open nothing.
const HARMLESS: &[&str] = &["idempotency-key", "sec-websocket-key"];

/// Headers that carry no credential, whatever stands in them. Any other may be one that a service made up.
const HARMLESS_HEADERS: &[&str] = &[
    "accept",
    "accept-encoding",
    "accept-language",
    "age",
    "allow",
    "anthropic-version",
    "cache-control",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "date",
    "expires",
    "host",
    "last-modified",
    "retry-after",
    "server",
    "transfer-encoding",
    "user-agent",
    "vary",
];

/// Whether a variable of this name holds a secret.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    // The working directory of every shell.
    name != "PWD" && ends_in_secret(&plain(name))
}

/// Whether a header or a field of this name carries a credential, so that its value is never shown.
#[must_use]
pub fn is_secret_field(name: &str) -> bool {
    let name = plain(name);
    // A number of tokens is not one.
    let token = || name.split('-').any(|word| word.ends_with("token"));
    ends_in_secret(&name) || FIELDS.contains(&name.as_str()) || WITHIN.iter().any(|part| name.contains(part)) || token()
}

/// Whether a header of this name is known to carry no credential.
#[must_use]
pub fn is_harmless_header(name: &str) -> bool {
    HARMLESS_HEADERS.iter().any(|known| name.eq_ignore_ascii_case(known))
}

fn plain(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', '.'], "-")
}

fn ends_in_secret(name: &str) -> bool {
    let last = name.rsplit('-').next().unwrap_or_default();
    let says = ENDS.contains(&last) || JOINED.iter().any(|end| last.ends_with(end));
    says && !HARMLESS.iter().any(|harmless| name.ends_with(harmless))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets() {
        for (name, variable, field) in [
            ("OPENAI_API_KEY", true, true),
            ("GITHUB_PAT", true, true),
            ("GH_TOKEN", true, true),
            ("my_secret", true, true),
            ("PGPASSWORD", true, true),
            ("APIKEY", true, true),
            ("AWS_SECRET_ACCESS_KEY", true, true),
            ("GOOGLE_CREDENTIALS", true, true),
            ("DB_PASS", true, true),
            ("DB_PWD", true, true),
            ("X-API-Key", true, true),
            ("x_api_key", true, true),
            ("api.key", true, true),
            ("api-key", true, true),
            ("X-Goog-Api-Key", true, true),
            ("X-Auth", true, true),
            ("X-Auth-Token", true, true),
            ("PRIVATE-TOKEN", true, true),
            ("X-CSRFToken", true, true),
            ("X-Signing-Key", true, true),
            ("Cookie", true, true),
            ("jwt", true, true),
            ("auth", true, true),
            ("Authorization", false, true),
            ("proxy-authorization", false, true),
            ("X-Amz-Signature", false, true),
            ("Client-Secret-Id", false, true),
            ("sig", false, true),
            ("sid", false, true),
            ("pwd", true, true),
            ("PWD", false, true),
            ("ORACLE_SID", false, false),
            ("PATH", false, false),
            ("OLDPWD", false, false),
            ("HOME", false, false),
            ("R_HOME", false, false),
            ("COMPASS", false, false),
            ("SSH_AUTH_SOCK", false, false),
            ("KEYBOARD", false, false),
            ("TOKENIZERS", false, false),
            ("Accept", false, false),
            ("Content-Type", false, false),
            ("User-Agent", false, false),
            ("x-request-id", false, false),
            ("keep-alive", false, false),
            ("X-Max-Tokens", false, false),
            ("max_tokens", false, false),
            ("passage", false, false),
            ("x-ratelimit-remaining-tokens", false, false),
            ("Idempotency-Key", false, false),
            ("Sec-WebSocket-Key", false, false),
        ] {
            assert_eq!(is_secret_name(name), variable, "{name}");
            assert_eq!(is_secret_field(name), field, "{name}");
        }
    }

    #[test]
    fn no_harmless_header_is_named_like_a_secret() {
        for name in HARMLESS_HEADERS {
            assert!(
                is_harmless_header(&name.to_ascii_uppercase()) && !is_secret_field(name),
                "{name}"
            );
        }
        assert!(!is_harmless_header("x-anything"));
    }
}
