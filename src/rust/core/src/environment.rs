//! The environment of a capability's commands: built from nothing, entry by entry.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

use serde_json::{json, Value};

use crate::misuse::Misuse;
use crate::private::Private;
use crate::process::protocol::Variable;
use crate::redact::MARKER;
use crate::secret::{known, EnvSecret, OpenEntry, Secret, SourceKind};

/// Where an entry's value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A value given in the open; it is shown and part of the digest.
    Literal(String),
    /// The value of the same name in this process, taken when the capability is made, never shown.
    Inherit,
    /// A secret for commands, never shown.
    Secret(EnvSecret),
}

/// One entry as it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The variable's name.
    pub name: String,
    /// Where its value comes from.
    pub source: Source,
}

/// The identity that git finds in the private HOME.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// `user.name`.
    pub name: String,
    /// `user.email`.
    pub email: String,
    /// `safe.directory` entries.
    pub safe: Vec<String>,
}

impl Git {
    /// Its values as what commands get in the open.
    fn claimed(&self) -> Result<Vec<OpenEntry>, Misuse> {
        let fields = [("user.name", &self.name), ("user.email", &self.email)];
        let safe = self.safe.iter().map(|directory| ("safe.directory", directory));
        fields
            .into_iter()
            .chain(safe)
            .map(|(name, value)| OpenEntry::of_git(name, value.as_bytes()))
            .collect()
    }
}

/// What a user asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EnvironmentSpec {
    /// Entries beside the minimal set, or instead of one of its values.
    pub entries: Vec<Entry>,
    /// Whether every variable of this process is inherited: the named opt-in.
    pub inherit_all: bool,
    /// Loader and start-up hooks that are meant.
    pub hooks: Vec<String>,
    /// The identity for git.
    pub git: Option<Git>,
}

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Part of the minimal set, with a fixed value.
    Minimal,
    /// A directory of the capability's own, made when commands run.
    Private,
    /// A value given in the open.
    Literal,
    /// A value of this process, by name.
    Inherited,
    /// A secret.
    Secret,
}

impl Kind {
    /// The word used in print and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Private => "private",
            Self::Literal => "literal",
            Self::Inherited => "inherited",
            Self::Secret => "secret",
        }
    }
}

#[derive(Clone)]
struct Held {
    kind: Kind,
    value: Bytes,
    /// The value as one that is masked, because the name says that it is secret.
    masked: Option<Secret>,
}

impl Held {
    const fn new(kind: Kind, value: Bytes) -> Self {
        Self {
            kind,
            value,
            masked: None,
        }
    }

    /// Makes known what commands get under this name, if that is a secret's: it may come back in any later text, also
    /// when the capability is gone.
    fn give_out(&mut self, name: &str) {
        let source = match self.kind {
            Kind::Literal => SourceKind::Literal,
            Kind::Inherited => SourceKind::Env,
            Kind::Minimal | Kind::Private | Kind::Secret => return,
        };
        self.masked = known::given_to_commands(name, self.value.get(), source);
    }
}

#[derive(Clone)]
enum Bytes {
    /// What nobody named: the minimal set, and what comes with everything.
    Plain(Vec<u8>),
    /// What was named, which no provider's credential is meanwhile.
    Open(OpenEntry),
    Secret(EnvSecret),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Open(entry) => entry.value(),
            Self::Secret(entry) => entry.secret().expose(),
        }
    }
}

/// The minimal set, for an environment to start from; for git's sake the system's configuration, which a
/// confined command may not read, is left out.
fn minimal(git: bool) -> BTreeMap<String, Held> {
    let held = |(name, value): &(&str, &str)| {
        let kind = if PRIVATE.contains(name) {
            Kind::Private
        } else {
            Kind::Minimal
        };
        let value = Bytes::Plain(value.as_bytes().to_vec());
        ((*name).to_owned(), Held::new(kind, value))
    };
    let without_system = git.then_some(&("GIT_CONFIG_NOSYSTEM", "1"));
    MINIMAL.iter().chain(without_system).map(held).collect()
}

/// The environment of a capability. It has no `Debug`: inherited values are not for showing.
#[derive(Clone)]
pub struct Environment {
    entries: BTreeMap<String, Held>,
    inherit_all: bool,
    git: Option<Git>,
    /// The values of `git`, which commands find in the private home: no provider's credential meanwhile.
    identity: Vec<OpenEntry>,
}

