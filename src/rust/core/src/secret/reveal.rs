//! The only way out of a value, which leaves a receipt.

use std::time::Instant;

use serde_json::json;

use super::{known, Secret};
use crate::receipt::record::EnforcedBy;
use crate::receipt::{log, now, Record, SCHEMA};

/// The value, for its owner to see. The receipt is there before it, and the redactor keeps it.
#[must_use]
pub fn reveal(secret: &Secret) -> &[u8] {
    let began = Instant::now();
    known::remember(secret);
    // Named "secret", an id would be masked.
    let request = json!({"id": secret.id(), "label": secret.label(), "source": secret.origin().kind.as_str()});
    log().append(Record {
        schema: SCHEMA,
        id: crate::random::hex(16),
        seq: 0,
        time: now(),
        tool: "rho_reveal",
        principal: "user",
        capability: "",
        placement: "local".to_owned(),
        request: &request,
        resolved: None,
        resolved_to: None,
        decision: "allowed",
        outcome: "ok",
        code: None,
        message: None,
        stage: None,
        effect: "none",
        rule: None,
        enforced_by: EnforcedBy {
            mechanism: "none",
            resolver: None,
            kernel: Vec::new(),
            restrictions: Vec::new(),
            gaps: Vec::new(),
            statement: None,
        },
        environment: Vec::new(),
        command: None,
        version_before: None,
        version_after: None,
        masked: 0,
        bytes: None,
        duration_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX),
        previous: String::new(),
    });
    secret.expose()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{canary, secret};
    use super::*;

    #[test]
    fn a_value_that_was_shown_left_a_receipt_without_it() {
        let value = canary();
        let made = secret(&value);
        assert_eq!(reveal(&made), value.as_bytes());
        let id = made.id().to_owned();
        drop(made);
        let receipts = log().recent(usize::MAX);
        let of_it: Vec<_> = receipts.iter().filter(|receipt| receipt.json.contains(&id)).collect();
        assert_eq!(of_it.len(), 1);
        assert!(!of_it[0].json.contains(&value));
        assert!(known::redactor().mask(value.as_bytes()).count > 0);
    }
}
