//! What the redactor of this process knows: every secret that is alive, what was once given out, and the
//! secret-named values of the environment that this process was started with.

use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Arc, Weak};

use super::fork_safe::ForkSafe;
use super::purpose::{self, Purposes};
use super::{equal, name, rules, Inner, Origin, Secret, SourceKind, Wiped};
use crate::misuse::Misuse;
use crate::per_process::PerProcess;
use crate::redact::{Layer, Redactor};

/// Everything that is known. Replaced as a whole, see [`ForkSafe`].
#[derive(Default, Clone)]
pub(super) struct Known {
    secrets: Vec<One>,
    ambient: Arc<Vec<Secret>>,
    pub(super) purposes: Purposes,
    /// Raised whenever another set of values is known.
    generation: u64,
    /// What the redactor was made of last. A layer holds copies of values, so it goes when one of them does.
    layers: Vec<Part>,
    /// Of the values of this generation.
    redactor: Option<Arc<Redactor>>,
}

/// Some of the secrets, ready to be looked for.
#[derive(Clone)]
struct Part {
    ids: Arc<Vec<String>>,
    layer: Arc<Layer>,
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

    /// The layers of all values: those that stand, and one of what is new and of those that are not much larger, so
    /// that there are few and one more value does not cost as much as all.
    fn layers(&self) -> Vec<Part> {
        let live = self.live();
        let mut of_value: HashMap<&[u8], Vec<&Secret>> = HashMap::new();
        for secret in live.iter().chain(self.ambient.iter()) {
            of_value.entry(secret.expose()).or_default().push(secret);
        }
        let standing: HashSet<&str> = self.layers.iter().flat_map(Part::ids).collect();
        let mut new: Vec<&Secret> = of_value
            .values()
            .filter(|same| !same.iter().any(|secret| standing.contains(secret.id())))
            .map(|same| same[0])
            .collect();
        let mut layers = self.layers.clone();
        let all = self.redactor_is_slow();
        if new.is_empty() && !all {
            return layers;
        }
        let by_id: HashMap<&str, &Secret> = of_value
            .values()
            .flatten()
            .map(|&secret| (secret.id(), secret))
            .collect();
        layers.sort_by_key(|part| part.ids.len());
        while let Some(smallest) = layers.first().filter(|part| all || part.ids.len() < 4 * new.len()) {
            new.extend(smallest.ids().filter_map(|id| by_id.get(id).copied()));
            layers.remove(0);
        }
        layers.push(Part {
            ids: Arc::new(new.iter().map(|secret| secret.id().to_owned()).collect()),
            layer: Arc::new(Layer::new(new.iter().map(|secret| secret.expose()))),
        });
        layers
    }

    /// Whether the redactor has read so much in several layers that one would have been made in the time.
    fn redactor_is_slow(&self) -> bool {
        /// Bytes that are read in one more layer while one value is made ready.
        const BYTES: u64 = 1 << 20;
        let values: usize = self.layers.iter().map(|part| part.ids.len()).sum();
        let read = self.redactor.as_ref().map_or(0, |redactor| redactor.read());
        self.layers.len() > 1 && read.saturating_mul(self.layers.len() as u64 - 1) > values as u64 * BYTES
    }
}

