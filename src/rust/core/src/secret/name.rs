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
    "pw",
    "sshpass",
    "pgpass",
    "dbpass",
    "dbpwd",
    "dbpw",
    "pat",
    "bearer",
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

/// The last word of a variable of several, whatever stands before it.
const SEVERAL: &[&str] = &["secrets", "passwords", "passphrases", "credentials"];

/// A variable of several of them; others are numbers (`MAX_TOKENS`) or no secrets (`SORT_KEYS`).
const SEVERAL_OF: &[&str] = &["keys", "tokens"];

/// What stands before [`SEVERAL_OF`].
const KINDS: &[&str] = &[
    "access",
    "api",
    "auth",
    "bearer",
    "bot",
    "cookie",
    "deploy",
    "encryption",
    "github",
    "gitlab",
    "hmac",
    "jwt",
    "license",
    "master",
    "oauth",
    "private",
    "refresh",
    "secret",
    "service",
    "session",
    "signing",
    "ssh",
];

/// Which one of a secret a variable holds, or how it is written; a number and a version (`V2`) say it as well. `FILE`,
/// `PATH`, `URL` and `ID` are not among them: what ends so is no secret itself.
const SUFFIXES: &[&str] = &[
    "b64",
    "base",
    "base64",
    "dev",
    "development",
    "hex",
    "json",
    "live",
    "new",
    "old",
    "pem",
    "prod",
    "production",
    "staging",
    "test",
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
const FIELDS: &[&str] = &[
    "sig",
    "x-sig",
    "sid",
    "x-hmac",
    "authentication",
    "x-authentication",
    "session",
    "x-session",
    "x-session-id",
    "x-sessionid",
    "x-user-session",
    "x-access",
    "x-access-code",
    "x-ticket",
];

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
    if name == "PWD" {
        return false;
    }
    let name = plain(name);
    let base = without_suffixes(&name);
    ends_in_secret(base) || ends_in_secrets(base) || ends_in_secret(base.trim_end_matches(|c: char| c.is_ascii_digit()))
}

/// The name without what says which of several it is.
fn without_suffixes(name: &str) -> &str {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let suffix = |word: &str| SUFFIXES.contains(&word) || number(word.strip_prefix('v').unwrap_or(word));
    let mut base = name;
    while let Some((before, _)) = base.rsplit_once('-').filter(|(_, last)| suffix(last)) {
        base = before;
    }
    base
}

fn ends_in_secrets(name: &str) -> bool {
    let mut words = name.rsplit('-');
    let last = words.next().unwrap_or_default();
    let kind = words.next().unwrap_or_default();
    SEVERAL.contains(&last) || (SEVERAL_OF.contains(&last) && KINDS.contains(&kind))
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
            ("SSHPASS", true, true),
            ("DB_PW", true, true),
            ("AUTH_BEARER", true, true),
            ("SECRET_KEY_BASE", true, true),
            ("ACCESS_TOKENS", true, false),
            ("SIGNING_KEYS", true, false),
            ("API_KEYS_PROD", true, true),
            ("CREDENTIALS", true, true),
            ("DB_PASSWORDS", true, true),
            ("API_KEY_PROD", true, true),
            ("API_KEY_DEV", true, true),
            ("GH_TOKEN_TEST", true, true),
            ("STRIPE_SECRET_STAGING", true, true),
            ("GH_TOKEN_V2", true, true),
            ("GH_TOKEN_1", true, true),
            ("GH_TOKEN2", true, false),
            ("SIGNING_KEY_PEM", true, false),
            ("GOOGLE_CREDENTIALS_JSON", true, true),
            ("SIGNING_KEY_B64", true, false),
            ("SIGNING_KEY_BASE64_V2", true, false),
            ("Authentication", false, true),
            ("X-Authentication", false, true),
            ("Session", false, true),
            ("X-Session", false, true),
            ("X-Session-Id", false, true),
            ("X-Access", false, true),
            ("X-Access-Key", true, true),
            ("X_Session", false, true),
            ("Authentication-Info", false, false),
            ("X-Access-Control", false, false),
            ("session-count", false, false),
            ("SIGNING_KEY_FILE", false, false),
            ("SIGNING_KEY_PATH", false, false),
            ("AWS_ACCESS_KEY_ID", false, false),
            ("OAUTH_TOKEN_URL", false, true),
            ("SIGNING_KEYS_URL", false, false),
            ("DATABASE", false, false),
            ("AUTH_BASE_URL", false, false),
            ("MAX_TOKENS_TEST", false, false),
            ("SORT_KEYS", false, false),
            ("BYPASS", false, false),
            ("TEST", false, false),
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
