//! What either side of the supervisor's socket may get from a peer that is not honest.
//!
//! Whatever the bytes are: nothing panics, no more memory is taken than they deserve, they mean the same
//! however they are cut, and what is accepted says the same when it is sent on.

#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use rhocap_core::process::protocol::{frame, Event, Frames, Message, Order};

/// The messages in some bytes, up to the first malformed frame, and whether there was one.
fn messages<M: Message>(bytes: &[u8], step: usize) -> (Vec<M>, bool) {
    let mut frames = Frames::default();
    let mut found = Vec::new();
    for piece in bytes.chunks(step) {
        frames.push(piece);
        loop {
            match frames.take() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
    }
    (found, false)
}

fn check<M: Message + PartialEq + Debug>(bytes: &[u8], step: usize) {
    let (whole, malformed) = messages::<M>(bytes, bytes.len().max(1));
    assert_eq!(
        (&whole, malformed),
        (&messages(bytes, step).0, messages::<M>(bytes, step).1)
    );
    let mut sent = Vec::new();
    for message in &whole {
        sent.extend_from_slice(&frame(message).expect("what came in a frame fits into one"));
    }
    // There is one way to say each thing.
    assert!(bytes.starts_with(&sent));
    assert_eq!(messages::<M>(&sent, 64), (whole, false));
}

fuzz_target!(|input: &[u8]| {
    let Some((step, bytes)) = input.split_first() else {
        return;
    };
    let step = usize::from(*step) + 1;
    check::<Order>(bytes, step);
    check::<Event>(bytes, step);
    // A body in a frame of its own: the length is right, so that all of it is read.
    if let Ok(length) = u32::try_from(bytes.len()) {
        let framed = [&length.to_le_bytes(), bytes].concat();
        check::<Order>(&framed, step);
        check::<Event>(&framed, step);
    }
});
