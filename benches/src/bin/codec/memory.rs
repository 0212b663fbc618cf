//! What connection objects hold: their receive memory, without sockets. Real connections are measured by `memory`.

use bytewise::{
    Machine, RecvBuf, SendBuf, Spare,
    framing::{ByteOrder, Frame, Framed, LengthPrefix, Width},
};
use serde::Serialize;
use std::hint::black_box;

/// One line of the result.
#[derive(Debug, Serialize)]
pub(crate) struct Held {
    pub(crate) name: &'static str,
    #[serde(rename = "impl")]
    pub(crate) candidate: &'static str,
    pub(crate) state: &'static str,
    pub(crate) connections: usize,
    pub(crate) bytes_per_connection: f64,
    pub(crate) mib: f64,
}

impl Held {
    fn new(name: &'static str, candidate: &'static str, state: &'static str, connections: usize, bytes: i64) -> Self {
        let (bytes, count) = (bytes.max(0) as f64, connections as f64);
        Self {
            name,
            candidate,
            state,
            connections,
            bytes_per_connection: bytes / count,
            mib: bytes / f64::from(1 << 20),
        }
    }
}

pub(crate) fn rows(filter: &str, connections: usize) -> Vec<Held> {
    if "memory/objects".contains(filter) { objects(connections) } else { Vec::new() }
}

fn framing() -> LengthPrefix {
    LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20)
}

/// Receive memory of objects that are no more than that, without sockets.
fn objects(connections: usize) -> Vec<Held> {
    let held = |state, bytes| Held::new("memory/objects", "bytewise", state, connections, bytes);
    let frame = [&64u32.to_be_bytes()[..], &[7; 64]].concat();
    let mut all = Vec::with_capacity(connections);
    let grown = |work: &mut dyn FnMut()| allocation_counter::measure(work).bytes_current;

    let new = grown(&mut || {
        all.extend((0..connections).map(|_| (RecvBuf::new(), SendBuf::new(), Framed::new(framing()))));
    });
    let receive = |(rx, tx, frames): &mut (RecvBuf, SendBuf, Framed<LengthPrefix>), bytes: &[u8]| {
        rx.space()[..bytes.len()].copy_from_slice(bytes);
        rx.filled(bytes.len());
        while let Ok(Some(Frame::Data(frame))) = frames.next_event(rx, tx) {
            black_box(frame);
        }
    };
    let reading = grown(&mut || all.iter_mut().for_each(|connection| receive(connection, &frame[..60])));
    let done = reading + grown(&mut || all.iter_mut().for_each(|connection| receive(connection, &frame[60..])));
    let mut spare = Spare::new();
    let idle = done + grown(&mut || all.iter_mut().for_each(|(rx, tx, _)| spare.take_back(rx, tx)));
    let pooled = grown(&mut || {
        for connection in &mut all {
            spare.lend(&mut connection.0, &mut connection.1);
            receive(connection, &frame);
            spare.take_back(&mut connection.0, &mut connection.1);
        }
    });
    vec![
        held("new", new),
        held("part of a frame each", reading),
        held("idle, memory kept", done),
        held("idle, given to a pool", idle),
        held("idle after more, with a pool", idle + pooled),
    ]
}
