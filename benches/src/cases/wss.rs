//! WebSocket under TLS, both ends on one thread: a client sends sixteen messages at once, a server sends them back.

mod pipe;

pub use pipe::Pipe;

use super::Candidate;
use crate::tls::{Identity, client as trusting};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Event, MaskKeys, handshake::Negotiated},
};
use bytewise_net::tls::Tls;
use rustls::{ClientConfig, ServerConfig, pki_types::ServerName};
use std::{
    hint::black_box,
    io::{Read, Write},
    sync::Arc,
};

/// Messages that are in flight.
const WINDOW: usize = 16;

/// Times that so many are sent in a pass.
const BATCHES: usize = 4;

/// What is expected of either end.
pub const AS_SENT: &str = "messages are as they were sent";

/// What both ends need for TLS.
#[derive(Debug)]
pub struct Secrets {
    /// How the client trusts.
    pub client: Arc<ClientConfig>,
    /// Whom it trusts.
    pub name: ServerName<'static>,
    /// Who the server is.
    pub server: Arc<ServerConfig>,
}

impl Secrets {
    /// With a new certificate.
    #[must_use]
    pub fn make() -> Self {
        let identity = Identity::of_fixed_length().expect("a certificate can be made");
        let (client, name) = trusting(identity.certificate()).expect("a certificate can be trusted");
        Self { client, name, server: identity.server().expect("a certificate can be used") }
    }
}

/// One end of a connection.
pub trait End {
    /// To be flushed.
    fn send(&mut self, payload: &[u8]);
    /// Writes what was sent.
    fn flush(&mut self);
    /// Sends back all messages that came, and flushes.
    fn echo(&mut self);
    /// How many messages came; all have the same length.
    fn receive(&mut self, length: usize) -> usize;
}

/// Sends batches to and fro.
#[must_use]
pub fn echo<'p>(
    name: &'static str,
    payload: &'p [u8],
    mut client: impl End + 'p,
    mut server: impl End + 'p,
) -> Candidate<'p> {
    let pass = move || {
        for _ in 0..BATCHES {
            for _ in 0..WINDOW {
                client.send(black_box(payload));
            }
            client.flush();
            let mut received = 0;
            while received < WINDOW {
                server.echo();
                received += client.receive(payload.len());
                client.flush();
            }
        }
        (BATCHES * WINDOW) as u64
    };
    Candidate::new(name, pass)
}

struct Bytewise {
    ws: Connection,
    tls: Tls,
    rx: RecvBuf,
    tx: SendBuf,
    pipe: Pipe,
}

/// Both ends are `bytewise`; they have shaken hands.
#[must_use]
pub fn bytewise<'p>(payload: &'p [u8], secrets: &Secrets) -> Candidate<'p> {
    let config = Config::default();
    let keys = MaskKeys::from_seed([7; 32]);
    let (one, other) = Pipe::pair();
    let tls = Tls::client(Arc::clone(&secrets.client), secrets.name.clone()).expect("the configuration can be used");
    let mut client = Bytewise::new(Connection::client(&config, Negotiated::default(), keys), tls, one);
    let tls = Tls::server(Arc::clone(&secrets.server)).expect("the configuration can be used");
    let mut server = Bytewise::new(Connection::server(&config, Negotiated::default()), tls, other);
    while client.tls.is_handshaking() || server.tls.is_handshaking() {
        client.flush();
        server.echo();
        client.receive(0);
    }
    echo("bytewise", payload, client, server)
}

impl Bytewise {
    fn new(ws: Connection, tls: Tls, pipe: Pipe) -> Self {
        Self { ws, tls, rx: RecvBuf::new(), tx: SendBuf::new(), pipe }
    }

    fn read(&mut self, mut each: impl FnMut(&mut Connection, &[u8], &mut SendBuf)) {
        while let Ok(n) = self.pipe.read(self.tls.wire().0.space()) {
            self.tls.wire().0.filled(n);
            self.tls.process(&mut self.rx, &mut self.tx).expect(AS_SENT);
            while let Some(event) = self.ws.next_event(&mut self.rx, &mut self.tx).expect(AS_SENT) {
                if let Event::Binary(data) = event {
                    each(&mut self.ws, data, &mut self.tx);
                }
            }
        }
    }
}

impl End for Bytewise {
    fn send(&mut self, payload: &[u8]) {
        self.ws.send_binary(payload, &mut self.tx).expect("the connection is open");
    }

    fn flush(&mut self) {
        loop {
            self.tls.process(&mut self.rx, &mut self.tx).expect(AS_SENT);
            let records = self.tls.wire().1;
            if records.is_empty() {
                return;
            }
            while let Ok(n @ 1..) = self.pipe.write(records.pending()) {
                records.consume(n);
            }
        }
    }

    fn echo(&mut self) {
        self.read(|ws, data, tx| ws.send_binary(data, tx).expect("the connection is open"));
        self.flush();
    }

    fn receive(&mut self, length: usize) -> usize {
        let mut messages = 0;
        self.read(|_, data, _| {
            assert_eq!(black_box(data).len(), length);
            messages += 1;
        });
        messages
    }
}
