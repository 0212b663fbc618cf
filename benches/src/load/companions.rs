//! Clients that run as tasks on the server's own runtime, over any [`Transport`].

use super::{Client, Dialect, Fault, Framed, Http, HttpMirror, Session, Tally, Trust, Ws, WsMirror};
use crate::{
    messages::{Outcome, Traffic, Usage},
    options::Protocol,
    process,
};
use bytewise_net::Transport;
use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    io::{self, IoSlice},
    net::{SocketAddr, TcpStream},
    pin::Pin,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    thread,
    time::Instant,
};

/// Read at once.
const BLOCK: usize = 256 * 1024;

/// A client at work; it is over when its connection is.
pub type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

thread_local! {
    /// A block to read into, and one to make requests in, for whichever client of this thread is at work.
    static SCRATCH: RefCell<(Vec<u8>, Vec<u8>)> = const { RefCell::new((Vec::new(), Vec::new())) };
}

const WARM_UP: u8 = 0;
const MEASURED: u8 = 1;
const DRAINING: u8 = 2;

/// All clients of a server in the same process.
///
/// A thread of its own [conducts](Self::conduct): it connects, and takes the time. The server takes a
/// [`client`](Self::client) for each connection that it accepts, and lets it run in the same context.
#[derive(Debug)]
pub struct Companions {
    traffic: Traffic,
    trust: Option<Trust>,
    server: SocketAddr,
    origin: Instant,
    stage: AtomicU8,
    /// One per thread or so, that threads need not wait for each other.
    tallies: Vec<Mutex<Tally>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Sockets that wait for their client.
    connected: VecDeque<TcpStream>,
    started: usize,
    done: usize,
}

impl Companions {
    /// That traffic, to that server, on so many threads.
    pub fn new(traffic: Traffic, server: SocketAddr, threads: usize) -> io::Result<Self> {
        Ok(Self {
            trust: traffic.certificate.as_deref().map(Trust::new).transpose()?,
            traffic,
            server,
            origin: Instant::now(),
            stage: AtomicU8::new(WARM_UP),
            tallies: (0..threads.max(1)).map(|_| Mutex::default()).collect(),
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The client to run along with a connection that was accepted; `transport` gets a socket that does not block.
    pub fn client<T: Transport + Send + 'static>(
        self: &Arc<Self>,
        transport: impl FnOnce(TcpStream) -> io::Result<T>,
    ) -> Task {
        let mut state = self.state();
        let number = state.started;
        state.started += 1;
        // A connection may be accepted a moment before its other end is here.
        let stream = loop {
            match state.connected.pop_front() {
                Some(stream) => break stream,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(state);
        self.changed.notify_all();
        let all = Arc::clone(self);
        let io = match transport(stream) {
            Ok(io) => io,
            Err(error) => return Box::pin(async move { all.end(number, Err(error.into())) }),
        };
        match (self.traffic.protocol, self.traffic.mirrored) {
            (Protocol::Framed, _) => Box::pin(all.run::<Framed, T>(number, io)),
            (Protocol::Http | Protocol::Https, false) => Box::pin(all.run::<Http, T>(number, io)),
            (Protocol::Http | Protocol::Https, true) => Box::pin(all.run::<HttpMirror, T>(number, io)),
            (Protocol::Ws | Protocol::Wss, false) => Box::pin(all.run::<Ws, T>(number, io)),
            (Protocol::Ws | Protocol::Wss, true) => Box::pin(all.run::<WsMirror, T>(number, io)),
        }
    }

    async fn run<D: Dialect, T: Transport + Send + 'static>(self: Arc<Self>, number: usize, io: T) {
        let Traffic { payload, load, .. } = self.traffic;
        let client = Client::new(D::new(number, payload), load.window);
        let outcome = match Session::new(client, self.trust.as_ref()) {
            Ok(client) => {
                let mut connection =
                    Connection { io, client, unwritten: Vec::new(), written: 0, end: End::NotYet, number, all: &self };
                poll_fn(|cx| connection.poll(cx)).await
            }
            Err(fault) => Err(fault),
        };
        self.end(number, outcome);
    }

    fn end(&self, number: usize, outcome: Result<(), Fault>) {
        if let Err(fault) = outcome {
            lock(&self.tallies, number).fault(number, &fault);
        }
        self.state().done += 1;
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until so many are counted as there are clients; says how many were.
    fn wait(&self, counted: fn(&State) -> usize) -> usize {
        let all = self.traffic.load.clients;
        let patience = 2 * self.traffic.patience;
        let result = self.changed.wait_timeout_while(self.state(), patience, |state| counted(state) < all);
        counted(&result.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// From the first connection to the end of the last.
    pub fn conduct(&self) -> io::Result<(Outcome, Usage, Usage)> {
        let clients = self.traffic.load.clients;
        for _ in 0..clients {
            let stream = TcpStream::connect(self.server)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            self.state().connected.push_back(stream);
            self.changed.notify_all();
        }
        let started = self.wait(|state| state.started);
        if started < clients {
            return Err(io::Error::other(format!("only {started} of {clients} connections were accepted")));
        }
        thread::sleep(self.traffic.warmup);
        let from = process::usage()?;
        self.stage.store(MEASURED, Ordering::Relaxed);
        thread::sleep(self.traffic.seconds);
        let patience = Instant::now() + self.traffic.patience;
        while Instant::now() < patience && !(0..clients).any(|number| lock(&self.tallies, number).has_any()) {
            thread::sleep(self.traffic.seconds);
        }
        let to = process::usage()?;
        self.stage.store(DRAINING, Ordering::Relaxed);
        let done = self.wait(|state| state.done);
        let mut sum = Tally::new();
        for number in done..clients {
            sum.fault(number, &Fault::Lingers);
        }
        for tally in &self.tallies {
            sum.merge(&tally.lock().unwrap_or_else(PoisonError::into_inner));
        }
        Ok((sum.outcome(to.at.saturating_sub(from.at)), from, to))
    }
}

/// How far a connection has come with ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    NotYet,
    /// Everything is answered, which is yet to be said to the server.
    Due,
    /// The server's end is awaited.
    Sent,
}

struct Connection<'a, D, T> {
    io: T,
    client: Session<D>,
    /// What could not be written yet, from `written` on.
    unwritten: Vec<u8>,
    written: usize,
    end: End,
    number: usize,
    all: &'a Companions,
}

impl<D: Dialect, T: Transport> Connection<'_, D, T> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        SCRATCH.with_borrow_mut(|(block, requests)| {
            block.resize(BLOCK, 0);
            loop {
                let draining = self.all.stage.load(Ordering::Relaxed) == DRAINING;
                if self.end == End::NotYet {
                    // Pending or not, replies are read, or both sides could wait for each other.
                    if let Poll::Ready(Err(fault)) = self.poll_send(draining, requests, cx) {
                        return Poll::Ready(Err(fault));
                    }
                    if draining && self.client.in_flight() == 0 {
                        self.client.close(&mut self.unwritten)?;
                        self.end = End::Due;
                    }
                }
                if self.end == End::Due {
                    ready!(self.poll_send(draining, requests, cx))?;
                    ready!(self.io.poll_shutdown(cx))?;
                    self.end = End::Sent;
                }
                let n = ready!(self.io.poll_read(cx, block))?;
                if n == 0 {
                    let closed = Fault::Closed { unanswered: self.client.in_flight() };
                    return Poll::Ready(if self.end == End::Sent { Ok(()) } else { Err(closed) });
                }
                let now = self.all.origin.elapsed();
                let measuring = self.all.stage.load(Ordering::Relaxed) == MEASURED;
                let mut tally = lock(&self.all.tallies, self.number);
                tally.measuring = measuring;
                self.client.receive(&mut block[..n], now, &mut tally)?;
            }
        })
    }

