//! What a capability tells of itself, and its digest.

use std::os::unix::ffi::OsStrExt;

use serde_json::{json, Value};

use super::{with_slash, Capability};
use crate::confine;
use crate::escape::{display, exact};
use crate::path;
use crate::policy::{Network, Process, UNRESTRICTED_SENTENCE};
use crate::root::Origin;

impl Capability {
    /// Everything that print shows.
    #[must_use]
    pub fn describe(&self) -> Value {
        let mut shown = self.facts(display);
        shown["id"] = self.id.clone().into();
        shown["digest"] = self.digest.clone().into();
        shown["added"] = self
            .added
            .iter()
            .map(|(root, pattern, why)| {
                json!({"root": display(&with_slash(&self.roots[*root].canonical)), "pattern": pattern, "why": why})
            })
            .collect();
        if let Some(enforcement) = self.enforcement() {
            shown["system"] = confine::system::files(self.network == Network::Host).into();
            shown["enforced_by"] = json!({"kernel": enforcement.mechanisms, "gaps": confine::gaps(enforcement)});
        }
        if let Some(private) = self.private() {
            shown["private"] = display(private.path().as_os_str().as_bytes()).into();
        }
        if self.process == Process::Unrestricted {
            shown["sentence"] = UNRESTRICTED_SENTENCE.into();
        }
        shown
    }

    fn facts(&self, show: fn(&[u8]) -> String) -> Value {
        let roots: Vec<Value> = self
            .roots
            .iter()
            // The private one has another name in each session.
            .filter(|root| root.origin != Origin::Private)
            .map(|root| {
                json!({
                    "path": show(&with_slash(&root.canonical)),
                    "declared": root.declared.iter().map(|names| show(&with_slash(names))).collect::<Vec<_>>(),
                    "access": root.access,
                    "origin": root.origin,
                })
            })
            .collect();
        json!({
            "roots": roots,
            "cwd": show(&with_slash(&self.cwd.opened.canonical)),
            "cwd_inside": self.cwd.inside.is_some(),
            "deny": self.deny.concat(),
            "protect": self.protect.concat(),
            // Each list stands for itself: a `!` of one opens nothing of another.
            "deny_lists": self.deny,
            "protect_lists": self.protect,
            "environment": self.environment.describe(),
            "environment_inherited": self.environment.is_inherited(),
            "git": self.environment.describe_git(),
            "process": self.process,
            "network": self.network,
            "placement": self.placement,
            "limits": self.limits,
        })
    }

    pub(super) fn compute_digest(&self) -> String {
        let mut facts = self.facts(exact);
        // Other spellings of a root change nothing of what is allowed; carve-outs that it has from a
        // root above it do, also when that root is gone.
        if let Some(shown) = facts["roots"].as_array_mut() {
            for (shown, root) in shown.iter_mut().zip(&self.roots) {
                if let Some(shown) = shown.as_object_mut() {
                    shown.remove("declared");
                }
                let mut anchors: Vec<_> = root
                    .anchors
                    .iter()
                    .map(|anchor| (exact(&path::join(&anchor.prefix)), anchor.rules.source()))
                    .collect();
                anchors.sort_unstable();
                shown["anchors"] = json!(anchors);
            }
        }
        facts["added"] = self
            .added
            .iter()
            .map(|(root, pattern, _)| json!([root, pattern]))
            .collect();
        // An inherited environment has another set of names in each session.
        if self.environment.is_inherited() {
            facts["environment"] = self
                .environment
                .describe()
                .as_array()
                .into_iter()
                .flatten()
                .filter(|entry| entry["kind"] != "inherited")
                .cloned()
                .collect();
        }
        // What is closed for the sake of names that this one does not see.
        if let Some(around) = &self.around {
            facts["around"] = around.digest.clone().into();
        }
        facts["schema"] = "rhocap.capability/1".into();
        blake3::hash(facts.to_string().as_bytes()).to_hex()[..32].to_owned()
    }
}
