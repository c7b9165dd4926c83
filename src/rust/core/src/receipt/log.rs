//! The session's receipts, the newest 100,000 or 256 MiB, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Receipt, Record};
use crate::per_process::PerProcess;
use crate::secret::known;

/// How many receipts are held; older ones go first.
pub const MOST: usize = 100_000;

/// How many bytes of receipts are held: a long path that is refused takes 80 KiB each time.
const MOST_BYTES: usize = 256 << 20;

/// The receipts of this process.
#[derive(Default)]
pub struct Log(Mutex<Held>);

#[derive(Default)]
struct Held {
    receipts: VecDeque<Arc<Receipt>>,
    bytes: usize,
    made: u64,
    last: String,
}

/// The one log of this process.
pub fn log() -> &'static Log {
    static LOG: PerProcess<Log> = PerProcess::new();
    LOG.get()
}

/// What comes from outside was masked before it was escaped. What is left can only be what became a secret
/// by its place, a path and a name that meet, say.
fn masked(json: String) -> String {
    let masked = known::redactor().mask_text(&json);
    if masked.count == 0 {
        return json;
    }
    let text = masked.text.into_owned();
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
        return text;
    }
    // The mark went over more than one text.
    let mut value = serde_json::from_str(&json).unwrap_or_default();
    mask_texts(&mut value);
    value.to_string()
}

fn mask_texts(value: &mut serde_json::Value) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            let masked = known::redactor().mask_text(text);
            if masked.count > 0 {
                *text = masked.text.into_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask_texts),
        Value::Object(fields) => fields.values_mut().for_each(mask_texts),
        _ => {}
    }
}

impl Log {
    fn held(&self) -> MutexGuard<'_, Held> {
        // A panic while a receipt was written leaves the ones before it whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a record its place and keeps it.
    pub fn append(&self, mut record: Record<'_>) -> Arc<Receipt> {
        let mut held = self.held();
        held.made += 1;
        record.seq = held.made;
        record.previous.clone_from(&held.last);
        let json = serde_json::to_string(&record).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"));
        let mut json = masked(json);
        // It was written into room that doubles, and is kept: up to half of it would hold nothing.
        json.shrink_to_fit();
        let digest = blake3::hash(json.as_bytes()).to_hex()[..32].to_owned();
        held.last.clone_from(&digest);
        let receipt = Arc::new(Receipt {
            seq: record.seq,
            id: record.id,
            json,
            digest,
        });
        held.bytes += receipt.json.len();
        held.receipts.push_back(Arc::clone(&receipt));
        while held.receipts.len() > MOST || held.bytes > MOST_BYTES {
            let oldest = held.receipts.pop_front();
            held.bytes -= oldest.map_or(0, |oldest| oldest.json.len());
        }
        receipt
    }

    /// The receipt of this name, if it is held; the newest are looked at first.
    #[must_use]
    pub fn by_id(&self, id: &str) -> Option<Arc<Receipt>> {
        self.held()
            .receipts
            .iter()
            .rev()
            .find(|receipt| receipt.id == id)
            .cloned()
    }

    /// How many receipts are held.
    #[must_use]
    pub fn len(&self) -> usize {
        self.held().receipts.len()
    }

    /// Whether there is none yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many receipts were made, held or not.
    #[must_use]
    pub fn made(&self) -> u64 {
        self.held().made
    }

    /// The newest `most` receipts, oldest first.
    #[must_use]
    pub fn recent(&self, most: usize) -> Vec<Arc<Receipt>> {
        let held = self.held();
        let skip = held.receipts.len().saturating_sub(most);
        held.receipts.iter().skip(skip).cloned().collect()
    }
}
