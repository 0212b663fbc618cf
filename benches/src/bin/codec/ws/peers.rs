//! Peers. Those that do I/O themselves read from memory, polled by hand.

use super::in_memory::Memory;
use bytes::{Bytes, BytesMut};
use bytewise_bench::cases::{
    Candidate,
    framed::{BATCH, batches},
    workload::{MAX_BODY, Workload},
    ws::Role,
};
use fastwebsockets::{FragmentCollector, Frame, Payload, WebSocket as FastWebSocket};
use futures_util::{FutureExt, SinkExt, StreamExt};
use nexus_web::ws::{FrameReader, FrameWriter};
use sockudo_ws::protocol::Protocol;
use std::{
    cell::Cell,
    hint::black_box,
    io,
    rc::Rc,
    task::{Context, Waker},
};
use tokio_tungstenite::tungstenite::{
    self, Error,
    protocol::{Message, WebSocket, WebSocketConfig},
};
use tokio_websockets::{ClientBuilder, Limits, ServerBuilder};

/// Decode what a client sends.
pub(super) fn decoding(work: &Workload) -> [Candidate<'_>; 5] {
    [
        tungstenite_decoding(work),
        fastwebsockets_decoding(work),
        tokio_websockets_decoding(work),
        nexus_web_decoding(work),
        sockudo_ws_decoding(work),
    ]
}

/// Encode binary messages.
pub(super) fn encoding(payload: &[u8], role: Role) -> [Candidate<'_>; 5] {
    [
        tungstenite_encoding(payload, role),
        fastwebsockets_encoding(payload, role),
        tokio_websockets_encoding(payload, role),
        nexus_web_encoding(payload, role),
        sockudo_ws_encoding(payload, role),
    ]
}

const AS_SENT: &str = "messages are as they were sent";

fn tungstenite_decoding(work: &Workload) -> Candidate<'_> {
    let memory = Memory::default();
    let config = WebSocketConfig::default().max_message_size(Some(MAX_BODY));
    let mut ws = WebSocket::from_raw_socket(memory.clone(), tungstenite::protocol::Role::Server, Some(config));
    Candidate::new("tungstenite", move || {
        let mut messages = 0;
        for block in work.blocks() {
            memory.receive(block);
            loop {
                match ws.read() {
                    Ok(message) => _ = black_box(message),
                    Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => panic!("{AS_SENT}: {error}"),
                }
                messages += 1;
            }
        }
        messages
    })
}

/// A frame that is cut off stays in the future that reads it: so that is never dropped.
fn fastwebsockets_decoding(work: &Workload) -> Candidate<'_> {
    let (memory, messages) = (Memory::default(), Rc::new(Cell::new(0)));
    let mut reading = Box::pin({
        let (memory, messages) = (memory.clone(), Rc::clone(&messages));
        async move {
            let mut ws = FastWebSocket::after_handshake(memory, fastwebsockets::Role::Server);
            ws.set_max_message_size(MAX_BODY + 1);
            let mut ws = FragmentCollector::new(ws);
            loop {
                black_box(ws.read_frame().await.expect(AS_SENT));
                messages.set(messages.get() + 1);
            }
        }
    });
    Candidate::new("fastwebsockets", move || {
        messages.set(0);
        for block in work.blocks() {
            memory.receive(block);
            assert!(reading.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        messages.get()
    })
}

fn tokio_websockets_decoding(work: &Workload) -> Candidate<'_> {
    let memory = Memory::default();
    let limits = Limits::default().max_payload_len(Some(MAX_BODY));
    let mut ws = ServerBuilder::new().limits(limits).serve(memory.clone());
    Candidate::new("tokio-websockets", move || {
        let mut messages = 0;
        for block in work.blocks() {
            memory.receive(block);
            while let Some(message) = ws.next().now_or_never() {
                _ = black_box(message.expect("the connection is open").expect(AS_SENT));
                messages += 1;
            }
        }
        messages
    })
}

fn nexus_web_decoding(work: &Workload) -> Candidate<'_> {
    let builder = FrameReader::builder().role(nexus_web::ws::Role::Server);
    let mut reader = builder.max_frame_size(MAX_BODY as u64).max_message_size(MAX_BODY).build();
    Candidate::new("nexus-web", move || {
        let mut messages = 0;
        for block in work.blocks() {
            reader.read(block).expect("there is room");
            while let Some(message) = reader.next().expect(AS_SENT) {
                black_box(message);
                messages += 1;
            }
        }
        messages
    })
}

