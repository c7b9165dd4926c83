//! Serves `R/redact.R`: text, bytes and printed pieces without the values that are known to be secret.

use std::ops::Range;
use std::sync::Arc;

use extendr_api::prelude::*;
use rhocap_core::misuse::Misuse;
use rhocap_core::redact::{merge, replace, Redactor};
use rhocap_core::secret::{known, name};

use crate::argument::wrong_type;
use crate::condition::guard;
use crate::handle::{held, hold};
use crate::sexp::{element, Element, Encoding};
use crate::value::Plain;

/// What a call masks: what the process knows, and what the caller found beside it.
struct Masks(Vec<Arc<Redactor>>);

impl Masks {
    /// `NULL` is what the process knows alone.
    fn of(value: &Robj) -> Result<Self, Misuse> {
        let mut all = vec![known::redactor()];
        if !value.is_null() {
            let extra: &Arc<Redactor> = held(value, "redactor", "rho_redact()")?;
            all.push(Arc::clone(extra));
        }
        Ok(Self(all))
    }

    /// The union of what each finds, sorted and disjoint.
    fn spans(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut spans: Vec<_> = self.0.iter().flat_map(|redactor| redactor.spans(text)).collect();
        merge(&mut spans);
        spans
    }

    /// The masked text, if there is anything to mask.
    fn mask(&self, text: &[u8]) -> Option<Vec<u8>> {
        let spans = self.spans(text);
        (!spans.is_empty()).then(|| replace(text, &spans))
    }
}

// A redactor of values that R's side found in a foreign object. They are strings of R already; what
// cannot be told from other text is masked only where it was found.
#[extendr]
fn core_redactor(values: Robj) -> Robj {
    guard(|| {
        if !values.is_string() {
            return Err(wrong_type("values", "a character vector"));
        }
        let found = (0..values.len()).filter_map(|index| match element(&values, index) {
            Some(Element::Bytes(bytes) | Element::Other(bytes, _)) if known::can_be_masked(bytes) => Some(bytes),
            _ => None,
        });
        Ok(hold(Arc::new(Redactor::new(found))))
    })
}

// The elements that change: their places and what they become. `NULL` when none does, so that R keeps
// the vector as it is.
#[extendr]
fn core_redact(texts: Robj, redactor: Robj) -> Robj {
    guard(|| {
        if !texts.is_string() {
            return Err(wrong_type("text", "a character vector"));
        }
        let masks = Masks::of(&redactor)?;
        let mut elements = Vec::new();
        for index in 0..texts.len() {
            let (bytes, encoding) = match element(&texts, index) {
                Some(Element::Bytes(bytes)) if std::str::from_utf8(bytes).is_ok() => (bytes, Encoding::Utf8),
                Some(Element::Bytes(bytes)) => (bytes, Encoding::Native),
                Some(Element::Other(bytes, encoding)) => (bytes, encoding),
                Some(Element::Missing) | None => continue,
            };
            elements.push((index, bytes, encoding));
        }
        let mut found: Vec<_> = elements.iter().map(|(_, bytes, _)| masks.spans(bytes)).collect();
        if elements.len() > 1 {
            // Lines of a text: a value may go on from one to the next.
            let pieces: Vec<&[u8]> = elements.iter().map(|(_, bytes, _)| *bytes).collect();
            let order: Vec<usize> = (0..pieces.len()).collect();
            find_together(&masks, &pieces, &order, b"\n", &mut found);
        }
        let (mut places, mut masked) = (Vec::new(), Vec::new());
        for ((index, bytes, encoding), mut spans) in elements.into_iter().zip(found) {
            if !spans.is_empty() {
                merge(&mut spans);
                // Counted from 1; exact up to 2^53, and no vector is longer.
                #[allow(clippy::cast_precision_loss)]
                places.push(Some(index as f64 + 1.0));
                masked.push((replace(bytes, &spans), encoding));
            }
        }
        if places.is_empty() {
            return Ok(Plain::Null);
        }
        Ok(Plain::Named(vec![
            ("places", Plain::Numbers(places)),
            ("texts", Plain::Encoded(masked)),
        ]))
    })
}

// What would be masked in texts, each piece for itself: R's side looks for it in other texts of the same object.
// They are strings of R already.
#[extendr]
fn core_redact_found(texts: Robj) -> Robj {
    guard(|| {
        let redactor = known::redactor();
        let mut found = Vec::new();
        for index in 0..texts.len() {
            let (Some(Element::Bytes(text) | Element::Other(text, _)), true) =
                (element(&texts, index), texts.is_string())
            else {
                continue;
            };
            for span in redactor.spans(text) {
                let value = &text[span];
                let encoding = if std::str::from_utf8(value).is_ok() {
                    Encoding::Utf8
                } else {
                    Encoding::Native
                };
                found.push((value.to_vec(), encoding));
            }
        }
        Ok(Plain::Encoded(found))
    })
}

