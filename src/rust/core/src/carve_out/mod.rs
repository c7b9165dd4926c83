//! Carve-outs: what inside a root is neither readable nor writable (`deny`), or readable only
//! (`protect`). Patterns are gitignore's, relative to each root.
//!
//! Names are matched as a case-insensitive, normalising file system would compare them, because
//! the same rule must hold on one: `.ENV` is `.env` on macOS and in a casefold directory.

mod filter;
mod list;
pub mod pattern;
pub mod repository;

use std::sync::Arc;

use list::List;

use crate::facts::Kind;
use crate::misuse::Misuse;

/// Denied when the user says nothing: where keys are kept.
pub const DENY_DEFAULTS: &[&str] = &[
    // What rhocap moved aside, for the user to look at.
    "rhocap-denied-*",
    ".Renviron",
    ".env",
    ".env.*",
    "!.env.example",
    "!.env.template",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".ssh/",
    ".aws/",
    ".gnupg/",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_*_sk",
    "*-key.pem",
    "*.key.pem",
    "privkey*.pem",
    "key.pem",
    "*.key",
    "credentials.json",
    "service-account*.json",
    ".httr-oauth",
    ".npmrc",
    ".pypirc",
    ".dockercfg",
    "**/.docker/config.json",
    ".kube/",
    ".azure/",
    "**/.config/gcloud/",
    // Keys are set with `Sys.setenv()` at the prompt, and the history keeps the line.
    ".Rhistory",
];

/// Protected when the user says nothing: what runs later, outside the capability. A slash inside a
/// pattern anchors it, so nested projects need the leading `**/`.
pub const PROTECT_DEFAULTS: &[&str] = &[
    // What rhocap moved aside, for the user to look at.
    "rhocap-quarantine-*",
    ".Rprofile",
    // R loads it at its start and runs the `.First()` in it; R's own text format needs no binary write.
    ".RData",
    // As a file it says where the repository is, with its configuration and hooks; as a directory it
    // is an ordinary repository, of which git must be able to write most.
    ".git",
    "!.git/",
    "**/.git/hooks/",
    "**/.git/config",
    "**/.git/config.worktree",
    "**/.git/commondir",
    "**/.git/worktrees/",
    "**/.git/remotes/",
    "**/.git/branches/",
    "**/.git/info/attributes",
    "**/.git/modules/**/hooks/",
    "**/.git/modules/**/config",
    "**/.git/modules/**/config.worktree",
    "**/.git/modules/**/commondir",
    "**/.git/modules/**/worktrees/",
    "**/.git/modules/**/remotes/",
    "**/.git/modules/**/branches/",
    "**/.git/modules/**/info/attributes",
    "**/.git/modules/**/rebase-merge/git-rebase-todo",
    "**/.git/modules/**/rebase-merge/strategy*",
    "**/.git/modules/**/sequencer/opts",
    "**/.git/rebase-merge/git-rebase-todo",
    "**/.git/rebase-merge/strategy*",
    "**/.git/sequencer/opts",
    // A bare repository that somebody pushes to.
    "**/*.git/hooks/",
    "**/*.git/config",
    "**/.hg/hgrc",
    "**/.hg/hgrc-not-shared",
    "**/.hg/sharedpath",
    "**/.jj/repo/config.toml",
    // Beside a file of this name, git takes a directory for a repository. What it runs or obeys in one that
    // is there already is protected with it (`repository`).
    "HEAD",
    "!**/.git/HEAD",
    "!**/.git/logs/HEAD",
    "!**/.git/refs/remotes/*/HEAD",
    "!**/.git/logs/refs/remotes/*/HEAD",
    "!**/.git/modules/**/HEAD",
    ".githooks/",
    ".husky/",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    ".gitmodules",
    ".gitconfig",
    "**/.config/git/",
    "**/renv/activate.R",
    // lintr evaluates its configuration; R CMD runs make with the other.
    ".lintr",
    ".lintr.R",
    "**/.R/Makevars*",
    ".radian_profile",
    "**/.config/radian/",
    // Editors and debuggers.
    ".vscode/",
    "*.code-workspace",
    ".idea/",
    ".zed/",
    ".devcontainer/",
    ".devcontainer.json",
    ".vimrc",
    ".exrc",
    ".nvim.lua",
    ".dir-locals.el",
    ".gdbinit",
    ".lldbinit",
    ".pdbrc",
    ".envrc",
    "mise.toml",
    ".mise.toml",
    // What other agents obey.
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "GEMINI.md",
    "btw.md",
    ".btw.md",
    ".claude/",
    ".codex/",
    ".cursor/",
    ".cursorrules",
    ".gemini/",
    ".windsurf/",
    ".windsurfrules",
    ".clinerules",
    ".roo/",
    ".kiro/",
    ".continue/",
    ".opencode/",
    "opencode.json",
    ".aider.conf.yml",
    ".mcp.json",
    ".positai/",
    "**/.github/copilot-instructions.md",
    "**/.github/instructions/",
    "**/.github/agents/",
    // What other machines run.
    "**/.github/workflows/",
    "**/.github/actions/",
    "**/.forgejo/workflows/",
    "**/.gitea/workflows/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".buildkite/",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    // Shells.
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".profile",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".zlogin",
    ".zlogout",
    "**/.config/fish/",
    // What a session starts.
    ".xprofile",
    ".xsession",
    ".xinitrc",
    "**/.config/autostart/",
    "**/.config/systemd/",
];

