//! Encoding frames of borrowed bytes, 16 to a batch that is then written.

use crate::{
    measure::{Candidate, Case, Row, Sampling, rows as measure},
    workload::MAX_BODY,
};
use bytes::{Buf, Bytes, BytesMut};
use bytewise::{
    SendBuf,
    framing::{ByteOrder, Framed, LengthPrefix, Width},
};
use std::hint::black_box;
use tokio_util::codec::{Encoder, LengthDelimitedCodec};

const BODIES: [usize; 3] = [64, 1024, 4096];
/// Messages to a batch.
pub(crate) const BATCH: usize = 16;
const BATCHES: u64 = 64;

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let cases = BODIES.map(|body| (body, format!("encode/{body}")));
    let chosen = cases.into_iter().filter(|(_, name)| name.contains(filter));
    chosen
        .flat_map(|(body, name)| {
            let payload = vec![7; body];
            let candidates = vec![floor(&payload), hand(&payload), bytewise(&payload), tokio_util(&payload)];
            measure(&Case { name, block: None, body, delivery: "batch16" }, sampling, candidates)
        })
        .collect()
}

/// Calls it for many batches; says how many messages that were.
pub(crate) fn batches(mut batch: impl FnMut()) -> u64 {
    (0..BATCHES).for_each(|_| batch());
    BATCHES * BATCH as u64
}

/// Only copies the bodies.
pub(crate) fn floor(payload: &[u8]) -> Candidate<'_> {
    let mut buf = vec![0; BATCH * payload.len()];
    let pass = move || {
        batches(|| {
            buf.chunks_exact_mut(payload.len()).for_each(|to| to.copy_from_slice(black_box(payload)));
            black_box(&buf);
        })
    };
    Candidate { name: "floor", initial: None, pass: Box::new(pass) }
}

/// By hand into a fixed buffer, with the same limit.
fn hand(payload: &[u8]) -> Candidate<'_> {
    let mut buf = vec![0; BATCH * (4 + payload.len())];
    let pass = move || {
        batches(|| {
            let mut end = 0;
            for _ in 0..BATCH {
                let payload = black_box(payload);
                assert!(payload.len() <= MAX_BODY, "above the limit");
                let to = &mut buf[end..][..4 + payload.len()];
                to[..4].copy_from_slice(&(payload.len() as u32).to_be_bytes());
                to[4..].copy_from_slice(payload);
                end += to.len();
            }
            black_box(&buf[..end]);
        })
    };
    Candidate { name: "hand", initial: None, pass: Box::new(pass) }
}

fn bytewise(payload: &[u8]) -> Candidate<'_> {
    let mut tx = SendBuf::new();
    let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, MAX_BODY));
    let pass = move || {
        batches(|| {
            for _ in 0..BATCH {
                frames.send(black_box(payload), &mut tx).expect("within the limit");
            }
            let n = black_box(tx.pending()).len();
            tx.consume(n);
        })
    };
    Candidate { name: "bytewise", initial: None, pass: Box::new(pass) }
}

/// It takes owned bytes: a shared handle here, which costs least.
fn tokio_util(payload: &[u8]) -> Candidate<'_> {
    let bytes = Bytes::copy_from_slice(payload);
    let mut buf = BytesMut::new();
    let mut codec = LengthDelimitedCodec::builder().max_frame_length(MAX_BODY).new_codec();
    let pass = move || {
        batches(|| {
            for _ in 0..BATCH {
                codec.encode(black_box(&bytes).clone(), &mut buf).expect("within the limit");
            }
            let n = black_box(&buf[..]).len();
            buf.advance(n);
        })
    };
    Candidate { name: "tokio-util", initial: None, pass: Box::new(pass) }
}
