//! Where a text can be cut.

/// The last place at or before `at` that is not inside a character, or the end of a shorter text. The
/// standard library has it as `str::floor_char_boundary` from a later version than ours on.
#[must_use]
pub fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::floor;

    #[test]
    fn no_character_is_cut() {
        for (at, expected) in [(0, 0), (1, 1), (2, 1), (3, 1), (4, 4), (5, 5), (9, 5)] {
            assert_eq!(floor("a\u{20ac}b", at), expected, "{at}");
        }
    }
}