/// What a pattern does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Neither readable nor writable.
    Deny,
    /// Readable, not writable.
    Protect,
}

impl Effect {
    /// The word used in results and receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Protect => "protect",
        }
    }
}

/// What is known of the last name of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// It is, or would be, a directory.
    Directory,
    /// It is, or would be, something else.
    File,
    /// Not known: the stricter answer counts.
    Unknown,
}

impl Leaf {
    /// What an object of this kind is to patterns. A link serves others as what it points to.
    #[must_use]
    pub const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Directory => Self::Directory,
            Kind::Symlink => Self::Unknown,
            _ => Self::File,
        }
    }
}

/// Lists of patterns with one effect. With `!` re-including within its own list only, a later list
/// (added by `rho_narrow()`) cannot open what an earlier one closed.
struct Lists(Vec<List>);

impl Lists {
    fn new(lists: &[Vec<String>]) -> Result<Self, Misuse> {
        lists
            .iter()
            .filter(|list| !list.is_empty())
            .map(|list| List::new(list))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn covering(&self, path: &[u8], leaf: Leaf) -> Option<&str> {
        self.0.iter().find_map(|list| list.covering(path, leaf))
    }

    fn may_cover(&self, name: &[u8]) -> bool {
        self.0.iter().any(|list| list.may_cover(name))
    }

    fn leading_to(&self, path: &[u8]) -> Option<&str> {
        self.0.iter().find_map(|list| list.leading_to(path))
    }
}

/// The compiled carve-outs of one root or of the roots above it.
pub struct CarveOuts {
    /// The lists as they were given, for telling two carve-outs apart.
    source: String,
    deny: Lists,
    protect: Lists,
}

impl CarveOuts {
    /// Compiles lists of patterns. Each list stands for itself.
    ///
    /// # Errors
    /// `pattern` for one that is empty, a comment, or no glob.
    pub fn new(deny: &[Vec<String>], protect: &[Vec<String>]) -> Result<Arc<Self>, Misuse> {
        Ok(Arc::new(Self {
            source: serde_json::json!([deny, protect]).to_string(),
            deny: Lists::new(deny)?,
            protect: Lists::new(protect)?,
        }))
    }

    /// The lists as they were given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether there is no pattern at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.deny.0.is_empty() && self.protect.0.is_empty()
    }

    /// Whether a pattern could cover an entry of this name, whatever lies above it. `true` may be wrong,
    /// `false` never is; takes less time than a system call.
    #[must_use]
    pub fn may_cover(&self, name: &[u8]) -> bool {
        self.deny.may_cover(name) || self.protect.may_cover(name)
    }

    /// The pattern of several components that could match something below `path`, were it a directory.
    #[must_use]
    pub fn leading_to(&self, path: &[u8]) -> Option<&str> {
        self.deny.leading_to(path).or_else(|| self.protect.leading_to(path))
    }

