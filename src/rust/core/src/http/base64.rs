//! Base64 of what must not stay in memory.

use secrecy::zeroize::Zeroizing;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The standard alphabet, with padding.
pub fn encode(bytes: &[u8]) -> Zeroizing<String> {
    // Room for all of it: a buffer that grows would leave copies behind.
    let mut text = Zeroizing::new(String::with_capacity(bytes.len().div_ceil(3) * 4));
    for chunk in bytes.chunks(3) {
        let at = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            if place > chunk.len() {
                text.push('=');
            } else {
                let index = (word >> (18 - 6 * place)) & 63;
                text.push(char::from(ALPHABET[index as usize]));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn the_examples_of_rfc_4648() {
        for (given, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
            ("\u{ff}?>", "w78/Pg=="),
        ] {
            assert_eq!(encode(given.as_bytes()).as_str(), wanted);
        }
    }
}
