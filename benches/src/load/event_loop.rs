//! Drives clients from one thread: edge-triggered, one read and one write per batch.

use super::{Client, Dialect, Fault, Session, Signals, Tally, Trust};
use crate::messages::{Idle, Outcome, Traffic};
use mio::{Events, Interest, Poll, Token, net::TcpStream};
use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, SocketAddr},
    time::{Duration, Instant},
};

/// Read at once.
const BLOCK: usize = 256 * 1024;

/// How often it looks around while it sleeps.
const TICK: Duration = Duration::from_millis(20);

/// Where it is in its course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Measured,
    /// Measured, but traffic goes on until it is told to stop.
    After,
    /// Nothing is sent any more; what is in flight is awaited until then.
    Draining(Duration),
    /// The end was sent on each connection; the server's end is awaited until then.
    Closing(Duration),
}

/// One connection.
struct Connection<D> {
    io: TcpStream,
    client: Session<D>,
    /// What could not be written yet, from `written` on.
    unwritten: Vec<u8>,
    written: usize,
    /// The server's end of the stream was announced: no further edge will come, so read until it is there.
    peer_closed: bool,
}

/// What all connections share.
struct Shared {
    origin: Instant,
    tally: Tally,
    block: Vec<u8>,
    requests: Vec<u8>,
    phase: Phase,
}

/// Sends that traffic to `address`, from the beginning to the end, on this thread.
pub fn run<D: Dialect>(traffic: &Traffic, address: SocketAddr, signals: &mut impl Signals) -> io::Result<Outcome> {
    let mut poll = Poll::new()?;
    let trust = traffic.certificate.as_deref().map(Trust::new).transpose()?;
    let mut connections = (0..traffic.load.clients)
        .map(|number| Connection::<D>::open(number, traffic, address, (&poll, trust.as_ref())).map(Some))
        .collect::<io::Result<Vec<_>>>()?;
    let mut events = Events::with_capacity(1024);
    let mut shared = Shared {
        origin: Instant::now(),
        tally: Tally::new(),
        block: vec![0; BLOCK],
        requests: Vec::new(),
        phase: Phase::WarmUp,
    };
    let mut measured = Duration::ZERO..Duration::ZERO;
    for (number, connection) in connections.iter_mut().enumerate() {
        shared.turn(number, connection, |connection, shared| connection.send(shared, shared.origin.elapsed()));
    }
    let wait = match traffic.idle {
        Idle::Spin => Duration::ZERO,
        Idle::Sleep => TICK,
    };
    loop {
        match poll.poll(&mut events, Some(wait)) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            result => result?,
        }
        for event in &events {
            let number = event.token().0;
            shared.turn(number, &mut connections[number], |connection, shared| {
                connection.peer_closed |= event.is_read_closed();
                connection.flush(shared)?;
                connection.receive(shared)
            });
        }
        let now = shared.origin.elapsed();
        match shared.phase {
            Phase::WarmUp if is_warm(now, traffic, &connections) => {
                shared.phase = Phase::Measured;
                shared.tally.measuring = true;
                measured.start = now;
                signals.begun();
            }
            Phase::Measured if is_enough(now, measured.start, traffic, &shared.tally) => {
                shared.phase = Phase::After;
                shared.tally.measuring = false;
                measured.end = now;
                signals.ended();
            }
            Phase::After if signals.stop() => shared.phase = Phase::Draining(now + traffic.patience),
            Phase::Draining(until) => {
                let mut open = connections.iter().flatten();
                if now >= until || open.all(|connection| connection.client.in_flight() == 0) {
                    shared.phase = Phase::Closing(now + traffic.patience);
                    for (number, connection) in connections.iter_mut().enumerate() {
                        shared.turn(number, connection, |connection, _| connection.close());
                    }
                }
            }
            Phase::Closing(until) if now >= until => {
                for (number, connection) in connections.iter_mut().enumerate() {
                    shared.turn(number, connection, |_, _| Err(Fault::Lingers));
                }
            }
            _ => {}
        }
        if connections.iter().all(Option::is_none) {
            let end = if measured.end.is_zero() { now } else { measured.end };
            return Ok(shared.tally.outcome(end.saturating_sub(measured.start)));
        }
    }
}

