//! Decoding: `bytewise` beside `tokio-util`, `hand` and `floor`.

use crate::{
    measure::{Candidate, Case, FIXED, Row, Sampling, floor, rows as measure},
    workload::{Delivery, MAX_BODY, Workload},
};
use bytes::BytesMut;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    framing::{ByteOrder, Crc32, Frame, Framed, Framing, LengthPrefix, Magic, Width},
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
                    let work = Workload::new(body, block, delivery, |body| (body.len() as u32).to_be_bytes().into());
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
    let framing = || LengthPrefix::new(Width::U32, ByteOrder::Big, MAX_BODY);
    let mut candidates = vec![floor(work), hand(work, 4, |_, _| true)];
    candidates.extend(INITIAL.map(|initial| bytewise(work, initial, framing())));
    candidates.extend(INITIAL.map(|initial| tokio_util(work, initial)));
    candidates
}

/// A header of a magic, the length and a CRC-32 of the body, all of them checked.
fn checked(work: &Workload) -> Vec<Candidate<'_>> {
    let framing = LengthPrefix::new(Width::U32, ByteOrder::Big, MAX_BODY).with_header(4, 4);
    let framing = framing.with_check((Magic::new(0, &MAGIC[..]), Crc32::new(8, ByteOrder::Big)));
    let check = |header: &[u8], body: &[u8]| {
        header.starts_with(&MAGIC) && header.ends_with(&crc32fast::hash(body).to_be_bytes())
    };
    vec![floor(work), hand(work, 12, check), bytewise(work, INITIAL[0], framing)]
}

/// A loop by hand over a fixed buffer: the same blocks, the same limit. The length stands in the last four bytes of a
/// header of four, or in the middle ones of one of twelve.
fn hand<'w>(work: &'w Workload, header: usize, check: impl Fn(&[u8], &[u8]) -> bool + 'w) -> Candidate<'w> {
    let mut buf = vec![0; FIXED];
    let (mut start, mut end) = (0, 0);
    let at = if header == 4 { 0 } else { 4 };
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            if buf.len() - end < block.len() {
                buf.copy_within(start..end, 0);
                (start, end) = (0, end - start);
            }
            buf[end..][..block.len()].copy_from_slice(block);
            end += block.len();
            while end - start >= header {
                let Some(length) = buf[start + at..end].first_chunk() else { break };
                let body = u32::from_be_bytes(*length) as usize;
                assert!(body <= MAX_BODY, "above the limit");
                if end - start - header < body {
                    break;
                }
                let frame = &buf[start..start + header + body];
                assert!(check(&frame[..header], &frame[header..]), "not as it was sent");
                black_box(&frame[header..]);
                start += header + body;
                messages += 1;
            }
            if start == end {
                (start, end) = (0, 0);
            }
        }
        messages
    };
    Candidate { name: "hand", initial: None, pass: Box::new(pass) }
}

fn bytewise<'w>(work: &'w Workload, initial: usize, framing: impl Framing + 'w) -> Candidate<'w> {
    let mut rx = RecvBuf::with_limits(initial, RecvBuf::READ_AHEAD, usize::MAX);
    let mut tx = SendBuf::new();
    let mut frames = Framed::new(framing);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            while let Some(frame) = frames.next_event(&mut rx, &mut tx).expect("frames are as they were sent") {
                if let Frame::Data(frame) = frame {
                    black_box(frame);
                    messages += 1;
                }
            }
        }
        messages
    };
    Candidate { name: "bytewise", initial: Some(initial), pass: Box::new(pass) }
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
