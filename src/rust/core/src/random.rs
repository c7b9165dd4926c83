//! Random names and keys from the operating system.

use std::fmt::Write as _;

/// `bytes` random bytes as lower-case hexadecimal digits.
#[must_use]
pub fn hex(bytes: usize) -> String {
    let mut buffer = vec![0_u8; bytes];
    fill(&mut buffer);
    buffer.iter().fold(String::with_capacity(bytes * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Fills `buffer` from the operating system's generator.
///
/// # Panics
/// When the system has no random numbers: nothing safe can be done then.
pub fn fill(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the operating system has no random numbers");
}
