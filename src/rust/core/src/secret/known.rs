//! What the redactor of this process knows: every secret that is alive, what was once given out, and the
//! secret-named values of the environment that this process was started with.

use std::collections::HashSet;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Weak};

use super::fork_safe::ForkSafe;
use super::purpose::{self, Purposes};
use super::{name, rules, Inner, Secret, Wiped};
use crate::misuse::Misuse;
use crate::per_process::PerProcess;
use crate::redact::Redactor;

/// Everything that is known. Replaced as a whole, see [`ForkSafe`].
#[derive(Default, Clone)]
pub(super) struct Known {
    secrets: Vec<One>,
    ambient: Arc<Vec<Secret>>,
    pub(super) purposes: Purposes,
    /// Raised whenever another set of values is known.
    generation: u64,
    /// Of the values of this generation. It holds copies of them, so it goes when one of them does.
    redactor: Option<Arc<Redactor>>,
}

#[derive(Clone)]
struct One {
    id: String,
    /// The public name of what made it for itself, and goes with it.
    owner: Option<String>,
    alive: Weak<Inner>,
    /// Once it was given out it stays, also without another holder.
    kept: Option<Secret>,
}

impl One {
    fn is_called(&self, id: &str) -> bool {
        self.id == id || self.owner.as_deref() == Some(id)
    }
}

impl Known {
    fn changed(&self) -> Self {
        Self {
            generation: self.generation + 1,
            redactor: None,
            ..self.clone()
        }
    }

    fn live(&self) -> Vec<Secret> {
        let alive = |one: &One| one.alive.upgrade().map(Secret);
        self.secrets.iter().filter_map(alive).collect()
    }
}

fn store() -> &'static ForkSafe<Known> {
    static STORE: PerProcess<ForkSafe<Known>> = PerProcess::new();
    STORE.get_or_inherit(ForkSafe::in_fork)
}

/// A secret was made.
pub(super) fn began(secret: &Secret) {
    store().update(|known| {
        let mut after = known.changed();
        after.secrets.push(One {
            id: secret.id().to_owned(),
            owner: None,
            alive: secret.downgrade(),
            kept: None,
        });
        (after, ())
    });
}

/// The last holder of a secret is gone.
pub(super) fn ended(id: &str) {
    store().update(|known| {
        let mut after = known.changed();
        after.secrets.retain(|one| one.id != id);
        (after, ())
    });
}

/// Makes a change of the purposes. Nothing that `change` looked at may be dropped in it.
pub(super) fn with_purposes<A>(change: impl FnOnce(&mut Purposes) -> A) -> A {
    store().update(|known| {
        let mut after = known.clone();
        let answer = change(&mut after.purposes);
        (after, answer)
    })
}

/// Keeps a value that was given out, to a command or to R: it may be in text that comes later, also when nobody
/// holds the secret any more.
pub fn remember(secret: &Secret) {
    keep(secret.id(), Some(secret));
}

/// Does not keep it any more. It stays known as long as somebody holds it; whether it was kept.
#[allow(clippy::must_use_candidate, reason = "to forget is what it is for")]
pub fn forget(secret: &Secret) -> bool {
    forget_id(secret.id())
}

/// Says that a secret was made for something that has a public name itself, by which it is forgotten too.
pub(crate) fn own(secret: &Secret, owner: &str) {
    store().update(|known| {
        let mut after = known.clone();
        for one in after.secrets.iter_mut().filter(|one| one.id == secret.id()) {
            one.owner = Some(owner.to_owned());
        }
        (after, ())
    });
}

/// The same for one whose handle is gone, by its public name or that of its owner.
#[must_use]
pub fn forget_id(id: &str) -> bool {
    keep(id, None)
}

/// Whether it was kept before.
fn keep(id: &str, secret: Option<&Secret>) -> bool {
    store().update(|known| {
        let mut after = known.changed();
        let mut before = false;
        for one in after.secrets.iter_mut().filter(|one| one.is_called(id)) {
            // The store still holds the one from before while this runs.
            before |= one.kept.is_some();
            one.kept = secret.cloned();
        }
        (after, before)
    })
}

/// Whether the redactor knows a secret of this public name, or of an owner of this name.
#[must_use]
pub fn is_known(id: &str) -> bool {
    store().read().secrets.iter().any(|one| one.is_called(id))
}

/// The redactor of everything that is known. It is made anew when that changed.
#[must_use]
pub fn redactor() -> Arc<Redactor> {
    loop {
        let known = store().read();
        if let Some(redactor) = &known.redactor {
            return Arc::clone(redactor);
        }
        let live = known.live();
        let mut seen = HashSet::new();
        let values = live
            .iter()
            .chain(known.ambient.iter())
            .map(Secret::expose)
            .filter(|value| seen.insert(*value));
        let made = Arc::new(Redactor::new(values));
        let stands = store().update(|now| {
            let mut after = now.clone();
            let stands = now.generation == known.generation;
            if stands {
                after.redactor = Some(Arc::clone(&made));
            }
            (after, stands)
        });
        if stands {
            return made;
        }
    }
}

