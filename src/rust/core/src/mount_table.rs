//! Where file systems are mounted, as `/proc/self/mountinfo` tells it (`man 5 proc_pid_mountinfo`).

use rustix::io::Errno;

/// The mount points that this process sees.
///
/// # Errors
/// The system's, when there is no /proc.
pub fn mount_points() -> Result<Vec<Vec<u8>>, Errno> {
    let table = std::fs::read("/proc/self/mountinfo");
    table
        .map(|table| points(&table))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

fn points(table: &[u8]) -> Vec<Vec<u8>> {
    table
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').nth(4))
        .map(unescape)
        .collect()
}

/// Blanks, line ends and backslashes stand in the table as a backslash and three octal digits.
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
    fn mount_points_are_read_with_their_escapes() {
        let table = b"22 1 0:5 / / rw - ext4 /dev/x rw\n30 22 0:9 /f /a\\040b/c\\134d rw shared:1 - tmpfs t rw\n\n";
        assert_eq!(points(table), [b"/".to_vec(), b"/a b/c\\d".to_vec()]);
        assert_eq!(unescape(b"/a\\040b\\134c\\"), b"/a b\\c\\");
        #[cfg(target_os = "linux")]
        assert!(mount_points().unwrap().contains(&b"/proc".to_vec()));
    }
}
