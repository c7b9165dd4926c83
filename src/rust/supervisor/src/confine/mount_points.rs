//! Where file systems are mounted.

use nix::errno::Errno;

/// Where file systems are mounted (`man 5 proc_pid_mountinfo`).
pub fn mount_points() -> Result<Vec<Vec<u8>>, Errno> {
    let table = std::fs::read("/proc/self/mountinfo")
        .map_err(|error| error.raw_os_error().map_or(Errno::EIO, Errno::from_raw))?;
    let points = table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(unescape).collect())
}

/// Spaces and the like stand there as a backslash and three octal digits.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if let (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', after @ ..]) = (first, after) {
            plain.push((a - b'0') * 64 + (b - b'0') * 8 + (c - b'0'));
            rest = after;
        } else {
            plain.push(*first);
            rest = after;
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mount_points_are_unescaped() {
        assert_eq!(unescape(b"/a\\040b\\134c\\"), b"/a b\\c\\");
        assert!(mount_points().unwrap().contains(&b"/proc".to_vec()));
    }
}
