//! What a secret is for: a model provider, or a tool's environment. Neither is taken for the other.

use std::fmt;
use std::sync::{Arc, Weak};

use super::{equal, known, HostPattern, Secret, Wiped, STRONG};
use crate::authority::Host;
use crate::misuse::Misuse;
use crate::redact::Redactor;

/// A credential for a provider: goes to the hosts it is bound to, and nowhere else.
#[derive(Clone)]
pub struct ProviderCredential(Arc<Credential>);

pub(super) struct Credential {
    secret: Secret,
    hosts: Vec<HostPattern>,
    /// Finds the value in every form in which a program can take it apart again.
    forms: Redactor,
}

/// A secret for the environment of commands.
#[derive(Clone)]
pub struct EnvSecret(Arc<Entry>);

pub(super) struct Entry {
    secret: Secret,
    shared: bool,
}

/// A value that commands get in the open: an entry that was given as it is or inherited by its name. As long as a
/// holder is there it is no provider's credential.
#[derive(Clone)]
pub struct OpenEntry(Arc<Open>);

pub(super) struct Open {
    name: String,
    /// Whether it is of git's configuration and no variable.
    git: bool,
    // A credential may be among what was inherited before anybody said so.
    value: Wiped,
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
        Self::bound(secret, hosts)
    }

    /// What is a credential of the same hosts alone, and stands within the value of this one, as a password in an
    /// encoded pair does.
    ///
    /// # Errors
    /// `purpose`, as [`ProviderCredential::new`].
    pub(crate) fn part(&self, secret: Secret) -> Result<Self, Misuse> {
        Self::bound(secret, self.0.hosts.clone())
    }

    fn bound(secret: Secret, hosts: Vec<HostPattern>) -> Result<Self, Misuse> {
        let forms = Redactor::of_values([secret.expose()]);
        let credential = Self(Arc::new(Credential { secret, hosts, forms }));
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
    pub fn allows(&self, host: &Host, port: u16, default: u16) -> bool {
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

impl OpenEntry {
    /// An entry of this name.
    ///
    /// # Errors
    /// `purpose` when the value is, or holds, a provider's credential that is alive.
    pub fn new(name: &str, value: &[u8]) -> Result<Self, Misuse> {
        Self::claimed(name, value, false)
    }

    /// An entry of git's configuration in the private home of commands.
    ///
    /// # Errors
    /// As [`OpenEntry::new`].
    pub fn of_git(name: &str, value: &[u8]) -> Result<Self, Misuse> {
        Self::claimed(name, value, true)
    }

    fn claimed(name: &str, value: &[u8], git: bool) -> Result<Self, Misuse> {
        let entry = Self(Arc::new(Open {
            name: name.to_owned(),
            git,
            value: Wiped::copy_of(value),
        }));
        known::claim(&Claim::Open(&entry))?;
        Ok(entry)
    }

    /// The value.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        self.0.value.as_slice()
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
    open: Vec<Weak<Open>>,
}

/// What wants to be one of them.
pub(super) enum Claim<'a> {
    Credential(&'a ProviderCredential),
    Entry(&'a EnvSecret),
    Open(&'a OpenEntry),
}

/// Holders that were taken for a look, to be dropped where the store is free again.
#[derive(Default)]
pub(super) struct Looked {
    credentials: Vec<Arc<Credential>>,
    entries: Vec<Arc<Entry>>,
    open: Vec<Arc<Open>>,
}

impl Purposes {
    /// Looks and enters in one step, so that of two at the same time one is refused.
    pub(super) fn claim(&mut self, claim: &Claim<'_>) -> (Result<(), Misuse>, Looked) {
        let looked = Looked {
            credentials: alive(&mut self.credentials),
            entries: alive(&mut self.entries),
            open: alive(&mut self.open),
        };
        let refused = match claim {
            Claim::Credential(credential) => looked.refuse_credential(&credential.0),
            Claim::Entry(entry) => {
                let taken = !entry.is_shared() && looked.hold_credential_in(entry.secret().expose());
                taken.then(|| not_for_tools("This value", "rho_env_secret(secret, shared = TRUE)"))
            }
            Claim::Open(entry) => looked.hold_credential_in(entry.value()).then(|| {
                let name = &entry.0.name;
                if entry.0.git {
                    return Misuse::new(
                        "purpose",
                        format!(
                            "git's `{name}` is, or holds, a provider's credential, so it cannot go to where commands read \
                             it. Give rho_environment_git() another value."
                        ),
                    )
                    .with("name", name);
                }
                let shared = format!("rho_environment({name} = rho_env_secret(secret, shared = TRUE))");
                not_for_tools(&format!("The value of `{name}`"), &shared).with("name", name)
            }),
        };
        if let Some(refused) = refused {
            return (Err(refused), looked);
        }
        match claim {
            Claim::Credential(credential) => self.credentials.push(Arc::downgrade(&credential.0)),
            Claim::Entry(entry) => self.entries.push(Arc::downgrade(&entry.0)),
            Claim::Open(entry) => self.open.push(Arc::downgrade(&entry.0)),
        }
        (Ok(()), looked)
    }
}

impl Looked {
    /// Whether a value is, or holds, one of the credentials.
    fn hold_credential_in(&self, value: &[u8]) -> bool {
        // Every one is looked at.
        self.credentials
            .iter()
            .fold(false, |found, one| found | one.is_in(value))
    }

    /// Why a value cannot be a provider's credential, if it cannot.
    fn refuse_credential(&self, credential: &Credential) -> Option<Misuse> {
        let key = credential.secret.expose();
        let in_secret = self
            .entries
            .iter()
            .filter(|entry| !entry.shared)
            .fold(false, |found, entry| found | credential.is_in(entry.secret.expose()));
        // A key so short stands by chance in what a `PATH` or another entry holds.
        let in_open = |entry: &Open| match key.len() {
            STRONG.. => credential.is_in(entry.value.as_slice()),
            _ => equal::same(entry.value.as_slice(), key),
        };
        let open = self
            .open
            .iter()
            .filter(|entry| in_open(entry))
            .fold(None, |_, entry| Some(entry));
        if let Some(entry) = open {
            let name = &entry.name;
            if entry.git {
                let instead = "Use another key for the provider, or make the capability with another \
                               rho_environment_git().";
                return Some(taken_by_tools(&format!("as git's `{name}`"), instead).with("name", name));
            }
            let instead = format!(
                "Use another key for the provider, or make the capability without `{name}`. If tools are meant to have \
                 this one, say so when the capability is made: \
                 rho_environment({name} = rho_env_secret(secret, shared = TRUE))."
            );
            return Some(taken_by_tools(&format!("as `{name}`"), &instead).with("name", name));
        }
        in_secret.then(|| {
            taken_by_tools(
                "as a rho_env_secret()",
                "Use another key for the provider. If tools are meant to have this one, say so when the entry is made: \
                 rho_env_secret(secret, shared = TRUE).",
            )
        })
    }
}

impl Credential {
    /// Whether the value stands in `text`, as it is or in another form.
    fn is_in(&self, text: &[u8]) -> bool {
        // Both are looked for, so that the time tells nothing of the first.
        equal::contains(text, self.secret.expose()) | !self.forms.spans(text).is_empty()
    }
}

/// The holders that are there; the others go out of the list.
fn alive<T>(list: &mut Vec<Weak<T>>) -> Vec<Arc<T>> {
    let all: Vec<_> = list.iter().filter_map(Weak::upgrade).collect();
    list.retain(|one| one.strong_count() > 0);
    all
}

/// That `subject` holds what a provider gets; `shared` is the call that says that tools are meant to have it.
fn not_for_tools(subject: &str, shared: &str) -> Misuse {
    Misuse::new(
        "purpose",
        format!(
            "{subject} is, or holds, a provider's credential, so it cannot go into the environment of tools: a command \
             could read it and use it. Use another key for tools. If they are meant to have this one, say so: {shared}."
        ),
    )
}

/// That tools have what a provider should get; `instead` is what to do next.
fn taken_by_tools(how: &str, instead: &str) -> Misuse {
    Misuse::new(
        "purpose",
        format!(
            "This value is in the environment of tools already, {how}, so it cannot be a provider's credential as well: \
             a command could read it and use it. {instead}"
        ),
    )
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

    /// The value in the forms in which a command could read it.
    fn forms(value: &str) -> Vec<String> {
        let hex = |value: &str| {
            value
                .bytes()
                .map(|byte| format!("{byte:02x}"))
                .collect::<Vec<_>>()
                .concat()
        };
        let base64 = |value: &str| crate::http::base64::encode(value.as_bytes()).to_string();
        let url = |value: &str| base64(value).replace('+', "-").replace('/', "_").replace('=', "");
        let percent = value
            .bytes()
            .map(|byte| format!("%{byte:02X}"))
            .collect::<Vec<_>>()
            .concat();
        vec![
            value.to_owned(),
            format!("Bearer {value}"),
            format!("user:{value}"),
            format!("x{value}y"),
            format!("https://user:{value}@example.org/"),
            base64(value),
            url(value),
            base64(&format!("user:{value}")),
            format!("Basic {}", base64(&format!("someone:{value}"))),
            hex(value),
            hex(value).to_uppercase(),
            percent,
        ]
    }

    #[test]
    fn a_credential_is_no_entry_in_both_orders() {
        type Entries = [fn(&str) -> Result<Box<dyn std::any::Any>, Misuse>; 2];
        let key = canary() + "?>~\u{ff}";
        let kinds: Entries = [
            |text| Ok(Box::new(EnvSecret::new(secret(text), false)?)),
            |text| Ok(Box::new(OpenEntry::new("NAME", text.as_bytes())?)),
        ];
        let credential = |key: &str| ProviderCredential::new(secret(key), &hosts());
        for (index, text) in forms(&key).iter().enumerate() {
            for entry in kinds {
                let first = std::cell::OnceCell::new();
                assert!(soon(|| credential(&key).is_ok_and(|made| first.set(made).is_ok())));
                assert_eq!(kind(entry(text)), Some("purpose"), "{index}");
                assert!(EnvSecret::new(secret(text), true).is_ok());
                drop(first);
                let first = std::cell::OnceCell::new();
                assert!(
                    soon(|| entry(text).is_ok_and(|made| first.set(made).is_ok())),
                    "{index}"
                );
                let refused = credential(&key).unwrap_err();
                assert_eq!(refused.kind, "purpose", "{index}");
                assert!(refused.message.contains("shared = TRUE"), "{refused}");
                assert!(!refused.message.contains(&key[..20]), "{refused}");
                drop(first);
                let _shared = EnvSecret::new(secret(text), true).unwrap();
                assert!(soon(|| credential(&key).is_ok()), "{index}");
            }
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
        let allows = |host| credential.allows(&Host::parse(host).unwrap(), 443, 443);
        assert!(allows("api.example.org"));
        assert!(!allows("api.example.net"));
    }
}
