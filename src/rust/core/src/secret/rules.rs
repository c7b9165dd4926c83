//! Which values can be secrets: what the redactor can mask without masking ordinary text.

use crate::misuse::Misuse;

use super::{Origin, SourceKind};

/// Fewer bytes are refused: masking them would mask ordinary text.
pub const SHORTEST: usize = 4;

/// Fewer bytes are masked only as they are and between word bounds.
pub const STRONG: usize = 8;

/// More bytes are refused.
pub const LONGEST: usize = 64 << 10;

/// Words that stand in ordinary text. Masking them would make it unreadable and hide nothing.
const ORDINARY: &str = "\
    /dev/null 0.0.0.0 1234 12345 123456 1234567 12345678 123456789 1234567890 127.0.0.1 access account admin \
    administrator anonymous anthropic api-key api_key apikey apitoken auth authorization basic bearer break \
    c.utf-8 change-me change_me changeme character client config content credential credentials data database \
    debug default default-value demo dev development disabled double dummy else empty enabled error example \
    example.com example.org false file foobar function github guest hello home host http https inf info inherit \
    install integer key latest library license list local localhost logical login main master message missing name \
    next nobody none nothing null number numeric openai package pass passphrase passwd password path placeholder \
    private prod production project public quiet read readonly release repeat replace-me replaceme required return \
    root secret secrets server service session staging stop string system temp test testing tests text todo token \
    tokens trace true undefined unknown unlimited unset user username users utf-8 value verbose version warning \
    while world write xxxx your-api-key your_api_key";

/// Why a value cannot be a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unfit {
    Short,
    Long,
    Ordinary,
    Repeated,
    NotText,
    Nul,
}

/// What is wrong with the value, if anything.
pub(super) fn unfit(bytes: &[u8]) -> Option<Unfit> {
    if bytes.len() < SHORTEST {
        return Some(Unfit::Short);
    }
    if bytes.len() > LONGEST {
        return Some(Unfit::Long);
    }
    if bytes.contains(&0) {
        return Some(Unfit::Nul);
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return Some(Unfit::NotText);
    };
    let mut characters = text.trim().chars();
    let first = characters.next();
    if first.is_none_or(|first| characters.all(|other| other == first)) {
        return Some(Unfit::Repeated);
    }
    // Without an owned lower-case copy, which would have to be wiped.
    let mut ordinary = ORDINARY.split_ascii_whitespace();
    ordinary
        .any(|word| text.trim().eq_ignore_ascii_case(word))
        .then_some(Unfit::Ordinary)
}

/// The same as a mistake, with what to do about it.
pub(super) fn check(bytes: &[u8], origin: &Origin) -> Result<(), Misuse> {
    let Some(unfit) = unfit(bytes) else {
        return Ok(());
    };
    let (kind, what) = match unfit {
        Unfit::Short => (
            "short_secret",
            "has fewer than 4 bytes. So short a value cannot be kept out of text without masking ordinary text; use a \
             longer one.",
        ),
        Unfit::Long => ("secret_value", "has more than 64 KiB. Give the credential alone."),
        Unfit::Ordinary => (
            "ordinary_secret",
            "is an ordinary word. Masking it would mask ordinary text everywhere; use a real credential.",
        ),
        Unfit::Repeated => (
            "ordinary_secret",
            "is one character repeated. Masking it would mask ordinary text everywhere; use a real credential.",
        ),
        Unfit::NotText => (
            "secret_value",
            "is not valid UTF-8. Encode binary keys, as base64 for instance.",
        ),
        Unfit::Nul => (
            "secret_value",
            "holds a NUL byte, which no header and no environment can carry.",
        ),
    };
    Err(Misuse::new(kind, format!("The value {} {what}", of(origin))).with("source", origin.kind.as_str()))
}

/// Where a value came from, in words.
pub(super) fn of(origin: &Origin) -> String {
    let detail = &origin.detail;
    match origin.kind {
        SourceKind::Env => format!("of the environment variable `{detail}`"),
        SourceKind::File => format!("of the file \"{detail}\""),
        SourceKind::Descriptor => format!("of the descriptor {detail}"),
        SourceKind::Keyring => format!("of the keyring's \"{detail}\""),
        SourceKind::Prompt => "that was typed".to_owned(),
        SourceKind::Literal => "that was given".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_masked_is_unfit() {
        for (given, wanted) in [
            ("abc", Some(Unfit::Short)),
            ("", Some(Unfit::Short)),
            ("aaaaaaaaaa", Some(Unfit::Repeated)),
            ("        ", Some(Unfit::Repeated)),
            ("PassWord", Some(Unfit::Ordinary)),
            (" true ", Some(Unfit::Ordinary)),
            ("ab\0cdef", Some(Unfit::Nul)),
            ("abc1", None),
            ("password1", None),
        ] {
            assert_eq!(unfit(given.as_bytes()), wanted, "{given:?}");
        }
        assert_eq!(unfit(&[0xff; 9]), Some(Unfit::NotText));
        assert_eq!(unfit("ab".repeat(LONGEST).as_bytes()), Some(Unfit::Long));
    }
}
