//! The core under [`Tls`] in a bare readiness loop: as the embedder's examples, with two more buffers.

use super::{Job, machine::Spoken};
use crate::options::Protocol;
use ::bytewise::{Eof, NextIo, RecvBuf, SendBuf, Spare};
use bytewise_net::tls::Tls;
use mio::{
    Events, Interest, Poll, Token,
    net::{TcpListener, TcpStream},
};
use rustls::ServerConfig;
use slab::Slab;
use std::{
    collections::VecDeque,
    io::{self, ErrorKind, Read, Write},
    mem,
    sync::Arc,
    time::Duration,
};

/// Reads per turn, before other connections have theirs.
const READS_PER_TURN: usize = 4;

const LISTENER: Token = Token(usize::MAX);

struct Connection {
    socket: TcpStream,
    tls: Tls,
    spoken: Spoken,
    rx: RecvBuf,
    tx: SendBuf,
    /// Whether it stands in the ready queue.
    queued: bool,
    /// The end of input was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
}

impl Connection {
    /// Bounded work; whether there may be more, or `WouldBlock` until epoll says so.
    fn turn(&mut self) -> io::Result<bool> {
        (1..READS_PER_TURN).try_for_each(|_| self.round().map(drop))?;
        self.round()
    }

    /// One read, and one write for all it led to; whether the connection goes on.
    fn round(&mut self) -> io::Result<bool> {
        self.write()?;
        if self.spoken.next_io() != NextIo::Read {
            // The client has ended it: there is nothing to linger for.
            self.tls.close();
            return self.write().map(|()| false);
        }
        let space = self.tls.wire().0.space();
        let size = space.len();
        let n = self.socket.read(space)?;
        let records = self.tls.wire().0;
        match n {
            0 => records.set_eof(Eof::Clean),
            n => records.filled(n),
        }
        self.tls.process(&mut self.rx, &mut self.tx).map_err(io::Error::other)?;
        self.spoken.answer(&mut self.rx, &mut self.tx)?;
        self.write()?;
        if n < size && !self.peer_closed && self.spoken.next_io() == NextIo::Read {
            // A short read has drained the socket: the next edge is still to come.
            return Err(ErrorKind::WouldBlock.into());
        }
        Ok(true)
    }

    fn write(&mut self) -> io::Result<()> {
        loop {
            self.tls.process(&mut self.rx, &mut self.tx).map_err(io::Error::other)?;
            let records = self.tls.wire().1;
            if records.is_empty() {
                return Ok(());
            }
            while !records.is_empty() {
                match self.socket.write(records.pending())? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    n => records.consume(n),
                }
            }
        }
    }
}

/// Serves until the listener or epoll fails.
pub(super) fn serve(job: Job) -> io::Result<()> {
    let config = job.tls()?.ok_or(ErrorKind::InvalidInput)?;
    job.listener.set_nonblocking(true)?;
    let mut listener = TcpListener::from_std(job.listener);
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
                accept(&listener, &poll, &mut connections, (&config, job.protocol))?;
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
            connection.tls.give_back_buffers();
            connection.queued = matches!(after, Ok(true));
            match after {
                Ok(true) => ready.push_back(at),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                _ => drop(connections.remove(at)),
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    poll: &Poll,
    connections: &mut Slab<Connection>,
    (config, protocol): (&Arc<ServerConfig>, Protocol),
) -> io::Result<()> {
    while let Ok((mut socket, _)) = listener.accept() {
        socket.set_nodelay(true)?;
        let slot = connections.vacant_entry();
        poll.registry().register(&mut socket, Token(slot.key()), Interest::READABLE | Interest::WRITABLE)?;
        let tls = Tls::server(Arc::clone(config)).map_err(io::Error::other)?;
        let (spoken, rx, tx) = (Spoken::new(protocol), RecvBuf::new(), SendBuf::new());
        slot.insert(Connection { socket, tls, spoken, rx, tx, queued: false, peer_closed: false });
    }
    Ok(())
}
