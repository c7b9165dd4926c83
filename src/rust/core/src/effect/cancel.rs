//! A request to stop.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::event::{poll, PollFd, PollFlags, Timespec};

use crate::outcome::{Code, Refusal};
use crate::process::cloexec;

/// How often the request is looked at where the system has no descriptor to wake by.
const LOOK: Duration = Duration::from_millis(50);

/// A request to stop, shared with the caller.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    bell: Mutex<Option<Arc<Bell>>>,
}

impl Shared {
    fn bell(&self) -> MutexGuard<'_, Option<Arc<Bell>>> {
        self.bell.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Wakes who waits for descriptors: it can be read from the request on, for ever.
#[derive(Debug)]
pub struct Bell {
    read: OwnedFd,
    write: OwnedFd,
}

impl Bell {
    fn ring(&self) {
        // An empty pipe has room for it.
        let _ = rustix::io::write(&self.write, b"!");
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.read.as_fd()
    }
}

impl Cancel {
    /// Asks the work to stop at its next safe point.
    pub fn cancel(&self) {
        if !self.0.asked.swap(true, Ordering::Relaxed) {
            // Under the lock: a bell is made before this, and is rung here, or after, and is rung there.
            self.0.bell().iter().for_each(|bell| bell.ring());
        }
    }

    /// `Cancelled`, once it was asked for.
    pub fn check(&self) -> Result<(), Refusal> {
        if self.0.asked.load(Ordering::Relaxed) {
            return Err(Code::Cancelled.into());
        }
        Ok(())
    }

    /// What to wait for beside other descriptors; none when the system has no more of them.
    #[must_use]
    pub fn bell(&self) -> Option<Arc<Bell>> {
        let mut bell = self.0.bell();
        if bell.is_none() {
            let (read, write) = cloexec::pipe().ok()?;
            let made = Bell { read, write };
            if self.check().is_err() {
                made.ring();
            }
            *bell = Some(Arc::new(made));
        }
        bell.clone()
    }

    /// Waits for a descriptor or the request, at most so long. Which of them came, the caller asks.
    pub fn wait_beside(&self, descriptor: impl AsFd, events: PollFlags, most: Duration) {
        let bell = self.bell();
        let mut watched = vec![PollFd::new(&descriptor, events)];
        watched.extend(bell.as_deref().map(|bell| PollFd::new(bell, PollFlags::IN)));
        let most = bell.as_ref().map_or_else(|| most.min(LOOK), |_| most);
        if let Ok(most) = Timespec::try_from(most) {
            let _ = poll(&mut watched, Some(&most));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(bell: &Bell) -> bool {
        poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&Timespec::default())).unwrap() == 1
    }

    #[test]
    fn a_bell_rings_whether_it_was_made_before_or_after() {
        let cancel = Cancel::default();
        let bell = cancel.bell().unwrap();
        assert!(!rings(&bell) && cancel.check().is_ok());
        let other = cancel.clone();
        other.cancel();
        other.cancel();
        assert!(rings(&bell) && rings(&bell) && cancel.check().is_err());
        assert!(rings(&cancel.bell().unwrap()));

        let cancel = Cancel::default();
        cancel.cancel();
        assert!(rings(&cancel.bell().unwrap()));
    }

    #[test]
    fn who_waits_is_woken() {
        for _ in 0..200 {
            let cancel = Cancel::default();
            let other = cancel.clone();
            let thread = std::thread::spawn(move || other.cancel());
            let bell = cancel.bell().unwrap();
            let most = Timespec::try_from(std::time::Duration::from_secs(60)).unwrap();
            let woken = poll(&mut [PollFd::new(&*bell, PollFlags::IN)], Some(&most));
            assert_eq!(woken, Ok(1));
            thread.join().unwrap();
        }
    }
}
