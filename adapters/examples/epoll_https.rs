//! TLS in a bare readiness loop: an HTTPS server that echoes bodies over epoll (through mio), without a runtime. It is the core's
//! `epoll_http` with one layer more between the socket and the machine.
//!
//! ```text
//! cargo run -p bytewise-net --all-features --example epoll_https -- 127.0.0.1:8443 localhost.pem
//! curl --cacert localhost.pem -d hello https://localhost:8443/
//! ```
//!
//! ```text
//! epoll_wait ──▶ ready queue ──▶ turn: write what is left ─▶ read ─▶ decrypt ─▶ all events ─▶ encrypt ─▶ write
//!                    ▲                                                                                    │
//!                    └── the read filled its space: there may be more ────────────────────────────────────┘
//! ```
#[path = "pki/mod.rs"]
mod pki;

use bytewise::http1::{BodyLength, Config, Misuse, NO_FIELDS, Server, ServerEvent};
use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf, Spare};
use bytewise_net::{BoxError, tls::Tls};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::io::{self, ErrorKind, Read, Write};
use std::{collections::VecDeque, mem, net::Shutdown, sync::Arc, time::Duration};

/// Reads per turn, before other connections have theirs.
const READS_PER_TURN: usize = 4;
/// Input discarded after the end, so that a reset does not destroy the last answer.
const MAX_LINGER: usize = 1 << 20;

struct Connection {
    socket: TcpStream,
    tls: Tls,
    http: Server,
    rx: RecvBuf,
    tx: SendBuf,
    /// Whether it stands in the ready queue.
    queued: bool,
    /// The end of input was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
    discarded: usize,
}

impl Connection {
    fn new(socket: TcpStream, tls: Tls) -> Self {
        let http = Server::new(&Config::default());
        let (rx, tx) = (RecvBuf::new(), SendBuf::new());
        Self { socket, tls, http, rx, tx, queued: false, peer_closed: false, discarded: 0 }
    }

    /// Bounded work; whether there may be more, or `WouldBlock` until epoll says so.
    fn turn(&mut self) -> io::Result<bool> {
        (1..READS_PER_TURN).try_for_each(|_| self.round().map(drop))?;
        self.round()
    }

    /// One read, and one write for all it led to; whether the connection goes on.
    fn round(&mut self) -> io::Result<bool> {
        self.write()?;
        match self.http.next_io() {
            NextIo::Read => {}
            NextIo::Linger => return self.linger(),
            _ => {
                self.tls.close();
                self.write()?;
                return Ok(false);
            }
        }
        let wire = self.tls.wire().0;
        let space = wire.space();
        let size = space.len();
        let n = self.socket.read(space)?;
        match n {
            0 => wire.set_eof(Eof::Clean),
            n => wire.filled(n),
        }
        let processed = self.tls.process(&mut self.rx, &mut self.tx);
        // An error of the peer's is final, and `next_io` says what to do then.
        while let Ok(Some(event)) = self.http.next_event(&mut self.rx, &mut self.tx) {
            answer(event, &mut self.http, &mut self.tx).map_err(io::Error::other)?;
        }
        // After a failure of TLS this is the alert.
        self.write()?;
        processed?;
        if n < size && !self.peer_closed && self.http.next_io() == NextIo::Read {
            // A short read has drained the socket: the next edge is still to come.
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(true)
    }

    /// Encrypts and writes, as far as that goes.
    fn write(&mut self) -> io::Result<()> {
        loop {
            // What has failed has nothing to add.
            let _ = self.tls.process(&mut self.rx, &mut self.tx);
            let wire = self.tls.wire().1;
            if wire.is_empty() {
                return Ok(());
            }
            match self.socket.write(wire.pending())? {
                0 => return Err(ErrorKind::WriteZero.into()),
                n => wire.consume(n),
            }
        }
    }

    fn linger(&mut self) -> io::Result<bool> {
        self.tls.close();
        self.write()?;
        self.socket.shutdown(Shutdown::Write)?;
        let n = self.socket.read(&mut [0; 4096])?;
        self.discarded += n;
        Ok(n > 0 && self.discarded < MAX_LINGER)
    }
}

/// Sends the body back while it comes.
fn answer(event: ServerEvent<'_>, http: &mut Server, tx: &mut SendBuf) -> Result<(), Misuse> {
    match event {
        ServerEvent::Request(head) => match head.body_length() {
            BodyLength::None | BodyLength::Length(0) => http.respond(200, NO_FIELDS, "", tx),
            length => http.send_response(200, NO_FIELDS, length, tx),
        },
        ServerEvent::Data(data) => http.send_data(data, tx),
        ServerEvent::End(_) => http.send_end(NO_FIELDS, tx),
        _ => Ok(()),
    }
}

const LISTENER: Token = Token(usize::MAX);

/// Serves until the listener or epoll fails.
pub fn serve(listener: std::net::TcpListener, config: &Arc<rustls::ServerConfig>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(listener);
    let (mut poll, mut events, mut spare) = (Poll::new()?, Events::with_capacity(256), Spare::new());
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let (mut connections, mut ready) = (Slab::<Connection>::new(), VecDeque::new());
    loop {
        let timeout = (!ready.is_empty()).then_some(Duration::ZERO);
        match poll.poll(&mut events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result?,
        }
        for event in &events {
            if event.token() == LISTENER {
                // Out of descriptors: who waits is accepted together with the next one that comes.
                while let Ok((mut socket, _)) = listener.accept() {
                    socket.set_nodelay(true)?;
                    let slot = connections.vacant_entry();
                    let (token, both) = (Token(slot.key()), Interest::READABLE | Interest::WRITABLE);
                    poll.registry().register(&mut socket, token, both)?;
                    slot.insert(Connection::new(socket, Tls::server(Arc::clone(config))?));
                }
            } else if let Some(connection) = connections.get_mut(event.token().0) {
                connection.peer_closed |= event.is_read_closed();
                if !mem::replace(&mut connection.queued, true) {
                    ready.push_back(event.token().0);
                }
            }
        }
        for _ in 0..ready.len() {
            let Some(at) = ready.pop_front() else { break };
            let connection = &mut connections[at];
            spare.lend(&mut connection.rx, &mut connection.tx);
            let after = connection.turn();
            spare.take_back(&mut connection.rx, &mut connection.tx);
            connection.queued = matches!(after, Ok(true));
            match after {
                Ok(true) => ready.push_back(at),
                Err(error) if error.kind() == ErrorKind::WouldBlock => connection.tls.give_back_buffers(),
                _ => drop(connections.remove(at)),
            }
        }
    }
}

fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("127.0.0.1:8443".into());
    let config = pki::server_config(&arguments.next().unwrap_or("localhost.pem".into()))?;
    let listener = std::net::TcpListener::bind(address)?;
    println!("listening on https://{}", listener.local_addr()?);
    Ok(serve(listener, &Arc::new(config))?)
}
