//! Serves `R/secret.R`, `R/purpose.R` and `R/hidden.R`. No value crosses to R here but in `core_secret_reveal`.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::effect::Cancel;
use rhocap_core::http::auth::ModelAuth;
use rhocap_core::http::request::HttpRequest;
use rhocap_core::misuse::Misuse;
use rhocap_core::secret::{self, known, source, EnvSecret, ProviderCredential, Secret, SourceKind};
use rhocap_core::verb::Job;

use crate::argument::{bad_word, flag, number, optional, text, texts};
use crate::condition::guard;
use crate::handle::{held, hold};
use crate::job::Work;
use crate::outcome::pair;
use crate::value::Plain;

/// A value behind a handle, until `rho_forget()` took it away.
pub struct Hidden<T>(RefCell<Option<T>>);

impl<T: Clone + 'static> Hidden<T> {
    /// Puts it there.
    pub fn hold(value: T) -> Plain {
        hold(Self(RefCell::new(Some(value))))
    }

    /// Another holder of the value behind a handle.
    pub fn of_handle(handle: &Robj, what: &str, again: &str) -> Result<T, Misuse> {
        let hidden: &Self = held(handle, what, again)?;
        hidden.0.borrow().clone().ok_or_else(|| {
            Misuse::new(
                "forgotten",
                format!("rho_forget() was called on this {what}. Make a new one with {again}."),
            )
        })
    }
}

/// One of the three kinds, whichever the handle is.
enum Any {
    Secret(Secret),
    Credential(ProviderCredential),
    Entry(EnvSecret),
}

const SECRET_AGAIN: &str = "rho_secret_env(), rho_secret_file() or a sibling";
const CREDENTIAL_AGAIN: &str = "rho_provider_credential()";
const ENTRY_AGAIN: &str = "rho_env_secret()";

impl Any {
    fn of_handle(handle: &Robj, kind: &str, again: Option<&str>) -> Result<Self, Misuse> {
        match kind {
            "secret" => Hidden::of_handle(handle, "secret", again.unwrap_or(SECRET_AGAIN)).map(Self::Secret),
            "credential" => Hidden::of_handle(handle, "provider credential", again.unwrap_or(CREDENTIAL_AGAIN))
                .map(Self::Credential),
            "entry" => Hidden::of_handle(handle, "environment secret", again.unwrap_or(ENTRY_AGAIN)).map(Self::Entry),
            _ => Err(bad_word("kind")),
        }
    }

    fn secret(&self) -> &Secret {
        match self {
            Self::Secret(secret) => secret,
            Self::Credential(credential) => credential.secret(),
            Self::Entry(entry) => entry.secret(),
        }
    }
}

/// The secret behind a handle.
pub fn secret(handle: &Robj) -> Result<Secret, Misuse> {
    Hidden::of_handle(handle, "secret", SECRET_AGAIN)
}

/// The credential behind a handle.
pub fn credential(handle: &Robj) -> Result<ProviderCredential, Misuse> {
    Hidden::of_handle(handle, "provider credential", CREDENTIAL_AGAIN)
}

/// The entry behind a handle.
pub fn entry(handle: &Robj) -> Result<EnvSecret, Misuse> {
    Hidden::of_handle(handle, "environment secret", ENTRY_AGAIN)
}

