//! Length-prefixed frames.

use super::{
    Candidate, FIXED,
    fixed::Fixed,
    workload::{MAX_BODY, Workload},
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    framing::{ByteOrder, Frame, Framed, Framing, LengthPrefix, Width},
};
use std::hint::black_box;

/// Messages to a batch.
pub const BATCH: usize = 16;

const BATCHES: u64 = 64;

/// A length of four bytes.
#[must_use]
pub const fn framing() -> LengthPrefix {
    LengthPrefix::new(Width::U32, ByteOrder::Big, MAX_BODY)
}

/// The same by hand.
#[must_use]
pub fn header(body: &[u8]) -> Vec<u8> {
    (body.len() as u32).to_be_bytes().into()
}

/// A loop by hand over a fixed buffer: the same blocks, the same limit. The length stands in the last four bytes of a
/// header of four, or in the middle ones of one of twelve.
#[must_use]
pub fn hand_decode<'w>(work: &'w Workload, header: usize, check: impl Fn(&[u8], &[u8]) -> bool + 'w) -> Candidate<'w> {
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
    Candidate::new("hand", pass)
}

/// Takes frames; the receive buffer begins with that many bytes.
#[must_use]
pub fn decode<'w>(work: &'w Workload, initial: usize, framing: impl Framing + 'w) -> Candidate<'w> {
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

/// Calls it for many batches; says how many messages that were.
pub fn batches(mut batch: impl FnMut()) -> u64 {
    (0..BATCHES).for_each(|_| batch());
    BATCHES * BATCH as u64
}

/// Only copies the bodies.
#[must_use]
pub fn floor_encode(payload: &[u8]) -> Candidate<'_> {
    let mut buf = vec![0; BATCH * payload.len()];
    let pass = move || {
        batches(|| {
            buf.chunks_exact_mut(payload.len()).for_each(|to| to.copy_from_slice(black_box(payload)));
            black_box(&buf);
        })
    };
    Candidate::new("floor", pass)
}

/// By hand into a fixed buffer, with the same limit.
#[must_use]
pub fn hand_encode(payload: &[u8]) -> Candidate<'_> {
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
    Candidate::new("hand", pass)
}

/// Sends borrowed bytes.
#[must_use]
pub fn encode(payload: &[u8]) -> Candidate<'_> {
    let mut tx = SendBuf::new();
    let mut frames = Framed::new(framing());
    let pass = move || {
        batches(|| {
            for _ in 0..BATCH {
                frames.send(black_box(payload), &mut tx).expect("within the limit");
            }
            let n = black_box(tx.pending()).len();
            tx.consume(n);
        })
    };
    Candidate::new("bytewise", pass)
}

/// An echo between fixed buffers.
#[must_use]
pub fn hand_echo(work: &Workload) -> Candidate<'_> {
    let (mut rx, mut tx) = (Fixed::new(FIXED), vec![0; FIXED]);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            let mut end = 0;
            while let Some(length) = rx.unread().first_chunk() {
                let body = u32::from_be_bytes(*length) as usize;
                assert!(body <= MAX_BODY, "above the limit");
                let Some(frame) = rx.unread().get(..4 + body) else { break };
                tx[end..][..frame.len()].copy_from_slice(frame);
                end += frame.len();
                rx.take(4 + body);
                messages += 1;
            }
            black_box(&tx[..end]);
        }
        messages
    };
    Candidate::new("hand", pass)
}
