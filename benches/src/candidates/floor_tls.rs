//! The floor under TLS: decrypts what it receives, and encrypts it again, whatever it means.
//!
//! The same loop as without TLS, through rustls's buffered API. What came together goes back together.

use crate::work::ByLength;
use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
};
use rustls::{ServerConfig, ServerConnection};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    sync::Arc,
    time::Duration,
};

/// Read at once.
const BLOCK: usize = 64 * 1024;

/// Full blocks taken from a connection before the others get their turn.
const BLOCKS_PER_TURN: u32 = 4;

const LISTENER: Token = Token(usize::MAX);

pub(super) fn serve(listener: std::net::TcpListener, config: &Arc<ServerConfig>, request: usize) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(listener);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
    let mut events = Events::with_capacity(1024);
    let mut connections: Vec<Option<Connection>> = Vec::new();
    let mut ready: VecDeque<usize> = VecDeque::new();
    let (mut block, mut plaintext) = (vec![0; BLOCK], vec![0; 2 * BLOCK]);
    loop {
        let wait = (!ready.is_empty()).then_some(Duration::ZERO);
        match poll.poll(&mut events, wait) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result?,
        }
        for event in &events {
            let number = event.token().0;
            if event.token() == LISTENER {
                accept(&listener, &poll, &mut connections, (config, request))?;
            } else if let Some(connection) = &mut connections[number] {
                connection.peer_closed |= event.is_read_closed();
                if !std::mem::replace(&mut connection.ready, true) {
                    ready.push_back(number);
                }
            }
        }
        for _ in 0..ready.len() {
            let Some(number) = ready.pop_front() else { break };
            let Some(connection) = &mut connections[number] else { continue };
            match connection.turn(&mut block, &mut plaintext) {
                Ok(true) => ready.push_back(number),
                Err(error) if error.kind() == ErrorKind::WouldBlock => connection.ready = false,
                Ok(false) | Err(_) => connections[number] = None,
            }
        }
    }
}

struct Connection {
    io: TcpStream,
    tls: ServerConnection,
    work: ByLength,
    /// Whether it is in the queue.
    ready: bool,
    /// The peer's end of the stream was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
}

impl Connection {
    /// Whether it goes on, after the others; or `WouldBlock` until epoll says so.
    fn turn(&mut self, block: &mut [u8], plaintext: &mut [u8]) -> io::Result<bool> {
        self.write()?;
        for _ in 0..BLOCKS_PER_TURN {
            // By itself rustls reads 4 KiB.
            let n = match self.io.read(block) {
                Ok(0) => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            };
            self.echo(&block[..n], plaintext)?;
            self.write()?;
            // A short read has drained the socket: the next edge is still to come.
            if n < block.len() && !self.peer_closed {
                return Err(ErrorKind::WouldBlock.into());
            }
        }
        Ok(true)
    }

    /// Decrypts all into `plaintext`, which has room for it, and encrypts that at once.
    fn echo(&mut self, mut records: &[u8], plaintext: &mut [u8]) -> io::Result<()> {
        let mut end = 0;
        while !records.is_empty() && self.tls.read_tls(&mut records)? > 0 {
            let state = self.tls.process_new_packets().map_err(io::Error::other)?;
            let all = end + state.plaintext_bytes_to_read();
            self.tls.reader().read_exact(&mut plaintext[end..all])?;
            end = all;
        }
        self.work.received(end);
        self.tls.writer().write_all(&plaintext[..end])
    }

    fn write(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.io) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => _ = result?,
            }
        }
        Ok(())
    }
}

fn accept(
    listener: &TcpListener,
    poll: &Poll,
    connections: &mut Vec<Option<Connection>>,
    (config, request): (&Arc<ServerConfig>, usize),
) -> io::Result<()> {
    loop {
        let mut io = match listener.accept() {
            Ok((io, _)) => io,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
            Err(error) => return Err(error),
        };
        io.set_nodelay(true)?;
        poll.registry().register(&mut io, Token(connections.len()), Interest::READABLE | Interest::WRITABLE)?;
        let mut tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
        tls.set_buffer_limit(None);
        connections.push(Some(Connection { io, tls, work: ByLength::new(request), ready: false, peer_closed: false }));
    }
}
