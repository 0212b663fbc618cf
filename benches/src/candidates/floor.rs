//! The floor: sends back the bytes it receives, whatever they mean.
//!
//! One thread, edge-triggered epoll, one read buffer for all connections, and no system call that could be known to be
//! useless. What a server costs above this is the price of its protocol and its runtime.

use super::{Candidate, FLOOR, Job, floor_tls};
use crate::{
    options::{Protocol, Runtime, Topology},
    work::ByLength,
};
use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    time::Duration,
};

/// Read at once.
const BLOCK: usize = 64 * 1024;

/// Full blocks taken from a connection before the others get their turn.
const BLOCKS_PER_TURN: u32 = 4;

const LISTENER: Token = Token(usize::MAX);

/// A raw echo.
#[derive(Debug, Clone, Copy)]
pub struct Floor;

impl Candidate for Floor {
    fn name(&self) -> &'static str {
        FLOOR
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Framed, Protocol::Http, Protocol::Ws, Protocol::Https, Protocol::Wss]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Epoll]
    }

    fn supports(&self, _: Runtime, topology: Topology) -> bool {
        topology == Topology::SINGLE
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        if let Some(config) = job.tls()? {
            return floor_tls::serve(job.listener, &config, job.request);
        }
        job.listener.set_nonblocking(true)?;
        let mut listener = TcpListener::from_std(job.listener);
        let mut poll = Poll::new()?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let mut events = Events::with_capacity(1024);
        let mut connections: Vec<Option<Connection>> = Vec::new();
        let mut ready: VecDeque<usize> = VecDeque::new();
        let mut block = vec![0; BLOCK];
        loop {
            let wait = (!ready.is_empty()).then_some(Duration::ZERO);
            match poll.poll(&mut events, wait) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                let number = event.token().0;
                if event.token() == LISTENER {
                    accept(&listener, &poll, &mut connections, job.request)?;
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
                match connection.turn(&mut block) {
                    Ok(After::Wait) => connection.ready = false,
                    Ok(After::Again) => ready.push_back(number),
                    Ok(After::Close) | Err(_) => connections[number] = None,
                }
            }
        }
    }
}

/// How the turn of a connection ended.
enum After {
    /// Nothing to do until epoll says so.
    Wait,
    /// There may be more: come back after the others.
    Again,
    Close,
}

struct Connection {
    io: TcpStream,
    /// What could not be written yet, from `written` on.
    unwritten: Vec<u8>,
    written: usize,
    work: ByLength,
    /// Whether it is in the queue.
    ready: bool,
    /// The peer's end of the stream was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
}

impl Connection {
    fn turn(&mut self, block: &mut [u8]) -> io::Result<After> {
        if !self.unwritten.is_empty() {
            self.written += write(&mut self.io, &self.unwritten[self.written..])?;
            if self.written < self.unwritten.len() {
                return Ok(After::Wait);
            }
            self.unwritten.clear();
            self.written = 0;
        }
        for _ in 0..BLOCKS_PER_TURN {
            let n = match self.io.read(block) {
                Ok(0) => return Ok(After::Close),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(After::Wait),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            self.work.received(n);
            let written = write(&mut self.io, &block[..n])?;
            if written < n {
                self.unwritten.extend_from_slice(&block[written..n]);
                return Ok(After::Wait);
            }
            // A short read has drained the socket: the next edge is still to come.
            if n < block.len() && !self.peer_closed {
                return Ok(After::Wait);
            }
        }
        Ok(After::Again)
    }
}

/// Writes until nothing is left or the socket is full; says how much.
fn write(io: &mut TcpStream, bytes: &[u8]) -> io::Result<usize> {
    let mut written = 0;
    while written < bytes.len() {
        match io.write(&bytes[written..]) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => written += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(written)
}

fn accept(
    listener: &TcpListener,
    poll: &Poll,
    connections: &mut Vec<Option<Connection>>,
    request: usize,
) -> io::Result<()> {
    loop {
        let mut io = match listener.accept() {
            Ok((io, _)) => io,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) => continue,
            Err(error) => return Err(error),
        };
        io.set_nodelay(true)?;
        let token = Token(connections.len());
        poll.registry().register(&mut io, token, Interest::READABLE | Interest::WRITABLE)?;
        let (unwritten, work) = (Vec::new(), ByLength::new(request));
        connections.push(Some(Connection { io, unwritten, written: 0, work, ready: false, peer_closed: false }));
    }
}
