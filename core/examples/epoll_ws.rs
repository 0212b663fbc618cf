//! The core in a bare readiness loop: HTTP and WebSocket on one port over epoll (through mio), without a runtime.
//!
//! `cargo run -p bytewise --example epoll_ws -- 127.0.0.1:8000`, then `curl -d hello http://127.0.0.1:8000/echo` and,
//! in a browser's console,
//! `s = new WebSocket("ws://127.0.0.1:8000"); s.onmessage = e => console.log(e.data); s.onopen = () => s.send("hello")`
//!
//! ```text
//! epoll_wait ──▶ ready queue ──▶ turn: write what is left ─▶ read ─▶ all events ─▶ write
//!                    ▲                                                              │
//!                    └── the read filled its space: there may be more ──────────────┘
//! ```
use bytewise::http1::{self, NO_FIELDS, RequestHead, Server, ServerEvent};
use bytewise::ws::{self, Event, handshake::Refusal, handshake::Upgrade};
use bytewise::{Eof, Machine, NextIo, RecvBuf, SendBuf, Spare};
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use slab::Slab;
use std::io::{self, ErrorKind, Read, Write};
use std::{collections::VecDeque, mem, net::Shutdown, time::Duration};

/// Reads per turn, before other connections have theirs.
const READS_PER_TURN: usize = 4;
/// Input discarded after the end, so that a reset does not destroy the last answer.
const MAX_LINGER: usize = 1 << 20;

/// What is spoken: HTTP, until a request is upgraded.
enum Protocol {
    Http(Server),
    Ws(ws::Connection),
}

struct Connection {
    socket: TcpStream,
    protocol: Protocol,
    rx: RecvBuf,
    tx: SendBuf,
    /// Whether it stands in the ready queue.
    queued: bool,
    /// The end of input was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
    discarded: usize,
}

impl Connection {
    fn new(socket: TcpStream) -> Self {
        let protocol = Protocol::Http(Server::new(&http1::Config::default()));
        let (rx, tx) = (RecvBuf::new(), SendBuf::new());
        Self { socket, protocol, rx, tx, queued: false, peer_closed: false, discarded: 0 }
    }

    /// Bounded work; whether there may be more, or `WouldBlock` until epoll says so.
    fn turn(&mut self) -> io::Result<bool> {
        (1..READS_PER_TURN).try_for_each(|_| self.round().map(drop))?;
        self.round()
    }

    /// One read, and one write for all it led to; whether the connection goes on.
    fn round(&mut self) -> io::Result<bool> {
        self.write()?;
        match self.next_io() {
            NextIo::Read => {}
            NextIo::Linger => return self.linger(),
            _ => return Ok(false),
        }
        let space = self.rx.space();
        let size = space.len();
        let n = self.socket.read(space)?;
        match n {
            0 => self.rx.set_eof(Eof::Clean),
            n => self.rx.filled(n),
        }
        self.answer().map_err(io::Error::other)?;
        self.write()?;
        if n < size && !self.peer_closed && self.next_io() == NextIo::Read {
            // A short read has drained the socket: the next edge is still to come.
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(true)
    }

    fn next_io(&self) -> NextIo {
        match &self.protocol {
            Protocol::Http(http) => http.next_io(),
            Protocol::Ws(ws) => ws.next_io(),
        }
    }

    /// Answers all events. An error of the peer's is final, and `next_io` says what to do then.
    fn answer(&mut self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let (rx, tx) = (&mut self.rx, &mut self.tx);
        if let Protocol::Http(http) = &mut self.protocol {
            let Some(ws) = upgrade(http, rx, tx)? else { return Ok(()) };
            self.protocol = Protocol::Ws(ws);
        }
        if let Protocol::Ws(ws) = &mut self.protocol {
            while let Ok(Some(event)) = ws.next_event(rx, tx) {
                match event {
                    Event::Text(text) => ws.send_text(text, tx)?,
                    Event::Binary(data) => ws.send_binary(data, tx)?,
                    // Pings and the closing handshake are answered already.
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.tx.is_empty() {
            match self.socket.write(self.tx.pending())? {
                0 => return Err(ErrorKind::WriteZero.into()),
                n => self.tx.consume(n),
            }
        }
        Ok(())
    }

    fn linger(&mut self) -> io::Result<bool> {
        self.socket.shutdown(Shutdown::Write)?;
        let n = self.socket.read(&mut [0; 4096])?;
        self.discarded += n;
        Ok(n > 0 && self.discarded < MAX_LINGER)
    }
}

/// Answers requests until one is an upgrade.
fn upgrade(http: &mut Server, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<Option<ws::Connection>, http1::Misuse> {
    while let Ok(Some(event)) = http.next_event(rx, tx) {
        match event {
            ServerEvent::Request(head) => match Upgrade::parse(head) {
                Ok(upgrade) => {
                    let accepted = upgrade.accept(&ws::Config::default(), None);
                    http.switch(101, accepted.fields(), tx)?;
                    return Ok(Some(accepted.into_connection()));
                }
                Err(Refusal::NotWebSocket) if head.target() != "/ws" => request(head, http, tx)?,
                Err(refusal) => {
                    http.respond(refusal.status(), refusal.fields(), "", tx)?;
                    http.discard_body();
                }
            },
            // Of an echo: of all else the body is discarded.
            ServerEvent::Data(data) => http.send_data(data, tx)?,
            ServerEvent::End(_) => http.send_end(NO_FIELDS, tx)?,
            _ => {}
        }
    }
    Ok(None)
}

/// Any request but an upgrade.
fn request(head: RequestHead<'_>, http: &mut Server, tx: &mut SendBuf) -> Result<(), http1::Misuse> {
    match (head.method(), head.target()) {
        ("GET" | "HEAD", "/") => http.respond(200, NO_FIELDS, "Hello, this is bytewise.\n", tx),
        ("POST", "/echo") => return http.send_response(200, NO_FIELDS, head.body_length(), tx),
        _ => http.respond(404, NO_FIELDS, "There is nothing here.\n", tx),
    }?;
    http.discard_body();
    Ok(())
}

const LISTENER: Token = Token(usize::MAX);

/// Serves until the listener or epoll fails.
pub fn serve(listener: std::net::TcpListener) -> io::Result<()> {
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
                    slot.insert(Connection::new(socket));
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
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => drop(connections.remove(at)),
            }
        }
    }
}

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8000".into());
    let listener = std::net::TcpListener::bind(address)?;
    println!("listening on http://{}", listener.local_addr()?);
    serve(listener)
}