/// Whether the measured time may begin. Handshakes are not measured, however short the warm-up is.
fn is_warm<D: Dialect>(now: Duration, traffic: &Traffic, connections: &[Option<Connection<D>>]) -> bool {
    let is_open = |connection: &Connection<D>| connection.client.is_open();
    now >= traffic.warmup && (connections.iter().flatten().all(is_open) || now >= traffic.warmup + traffic.patience)
}

/// Whether it was measured long enough.
fn is_enough(now: Duration, start: Duration, traffic: &Traffic, tally: &Tally) -> bool {
    let end = start + traffic.seconds;
    now >= end && (tally.has_any() || now >= end + traffic.patience)
}

impl Shared {
    /// Lets a connection do something; it is over after the end, and after a fault, which is counted.
    #[inline]
    fn turn<D>(
        &mut self,
        number: usize,
        slot: &mut Option<Connection<D>>,
        act: impl FnOnce(&mut Connection<D>, &mut Self) -> Result<bool, Fault>,
    ) {
        let Some(connection) = slot else { return };
        match act(connection, self) {
            Ok(true) => {}
            Ok(false) => *slot = None,
            Err(fault) => {
                self.tally.fault(number, &fault);
                *slot = None;
            }
        }
    }

    #[inline]
    const fn is_sending(&self) -> bool {
        matches!(self.phase, Phase::WarmUp | Phase::Measured | Phase::After)
    }
}

/// All these say whether the connection is still open.
impl<D: Dialect> Connection<D> {
    fn open(
        number: usize,
        traffic: &Traffic,
        address: SocketAddr,
        (poll, trust): (&Poll, Option<&Trust>),
    ) -> io::Result<Self> {
        let stream = std::net::TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let mut io = TcpStream::from_std(stream);
        poll.registry().register(&mut io, Token(number), Interest::READABLE | Interest::WRITABLE)?;
        let client = Client::new(D::new(number, traffic.payload), traffic.load.window);
        let client = Session::new(client, trust).map_err(|fault| io::Error::other(fault.to_string()))?;
        Ok(Self { io, client, unwritten: Vec::new(), written: 0, peer_closed: false })
    }

