//! HTTP/1.1 requests: `bytewise` beside `hyper`, `hand` and `floor`.

mod in_memory;

use crate::measure::{Case, Row, Sampling, rows as measure};
use bytewise::RecvBuf;
use bytewise_bench::cases::{
    Candidate, floor,
    http::{LONG, SHORT, echo, hand_echo, hand_parse, parse, post},
    workload::{Delivery, Workload},
};
use std::hint::black_box;

/// Bytes of the longest head.
const HEAD: usize = 8192;

const BODIES: [usize; 3] = [64, 1024, 16_384];
const DELIVERIES: [Delivery; 2] = [Delivery::Batch(1), Delivery::Batch(16)];
const BLOCK: usize = 65_536;

pub(crate) fn rows(filter: &str, sampling: Sampling) -> Vec<Row> {
    let mut rows = Vec::new();
    for (what, use_fields) in [("parse", false), ("fields", true)] {
        for head in [SHORT, LONG] {
            let name = format!("http/{what}/{}", head.len());
            if name.contains(filter) {
                let work = Workload::new(0, BLOCK, Delivery::Batch(1), |_| head.into());
                let case = Case { name, block: Some(BLOCK), body: 0, delivery: "single" };
                let candidates = vec![floor(&work), hand_parse(&work, use_fields), parse(&work, use_fields)];
                rows.extend(measure(&case, sampling, candidates));
            }
        }
    }
    let name = format!("http/head/{HEAD}/1");
    if name.contains(filter) {
        let work = Workload::new(0, 1, Delivery::Batch(1), |_| long_head());
        let case = Case { name, block: Some(1), body: 0, delivery: "single" };
        let candidates = vec![floor(&work), push(&work), hand_parse(&work, false), parse(&work, false)];
        rows.extend(measure(&case, sampling, candidates));
    }
    for body in BODIES {
        for delivery in DELIVERIES {
            let name = format!("http/echo/{body}/{}", delivery.name());
            if name.contains(filter) {
                let work = Workload::new(body, BLOCK, delivery, post);
                let case = Case { name, block: Some(BLOCK), body, delivery: delivery.name() };
                let candidates = vec![floor(&work), hand_echo(&work), echo(&work), in_memory::hyper(&work)];
                rows.extend(measure(&case, sampling, candidates));
            }
        }
    }
    rows
}

/// A head of exactly that many bytes, in lines of about a hundred.
fn long_head() -> Vec<u8> {
    let mut head = b"GET /status HTTP/1.1\r\nHost: localhost\r\n".to_vec();
    let end = HEAD - b"\r\n".len();
    for number in 0.. {
        let left = end - head.len();
        let line = if left < 600 { left } else { 300 };
        let name = format!("x-{number:03}: ");
        head.extend(name.as_bytes());
        head.resize(head.len() + line - name.len() - b"\r\n".len(), b'a');
        head.extend(b"\r\n");
        if line == left {
            break;
        }
    }
    head.extend(b"\r\n");
    head
}

/// Only receives the blocks, into the buffer that `bytewise` has.
fn push(work: &Workload) -> Candidate<'_> {
    let mut rx = RecvBuf::new();
    let pass = move || {
        for block in work.blocks() {
            rx.push(block);
            if black_box(rx.unread()).len() == HEAD {
                rx.take(HEAD);
            }
        }
        work.messages()
    };
    Candidate::new("push", pass)
}
