//! Encoding frames of borrowed bytes, 16 to a batch that is then written.

use crate::measure::{Case, Row, Sampling, rows as measure};
use bytes::{Buf, Bytes, BytesMut};
use bytewise_bench::cases::{
    Candidate,
    framed::{BATCH, batches, encode, floor_encode, hand_encode},
    workload::MAX_BODY,
};
use std::hint::black_box;
use tokio_util::codec::{Encoder, LengthDelimitedCodec};

const BODIES: [usize; 3] = [64, 1024, 4096];

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let cases = BODIES.map(|body| (body, format!("encode/{body}")));
    let chosen = cases.into_iter().filter(|(_, name)| name.contains(filter));
    chosen
        .flat_map(|(body, name)| {
            let payload = vec![7; body];
            let candidates =
                vec![floor_encode(&payload), hand_encode(&payload), encode(&payload), tokio_util(&payload)];
            measure(&Case { name, block: None, body, delivery: "batch16" }, sampling, candidates)
        })
        .collect()
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
    Candidate::new("tokio-util", pass)
}
