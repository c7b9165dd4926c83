//! Comparing bytes in a time that tells nothing of where they differ.

use std::hint::black_box;
use std::sync::OnceLock;

/// Whether two values are the same. Only their lengths show in the time it takes.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && differences(one, other) == 0
}

/// Whether `needle` stands anywhere in `text`. Only their lengths show in the time it takes.
pub fn contains(text: &[u8], needle: &[u8]) -> bool {
    if needle.is_empty() || needle.len() > text.len() {
        return needle.is_empty();
    }
    let mut found = false;
    for window in text.windows(needle.len()) {
        // No short cut: every window is looked at.
        found |= black_box(differences(window, needle) == 0);
    }
    found
}

/// A word that is the same for the same value in this process. It tells nothing of the value, because its key is random
/// and never shown.
#[must_use]
pub fn alias(secret: &super::Secret) -> String {
    static KEY: OnceLock<[u8; 32]> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = [0; 32];
        crate::random::fill(&mut key);
        key
    });
    blake3::keyed_hash(key, secret.expose()).to_hex()[..16].to_owned()
}

fn differences(one: &[u8], other: &[u8]) -> u8 {
    let all = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    // What the compiler cannot see through it cannot leave early.
    black_box(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_the_plain_comparison() {
        let texts: [&[u8]; 7] = [b"", b"a", b"b", b"ab", b"abc", b"bc", b"abcabd"];
        for one in texts {
            for other in texts {
                assert_eq!(same(one, other), one == other);
                let plain = other.is_empty() || one.windows(other.len()).any(|window| window == other);
                assert_eq!(contains(one, other), plain, "{one:?} {other:?}");
            }
        }
    }
}
