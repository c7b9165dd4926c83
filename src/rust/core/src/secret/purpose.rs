//! What a secret is for: a model provider, or a tool's environment. Neither is taken for the other.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{equal, known, HostPattern, Secret};
use crate::misuse::Misuse;

/// A credential for a provider: goes to the hosts it is bound to, and nowhere else.
#[derive(Clone)]
pub struct ProviderCredential(Arc<Credential>);

pub(super) struct Credential {
    secret: Secret,
    hosts: Vec<HostPattern>,
}

/// A secret for the environment of commands.
#[derive(Clone)]
pub struct EnvSecret(Arc<Entry>);

pub(super) struct Entry {
    secret: Secret,
    shared: bool,
}

impl ProviderCredential {
    /// Binds a secret to hosts.
    ///
    /// # Errors
    /// `hosts` when there is none or one is no pattern; `credential` when the value cannot stand in a header;
    /// `purpose` when an environment entry that is alive holds it and does not say that it is shared.
    pub fn new(secret: Secret, hosts: &[String]) -> Result<Self, Misuse> {
        if hosts.is_empty() {
            return Err(Misuse::new(
                "hosts",
                "A credential is bound to at least one host: hosts = \"api.example.org\".",
            ));
        }
        let hosts = hosts
            .iter()
            .map(|host| HostPattern::parse(host))
            .collect::<Result<_, _>>()?;
        if secret.expose().iter().any(u8::is_ascii_control) {
            return Err(Misuse::new(
                "credential",
                "The value holds a line ending or another control character, so no header can carry it. Give the key \
                 alone.",
            ));
        }
        let credential = Self(Arc::new(Credential { secret, hosts }));
        known::claim(&Claim::Credential(&credential))?;
        Ok(credential)
    }

    /// The secret.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.0.secret
    }

    /// The hosts it may be sent to.
    #[must_use]
    pub fn hosts(&self) -> &[HostPattern] {
        &self.0.hosts
    }

    /// Whether it may be sent there; `default` is the port of the scheme in use.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16, default: u16) -> bool {
        self.0.hosts.iter().any(|pattern| pattern.matches(host, port, default))
    }
}

impl EnvSecret {
    /// An entry for an environment.
    ///
    /// # Errors
    /// `purpose` when it is, or holds, a provider's credential that is alive, and is not shared.
    pub fn new(secret: Secret, shared: bool) -> Result<Self, Misuse> {
        let entry = Self(Arc::new(Entry { secret, shared }));
        known::claim(&Claim::Entry(&entry))?;
        Ok(entry)
    }

    /// The secret.
    #[must_use]
    pub fn secret(&self) -> &Secret {
        &self.0.secret
    }

    /// Whether it may be a provider's credential as well.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.0.shared
    }
}

impl PartialEq for ProviderCredential {
    fn eq(&self, other: &Self) -> bool {
        self.0.secret == other.0.secret && self.0.hosts == other.0.hosts
    }
}

impl Eq for ProviderCredential {}

impl PartialEq for EnvSecret {
    fn eq(&self, other: &Self) -> bool {
        self.0.secret == other.0.secret && self.0.shared == other.0.shared
    }
}

impl Eq for EnvSecret {}

impl fmt::Debug for ProviderCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ProviderCredential")
            .field("secret", &self.0.secret)
            .field("hosts", &self.0.hosts)
            .finish()
    }
}

impl fmt::Debug for EnvSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EnvSecret")
            .field("secret", &self.0.secret)
            .field("shared", &self.0.shared)
            .finish()
    }
}

/// The credentials and entries that are alive.
#[derive(Default, Clone)]
pub(super) struct Purposes {
    credentials: Vec<Weak<Credential>>,
    entries: Vec<Weak<Entry>>,
}