    /// Writes what is left, and then the requests that are due.
    fn poll_send(&mut self, draining: bool, requests: &mut Vec<u8>, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        while self.written < self.unwritten.len() {
            self.written += ready!(write(&mut self.io, &self.unwritten[self.written..], cx))?;
        }
        self.unwritten.clear();
        self.written = 0;
        while !draining && self.client.is_due() {
            requests.clear();
            self.client.send(self.all.origin.elapsed(), requests)?;
            let mut written = 0;
            while written < requests.len() {
                let Poll::Ready(result) = write(&mut self.io, &requests[written..], cx) else {
                    self.unwritten.extend_from_slice(&requests[written..]);
                    return Poll::Pending;
                };
                written += result?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

fn write<T: Transport>(io: &mut T, bytes: &[u8], cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
    match ready!(io.poll_write(cx, &[IoSlice::new(bytes)]))? {
        0 => Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
        n => Poll::Ready(Ok(n)),
    }
}

/// The tally of that client.
fn lock(tallies: &[Mutex<Tally>], number: usize) -> MutexGuard<'_, Tally> {
    tallies[number % tallies.len()].lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{messages::Idle, options::Load};
    use bytewise_net::tokio::Stream;
    use std::{
        io::{Read, Write},
        net::{Ipv4Addr, TcpListener},
        time::Duration,
    };

    /// The outcome of two clients on tokio, whose servers pass on what they receive through `spoil`.
    fn against(spoil: fn(&mut [u8])) -> Outcome {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let traffic = Traffic {
            protocol: Protocol::Framed,
            certificate: None,
            mirrored: false,
            payload: 60,
            load: Load { clients: 2, window: 3 },
            warmup: Duration::from_millis(1),
            seconds: Duration::from_millis(20),
            idle: Idle::Sleep,
            patience: Duration::from_millis(100),
            cores: Vec::new(),
        };
        let companions = Arc::new(Companions::new(traffic, listener.local_addr().unwrap(), 1).unwrap());
        thread::scope(|scope| {
            let conductor = scope.spawn(|| companions.conduct().unwrap().0);
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let client = || {
                let (mut stream, _) = listener.accept().unwrap();
                scope.spawn(move || {
                    let mut block = [0; 1000];
                    while let Ok(n @ 1..) = stream.read(&mut block) {
                        spoil(&mut block[..n]);
                        stream.write_all(&block[..n]).unwrap();
                    }
                });
                runtime.spawn(companions.client(|stream| tokio::net::TcpStream::from_std(stream).map(Stream::new)))
            };
            let _context = runtime.enter();
            let clients = [client(), client()];
            runtime.block_on(async {
                for client in clients {
                    client.await.unwrap();
                }
            });
            conductor.join().unwrap()
        })
    }

    #[test]
    fn an_honest_echo_is_valid() {
        let outcome = against(|_| {});
        assert_eq!((outcome.errors, outcome.error), (0, None));
        assert!(outcome.round_trips > 0);
    }

    #[test]
    fn each_spoilt_connection_is_an_error() {
        let outcome = against(|block| block[63] ^= 1);
        assert_eq!(outcome.errors, 2);
        assert!(outcome.error.unwrap().ends_with("reply 0 differs at byte 63"));
    }
}
