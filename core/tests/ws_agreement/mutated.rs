//! Inputs that were damaged, and inputs made of the parts of frames: the verdicts of both.

use crate::{
    Heard, Said, Side, Verdict,
    common::ws::{Frame, f, raw, wire},
    peer, sent, talk, theirs,
};
use bytewise::ws::Error;
use proptest::{prelude::*, sample::Index};

const MAX: usize = 100_000;

/// A frame, right or wrong.
fn frame() -> impl Strategy<Value = Frame> {
    let b0 = prop_oneof![
        8 => prop::sample::select(vec![0x81_u8, 0x82, 0x01, 0x02, 0x00, 0x80, 0x89, 0x8A]),
        2 => Just(0x88_u8),
        1 => any::<u8>(),
    ];
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        "\\PC{0,20}".prop_map(String::into_bytes),
        prop::sample::select(vec![
            b"\xE2\x82".to_vec(),
            b"\xAC".to_vec(),
            b"\xED\xA0\x80".to_vec(),
            b"\x03\xE8".to_vec(),
            b"\x03\xE8bye".to_vec(),
            b"\x03\xEC".to_vec(),
            b"\x03\xE8\xFF".to_vec(),
            vec![b'x'; 126],
        ]),
    ];
    let len = prop_oneof![
        20 => Just(None),
        1 => prop::sample::select(vec![
            vec![126, 0, 3],
            vec![127, 0, 0, 0, 0, 0, 0, 0, 3],
            vec![127, 0x80, 0, 0, 0, 0, 0, 0, 0],
            vec![127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
            vec![127, 0, 0, 0, 0, 0, 1, 0x86, 0xA1],
            vec![5],
        ]).prop_map(Some),
    ];
    (b0, len, payload).prop_map(|(b0, len, payload)| match len {
        Some(len) => raw(b0, &len, payload),
        None => f(b0, payload),
    })
}

/// Whether the two say the same, or it is known why not.
fn explained(input: &[u8], ours: &Heard, error: Option<Error>, theirs: &Heard) -> bool {
    if ours == theirs {
        return true;
    }
    let same_events = ours.events == theirs.events;
    // Registered after the RFC, and not known to it.
    if let (Verdict::Closed(Some((1014, _))), Verdict::Closed(Some((1002, _)))) = (&ours.verdict, &theirs.verdict) {
        return same_events;
    }
    match (error, &theirs.verdict) {
        // Lengths that are not in their shortest form are taken by tungstenite (RFC 6455, section 5.2: "MUST").
        // For a control frame that is one that is too long.
        (Some(Error::Length | Error::ControlFrame), _) => theirs.events.starts_with(&ours.events),
        // A code that must not be sent is replied to with 1002, but shown as a close frame.
        (Some(Error::CloseFrame), Verdict::Closed(_)) => same_events,
        // It judges frames that are there as a whole; we, every byte as it comes.
        (Some(_), Verdict::Open) => same_events && !ends_between_frames(input),
        _ => false,
    }
}

/// Walks over the frames without judging them.
fn ends_between_frames(mut input: &[u8]) -> bool {
    while let [_, b1, rest @ ..] = input {
        let size = match b1 & 0x7F {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mask = if b1 & 0x80 != 0 { 4 } else { 0 };
        let Some((length, rest)) = rest.split_at_checked(size) else { return false };
        let len = if size == 0 {
            u64::from(b1 & 0x7F)
        } else {
            length.iter().fold(0, |len, byte| len << 8 | u64::from(*byte))
        };
        let Some(total) = usize::try_from(len).ok().and_then(|len| len.checked_add(mask)) else { return false };
        let Some(rest) = rest.get(total..) else { return false };
        input = rest;
    }
    input.is_empty()
}

#[track_caller]
fn agree(side: Side, input: &[u8]) {
    let theirs = theirs::hear(side, input, MAX);
    for block in [usize::MAX, 1, 7] {
        let (ours, error) = sent::hear(side, input, MAX, block);
        assert!(
            explained(input, &ours, error, &theirs),
            "{side:?} {}\n ours   {ours:?} {error:?}\n theirs {theirs:?}",
            input.escape_ascii()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn frames(frames in prop::collection::vec(frame(), 1..6)) {
        for side in crate::common::ws::SIDES {
            agree(side, &wire(side, &frames));
        }
    }

    #[test]
    fn damaged((side, all) in talk(), at: Index, how in 0..4, byte: u8) {
        let small = all.into_iter().filter(|said| !matches!(said, Said::Binary(data) if data.len() > 5000));
        let mut input = sent::say(peer(side), &small.collect::<Vec<_>>(), None);
        if !input.is_empty() {
            let at = at.index(input.len());
            match how {
                0 => input[at] ^= 1 << (byte % 8),
                1 => input[at] = byte,
                2 => drop(input.remove(at)),
                _ => input.insert(at, byte),
            }
        }
        agree(side, &input);
    }

    #[test]
    fn noise(input in prop::collection::vec(any::<u8>(), 0..40)) {
        for side in crate::common::ws::SIDES {
            agree(side, &input);
        }
    }
}
