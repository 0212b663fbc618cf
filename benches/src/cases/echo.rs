//! The loop of a server without its socket, as the core's examples have it: what comes is read into the buffer, all events
//! are answered, the answers are written. The buffers have their memory from a [`Spare`].

use super::{
    Candidate,
    framed::framing,
    http::{self, write},
    workload::Workload,
    ws,
};
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf, Spare,
    framing::{Frame, Framed, LengthPrefix},
    http1::Server,
    ws::{Connection, Event, handshake::Negotiated},
};

/// Length-prefixed frames.
#[must_use]
pub fn framed(work: &Workload) -> Candidate<'_> {
    fn answer(frame: Frame<'_>, frames: &mut Framed<LengthPrefix>, tx: &mut SendBuf) -> u64 {
        let Frame::Data(frame) = frame else { return 0 };
        frames.send(frame, tx).expect("what came in can go out");
        1
    }
    serve(work, Framed::new(framing()), answer)
}

/// HTTP/1.1: bodies are sent back while they come.
#[must_use]
pub fn http(work: &Workload) -> Candidate<'_> {
    serve(work, Server::new(&http::config()), http::answer)
}

/// WebSocket messages.
#[must_use]
pub fn ws(work: &Workload) -> Candidate<'_> {
    fn answer(event: Event<'_>, ws: &mut Connection, tx: &mut SendBuf) -> u64 {
        let Event::Binary(data) = event else { return 0 };
        ws.send_binary(data, tx).expect("the connection is open");
        1
    }
    serve(work, Connection::server(&ws::config(), Negotiated::default()), answer)
}

/// `answer` says how many messages an event ends.
fn serve<'w, M: Machine + 'w>(
    work: &'w Workload,
    mut machine: M,
    answer: impl for<'b> Fn(M::Event<'b>, &mut M, &mut SendBuf) -> u64 + 'w,
) -> Candidate<'w> {
    let (mut rx, mut tx, mut spare) = (RecvBuf::new(), SendBuf::new(), Spare::new());
    let pass = move || {
        let mut messages = 0;
        for mut block in work.blocks() {
            spare.lend(&mut rx, &mut tx);
            while !block.is_empty() {
                assert_eq!(machine.next_io(), NextIo::Read);
                let space = rx.space();
                let (now, later) = block.split_at(block.len().min(space.len()));
                space[..now.len()].copy_from_slice(now);
                rx.filled(now.len());
                block = later;
                while let Some(event) = machine.next_event(&mut rx, &mut tx).expect("messages are as they were sent") {
                    messages += answer(event, &mut machine, &mut tx);
                }
                write(&mut tx);
            }
            spare.take_back(&mut rx, &mut tx);
        }
        messages
    };
    Candidate::new("bytewise", pass)
}
