//! Base64 of what must not stay in memory.

use secrecy::zeroize::Zeroizing;

/// What `text` is the encoding of, in the standard or the URL's alphabet, with or without padding.
pub fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3 + 3));
    for chunk in text.as_bytes().chunks(4) {
        let mut word = 0;
        for &byte in chunk {
            let digit = match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            };
            word = word << 6 | u32::try_from(ALPHABET.iter().position(|&known| known == digit)?).ok()?;
        }
        word <<= 6 * (4 - chunk.len());
        let [_, all @ ..] = word.to_be_bytes();
        // One digit alone is no byte.
        bytes.extend_from_slice(&all[..chunk.len().checked_sub(1).filter(|&count| count > 0)?]);
    }
    Some(bytes)
}

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
    use super::{decode, encode};

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
            let url = wanted.replace('+', "-").replace('/', "_").replace('=', "");
            for text in [wanted, &url] {
                assert_eq!(decode(text).unwrap().as_slice(), given.as_bytes(), "{text}");
            }
        }
    }
    #[test]
    fn what_is_none() {
        for text in ["Z", "Zm9vY", "Zm 9v", "Zm=9v", "a.b."] {
            assert!(decode(text).is_none(), "{text}");
        }
    }
}
