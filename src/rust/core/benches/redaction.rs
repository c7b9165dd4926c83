//! Ratios of the redactor against what else finds many strings in a text, from one interleaved run.
//!
//! Prints rows of a Markdown table. `MIB=8` makes the log text smaller than its 64 MiB.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use rhocap_core::redact::{self, Redactor};

const ROUNDS: usize = 9;

fn main() {
    let mib: usize = std::env::var("MIB").ok().and_then(|mib| mib.parse().ok()).unwrap_or(64);
    let values = random_values(100, "", 40);
    let text = log(mib << 20, &values);
    let redactor = redactor(&values);
    let forms = Redactor::forms(values.iter().map(String::as_bytes));
    println!(
        "{} forms, {} bytes",
        forms.len(),
        forms.iter().map(Vec::len).sum::<usize>()
    );
    println!("| work | GB/s | against | GB/s | ratio | reach |");
    println!("|---|---|---|---|---|---|");

    let automaton = dfa(&forms);
    let pass = || redactor.spans_in_one_piece(&text).len();
    let found = pass();
    assert_eq!(found, (text.len() - 1) / (4 << 20), "the values that were put in");
    compare(
        "100 secrets in all forms, log text",
        text.len(),
        "aho-corasick DFA",
        ">= 5",
        &pass,
        || automaton.find_overlapping_iter(&text).count(),
    );
    let mut copy = vec![0; text.len()];
    compare("the same", text.len(), "memcpy", "the bound", &pass, || {
        copy.copy_from_slice(&text);
        copy.len()
    });
    // Thousands of needles take minutes for all of it.
    let part = &text[..text.len().min(1 << 20)];
    compare(
        "the same, 1 MiB",
        part.len(),
        "memchr::memmem per needle",
        "",
        || redactor.spans_in_one_piece(part).len(),
        || {
            forms
                .iter()
                .map(|form| memchr::memmem::find_iter(part, form).count())
                .sum()
        },
    );
    compare(
        "all passes",
        text.len(),
        "the first pass",
        "",
        || redactor.spans(&text).len(),
        &pass,
    );
    compare(
        "a stream of 64 KiB pieces",
        text.len(),
        "the first pass",
        "",
        || stream(&redactor, &text),
        &pass,
    );
    let patterns = |find: fn(&[u8], &mut Vec<std::ops::Range<usize>>)| {
        let mut spans = Vec::new();
        find(&text, &mut spans);
        spans.len()
    };
    compare(
        "shapes alone",
        text.len(),
        "the first pass",
        "",
        || patterns(redact::shapes::find),
        &pass,
    );
    compare(
        "names alone",
        text.len(),
        "the first pass",
        "",
        || patterns(redact::names::find),
        &pass,
    );
    let none = self::redactor(&[]);
    compare(
        "no secrets, all passes",
        text.len(),
        "the first pass",
        "",
        || none.spans(&text).len(),
        &pass,
    );
    drop(automaton);

    let few = self::redactor(&values[..10]);
    let more = random_values(1000, "", 40);
    let many = self::redactor(&more);
    assert!(many.mask(&text).text == text, "a text without secrets is the same");
    compare(
        "1,000 secrets",
        text.len(),
        "10 secrets",
        ">= 0.5",
        || many.spans_in_one_piece(&text).len(),
        || few.spans_in_one_piece(&text).len(),
    );
    compare(
        "1,000 secrets, all passes",
        text.len(),
        "10 secrets",
        ">= 0.5",
        || many.spans(&text).len(),
        || few.spans(&text).len(),
    );
    let short = self::redactor(&random_values(1000, "", 8));
    compare(
        "1,000 secrets of 8 bytes",
        text.len(),
        "1,000 of 40 bytes",
        "",
        || short.spans_in_one_piece(&text).len(),
        || many.spans_in_one_piece(&text).len(),
    );

    for (prefix, length) in [(8, 16), (24, 40), (40, 48)] {
        let prefix = &random_values(1, "", prefix)[0];
        let values = random_values(1000, prefix, length);
        let text = prefix.as_bytes().repeat((8 << 20) / prefix.len());
        let redactor = self::redactor(&values);
        // Of the values alone: of all forms it would need gigabytes.
        let automaton = dfa(&values);
        compare(
            &format!(
                "1,000 secrets of {length} bytes with the same first {}, these repeated",
                prefix.len()
            ),
            text.len(),
            "aho-corasick DFA",
            ">= 0.3",
            || redactor.spans_in_one_piece(&text).len(),
            || automaton.find_overlapping_iter(&text).count(),
        );
    }
    let start = Instant::now();
    drop(black_box(self::redactor(&more)));
    println!("1,000 secrets made ready in {} ms", start.elapsed().as_millis());
}