/// What wants to be one of them.
pub(super) enum Claim<'a> {
    Credential(&'a ProviderCredential),
    Entry(&'a EnvSecret),
}

/// Holders that were taken for a look, to be dropped where the store is free again.
pub(super) type Looked = (Vec<Arc<Credential>>, Vec<Arc<Entry>>);

impl Purposes {
    /// Looks and enters in one step, so that of two at the same time one is refused.
    pub(super) fn claim(&mut self, claim: &Claim<'_>) -> (Result<(), Misuse>, Looked) {
        self.credentials.retain(|one| one.strong_count() > 0);
        self.entries.retain(|one| one.strong_count() > 0);
        let credentials: Vec<_> = self.credentials.iter().filter_map(Weak::upgrade).collect();
        let entries: Vec<_> = self.entries.iter().filter_map(Weak::upgrade).collect();
        let result = match claim {
            Claim::Credential(credential) => {
                let key = credential.secret().expose();
                let taken = entries
                    .iter()
                    .filter(|entry| !entry.shared)
                    // Every one is looked at.
                    .fold(false, |found, entry| {
                        found | equal::contains(entry.secret.expose(), key)
                    });
                if taken {
                    Err(Misuse::new(
                        "purpose",
                        "This value is in the environment of tools already, so it cannot be a provider's credential \
                         as well: a command could read it and use it. Use another key for the provider. If tools are \
                         meant to have this one, say so when the entry is made: rho_env_secret(secret, shared = TRUE).",
                    ))
                } else {
                    self.credentials.push(Arc::downgrade(&credential.0));
                    Ok(())
                }
            }
            Claim::Entry(entry) => {
                let taken = !entry.is_shared() && holds_one(entry.secret().expose(), &credentials);
                if taken {
                    Err(not_for_tools("This value", "rho_env_secret(secret, shared = TRUE)"))
                } else {
                    self.entries.push(Arc::downgrade(&entry.0));
                    Ok(())
                }
            }
        };
        (result, (credentials, entries))
    }

    /// Whether a value is, or holds, one of the credentials.
    pub(super) fn holds_credential(&mut self, value: &[u8]) -> (bool, Looked) {
        self.credentials.retain(|one| one.strong_count() > 0);
        let credentials: Vec<_> = self.credentials.iter().filter_map(Weak::upgrade).collect();
        (holds_one(value, &credentials), (credentials, Vec::new()))
    }
}

/// That `subject` holds what a provider gets; `shared` is the call that says that tools are meant to have it.
pub(super) fn not_for_tools(subject: &str, shared: &str) -> Misuse {
    Misuse::new(
        "purpose",
        format!(
            "{subject} is, or holds, a provider's credential, so it cannot go into the environment of tools: a command \
             could read it and use it. Use another key for tools. If they are meant to have this one, say so: {shared}."
        ),
    )
}

fn holds_one(value: &[u8], credentials: &[Arc<Credential>]) -> bool {
    // Every one is looked at.
    credentials
        .iter()
        .fold(false, |found, one| found | equal::contains(value, one.secret.expose()))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{canary, secret, soon};
    use super::*;

    fn hosts() -> Vec<String> {
        vec!["api.example.org".to_owned()]
    }

    fn kind<T>(result: Result<T, Misuse>) -> Option<&'static str> {
        result.err().map(|misuse| misuse.kind)
    }

    #[test]
    fn a_credential_is_no_entry_in_both_orders() {
        for holds in [false, true] {
            let key = canary();
            let text = if holds { format!("Bearer {key}") } else { key.clone() };
            let credential = ProviderCredential::new(secret(&key), &hosts()).unwrap();
            assert_eq!(kind(EnvSecret::new(secret(&text), false)), Some("purpose"));
            assert!(EnvSecret::new(secret(&text), true).is_ok());
            drop(credential);
            let entry = std::cell::OnceCell::new();
            assert!(soon(
                || EnvSecret::new(secret(&text), false).is_ok_and(|made| entry.set(made).is_ok())
            ));
            assert_eq!(kind(ProviderCredential::new(secret(&key), &hosts())), Some("purpose"));
            drop(entry);
            let _shared = EnvSecret::new(secret(&text), true).unwrap();
            assert!(soon(|| ProviderCredential::new(secret(&key), &hosts()).is_ok()));
        }
    }

    #[test]
    fn one_secret_is_not_both() {
        let both = secret(&canary());
        let credential = ProviderCredential::new(both.clone(), &hosts()).unwrap();
        assert_eq!(kind(EnvSecret::new(both.clone(), false)), Some("purpose"));
        drop(credential);
        assert!(soon(|| EnvSecret::new(both.clone(), false).is_ok()));
    }

    #[test]
    fn what_no_header_can_carry_is_no_credential() {
        let value = format!("{}\n{}", canary(), canary());
        assert_eq!(
            kind(ProviderCredential::new(secret(&value), &hosts())),
            Some("credential")
        );
        assert!(EnvSecret::new(secret(&value), false).is_ok());
    }

    #[test]
    fn a_credential_is_bound_to_hosts() {
        let key = secret(&canary());
        assert_eq!(kind(ProviderCredential::new(key.clone(), &[])), Some("hosts"));
        let credential = ProviderCredential::new(key, &hosts()).unwrap();
        assert!(credential.allows("api.example.org", 443, 443));
        assert!(!credential.allows("api.example.net", 443, 443));
    }
}