/// A secret that stands in `text` in one of its forms: one that is alive, or one of the environment that can be told
/// from ordinary text wherever it stands.
#[must_use]
pub fn standing_in(text: &[u8]) -> Option<Secret> {
    if redactor().spans(text).is_empty() {
        return None;
    }
    // That was a known value, or only what has the shape or the name of one.
    let known = store().read();
    let ambient = known.ambient.iter().filter(|secret| !secret.is_short());
    let mut all = known.live();
    all.extend(ambient.cloned());
    let stands = |secrets: &[Secret]| {
        let values = secrets.iter().map(Secret::expose);
        !Redactor::of_values(values).spans(text).is_empty()
    };
    if !stands(&all) {
        return None;
    }
    all.into_iter().find(|secret| stands(std::slice::from_ref(secret)))
}

/// How many values of the environment are known, and how many were left out because they cannot be masked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ambient {
    /// Known to the redactor.
    pub known: usize,
    /// Secret-named, but short or ordinary.
    pub skipped: usize,
}

/// Makes the secret-named values of this process's environment known. Call it where nobody else writes the
/// environment: on R's thread.
#[must_use]
pub fn ambient() -> Ambient {
    let mut found = Vec::new();
    let mut skipped = 0;
    for (variable, value) in std::env::vars_os() {
        let value = Wiped::of(value.into_vec());
        let Some(variable) = variable.to_str().filter(|name| name::is_secret_name(name)) else {
            continue;
        };
        if rules::unfit(value.as_slice()).is_some() || is_place(value.as_slice()) {
            skipped += 1;
        } else {
            found.push(Secret::ambient(value, variable));
        }
    }
    let counted = Ambient {
        known: found.len(),
        skipped,
    };
    store().update(|known| {
        let mut after = known.changed();
        after.ambient = Arc::new(found);
        (after, ())
    });
    counted
}

/// Whether a value can be masked wherever it appears: it is long enough, and no ordinary word.
#[must_use]
pub fn can_be_masked(value: &[u8]) -> bool {
    value.len() >= rules::STRONG && rules::unfit(value).is_none()
}

/// A path, such as that of a socket or of a file with the secret, is no secret itself.
fn is_place(value: &[u8]) -> bool {
    value.starts_with(b"/") && value.len() < 4096 && {
        let path = std::path::Path::new(std::ffi::OsStr::new(std::str::from_utf8(value).unwrap_or_default()));
        path.exists()
    }
}

/// Makes a credential or an entry known as such, unless it takes the place of the other kind.
pub(super) fn claim(claim: &purpose::Claim<'_>) -> Result<(), Misuse> {
    let (result, looked) = with_purposes(|purposes| purposes.claim(claim));
    drop(looked);
    result
}

#[cfg(test)]
mod tests {
    use super::super::tests::{canary, secret, soon};
    use super::*;

    fn masked(value: &str) -> bool {
        redactor().mask(format!("x {value} y").as_bytes()).count > 0
    }

    #[test]
    fn known_as_long_as_somebody_holds_it() {
        let value = canary();
        assert!(!masked(&value));
        let one = secret(&value);
        let other = one.clone();
        assert!(masked(&value));
        drop(one);
        assert!(masked(&value));
        drop(other);
        assert!(soon(|| !masked(&value)));
    }

    #[test]
    fn what_was_given_out_stays_known_until_it_is_forgotten() {
        let value = canary();
        let one = secret(&value);
        let id = one.id().to_owned();
        remember(&one);
        drop(one);
        assert!(masked(&value));
        assert!(is_known(&id));
        assert!(forget_id(&id));
        assert!(soon(|| !masked(&value)));
        assert!(!forget_id(&id));
    }

    #[test]
    fn forgetting_one_that_is_held_leaves_it_known() {
        let value = canary();
        let one = secret(&value);
        remember(&one);
        assert!(forget(&one));
        assert!(!forget(&one));
        assert!(masked(&value));
    }

    #[test]
    fn the_redactor_is_made_once_for_the_same_values() {
        let value = canary();
        let held = secret(&value);
        // Other tests make secrets meanwhile.
        let same = (0..1000).any(|_| Arc::ptr_eq(&redactor(), &redactor()));
        assert!(same);
        drop(held);
    }

    #[test]
    fn values_of_the_environment_are_known_by_the_names_they_have() {
        let value = canary();
        std::env::set_var("RHOCAP_TEST_AMBIENT_TOKEN", &value);
        std::env::set_var("RHOCAP_TEST_AMBIENT_KEY", "true");
        std::env::set_var("RHOCAP_TEST_AMBIENT_SECRET", env!("CARGO_MANIFEST_DIR"));
        let counted = ambient();
        for name in ["TOKEN", "KEY", "SECRET"] {
            std::env::remove_var(format!("RHOCAP_TEST_AMBIENT_{name}"));
        }
        assert!(counted.known >= 1);
        // An ordinary word, and the path of something.
        assert!(counted.skipped >= 2);
        assert!(masked(&value));
        assert!(!masked("true"));
    }
}
