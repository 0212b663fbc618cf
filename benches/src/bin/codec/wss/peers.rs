//! rustls alone, which is the floor; and peers over it as one would write them for throughput: a flush per batch.

use bytes::Bytes;
use bytewise_bench::cases::{
    Candidate,
    wss::{AS_SENT, End, Pipe, Secrets, echo},
};
use futures_util::{FutureExt, SinkExt, StreamExt, future::join};
use rustls::{ClientConnection, ConnectionCommon, ServerConnection, SideData, StreamOwned};
use std::{
    hint::black_box,
    io::{self, ErrorKind, Read, Write},
    ops::{Deref, DerefMut},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_tungstenite::tungstenite::{
    Error,
    protocol::{Message, Role, WebSocket},
};
use tokio_websockets::{ClientBuilder, Config, ServerBuilder, WebSocketStream};

const OPEN: &str = "the connection is open";

pub(super) fn all<'p>(payload: &'p [u8], secrets: &Secrets) -> [Candidate<'p>; 2] {
    [tungstenite(payload, secrets), tokio_websockets(payload, secrets)]
}

/// Ends that have shaken hands.
fn rustls(secrets: &Secrets) -> ((ClientConnection, Pipe), (ServerConnection, Pipe)) {
    let (mut one, mut other) = Pipe::pair();
    let client = ClientConnection::new(Arc::clone(&secrets.client), secrets.name.clone());
    let mut client = client.expect("the configuration can be used");
    let mut server = ServerConnection::new(Arc::clone(&secrets.server)).expect("the configuration can be used");
    while client.is_handshaking() || server.is_handshaking() {
        for shaken in [client.complete_io(&mut one), server.complete_io(&mut other)] {
            assert!(shaken.map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |_| true));
        }
    }
    ((client, one), (server, other))
}

/// The bytes of messages, without heads.
struct Alone<C> {
    tls: C,
    pipe: Pipe,
    plaintext: Vec<u8>,
    /// Received of the next message.
    partial: usize,
}

pub(super) fn floor<'p>(payload: &'p [u8], secrets: &Secrets) -> Candidate<'p> {
    let ((client, one), (server, other)) = rustls(secrets);
    echo("floor", payload, Alone::new(client, one), Alone::new(server, other))
}

impl<S: SideData, C: DerefMut + Deref<Target = ConnectionCommon<S>>> Alone<C> {
    fn new(mut tls: C, pipe: Pipe) -> Self {
        tls.set_buffer_limit(None);
        Self { tls, pipe, plaintext: Vec::new(), partial: 0 }
    }

    fn read(&mut self) {
        self.plaintext.clear();
        while self.tls.read_tls(&mut self.pipe).is_ok() {
            let state = self.tls.process_new_packets().expect(AS_SENT);
            let from = self.plaintext.len();
            self.plaintext.resize(from + state.plaintext_bytes_to_read(), 0);
            self.tls.reader().read_exact(&mut self.plaintext[from..]).expect(AS_SENT);
        }
    }
}

impl<S: SideData, C: DerefMut + Deref<Target = ConnectionCommon<S>>> End for Alone<C> {
    fn send(&mut self, payload: &[u8]) {
        self.plaintext.extend_from_slice(payload);
    }

    fn flush(&mut self) {
        self.tls.writer().write_all(&self.plaintext).expect(OPEN);
        self.plaintext.clear();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut self.pipe).expect(OPEN);
        }
    }

    fn echo(&mut self) {
        self.read();
        self.flush();
    }

    fn receive(&mut self, length: usize) -> usize {
        self.read();
        let received = self.partial + black_box(&self.plaintext).len();
        self.plaintext.clear();
        self.partial = received % length;
        received / length
    }
}

fn tungstenite<'p>(payload: &'p [u8], secrets: &Secrets) -> Candidate<'p> {
    let ((client, one), (server, other)) = rustls(secrets);
    let client = WebSocket::from_raw_socket(StreamOwned::new(client, one), Role::Client, None);
    let server = WebSocket::from_raw_socket(StreamOwned::new(server, other), Role::Server, None);
    echo("tungstenite", payload, Tungstenite(client), Tungstenite(server))
}

struct Tungstenite<S>(WebSocket<S>);

/// The next message, unless there is none yet.
fn next<S: Read + Write>(ws: &mut WebSocket<S>) -> Option<Message> {
    match ws.read() {
        Ok(message) => Some(message),
        Err(Error::Io(error)) if error.kind() == ErrorKind::WouldBlock => None,
        Err(error) => panic!("{AS_SENT}: {error}"),
    }
}

impl<S: Read + Write> End for Tungstenite<S> {
    fn send(&mut self, payload: &[u8]) {
        self.0.write(Message::Binary(Bytes::copy_from_slice(payload))).expect(OPEN);
    }

    fn flush(&mut self) {
        self.0.flush().expect(OPEN);
    }

    fn echo(&mut self) {
        while let Some(message) = next(&mut self.0) {
            self.0.write(message).expect(OPEN);
        }
        self.flush();
    }

    fn receive(&mut self, length: usize) -> usize {
        std::iter::from_fn(|| next(&mut self.0)).inspect(|message| assert_eq!(black_box(message).len(), length)).count()
    }
}

fn tokio_websockets<'p>(payload: &'p [u8], secrets: &Secrets) -> Candidate<'p> {
    let (one, other) = Pipe::pair();
    let client = TlsConnector::from(Arc::clone(&secrets.client)).connect(secrets.name.clone(), one);
    let server = TlsAcceptor::from(Arc::clone(&secrets.server)).accept(other);
    let mut both = pin!(join(client, server));
    let (client, server) = loop {
        if let Poll::Ready(both) = both.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            break both;
        }
    };
    // By default it flushes by itself after 8 KiB.
    let config = Config::default().flush_threshold(64 * 1024);
    let client = ClientBuilder::new().config(config).take_over(shaken(client));
    let server = ServerBuilder::new().config(config).serve(shaken(server));
    echo("tokio-websockets", payload, TokioWebSockets(client), TokioWebSockets(server))
}

fn shaken<T>(tls: io::Result<T>) -> T {
    tls.expect("hands are shaken")
}

struct TokioWebSockets<T>(WebSocketStream<T>);

/// Whoever asks it for the next message makes it flush: so all are taken before the first is sent.
impl<T: AsyncRead + AsyncWrite + Unpin> End for TokioWebSockets<T> {
    fn send(&mut self, payload: &[u8]) {
        let message = tokio_websockets::Message::binary(Bytes::copy_from_slice(payload));
        self.0.feed(message).now_or_never().expect("there is room").expect(OPEN);
    }

    fn flush(&mut self) {
        self.0.flush().now_or_never().expect("there is room").expect(OPEN);
    }

    fn echo(&mut self) {
        let mut batch = Vec::new();
        while let Some(Some(message)) = self.0.next().now_or_never() {
            batch.push(message.expect(AS_SENT));
        }
        for message in batch {
            self.0.feed(message).now_or_never().expect("there is room").expect(OPEN);
        }
        self.flush();
    }

    fn receive(&mut self, length: usize) -> usize {
        let mut messages = 0;
        while let Some(Some(message)) = self.0.next().now_or_never() {
            assert_eq!(black_box(message.expect(AS_SENT)).as_payload().len(), length);
            messages += 1;
        }
        messages
    }
}
