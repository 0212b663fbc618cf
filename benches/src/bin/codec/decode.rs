//! Decoding: `bytewise` beside `tokio-util`, `hand` and `floor`.

use crate::measure::{Case, Row, Sampling, rows as measure};
use bytes::BytesMut;
use bytewise::framing::{ByteOrder, Crc32, Magic};
use bytewise_bench::cases::{
    Candidate, floor,
    framed::{decode, framing, hand_decode, header},
    workload::{Delivery, MAX_BODY, Workload},
};
use std::hint::black_box;
use tokio_util::codec::{Decoder, LengthDelimitedCodec};

const BODIES: [usize; 3] = [64, 1024, 4096];
const BLOCKS: [usize; 3] = [65_536, 64, 1];
const DELIVERIES: [Delivery; 3] = [Delivery::Batch(1), Delivery::Batch(16), Delivery::Stream];
const INITIAL: [usize; 3] = [4 << 10, 64 << 10, 512 << 10];

const MAGIC: [u8; 4] = *b"bw01";

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let mut rows = Vec::new();
    for body in BODIES {
        for block in BLOCKS {
            for delivery in DELIVERIES {
                let name = format!("decode/{body}/{block}/{}", delivery.name());
                if name.contains(filter) {
                    let case = Case { name, block: Some(block), body, delivery: delivery.name() };
                    let work = Workload::new(body, block, delivery, header);
                    rows.extend(measure(&case, sampling, plain(&work)));
                }
            }
        }
        let name = format!("decode-checked/{body}/65536/stream");
        if name.contains(filter) {
            let case = Case { name, block: Some(65_536), body, delivery: "stream" };
            let work = Workload::new(body, 65_536, Delivery::Stream, |body| {
                [MAGIC, (body.len() as u32).to_be_bytes(), crc32fast::hash(body).to_be_bytes()].concat()
            });
            rows.extend(measure(&case, sampling, checked(&work)));
        }
    }
    rows
}

fn plain(work: &Workload) -> Vec<Candidate<'_>> {
    let mut candidates = vec![floor(work), hand_decode(work, 4, |_, _| true)];
    candidates.extend(INITIAL.map(|initial| decode(work, initial, framing())));
    candidates.extend(INITIAL.map(|initial| tokio_util(work, initial)));
    candidates
}

/// A header of a magic, the length and a CRC-32 of the body, all of them checked.
fn checked(work: &Workload) -> Vec<Candidate<'_>> {
    let framing = framing().with_header(4, 4).with_check((Magic::new(0, &MAGIC[..]), Crc32::new(8, ByteOrder::Big)));
    let check = |header: &[u8], body: &[u8]| {
        header.starts_with(&MAGIC) && header.ends_with(&crc32fast::hash(body).to_be_bytes())
    };
    vec![floor(work), hand_decode(work, 12, check), decode(work, INITIAL[0], framing)]
}

fn tokio_util(work: &Workload, initial: usize) -> Candidate<'_> {
    let mut buf = BytesMut::with_capacity(initial);
    let mut codec = LengthDelimitedCodec::builder().max_frame_length(MAX_BODY).new_codec();
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            buf.extend_from_slice(block);
            while let Some(frame) = codec.decode(&mut buf).expect("frames are as they were sent") {
                black_box(&frame);
                messages += 1;
            }
        }
        messages
    };
    Candidate { name: "tokio-util", initial: Some(initial), pass: Box::new(pass) }
}