/// The minimal set: names and values. `TMPDIR` and `HOME` are private directories.
///
/// The three `R_*` entries point R's own start-up files at nothing, because a child R would read
/// `~/.Renviron` again and have every key back.
pub const MINIMAL: &[(&str, &str)] = &[
    ("HOME", ""),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("R_ENVIRON_USER", "/dev/null"),
    ("R_HISTFILE", "/dev/null"),
    ("R_PROFILE_USER", "/dev/null"),
    ("TERM", "dumb"),
    ("TMPDIR", ""),
    ("TZ", "UTC"),
];

const PRIVATE: &[&str] = &["HOME", "TMPDIR"];

/// Variables through which a loader, a shell, git or an interpreter runs code at its start.
const HOOKS: &[&str] = &[
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "PROMPT_COMMAND",
    "IFS",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_DIFF",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_PROXY_COMMAND",
    "R_PROFILE_USER",
    "R_ENVIRON_USER",
    "R_ENVIRON",
    "R_DEFAULT_PACKAGES",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5OPT",
    "PERL5LIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "MAKEFLAGS",
    "ZDOTDIR",
    "FPATH",
    "CDPATH",
    "GLOBIGNORE",
];

const HOOK_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "BASH_FUNC_",
    "GIT_CONFIG",
    "R_LIBS",
    "R_PROFILE",
    "GLIBC_TUNABLES",
];

/// Whether a variable of this name is a loader or start-up hook, in any case and with any
/// surrounding blanks.
#[must_use]
pub fn is_hook(name: &str) -> bool {
    let name = name.trim().to_ascii_uppercase();
    HOOKS.contains(&name.as_str()) || HOOK_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

impl Environment {
    /// Takes the values of inherited entries from this process, and checks every entry.
    ///
    /// # Errors
    /// `environment`: a name that no shell accepts, a hook that was not named on purpose, a name
    /// given twice, a value with a NUL byte, or an inherited name that is not set. `purpose`: a value
    /// that is given as it is or inherited by its name, and is a provider's credential that is alive.
    pub fn new(spec: &EnvironmentSpec) -> Result<Self, Misuse> {
        let mut entries = BTreeMap::new();
        if spec.inherit_all {
            for (name, value) in std::env::vars_os() {
                if let Some(name) = name.to_str() {
                    let value = Bytes::Plain(value.as_bytes().to_vec());
                    entries.insert(name.to_owned(), Held::new(Kind::Inherited, value));
                }
            }
        } else {
            entries = minimal(spec.git.is_some());
        }
        let mut seen = std::collections::BTreeSet::new();
        for entry in &spec.entries {
            let name = entry.name.as_str();
            check_name(name)?;
            if !seen.insert(name) {
                return Err(bad(name, format!("`{name}` is given twice; give each variable once.")));
            }
            if is_hook(name) && !spec.hooks.iter().any(|hook| hook == name) {
                return Err(bad(name, format!(
                    "`{name}` runs code when a program starts. If you mean it, say so: rho_environment({name} = ..., hooks = \"{name}\")."
                )));
            }
            let held = match &entry.source {
                Source::Literal(value) if value.contains('\0') => {
                    return Err(bad(
                        name,
                        format!("The value of `{name}` holds a NUL byte; no environment can carry it."),
                    ));
                }
                Source::Literal(value) => {
                    Held::new(Kind::Literal, Bytes::Open(OpenEntry::new(name, value.as_bytes())?))
                }
                Source::Secret(entry) => Held::new(Kind::Secret, Bytes::Secret(entry.clone())),
                Source::Inherit => match std::env::var_os(name) {
                    Some(value) => Held::new(Kind::Inherited, Bytes::Open(OpenEntry::new(name, value.as_bytes())?)),
                    None => {
                        return Err(bad(name, format!(
                            "`{name}` is not set in this R process, so it cannot be inherited. Set it first, or leave the entry out."
                        )));
                    }
                },
            };
            entries.insert(name.to_owned(), held);
        }
        if let Some(git) = &spec.git {
            let texts = [&git.name, &git.email].into_iter().chain(&git.safe);
            if texts.into_iter().any(|text| text.chars().any(char::is_control)) {
                return Err(bad(
                    "git",
                    "git's name, email and safe directories must not hold control characters.",
                ));
            }
        }
        let identity = spec.git.as_ref().map_or_else(|| Ok(Vec::new()), Git::claimed)?;
        // Not before the last refusal.
        for (name, held) in &mut entries {
            match &held.value {
                Bytes::Secret(entry) => known::remember(entry.secret()),
                Bytes::Plain(_) | Bytes::Open(_) => held.give_out(name),
            }
        }
        Ok(Self {
            entries,
            inherit_all: spec.inherit_all,
            git: spec.git.clone(),
            identity,
        })
    }

    /// The same environment with only the named entries beside the minimal set.
    ///
    /// # Errors
    /// `wider` when a name is not there; `purpose` when what came with everything is named now, and is a provider's
    /// credential.
    pub fn narrow(&self, keep: &[String]) -> Result<Self, Misuse> {
        if let Some(name) = keep.iter().find(|name| !self.entries.contains_key(*name)) {
            return Err(Misuse::new(
                "wider",
                format!("The capability's environment has no `{name}`; rho_narrow() only takes away."),
            )
            .with("name", name));
        }
        // From the minimal set again, for what had taken the place of one of its entries.
        let mut entries = minimal(self.git.is_some());
        for name in keep {
            let mut held = self.entries[name].clone();
            if let (Kind::Inherited, Bytes::Plain(value)) = (held.kind, &held.value) {
                held.value = Bytes::Open(OpenEntry::new(name, value)?);
            }
            entries.insert(name.clone(), held);
        }
        Ok(Self {
            entries,
            inherit_all: false,
            git: self.git.clone(),
            identity: self.identity.clone(),
        })
    }

    /// Whether everything was inherited.
    #[must_use]
    pub const fn is_inherited(&self) -> bool {
        self.inherit_all
    }

    /// Names and kinds, in the order of names.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.entries.iter().map(|(name, held)| (name.as_str(), held.kind))
    }

    /// The whole environment of a command.
    #[must_use]
    pub fn for_command(&self, private: &Private) -> Vec<Variable> {
        let one = |(name, held): (&String, &Held)| {
            let own = match (held.kind, name.as_str()) {
                (Kind::Private, "HOME") => Some(private.home()),
                (Kind::Private, _) => Some(private.temporary()),
                _ => None,
            };
            match own {
                Some(path) => Variable::new(name, path.as_os_str().as_bytes()),
                None => Variable::new(name, held.value.get()),
            }
        };
        self.entries.iter().map(one).collect()
    }

    /// What git is to find in the private home, as `git config --file` reads it.
    #[must_use]
    pub fn git_configuration(&self) -> Option<String> {
        let git = self.git.as_ref()?;
        // In quotes only these two stand for something else; control characters were refused.
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut text = format!(
            "[user]\n\tname = {}\n\temail = {}\n",
            quoted(&git.name),
            quoted(&git.email)
        );
        if !git.safe.is_empty() {
            text.push_str("[safe]\n");
            for directory in &git.safe {
                let _ = writeln!(text, "\tdirectory = {}", quoted(directory));
            }
        }
        Some(text)
    }

    /// What print and digest may know: names, kinds, and the values of what was given in the open and is not masked.
    #[must_use]
    pub fn describe(&self) -> Value {
        self.entries
            .iter()
            .map(|(name, held)| {
                let mut shown = json!({"name": name, "kind": held.kind.as_str()});
                if held.masked.is_some() && held.kind == Kind::Literal {
                    shown["value"] = MARKER.into();
                } else if matches!(held.kind, Kind::Literal | Kind::Minimal) {
                    shown["value"] = String::from_utf8_lossy(held.value.get()).into();
                }
                shown
            })
            .collect()
    }

    /// The identity for git, as print and digest show it.
    #[must_use]
    pub fn describe_git(&self) -> Value {
        self.git.as_ref().map_or(
            Value::Null,
            |git| json!({"name": git.name, "email": git.email, "safe": git.safe}),
        )
    }
}

