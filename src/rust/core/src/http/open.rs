//! What R holds of an auth or a request as text: everybody sees it, so that no known secret may stand in it.
//!
//! One mechanism for all of it. A secret has a place in a request: a reference in the value of a header, or in a
//! declared field of the query or the body.

use std::borrow::Cow;

use crate::escape::display_bounded;
use crate::misuse::Misuse;
use crate::secret::known;

/// What is percent-encoded more often than this is looked at no further.
const MOST_ROUNDS: usize = 3;

/// Refuses `text` where a known secret stands in it, in any form, percent-encoded in any way as well. `what` it is in
/// words, `argument` the one that it came in.
///
/// # Errors
/// `value`.
pub(super) fn check(argument: &'static str, what: &str, text: &[u8]) -> Result<(), Misuse> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..=MOST_ROUNDS {
        if let Some(secret) = known::standing_in(&text) {
            let label = display_bounded(secret.label().as_bytes(), 128);
            return Err(Misuse::new(
                "value",
                format!(
                    "{what} holds the value of the secret `{label}` as text, where R would show it. Secrets stand in \
                     values of headers and in declared fields alone, as credentials: key <- \
                     rho_provider_credential(secret, hosts), and then headers = list(`x-api-key` = key), \
                     query = list(key = key) or body = list(key = key)."
                ),
            )
            .with("argument", argument)
            .with("label", label));
        }
        match percent_decoded(&text) {
            Some(decoded) => text = Cow::Owned(decoded),
            None => break,
        }
    }
    Ok(())
}

/// The bytes without percent-encoding; nothing where there was none.
fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let mut out = Vec::new();
    let mut from = 0;
    for at in memchr::memchr_iter(b'%', text) {
        let (Some(high), Some(low)) = (digit(text.get(at + 1)), digit(text.get(at + 2))) else {
            continue;
        };
        out.extend_from_slice(&text[from..at]);
        // Two digits of base 16 fit.
        out.push(u8::try_from(16 * high + low).unwrap_or_default());
        from = at + 3;
    }
    (from > 0).then(|| {
        out.extend_from_slice(&text[from..]);
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::tests::{canary, secret, soon};

    fn percent(value: &str) -> String {
        value
            .bytes()
            .map(|byte| format!("%{byte:02x}"))
            .collect::<Vec<_>>()
            .concat()
    }

    #[test]
    fn a_known_secret_in_any_form() {
        let value = canary();
        let held = secret(&value);
        let basic = crate::http::base64::encode(format!("user:{value}").as_bytes()).to_string();
        let one_letter = format!("%{:02X}{}", value.as_bytes()[0], &value[1..]);
        for (index, text) in [
            value.clone(),
            format!("https://a.example/{value}/x"),
            format!("https://{value}@a.example/"),
            format!("https://a.example/?q=1#{value}"),
            percent(&value),
            percent(&percent(&value)),
            one_letter,
            basic.clone(),
            percent(&basic),
        ]
        .iter()
        .enumerate()
        {
            let refused = check("url", "`url`", text.as_bytes()).unwrap_err();
            assert_eq!(refused.kind, "value", "{index}");
            assert!(!refused.message.contains(&value));
            assert!(refused.message.contains("`label`"));
        }
        drop(held);
        assert!(soon(|| check("url", "`url`", value.as_bytes()).is_ok()));
    }

    #[test]
    fn what_only_looks_like_a_secret_is_no_known_one() {
        for text in [
            format!("https://a.example/?api_key={}", canary()),
            format!("Authorization: Bearer {}", canary()),
            "100%".to_owned(),
            "%zz%".to_owned(),
            String::new(),
        ] {
            assert!(check("url", "`url`", text.as_bytes()).is_ok());
        }
    }

    #[test]
    fn percent_signs() {
        for (given, wanted) in [
            ("%41%zz%4", Some("A%zz%4")),
            ("a%2fb", Some("a/b")),
            ("50%", None),
            ("", None),
        ] {
            assert_eq!(percent_decoded(given.as_bytes()).as_deref(), wanted.map(str::as_bytes));
        }
    }
}
