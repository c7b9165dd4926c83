//! Serves `R/receipt.R`.

use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::receipt::{self, Receipt};
use serde_json::Value;

use crate::argument::{count, text};
use crate::condition::guard;
use crate::value::Plain;

// How many receipts the session holds.
#[extendr]
fn core_receipts_count() -> Robj {
    guard(|| Ok((receipt::log().len() as u64).into()))
}

// Columns of `size` receipts, the first of them `start` before the end.
#[extendr]
fn core_receipts(start: Robj, size: Robj) -> Robj {
    guard(|| {
        let start = usize::try_from(count(&start, "start")?).unwrap_or(usize::MAX);
        let size = usize::try_from(count(&size, "size")?).unwrap_or(usize::MAX);
        let mut receipts = receipt::log().recent(start);
        receipts.truncate(size);
        Ok(columns(&receipts))
    })
}

// The text of the receipt with this id, or `NULL`.
#[extendr]
fn core_receipt_by_id(id: Robj) -> Robj {
    guard(|| {
        let id = text(&id, "id")?;
        let found = receipt::log().by_id(id);
        Ok(found.map_or(Plain::Null, |receipt| receipt.json.clone().into()))
    })
}

// A list of one: a JSON text as R's values, or `NULL` when it is none. Anybody can make such a text, and
// bare it could have the shape of a mistake that this package tells.
#[extendr]
fn core_json_value(json: Robj) -> Robj {
    guard(|| {
        let value = serde_json::from_str(text(&json, "json")?).unwrap_or(Value::Null);
        Ok(Plain::List(vec![(&value).into()]))
    })
}

fn parse(receipt: &Receipt) -> Value {
    serde_json::from_str(&receipt.json).unwrap_or(Value::Null)
}

fn columns(receipts: &[Arc<Receipt>]) -> Plain {
    let facts: Vec<Value> = receipts.iter().map(|receipt| parse(receipt)).collect();
    let texts = |path: &[&str]| {
        Plain::Texts(
            facts
                .iter()
                .map(|fact| at(fact, path).as_str().map(str::to_owned))
                .collect(),
        )
    };
    let numbers = |path: &[&str]| Plain::Numbers(facts.iter().map(|fact| at(fact, path).as_f64()).collect());
    let asked = facts.iter().map(|fact| {
        ["path", "command", "arguments"]
            .iter()
            .find_map(|name| fact["request"][*name].as_str())
            .map(str::to_owned)
    });
    let times = facts
        .iter()
        .map(|fact| seconds(fact["time"].as_str().unwrap_or_default()));
    Plain::Named(vec![
        ("seq", numbers(&["seq"])),
        ("time", Plain::Numbers(times.collect())),
        ("tool", texts(&["tool"])),
        ("principal", texts(&["principal"])),
        ("decision", texts(&["decision"])),
        ("outcome", texts(&["outcome"])),
        ("code", texts(&["code"])),
        ("path", Plain::Texts(asked.collect())),
        ("resolved", texts(&["resolved", "path"])),
        ("exit_status", numbers(&["command", "exit_status"])),
        ("stage", texts(&["stage"])),
        ("effect", texts(&["effect"])),
        ("rule", texts(&["rule"])),
        ("enforced_by", texts(&["enforced_by", "mechanism"])),
        ("bytes", numbers(&["bytes"])),
        ("duration_us", numbers(&["duration_us"])),
        ("capability", texts(&["capability"])),
        ("message", texts(&["message"])),
        ("id", texts(&["id"])),
        (
            "json",
            receipts
                .iter()
                .map(|receipt| receipt.json.clone())
                .collect::<Vec<_>>()
                .into(),
        ),
    ])
}

fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| &value[*name])
}

/// Seconds since 1970 of a time in UTC as receipts write it: `2026-01-31T12:34:56.789Z`.
#[allow(clippy::cast_precision_loss)]
fn seconds(time: &str) -> Option<f64> {
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (hour, minute) = (part(11, 13)?, part(14, 16)?);
    let second: f64 = time.get(17..)?.strip_suffix('Z')?.parse().ok()?;
    // Days from civil date, with years that start in March (Howard Hinnant's algorithm).
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some((days * 86_400 + hour * 3_600 + minute * 60) as f64 + second)
}

extendr_module! {
    mod receipt;
    fn core_receipts_count;
    fn core_receipts;
    fn core_receipt_by_id;
    fn core_json_value;
}