    /// The pattern that covers `path`, a path relative to the root without `.` and `..`.
    #[must_use]
    pub fn covering(&self, effect: Effect, path: &[u8], leaf: Leaf) -> Option<&str> {
        let patterns = match effect {
            Effect::Deny => &self.deny,
            Effect::Protect => &self.protect,
        };
        patterns.covering(path, leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Arc<CarveOuts> {
        let list = |patterns: &[&str]| vec![patterns.iter().map(ToString::to_string).collect()];
        CarveOuts::new(&list(DENY_DEFAULTS), &list(PROTECT_DEFAULTS)).unwrap()
    }

    #[test]
    fn defaults_cover_their_names_at_any_depth_and_in_any_case() {
        let rules = defaults();
        for (path, rule) in [
            (".env", Some(".env")),
            ("a/b/.env", Some(".env")),
            (".ENV", Some(".env")),
            (".env.local", Some(".env.*")),
            (".env.example", None),
            ("a/.ENV.Template", None),
            (".ssh/config", Some(".ssh/")),
            ("x/.ssh/a/b", Some(".ssh/")),
            (".env/x", Some(".env")),
            ("id_ed25519", Some("id_ed25519")),
            ("id_ecdsa_sk", Some("id_*_sk")),
            ("server-key.pem", Some("*-key.pem")),
            ("cert.pem", None),
            ("tls/key.pem", Some("key.pem")),
            ("monkey.pem", None),
            ("server.key", Some("*.key")),
            ("keys", None),
            ("sub/credentials.json", Some("credentials.json")),
            ("service-account-1.json", Some("service-account*.json")),
            ("package.json", None),
            (".httr-oauth", Some(".httr-oauth")),
            (".npmrc", Some(".npmrc")),
            (".pypirc", Some(".pypirc")),
            (".dockercfg", Some(".dockercfg")),
            ("home/.docker/config.json", Some("**/.docker/config.json")),
            (".docker/daemon.json", None),
            (".kube/config", Some(".kube/")),
            (".azure/accessTokens.json", Some(".azure/")),
            (".config/gcloud/x/y", Some("**/.config/gcloud/")),
            (".config/git/config", None),
            ("gcloud/x", None),
            (".Rhistory", Some(".Rhistory")),
            ("environment", None),
            (".Renviron", Some(".Renviron")),
            (".renviron", Some(".Renviron")),
            (".e\u{200c}nv", Some(".env")),
            ("src/main.rs", None),
        ] {
            assert_eq!(
                rules.covering(Effect::Deny, path.as_bytes(), Leaf::File),
                rule,
                "{path}"
            );
        }
        for (path, covered) in [
            (".git/hooks/pre-commit", true),
            ("sub/.git/hooks/x", true),
            (".git/config", true),
            (".GIT/HOOKS/x", true),
            (".git/HEAD", false),
            (".git", true),
            ("sub/.git", true),
            (".git/commondir", true),
            (".git/config.worktree", true),
            (".git/worktrees/a/commondir", true),
            (".RData", true),
            (".git/modules/a/b/hooks/x", true),
            (".git/modules/a/commondir", true),
            (".git/modules/a/config.worktree", true),
            (".git/modules/a/worktrees/b/x", true),
            ("bare.git/hooks/post-receive", true),
            ("sub/bare.git/config", true),
            ("bare.git/HEAD", true),
            (".git/refs/remotes/origin/HEAD", false),
            (".git/logs/HEAD", false),
            (".git/modules/a/HEAD", false),
            (".git/evil/HEAD", true),
            (".git/remotes/origin", true),
            (".git/branches/origin", true),
            (".git/sequencer/opts", true),
            (".git/rebase-merge/strategy", true),
            ("renv/activate.R", true),
            ("sub/renv/activate.R", true),
            ("activate.R", false),
            (".Rprofile", true),
            ("pkg/.Rprofile", true),
            (".lintr.R", true),
            ("x.code-workspace", true),
            (".devcontainer.json", true),
            (".gitconfig", true),
            ("home/.config/git/config", true),
            (".zlogin", true),
            (".bash_logout", true),
            ("sub/.githooks/pre-commit", true),
            ("hooks/x", false),
            ("config", false),
            (".vscode/settings.json", true),
        ] {
            assert_eq!(
                rules.covering(Effect::Protect, path.as_bytes(), Leaf::File).is_some(),
                covered,
                "{path}"
            );
        }
    }

    #[test]
    fn directories_and_files_differ_where_the_pattern_says_so() {
        let rules = defaults();
        let answer = |leaf| rules.covering(Effect::Deny, b".ssh", leaf).is_some();
        assert!(answer(Leaf::Directory));
        assert!(!answer(Leaf::File));
        assert!(answer(Leaf::Unknown));
        // The file that names a repository elsewhere, and the directory of an ordinary one.
        let protected = |leaf| rules.covering(Effect::Protect, b"sub/.git", leaf).is_some();
        assert!(protected(Leaf::File));
        assert!(!protected(Leaf::Directory));
    }

    #[test]
    fn a_later_list_opens_nothing() {
        let lists = [vec![".env".to_owned()], vec!["!.env".to_owned()]];
        let rules = CarveOuts::new(&lists, &[]).unwrap();
        assert!(rules.covering(Effect::Deny, b".env", Leaf::File).is_some());
    }

    #[test]
    fn components_on_the_way_are_known() {
        let rules = defaults();
        for (name, leads) in [
            (".git", true),
            (".GIT", true),
            ("renv", true),
            (".github", true),
            ("sub/.docker", true),
            (".config", true),
            ("src", false),
            (".ssh", false),
            (".kube", false),
            ("sub/.git", true),
            ("hooks", false),
            ("modules", false),
            (".git/modules", true),
            (".git/modules/a", true),
            ("sub/.git/modules/a/b", true),
            (".git/objects", false),
        ] {
            assert_eq!(rules.leading_to(name.as_bytes()).is_some(), leads, "{name}");
        }
    }

    #[test]
    fn anchoring_and_double_stars() {
        let lists = [vec![
            "/only/here".to_owned(),
            "data/**".to_owned(),
            "we ird\\ ".to_owned(),
        ]];
        let rules = CarveOuts::new(&lists, &[]).unwrap();
        for (path, covered) in [
            ("only/here", true),
            ("a/only/here", false),
            ("data/x/y", true),
            ("data", false),
            ("datax", false),
        ] {
            assert_eq!(
                rules.covering(Effect::Deny, path.as_bytes(), Leaf::File).is_some(),
                covered,
                "{path}"
            );
        }
    }

    #[test]
    fn exact_directories_with_special_names() {
        for name in [
            "plain",
            "st*r",
            "q?",
            "[x]",
            "!b",
            "#h",
            " lead",
            "trail ",
            "back\\slash",
            "{a,b}",
        ] {
            let pattern = pattern::exact_directory(&[b"lib".to_vec(), name.as_bytes().to_vec()]).unwrap();
            let rules = CarveOuts::new(&[], &[vec![pattern.clone()]]).unwrap();
            let inside = format!("lib/{name}/DESCRIPTION");
            assert!(
                rules.covering(Effect::Protect, inside.as_bytes(), Leaf::File).is_some(),
                "{pattern}"
            );
            assert!(
                rules
                    .covering(Effect::Protect, b"lib/other/DESCRIPTION", Leaf::File)
                    .is_none(),
                "{pattern}"
            );
        }
    }

    #[test]
    fn names_that_no_pattern_can_say() {
        for name in [&b"\xff"[..], b"a\nb", b"\x1b"] {
            assert_eq!(pattern::exact_directory(&[name.to_vec()]), None, "{name:?}");
        }
    }

    #[test]
    fn letters_are_folded_beside_names_that_are_no_text() {
        let rules = CarveOuts::new(&[vec!["caf\u{e9}.txt".to_owned()]], &[]).unwrap();
        for path in [
            "caf\u{e9}.txt".as_bytes().to_vec(),
            b"d\xff/caf\xc3\xa9.txt".to_vec(),
            b"d\xff/CAFE\xcc\x81.TXT".to_vec(),
            b"\xe2\x82/caf\xc3\xa9.txt/x".to_vec(),
        ] {
            assert!(rules.covering(Effect::Deny, &path, Leaf::File).is_some(), "{path:?}");
        }
    }

    #[test]
    fn long_paths_take_time_by_their_length() {
        let rules = defaults();
        // With the square of it, this would not end.
        let long = format!(".env.example/{}b", "a/".repeat(1_000_000));
        assert!(rules.covering(Effect::Deny, long.as_bytes(), Leaf::File).is_none());
    }

    #[test]
    fn unusable_patterns_are_refused() {
        for pattern in [
            "",
            "  ",
            "# x",
            "a/../b",
            "a/./b",
            "a\u{1}b",
            // git and globset read these differently.
            "secret[[:digit:]].txt",
            "a[\\]]b",
            "a[b",
            "a[b/c]",
            "a[]",
        ] {
            let result = CarveOuts::new(&[vec![pattern.to_owned()]], &[]);
            assert_eq!(result.err().map(|misuse| misuse.kind), Some("pattern"), "{pattern:?}");
        }
    }
}
