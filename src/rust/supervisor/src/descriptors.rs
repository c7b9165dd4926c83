//! Descriptors that a process has from the one that started it, and is not to have.

#![allow(unsafe_code)]

/// Closes every descriptor but these.
pub fn keep_only(kept: &[i32]) {
    let mut kept: Vec<u32> = kept.iter().map(|number| number.unsigned_abs()).collect();
    kept.sort_unstable();
    let mut from = 0_u32;
    for number in kept.into_iter().chain([u32::MAX]) {
        if number > from {
            close_all(from, number - 1);
        }
        from = number.saturating_add(1);
    }
}

fn close_all(first: u32, last: u32) {
    // SAFETY: nobody who goes on in this process owns one of these numbers: it was just started, or was copied
    // from one whose course it does not go on with.
    unsafe {
        #[cfg(target_os = "linux")]
        if libc::syscall(libc::SYS_close_range, first, last, 0) == 0 {
            return;
        }
        // Older than Linux 5.9, or refused.
        let most = u32::try_from(libc::sysconf(libc::_SC_OPEN_MAX).clamp(256, 1 << 20)).unwrap_or(256);
        for number in first..=last.min(most) {
            libc::close(i32::try_from(number).unwrap_or(-1));
        }
    }
}