    /// Reads what there is, and answers each block with one write.
    #[inline]
    fn receive(&mut self, shared: &mut Shared) -> Result<bool, Fault> {
        loop {
            let n = match self.io.read(&mut shared.block) {
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if n == 0 {
                let closing = matches!(shared.phase, Phase::Closing(_)) && self.client.in_flight() == 0;
                return if closing { Ok(false) } else { Err(Fault::Closed { unanswered: self.client.in_flight() }) };
            }
            let now = shared.origin.elapsed();
            self.client.receive(&mut shared.block[..n], now, &mut shared.tally)?;
            self.send(shared, now)?;
            // A short read has drained the socket: the next edge is still to come.
            if n < BLOCK && !self.peer_closed {
                return Ok(true);
            }
        }
    }

    /// Sends the requests that are due, unless earlier ones still wait for room.
    #[inline]
    fn send(&mut self, shared: &mut Shared, now: Duration) -> Result<bool, Fault> {
        while shared.is_sending() && self.unwritten.is_empty() && self.client.is_due() {
            let requests = &mut shared.requests;
            requests.clear();
            self.client.send(now, requests)?;
            let written = write(&mut self.io, requests)?;
            if written < requests.len() {
                self.unwritten.extend_from_slice(&requests[written..]);
            }
        }
        Ok(true)
    }

    /// Writes what could not be written before.
    #[inline]
    fn flush(&mut self, shared: &mut Shared) -> Result<bool, Fault> {
        if self.unwritten.is_empty() {
            return Ok(true);
        }
        self.written += write(&mut self.io, &self.unwritten[self.written..])?;
        if self.written < self.unwritten.len() {
            return Ok(true);
        }
        self.unwritten.clear();
        self.written = 0;
        self.send(shared, shared.origin.elapsed())
    }

    /// Says that there will be no more requests. The server's end is still to come.
    #[cold]
    fn close(&mut self) -> Result<bool, Fault> {
        match self.client.in_flight() {
            0 => {}
            unanswered => return Err(Fault::Late { unanswered }),
        }
        let mut last = Vec::new();
        self.client.close(&mut last)?;
        write(&mut self.io, &last)?;
        self.io.shutdown(Shutdown::Write)?;
        Ok(true)
    }
}

/// Writes until nothing is left or the socket is full; says how much.
#[inline]
fn write(io: &mut TcpStream, bytes: &[u8]) -> Result<usize, Fault> {
    let mut written = 0;
    while written < bytes.len() {
        match io.write(&bytes[written..]) {
            Ok(0) => return Err(Fault::Io(ErrorKind::WriteZero.into())),
            Ok(n) => written += n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Framed, Stopwatch},
        *,
    };
    use crate::options::{Load, Protocol};
    use std::{
        net::{Ipv4Addr, TcpListener},
        thread,
    };

    /// The outcome of a short run against a server that passes on what it receives through `spoil`.
    ///
    /// `spoil` gets the position in the stream and a block, which it may change. The server closes when it returns
    /// `false`, or at the end of the input.
    fn against(spoil: fn(usize, &mut Vec<u8>) -> bool) -> Outcome {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut block, mut at) = (vec![0; 1000], 0);
            while let Ok(n @ 1..) = stream.read(&mut block) {
                let mut out = block[..n].to_vec();
                let goes_on = spoil(at, &mut out);
                at += n;
                if stream.write_all(&out).is_err() || !goes_on {
                    break;
                }
            }
            spoil(usize::MAX, &mut block);
        });
        let milliseconds = Duration::from_millis;
        let traffic = Traffic {
            protocol: Protocol::Framed,
            certificate: None,
            mirrored: false,
            payload: 60,
            load: Load { clients: 1, window: 3 },
            warmup: milliseconds(1),
            seconds: milliseconds(20),
            idle: Idle::Sleep,
            patience: milliseconds(60),
            cores: Vec::new(),
        };
        let outcome = run::<Framed>(&traffic, address, &mut Stopwatch::default()).unwrap();
        drop(server);
        outcome
    }

    #[track_caller]
    fn assert_invalid(outcome: &Outcome, why: &str) {
        assert_eq!(outcome.errors, 1);
        let error = outcome.error.as_deref().unwrap();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn an_honest_echo_is_valid() {
        let outcome = against(|_, _| true);
        assert_eq!((outcome.errors, outcome.error), (0, None));
        assert!(outcome.round_trips > 0 && outcome.elapsed >= Duration::from_millis(20));
        assert!(outcome.p50 <= outcome.p95 && outcome.p95 <= outcome.p99 && !outcome.p50.is_zero());
    }

    #[test]
    fn a_flipped_byte_is_invalid() {
        let flipped = |at, out: &mut Vec<u8>| {
            if at < 700 && at + out.len() > 700 {
                out[700 - at] ^= 0x80;
            }
            true
        };
        assert_invalid(&against(flipped), "reply 10 differs at byte 60");
    }

    #[test]
    fn an_early_close_is_invalid() {
        assert_invalid(&against(|at, _| at < 5000), "closed with");
    }

    #[test]
    fn a_lost_tail_is_invalid() {
        let lost = |at, out: &mut Vec<u8>| {
            if at > 5000 {
                out.pop();
            }
            at <= 5000
        };
        // What was read by nobody may reset the connection.
        let outcome = against(lost);
        assert_eq!(outcome.errors, 1);
    }

    #[test]
    fn silence_is_invalid() {
        let silent = |at, out: &mut Vec<u8>| {
            if at > 5000 {
                out.clear();
            }
            true
        };
        assert_invalid(&against(silent), "3 requests were never answered");
    }

    #[test]
    fn a_server_that_does_not_close_is_invalid() {
        let lingering = |at, _: &mut Vec<u8>| {
            if at == usize::MAX {
                thread::sleep(Duration::from_secs(1));
            }
            true
        };
        assert_invalid(&against(lingering), "did not close");
    }

    #[test]
    fn no_reply_at_all_is_invalid() {
        let mute = |_, out: &mut Vec<u8>| {
            out.clear();
            true
        };
        assert_invalid(&against(mute), "3 requests were never answered");
    }
}