impl Part {
    fn ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
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
        after.layers.retain(|part| !part.ids().any(|part| part == id));
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

/// Does not keep a secret any more, by its public name or that of its owner. It stays known as long as somebody holds
/// it; whether it was kept.
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
        match &known.redactor {
            Some(redactor) if !known.redactor_is_slow() => return Arc::clone(redactor),
            _ => {}
        }
        let layers = known.layers();
        let made = Arc::new(Redactor::of_layers(
            layers.iter().map(|part| Arc::clone(&part.layer)).collect(),
        ));
        let stands = store().update(|now| {
            let mut after = now.clone();
            let stands = now.generation == known.generation;
            if stands {
                after.layers = layers;
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

/// Keeps what commands get in the open under a name of a secret, if it can be masked: they may print it, and that may
/// be read when the environment that they got it from is gone.
#[must_use]
pub fn given_to_commands(name: &str, value: &[u8], kind: SourceKind) -> Option<Secret> {
    if !name::is_secret_name(name) || !is_secret(value) {
        return None;
    }
    // No detail: so it is not one that somebody else made, and forgets.
    let origin = Origin {
        kind,
        detail: String::new(),
    };
    // The one from before, for who makes many environments.
    let before = store()
        .read()
        .live()
        .into_iter()
        .find(|secret| secret.label() == name && *secret.origin() == origin && equal::same(secret.expose(), value));
    let secret = before.or_else(|| Secret::new(Wiped::copy_of(value), name, origin).ok())?;
    remember(&secret);
    Some(secret)
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
        if is_secret(value.as_slice()) {
            found.push(Secret::ambient(value, variable));
        } else {
            skipped += 1;
        }
    }
    let counted = Ambient {
        known: found.len(),
        skipped,
    };
    store().update(|known| {
        let mut after = known.changed();
        after.ambient = Arc::new(found);
        after.layers.clear();
        (after, ())
    });
    counted
}

/// Whether a value can be masked wherever it appears: it is long enough, and no ordinary word.
#[must_use]
pub fn can_be_masked(value: &[u8]) -> bool {
    value.len() >= rules::STRONG && rules::unfit(value).is_none()
}

/// Whether the value of a variable that is named like a secret can be one.
fn is_secret(value: &[u8]) -> bool {
    rules::unfit(value).is_none() && !is_place(value)
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
    fn what_commands_get_under_a_secrets_name_is_kept_once() {
        let value = canary();
        let given = |name: &str, value: &str| given_to_commands(name, value.as_bytes(), SourceKind::Literal);
        let one = given("PROJ_API_KEY", &value).unwrap();
        let again = given("PROJ_API_KEY", &value).unwrap();
        assert_eq!(one.id(), again.id());
        drop((one, again));
        assert!(masked(&value));
        let other = canary();
        assert_eq!(given("PROJ_NAME", &other), None);
        assert!(!masked(&other));
        for ordinary in ["true", "abc", env!("CARGO_MANIFEST_DIR")] {
            assert_eq!(given("PROJ_API_KEY", ordinary), None);
        }
    }

    #[test]
    fn forgetting_one_that_is_held_leaves_it_known() {
        let value = canary();
        let one = secret(&value);
        remember(&one);
        assert!(forget_id(one.id()));
        assert!(!forget_id(one.id()));
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
    fn one_more_value_does_not_cost_as_much_as_all() {
        let held: Vec<(String, Secret)> = (0..40)
            .map(|_| canary())
            .map(|value| (value.clone(), secret(&value)))
            .collect();
        let mut known = Known::default();
        let mut made = 0;
        for (count, (_, secret)) in held.iter().enumerate() {
            known.secrets.push(One {
                id: secret.id().to_owned(),
                owner: None,
                alive: secret.downgrade(),
                kept: None,
            });
            let layers = known.layers();
            let new = layers
                .iter()
                .filter(|part| !known.layers.iter().any(|old| Arc::ptr_eq(&old.layer, &part.layer)));
            made += new.map(|part| part.ids.len()).sum::<usize>();
            known.layers = layers;
            assert_eq!(known.layers.iter().map(|part| part.ids.len()).sum::<usize>(), count + 1);
            assert!(known.layers.len() <= 5, "{}", known.layers.len());
        }
        assert!(made < 40 * 12, "{made} values were made ready");
        let redactor =
            |known: &Known| Redactor::of_layers(known.layers.iter().map(|part| Arc::clone(&part.layer)).collect());
        for (value, _) in &held {
            assert!(redactor(&known).mask(value.as_bytes()).count == 1);
        }
        // Whoever reads much gets one layer.
        let reader = Arc::new(redactor(&known));
        known.redactor = Some(Arc::clone(&reader));
        let several = known.layers.len() > 1;
        assert!(!known.redactor_is_slow());
        let text = vec![b'x'; 1 << 20];
        while several && !known.redactor_is_slow() {
            assert_eq!(reader.mask(&text).count, 0);
        }
        known.layers = known.layers();
        assert_eq!(known.layers.len(), 1);
        assert_eq!(redactor(&known).mask(held[7].0.as_bytes()).count, 1);
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
