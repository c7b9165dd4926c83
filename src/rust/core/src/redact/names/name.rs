//! Which names say that what stands beside them is secret.

/// What a name says of its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// RFC 9110, section 11.6.2: a scheme and credentials.
    Authorization,
    /// RFC 6265, section 4.2: pairs of names and values.
    Cookie,
    /// RFC 6265, section 4.1: one pair, and attributes.
    SetCookie,
    /// A header whose value is a credential.
    Header,
    /// Any other name.
    Other,
    /// A name that says secret in a query only.
    Query,
}

/// What such a name ends with. Those of three letters are found by what follows them.
pub(super) const WORDS: [&str; 17] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pass",
    "pwd",
    "key",
    "auth",
    "authorization",
    "cookie",
    "credential",
    "credentials",
    "signature",
    "sig",
    "pat",
];

/// Longer names are none.
pub(super) const LONGEST: usize = 64;

/// Keys that are secret: most are not.
const KEYS: [&[u8]; 22] = [
    b"apikey",
    b"accesskey",
    b"secretkey",
    b"privatekey",
    b"accountkey",
    b"encryptionkey",
    b"decryptionkey",
    b"signingkey",
    b"masterkey",
    b"subscriptionkey",
    b"functionskey",
    b"authkey",
    b"sharedkey",
    b"storagekey",
    b"servicekey",
    b"appkey",
    b"applicationkey",
    b"adminkey",
    b"sessionkey",
    b"hmackey",
    b"licensekey",
    b"deploykey",
];

/// Names that end like secrets and are none: places in lists, marks of tokenizers, tokens against forged forms.
const HARMLESS: [&[u8]; 26] = [
    b"pagetoken",
    b"nexttoken",
    b"prevtoken",
    b"continuationtoken",
    b"paginationtoken",
    b"synctoken",
    b"cursortoken",
    b"bostoken",
    b"eostoken",
    b"padtoken",
    b"unktoken",
    b"septoken",
    b"clstoken",
    b"masktoken",
    b"specialtoken",
    b"starttoken",
    b"stoptoken",
    b"endtoken",
    b"maxtoken",
    b"numtoken",
    b"csrftoken",
    b"xsrftoken",
    b"csrfmiddlewaretoken",
    b"imagetoken",
    b"amzcredential",
    b"googcredential",
];

/// Headers whose values are credentials, without separators, but for those that begin with `x-`.
const HEADERS: [&[u8]; 8] = [
    b"apikey",
    b"privatetoken",
    b"jobtoken",
    b"deploytoken",
    b"ddapikey",
    b"ddapplicationkey",
    b"ocpapimsubscriptionkey",
    b"xapikey",
];

/// What `name` says, of which `word` is the end; `None` when it says nothing.
pub(super) fn classify(name: &[u8], word: &str) -> Option<Name> {
    let is_flag = name.starts_with(b"-");
    let mut plain = [0; LONGEST];
    let mut length = 0;
    for byte in name.iter().filter(|byte| !b"-_.".contains(byte)) {
        plain[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    let plain = &plain[..length];
    let ends_in = |names: &[&[u8]]| names.iter().any(|name| plain.ends_with(name));
    let before = &name[..name.len() - word.len()];
    // The word stands for itself, and is not the end of another one.
    let apart = before.last().is_none_or(|byte| b"-_.".contains(byte));
    let hump = name[before.len()].is_ascii_uppercase() && before.last().is_some_and(u8::is_ascii_lowercase);
    if ends_in(&HARMLESS) {
        return None;
    }
    let says = match word {
        "key" => ends_in(&KEYS),
        "pass" | "pwd" | "auth" => apart || hump,
        // `pat` alone is a pattern.
        "pat" => apart && !before.is_empty() && !is_flag,
        "sig" | "signature" => {
            return (plain == b"sig" || ends_in(&[b"amzsignature", b"googsignature"])).then_some(Name::Query)
        }
        "cookie" if plain == b"cookie" => return Some(Name::Cookie),
        "cookie" if plain == b"setcookie" => return Some(Name::SetCookie),
        "authorization" => return (!is_flag).then_some(Name::Authorization),
        _ => true,
    };
    if !says {
        return None;
    }
    let is_header =
        !is_flag && name.contains(&b'-') && (name[..2].eq_ignore_ascii_case(b"x-") || HEADERS.contains(&plain));
    Some(if is_header { Name::Header } else { Name::Other })
}

/// Whether a cookie's name is one of a session.
pub(super) fn is_session(name: &[u8]) -> bool {
    const HINTS: [&[u8]; 10] = [
        b"sess",
        b"sid",
        b"auth",
        b"token",
        b"jwt",
        b"login",
        b"remember",
        b"secret",
        b"key",
        b"sso",
    ];
    HINTS
        .iter()
        .any(|hint| name.windows(hint.len()).any(|window| window.eq_ignore_ascii_case(hint)))
}
