//! WebSocket messages: `bytewise` beside its peers, `hand` and `floor`.

mod in_memory;
mod peers;

use crate::measure::{Case, Row, Sampling, rows as measure};
use bytes::Bytes;
use bytewise_bench::cases::{
    floor,
    framed::floor_encode,
    workload::{Delivery, Workload},
    ws::{ASCII, Kind, MIXED, Role, decode, encode, hand_decode, hand_encode, masked, text},
};

const BLOCK: usize = 65_536;

/// Bytes of binary messages, and of the blocks that they come in.
const DECODED: [(usize, usize); 7] =
    [(16, BLOCK), (64, BLOCK), (1024, BLOCK), (4096, BLOCK), (65_536, BLOCK), (64, 64), (16, 1)];

/// Bytes of messages to send.
const ENCODED: [usize; 3] = [64, 1024, 16_384];

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let mut rows = Vec::new();
    let binary = DECODED.map(|(body, block)| {
        let payload: Vec<u8> = (0..body).map(|i| i as u8).collect();
        (format!("ws/decode/{body}/{block}"), Kind::Binary, payload, block)
    });
    let text = [("ascii", ASCII), ("mixed", MIXED)]
        .map(|(script, sentence)| (format!("ws/text/{script}"), Kind::Text, text(sentence), BLOCK));
    for (name, kind, payload, block) in binary.into_iter().chain(text) {
        if name.contains(filter) {
            let case = Case { name, block: Some(block), body: payload.len(), delivery: "stream" };
            let work = Workload::of(&masked(kind, payload), block, Delivery::Stream);
            let mut candidates = vec![floor(&work), hand_decode(&work, kind), decode(&work)];
            candidates.extend(peers::decoding(&work));
            rows.extend(measure(&case, sampling, candidates));
        }
    }
    for (name, role) in [("server", Role::Server), ("client", Role::Client)] {
        for body in ENCODED {
            let name = format!("ws/encode/{name}/{body}");
            if name.contains(filter) {
                let payload = vec![7; body];
                let mut candidates = vec![
                    floor_encode(&payload),
                    hand_encode(&payload, role),
                    encode("bytewise", &payload[..], role),
                    encode("bytewise-owned", Bytes::copy_from_slice(&payload), role),
                ];
                candidates.extend(peers::encoding(&payload, role));
                rows.extend(measure(&Case { name, block: None, body, delivery: "batch16" }, sampling, candidates));
            }
        }
    }
    rows
}