fn bad(name: &str, message: impl std::fmt::Display) -> Misuse {
    Misuse::new("environment", message).with("name", name)
}

fn check_name(name: &str) -> Result<(), Misuse> {
    let mut bytes = name.bytes();
    let starts = bytes
        .next()
        .is_some_and(|byte| byte == b'_' || byte.is_ascii_alphabetic());
    if starts && bytes.all(|byte| byte == b'_' || byte.is_ascii_alphanumeric()) {
        return Ok(());
    }
    Err(bad(
        name,
        format!(
            "\"{}\" is no name of an environment variable: use letters, digits and `_`, not starting with a digit.",
            crate::escape::display(name.as_bytes())
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literal(name: &str) -> EnvironmentSpec {
        EnvironmentSpec {
            entries: vec![Entry {
                name: name.to_owned(),
                source: Source::Literal("v".to_owned()),
            }],
            ..EnvironmentSpec::default()
        }
    }

    #[test]
    fn the_minimal_set_and_nothing_else() {
        let environment = Environment::new(&EnvironmentSpec::default()).unwrap();
        let names: Vec<_> = environment.names().map(|(name, _)| name).collect();
        assert_eq!(names, MINIMAL.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn hooks_are_refused_unless_named() {
        for name in [
            "LD_PRELOAD",
            "ld_preload",
            "BASH_ENV",
            "GIT_CONFIG_COUNT",
            "R_LIBS",
            "R_LIBS_USER",
            "DYLD_X",
            "NODE_OPTIONS",
        ] {
            assert_eq!(
                Environment::new(&literal(name)).err().map(|misuse| misuse.kind),
                Some("environment"),
                "{name}"
            );
            let meant = EnvironmentSpec {
                hooks: vec![name.to_owned()],
                ..literal(name)
            };
            assert!(Environment::new(&meant).is_ok(), "{name}");
        }
    }

    #[test]
    fn names_that_no_shell_accepts_are_refused() {
        for name in ["", "1A", "A B", " LD_PRELOAD", "A=B", "A\0", "\u{e4}"] {
            assert!(Environment::new(&literal(name)).is_err(), "{name:?}");
        }
    }

    #[test]
    fn an_entry_whose_name_looks_secret_is_delivered() {
        let environment = Environment::new(&literal("MY_API_KEY")).unwrap();
        assert!(environment
            .names()
            .any(|(name, kind)| name == "MY_API_KEY" && kind == Kind::Literal));
    }

    #[test]
    fn secrets_are_delivered_and_not_described() {
        use crate::secret::tests::{canary, secret};
        let value = canary();
        let spec = |value: &str| EnvironmentSpec {
            entries: vec![Entry {
                name: "KEY".to_owned(),
                source: Source::Secret(EnvSecret::new(secret(value), false).unwrap()),
            }],
            ..EnvironmentSpec::default()
        };
        let environment = Environment::new(&spec(&value)).unwrap();
        assert_eq!(environment.entries["KEY"].value.get(), value.as_bytes());
        let shown = environment.describe();
        assert!(!shown.to_string().contains(&value));
        assert!(shown
            .as_array()
            .unwrap()
            .contains(&json!({"name": "KEY", "kind": "secret"})));
        // Nothing of the value is in what the digest covers.
        assert_eq!(shown, Environment::new(&spec(&canary())).unwrap().describe());
        drop(environment);
        assert!(known::redactor().mask(value.as_bytes()).count > 0);
    }

    #[test]
    fn what_is_named_like_a_secret_is_masked() {
        use crate::secret::tests::canary;
        let masked = |value: &str| known::redactor().mask(value.as_bytes()).count > 0;
        let entry = |name: &str, source: Source| EnvironmentSpec {
            entries: vec![Entry {
                name: name.to_owned(),
                source,
            }],
            ..EnvironmentSpec::default()
        };
        let values: Vec<_> = (0..4).map(|_| canary()).collect();
        let literal = entry("OF_TEST_TOKEN", Source::Literal(values[0].clone()));
        let ordinary = entry("OF_TEST_NAME", Source::Literal(values[1].clone()));
        std::env::set_var("OF_TEST_API_KEY", &values[2]);
        let inherited = entry("OF_TEST_API_KEY", Source::Inherit);
        let literal = Environment::new(&literal).unwrap();
        let ordinary = Environment::new(&ordinary).unwrap();
        let inherited = Environment::new(&inherited).unwrap();
        std::env::set_var("OF_TEST_API_KEY", &values[3]);
        let everything = Environment::new(&EnvironmentSpec {
            inherit_all: true,
            ..EnvironmentSpec::default()
        })
        .unwrap();
        std::env::remove_var("OF_TEST_API_KEY");
        let shown = literal.describe().to_string();
        assert!(!shown.contains(&values[0]) && shown.contains(MARKER));
        assert!(ordinary.describe().to_string().contains(&values[1]));
        // A command may have printed it before the last holder went.
        drop((literal, ordinary, inherited, everything));
        assert_eq!(
            values.iter().map(|value| masked(value)).collect::<Vec<_>>(),
            [true, false, true, true]
        );
    }

    #[test]
    fn gits_identity_is_no_providers_in_both_orders() {
        use crate::secret::tests::{canary, credential_of, soon};
        let value = canary();
        let plain = || Git {
            name: "Ada".to_owned(),
            email: "ada@example.org".to_owned(),
            safe: vec!["/srv".to_owned()],
        };
        let of = |git: Git| EnvironmentSpec {
            git: Some(git),
            ..EnvironmentSpec::default()
        };
        let text = format!("{value}@example.org");
        let specs = [
            of(Git {
                name: text.clone(),
                ..plain()
            }),
            of(Git {
                email: text.clone(),
                ..plain()
            }),
            of(Git {
                safe: vec!["/srv".to_owned(), text],
                ..plain()
            }),
        ];
        for spec in specs {
            let credential = std::cell::OnceCell::new();
            assert!(soon(
                || credential_of(&value).is_ok_and(|made| credential.set(made).is_ok())
            ));
            assert!(Environment::new(&of(plain())).is_ok());
            let refused = Environment::new(&spec).err().unwrap();
            assert_eq!(refused.kind, "purpose");
            assert!(
                refused.message.contains("git") && !refused.message.contains("shared"),
                "{refused}"
            );
            drop(credential);
            let environment = std::cell::OnceCell::new();
            assert!(soon(
                || Environment::new(&spec).is_ok_and(|made| environment.set(made).is_ok())
            ));
            let kept = environment.into_inner().unwrap().narrow(&[]).unwrap();
            let refused = credential_of(&value).unwrap_err();
            assert_eq!(refused.kind, "purpose");
            assert!(
                refused.message.contains("git") && !refused.message.contains("shared"),
                "{refused}"
            );
            drop(kept);
        }
        assert!(soon(|| credential_of(&value).is_ok()));
    }

    fn one(source: Source) -> EnvironmentSpec {
        let name = "RHOCAP_TEST_OPEN".to_owned();
        EnvironmentSpec {
            entries: vec![Entry { name, source }],
            ..EnvironmentSpec::default()
        }
    }

    #[test]
    fn what_commands_get_in_the_open_is_no_providers_in_both_orders() {
        use crate::secret::tests::{canary, credential_of, soon};
        let kind = |made: Result<Environment, Misuse>| made.err().map(|misuse| misuse.kind);
        let value = canary();
        let text = format!("Bearer {value}");
        std::env::set_var("RHOCAP_TEST_OPEN", &text);
        let everything = EnvironmentSpec {
            inherit_all: true,
            ..EnvironmentSpec::default()
        };
        let whole = Environment::new(&everything).unwrap();
        let name = ["RHOCAP_TEST_OPEN".to_owned()];
        let named = || [one(Source::Literal(text.clone())), one(Source::Inherit)];

        // What comes with everything is meant, until it is named.
        let credential = credential_of(&value).unwrap();
        assert_eq!(kind(whole.narrow(&name)), Some("purpose"));
        assert_eq!(kind(Environment::new(&everything)), None);
        for spec in named() {
            assert_eq!(kind(Environment::new(&spec)), Some("purpose"));
        }
        drop(credential);

        let made = || credential_of(&value).err().map(|misuse| misuse.kind);
        let mut environments: Vec<_> = named().iter().map(|spec| Environment::new(spec).unwrap()).collect();
        environments.push(whole.narrow(&name).unwrap());
        std::env::remove_var("RHOCAP_TEST_OPEN");
        for environment in environments {
            assert!(soon(|| made() == Some("purpose")));
            // A copy and a narrower one hold it as well, and no longer than they are there.
            let (copy, kept) = (environment.clone(), environment.narrow(&name).unwrap());
            let none = environment.narrow(&[]).unwrap();
            drop(environment);
            assert_eq!(made(), Some("purpose"));
            drop(copy);
            assert_eq!(made(), Some("purpose"));
            drop(kept);
            assert_eq!(none.names().count(), MINIMAL.len());
        }
        assert!(soon(|| made().is_none()));
    }

    #[test]
    fn what_was_not_meant_as_one_takes_no_credential_away() {
        use crate::secret::tests::{canary, credential_of};
        let place = format!("/opt/{}/bin", &canary()[..6]);
        let inside = &place[5..11];
        let environment = Environment::new(&one(Source::Literal(place.clone()))).unwrap();
        // A short one by chance in another value, a long one that holds that value, and another one.
        assert!(credential_of(inside).is_ok());
        assert!(credential_of(&format!("{place}{}", canary())).is_ok());
        assert!(credential_of(&canary()).is_ok());
        assert!(credential_of(&place).is_err());
        drop(environment);
        let short = &canary()[..7];
        let _environment = Environment::new(&one(Source::Literal(short.to_owned()))).unwrap();
        assert!(credential_of(short).is_err());
    }

    #[test]
    fn inherited_values_are_not_described() {
        let spec = EnvironmentSpec {
            entries: vec![Entry {
                name: "CARGO_MANIFEST_DIR".to_owned(),
                source: Source::Inherit,
            }],
            ..EnvironmentSpec::default()
        };
        let shown = Environment::new(&spec).unwrap().describe().to_string();
        assert!(!shown.contains(env!("CARGO_MANIFEST_DIR")));
        assert!(shown.contains("CARGO_MANIFEST_DIR"));
    }
}