fn redactor(values: &[String]) -> std::sync::Arc<Redactor> {
    std::sync::Arc::new(Redactor::new(values.iter().map(String::as_bytes)))
}

fn stream(redactor: &std::sync::Arc<Redactor>, text: &[u8]) -> usize {
    let mut stream = redactor.stream();
    text.chunks(64 << 10)
        .map(|piece| stream.push(piece).len())
        .sum::<usize>()
        + stream.finish().len()
}

fn dfa(patterns: &[impl AsRef<[u8]>]) -> AhoCorasick {
    AhoCorasick::builder()
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::Standard)
        .build(patterns)
        .expect("an automaton")
}

/// A small generator, so that all runs have the same texts.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }
}

fn random_values(number: u64, prefix: &str, length: usize) -> Vec<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut numbers = Numbers(number << 32 | length as u64);
    (0..number)
        .map(|_| {
            let mut value = String::from(prefix);
            while value.len() < length {
                value.push(char::from(
                    LETTERS[usize::try_from(numbers.next() % 64).expect("small")],
                ));
            }
            value
        })
        .collect()
}

/// Lines as programs log them; one of the values every 4 MiB.
fn log(bytes: usize, values: &[String]) -> Vec<u8> {
    let mut numbers = Numbers(7);
    let mut out = String::with_capacity(bytes + 400);
    let mut planted = 0;
    while out.len() < bytes {
        let (a, b, c) = (numbers.next() % 60, numbers.next() % 100_000, numbers.next());
        let level = ["INFO", "WARN", "ERROR", "DEBUG"][usize::try_from(c % 4).expect("small")];
        let _ = match c % 3 {
            0 => writeln!(
                out,
                "2024-05-17T12:{a:02}:07.{b:05}Z {level} worker[{b}]: GET /v1/items/{c:016x}?page={a} 200 {b}us \
                 \"curl/8.{a}\""
            ),
            1 => writeln!(
                out,
                "2024-05-17T12:{a:02}:07.{b:05}Z {level} the connection to node-{a} was closed by its peer"
            ),
            _ => writeln!(
                out,
                "    at rhocap::worker::run_{b} (src/worker.rs:{b}:{a}) [{:08x}]",
                c & 0xffff_ffff
            ),
        };
        if out.len() / (4 << 20) > planted {
            let _ = writeln!(out, "item {} was sent", values[planted % values.len()]);
            planted += 1;
        }
    }
    out.truncate(bytes);
    out.into_bytes()
}

/// The fastest of interleaved rounds, as bytes a nanosecond, and the ratio of the two: whatever else the machine
/// does only ever makes a round slower.
fn compare(
    work: &str,
    bytes: usize,
    peer: &str,
    reach: &str,
    mut ours: impl FnMut() -> usize,
    mut theirs: impl FnMut() -> usize,
) {
    let time = |call: &mut dyn FnMut() -> usize| {
        let start = Instant::now();
        black_box(call());
        start.elapsed().as_secs_f64()
    };
    let (mut mine, mut peers) = (f64::MAX, f64::MAX);
    for _ in 0..ROUNDS {
        mine = mine.min(time(&mut ours));
        peers = peers.min(time(&mut theirs));
    }
    #[allow(clippy::cast_precision_loss)] // A speed of three digits.
    let speed = |seconds: f64| bytes as f64 / seconds / 1e9;
    println!(
        "| {work} | {:.2} | {peer} | {:.2} | {:.2} | {reach} |",
        speed(mine),
        speed(peers),
        peers / mine
    );
}