fn facts(secret: &Secret, handle: Plain, more: Vec<(&'static str, Plain)>) -> Plain {
    let mut facts = vec![
        ("handle", handle),
        ("id", secret.id().to_owned().into()),
        ("label", secret.label().to_owned().into()),
        ("source", secret.origin().kind.as_str().into()),
        ("short", secret.is_short().into()),
    ];
    facts.extend(more);
    Plain::Named(facts)
}

#[allow(clippy::unnecessary_wraps, reason = "as the closures that use it")]
fn shown(secret: Secret) -> Result<Plain, Misuse> {
    let handle = Hidden::hold(secret.clone());
    Ok(facts(&secret, handle, Vec::new()))
}

// The value of an environment variable.
#[extendr]
fn core_secret_env(name: Robj) -> Robj {
    guard(|| shown(source::env(text(&name, "name")?)?))
}

// The content of a file, or of one entry in it.
#[extendr]
fn core_secret_file(path: Robj, name: Robj) -> Robj {
    guard(|| {
        let name = optional(&name, "name", text)?;
        shown(source::file(text(&path, "path")?.as_bytes(), name)?)
    })
}

// What a descriptor gives until its end: a job, because the other end may take its time.
#[extendr]
fn core_secret_descriptor(fd: Robj, script: Robj) -> Robj {
    guard(|| {
        let fd = number(&fd, "fd")?;
        let fits = fd.fract() == 0.0 && (0.0..=f64::from(i32::MAX)).contains(&fd);
        if !fits {
            return Err(Misuse::new("value", "`fd` must be the number of a descriptor."));
        }
        let script = optional(&script, "script", text)?;
        #[allow(clippy::cast_possible_truncation, reason = "it fits")]
        let given = source::check_descriptor(fd as i32, script.map(str::as_bytes))?;
        let read = |given, cancel: &Cancel| {
            catch_unwind(AssertUnwindSafe(|| source::read_descriptor(given, cancel)))
                .unwrap_or_else(|_| Err(Misuse::new("internal", "The descriptor could not be read.")))
        };
        match Job::start(move |cancel: &Cancel| read(given, cancel)) {
            Ok(job) => Ok(pair("running", hold(Work::new(job, |made| shown(made?))))),
            Err(here) => Ok(pair("made", shown(here(&Cancel::default())?)?)),
        }
    })
}

// A value that R had.
#[extendr]
fn core_secret_given(value: Robj, source: Robj, detail: Robj) -> Robj {
    guard(|| {
        let kind = SourceKind::parse(text(&source, "source")?).ok_or_else(|| bad_word("source"))?;
        shown(source::given(
            text(&value, "value")?.as_bytes(),
            kind,
            text(&detail, "detail")?,
        )?)
    })
}

// Makes the secret-named values of R's own environment known to the redactor, and counts them.
#[extendr]
fn core_secret_ambient() -> Robj {
    guard(|| {
        let counted = known::ambient();
        Ok(Plain::Named(vec![
            ("known", (counted.known as u64).into()),
            ("skipped", (counted.skipped as u64).into()),
        ]))
    })
}

// Binds a secret to hosts.
#[extendr]
fn core_provider_credential(handle: Robj, hosts: Robj) -> Robj {
    guard(|| {
        let made = ProviderCredential::new(secret(&handle)?, &texts(&hosts, "hosts")?)?;
        let hosts: Vec<String> = made.hosts().iter().map(ToString::to_string).collect();
        let handle = Hidden::hold(made.clone());
        Ok(facts(made.secret(), handle, vec![("hosts", hosts.into())]))
    })
}

// Makes a secret one for the environment of commands.
#[extendr]
fn core_env_secret(handle: Robj, shared: Robj) -> Robj {
    guard(|| {
        let made = EnvSecret::new(secret(&handle)?, flag(&shared, "shared")?)?;
        let handle = Hidden::hold(made.clone());
        Ok(facts(made.secret(), handle, vec![("shared", made.is_shared().into())]))
    })
}

// Whether a handle can be used; a mistake that tells how to make it again where it cannot.
#[extendr]
fn core_hidden_check(handle: Robj, kind: Robj, again: Robj) -> Robj {
    guard(|| {
        Any::of_handle(&handle, text(&kind, "kind")?, Some(text(&again, "again")?))?;
        Ok(Plain::Null)
    })
}

// Whether two handles of a kind hold the same value, in a time that does not tell where they differ.
#[extendr]
fn core_hidden_equal(one: Robj, other: Robj, kind: Robj) -> Robj {
    guard(|| {
        let kind = text(&kind, "kind")?;
        let same = match (Any::of_handle(&one, kind, None)?, Any::of_handle(&other, kind, None)?) {
            (Any::Secret(one), Any::Secret(other)) => one == other,
            (Any::Credential(one), Any::Credential(other)) => one == other,
            (Any::Entry(one), Any::Entry(other)) => one == other,
            _ => false,
        };
        Ok(same.into())
    })
}

// A word that is the same for the same value in this process, and tells nothing of it.
#[extendr]
fn core_hidden_alias(handle: Robj, kind: Robj) -> Robj {
    guard(|| {
        let any = Any::of_handle(&handle, text(&kind, "kind")?, None)?;
        Ok(secret::alias(any.secret()).into())
    })
}

// The value. The receipt is made before it is given.
#[extendr]
fn core_secret_reveal(handle: Robj, kind: Robj) -> Robj {
    guard(|| {
        let any = Any::of_handle(&handle, text(&kind, "kind")?, None)?;
        let value = secret::reveal(any.secret());
        Ok(String::from_utf8_lossy(value).into_owned().into())
    })
}

// Takes a handle's value away; whether somebody else still holds it. Of an auth and of a request: the credentials
// that their headers were given as text.
#[extendr]
fn core_secret_forget(handle: Robj, kind: Robj) -> Robj {
    guard(|| {
        let id = match text(&kind, "kind")? {
            "auth" => {
                let auth = crate::auth::of_handle(&handle)?;
                drop_value::<Arc<ModelAuth>>(&handle)?;
                auth.id().to_owned()
            }
            "request" => {
                let request = crate::request::of_handle(&handle)?;
                drop_value::<Arc<HttpRequest>>(&handle)?;
                request.id().to_owned()
            }
            kind => {
                let any = Any::of_handle(&handle, kind, None)?;
                match &any {
                    Any::Secret(_) => drop_value::<Secret>(&handle),
                    Any::Credential(_) => drop_value::<ProviderCredential>(&handle),
                    Any::Entry(_) => drop_value::<EnvSecret>(&handle),
                }?;
                any.secret().id().to_owned()
            }
        };
        // The last holder may be gone by now.
        let _ = known::forget_id(&id);
        Ok(known::is_known(&id).into())
    })
}

fn drop_value<T: Clone + 'static>(handle: &Robj) -> Result<(), Misuse> {
    let hidden: &Hidden<T> = held(handle, "secret", SECRET_AGAIN)?;
    let value = hidden.0.borrow_mut().take();
    drop(value);
    Ok(())
}

// The same by a public id, for one whose handle is gone; whether it is still known.
#[extendr]
fn core_secret_forget_id(id: Robj) -> Robj {
    guard(|| {
        let id = text(&id, "id")?;
        let _ = known::forget_id(id);
        Ok(known::is_known(id).into())
    })
}

extendr_module! {
    mod secret;
    fn core_secret_env;
    fn core_secret_file;
    fn core_secret_descriptor;
    fn core_secret_given;
    fn core_secret_ambient;
    fn core_provider_credential;
    fn core_env_secret;
    fn core_hidden_check;
    fn core_hidden_equal;
    fn core_hidden_alias;
    fn core_secret_reveal;
    fn core_secret_forget;
    fn core_secret_forget_id;
}