// The same for a raw vector.
#[extendr]
fn core_redact_bytes(bytes: Robj, redactor: Robj) -> Robj {
    guard(|| {
        let given = bytes
            .as_raw_slice()
            .ok_or_else(|| wrong_type("bytes", "a raw vector"))?;
        Ok(Masks::of(&redactor)?.mask(given).map_or(Plain::Null, Plain::Bytes))
    })
}

// Several raw vectors that were written one after the other to different places. `orders` holds the
// orders in which a reader may see them: what is whole in any of them is masked in each piece.
#[extendr]
fn core_redact_pieces(pieces: Robj, orders: Robj, redactor: Robj) -> Robj {
    guard(|| {
        let masks = Masks::of(&redactor)?;
        let list = |value: &Robj, name: &str| value.as_list().ok_or_else(|| wrong_type(name, "a list"));
        let pieces: Vec<Robj> = list(&pieces, "pieces")?.values().collect();
        let pieces = pieces
            .iter()
            .map(|piece| {
                piece
                    .as_raw_slice()
                    .ok_or_else(|| wrong_type("pieces", "a list of raw vectors"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let orders = list(&orders, "orders")?
            .values()
            .map(|order| places(&order, pieces.len()))
            .collect::<Result<Vec<_>, _>>()?;
        let masked = masked_pieces(&masks, &pieces, &orders);
        Ok(Plain::List(masked.into_iter().map(Plain::Bytes).collect()))
    })
}

/// Places that R counts from 1.
fn places(value: &Robj, most: usize) -> Result<Vec<usize>, Misuse> {
    let bad = || wrong_type("orders", "a list of places");
    let whole = value.as_integer_slice().ok_or_else(bad)?;
    whole
        .iter()
        .map(|place| match usize::try_from(*place) {
            Ok(place) if (1..=most).contains(&place) => Ok(place - 1),
            _ => Err(bad()),
        })
        .collect()
}

/// Adds what is found in pieces that follow each other in an order, with something between them, to each piece.
fn find_together(masks: &Masks, pieces: &[&[u8]], order: &[usize], between: &[u8], found: &mut [Vec<Range<usize>>]) {
    let joined = order
        .iter()
        .map(|place| pieces[*place])
        .collect::<Vec<_>>()
        .join(between);
    let mut starts = Vec::with_capacity(order.len());
    let mut start = 0;
    for place in order {
        starts.push((start, *place));
        start += pieces[*place].len() + between.len();
    }
    for span in masks.spans(&joined) {
        let first = starts
            .partition_point(|(start, _)| *start <= span.start)
            .saturating_sub(1);
        for (start, place) in &starts[first..] {
            if *start >= span.end {
                break;
            }
            let size = pieces[*place].len();
            let here = span.start.saturating_sub(*start)..(span.end - start).min(size);
            if here.start < here.end {
                found[*place].push(here);
            }
        }
    }
}

fn masked_pieces(masks: &Masks, pieces: &[&[u8]], orders: &[Vec<usize>]) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<Range<usize>>> = vec![Vec::new(); pieces.len()];
    for order in orders {
        find_together(masks, pieces, order, b"", &mut found);
    }
    pieces
        .iter()
        .zip(found)
        .map(|(piece, mut spans)| {
            merge(&mut spans);
            replace(piece, &spans)
        })
        .collect()
}

// Whether a value that stands under such a name is a secret: the core says so of any value.
#[extendr]
fn core_secret_names(names: Robj) -> Robj {
    guard(|| {
        if !names.is_string() {
            return Err(wrong_type("names", "a character vector"));
        }
        let redactor = known::redactor();
        let secret = |index| match element(&names, index) {
            Some(Element::Bytes(name) | Element::Other(name, _)) if !name.is_empty() => names_a_secret(&redactor, name),
            _ => false,
        };
        Ok(Plain::Flags((0..names.len()).map(secret).collect()))
    })
}

/// A value that has no meaning, so that only its name can say that it is to be masked.
const PROBE: &[u8] = b"qv7Wk2ZpX9rTd4Lm";

fn names_a_secret(redactor: &Redactor, given: &[u8]) -> bool {
    if std::str::from_utf8(given).is_ok_and(name::is_secret_name) {
        return true;
    }
    let text = [given, b": ", PROBE].concat();
    let value = given.len() + 2;
    redactor.spans(&text).iter().any(|span| span.start >= value)
}

// Whether headers of these names are known to carry no credential.
#[extendr]
fn core_harmless_headers(names: Robj) -> Robj {
    guard(|| {
        let harmless = |index| match element(&names, index) {
            Some(Element::Bytes(given) | Element::Other(given, _)) => {
                std::str::from_utf8(given).is_ok_and(name::is_harmless_header)
            }
            _ => false,
        };
        Ok(Plain::Flags((0..names.len()).map(harmless).collect()))
    })
}

extendr_module! {
    mod redact;
    fn core_redactor;
    fn core_redact;
    fn core_redact_bytes;
    fn core_redact_found;
    fn core_redact_pieces;
    fn core_secret_names;
    fn core_harmless_headers;
}
