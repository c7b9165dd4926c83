//! Content versions: which bytes a file held, told without telling the bytes.
//!
//! A version is BLAKE3 keyed with a random key of the session, cut to 128 bits. A plain hash of a
//! file that holds one token would let anybody who sees the receipt test guesses of the token.

use std::sync::OnceLock;

use secrecy::{ExposeSecret, SecretBox};

fn key() -> &'static SecretBox<[u8; 32]> {
    static KEY: OnceLock<SecretBox<[u8; 32]>> = OnceLock::new();
    KEY.get_or_init(|| SecretBox::init_with_mut(|key: &mut [u8; 32]| crate::random::fill(key)))
}

/// Takes bytes in pieces.
pub struct Hasher(blake3::Hasher);

impl Default for Hasher {
    fn default() -> Self {
        Self(blake3::Hasher::new_keyed(key().expose_secret()))
    }
}

impl Hasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The version of all bytes taken: 32 hexadecimal digits.
    #[must_use]
    pub fn finish(&self) -> String {
        self.0.finalize().to_hex()[..32].to_owned()
    }
}

/// The version of `bytes`.
#[must_use]
pub fn of(bytes: &[u8]) -> String {
    let mut hasher = Hasher::default();
    hasher.update(bytes);
    hasher.finish()
}

/// Whether a text can be a version at all.
#[must_use]
pub fn is_version(text: &str) -> bool {
    text.len() == 32
        && text
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase())
}
