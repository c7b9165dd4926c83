//! Bytes on their way into a secret: wiped when dropped, never moved by growing.

use std::fmt;

use secrecy::zeroize::Zeroize;
use secrecy::SecretSlice;

/// Bytes that are wiped on drop. It has a fixed room, because a vector that grows leaves its old bytes behind.
pub struct Wiped(Vec<u8>);

impl Wiped {
    /// Room for so many bytes.
    #[must_use]
    pub fn with_room(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// A copy. The original is its owner's to wipe.
    #[must_use]
    pub fn copy_of(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    /// Bytes that somebody else made; from now on they are wiped.
    #[must_use]
    pub const fn of(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// Adds bytes; whether there was room for all of them.
    pub fn push(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() <= self.0.capacity() - self.0.len();
        if fits {
            self.0.extend_from_slice(bytes);
        }
        fits
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    /// The bytes, for a system call to write.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.0
    }

    /// Leaves out one line ending at the end.
    pub fn drop_line_ending(&mut self) {
        if self.0.last() == Some(&b'\n') {
            self.0.pop();
            if self.0.last() == Some(&b'\r') {
                self.0.pop();
            }
        }
    }

    /// The bytes at their exact length, in the type that wipes itself.
    pub(super) fn into_secret(self) -> SecretSlice<u8> {
        // A copy of the exact length, because making a vector shorter may move it and leave the old bytes.
        SecretSlice::from(self.0.as_slice().to_vec())
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        // The whole room: what was cut off lies behind the end.
        self.0.zeroize();
    }
}

impl fmt::Debug for Wiped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Wiped")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_ending_is_left_out() {
        for (given, kept) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a", "a"),
            ("\n", ""),
            ("a\r", "a\r"),
        ] {
            let mut bytes = Wiped::copy_of(given.as_bytes());
            bytes.drop_line_ending();
            assert_eq!(bytes.as_slice(), kept.as_bytes());
        }
    }

    #[test]
    fn it_does_not_grow() {
        let mut bytes = Wiped::with_room(4);
        assert!(bytes.push(b"abcd"));
        assert!(!bytes.push(b"e"));
        assert_eq!(bytes.as_slice(), b"abcd");
    }
}