fn sockudo_ws_decoding(work: &Workload) -> Candidate<'_> {
    let mut ws = Protocol::new(sockudo_ws::Role::Server, MAX_BODY, MAX_BODY);
    let (mut rx, mut received) = (BytesMut::with_capacity(sockudo_ws::RECV_BUFFER_SIZE), Vec::new());
    Candidate::new("sockudo-ws", move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.extend_from_slice(block);
            ws.process_into(&mut rx, &mut received).expect(AS_SENT);
            messages += received.len() as u64;
            black_box(&received);
            received.clear();
        }
        messages
    })
}

const OPEN: &str = "the connection is open";
const NEVER_FULL: &str = "memory is never full";

/// It takes owned bytes, as some others do: a shared handle here, which costs least.
fn tungstenite_encoding(payload: &[u8], role: Role) -> Candidate<'_> {
    let role = match role {
        Role::Server => tungstenite::protocol::Role::Server,
        Role::Client => tungstenite::protocol::Role::Client,
    };
    let payload = Bytes::copy_from_slice(payload);
    let mut ws = WebSocket::from_raw_socket(Memory::default(), role, None);
    Candidate::new("tungstenite", move || {
        batches(|| {
            for _ in 0..BATCH {
                ws.write(Message::Binary(black_box(&payload).clone())).expect(OPEN);
            }
            ws.flush().expect(OPEN);
        })
    })
}

/// It writes each message at once.
fn fastwebsockets_encoding(payload: &[u8], role: Role) -> Candidate<'_> {
    let role = match role {
        Role::Server => fastwebsockets::Role::Server,
        Role::Client => fastwebsockets::Role::Client,
    };
    let mut ws = FastWebSocket::after_handshake(Memory::default(), role);
    Candidate::new("fastwebsockets", move || {
        batches(|| {
            for _ in 0..BATCH {
                let frame = Frame::binary(Payload::Borrowed(black_box(payload)));
                ws.write_frame(frame).now_or_never().expect(NEVER_FULL).expect(OPEN);
            }
        })
    })
}

fn tokio_websockets_encoding(payload: &[u8], role: Role) -> Candidate<'_> {
    let payload = Bytes::copy_from_slice(payload);
    let config = tokio_websockets::Config::default().flush_threshold(usize::MAX);
    let mut ws = match role {
        Role::Server => ServerBuilder::new().config(config).serve(Memory::default()),
        Role::Client => ClientBuilder::new().config(config).take_over(Memory::default()),
    };
    Candidate::new("tokio-websockets", move || {
        batches(|| {
            for _ in 0..BATCH {
                let message = tokio_websockets::Message::binary(black_box(&payload).clone());
                ws.feed(message).now_or_never().expect(NEVER_FULL).expect(OPEN);
            }
            ws.flush().now_or_never().expect(NEVER_FULL).expect(OPEN);
        })
    })
}

fn nexus_web_encoding(payload: &[u8], role: Role) -> Candidate<'_> {
    let mut writer = FrameWriter::new(match role {
        Role::Server => nexus_web::ws::Role::Server,
        Role::Client => nexus_web::ws::Role::Client,
    });
    let mut buf = vec![0; BATCH * writer.max_encoded_len(payload.len())];
    Candidate::new("nexus-web", move || {
        batches(|| {
            let mut end = 0;
            for _ in 0..BATCH {
                end += writer.encode_binary(black_box(payload), &mut buf[end..]);
            }
            black_box(&buf[..end]);
        })
    })
}

fn sockudo_ws_encoding(payload: &[u8], role: Role) -> Candidate<'_> {
    let role = match role {
        Role::Server => sockudo_ws::Role::Server,
        Role::Client => sockudo_ws::Role::Client,
    };
    let payload = Bytes::copy_from_slice(payload);
    let (mut ws, mut buf) = (Protocol::new(role, MAX_BODY, MAX_BODY), BytesMut::new());
    Candidate::new("sockudo-ws", move || {
        batches(|| {
            for _ in 0..BATCH {
                let message = sockudo_ws::Message::Binary(black_box(&payload).clone());
                ws.encode_message(&message, &mut buf).expect(OPEN);
            }
            black_box(&buf);
            buf.clear();
        })
    })
}
