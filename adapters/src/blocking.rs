//! On threads and std's sockets, without `async`: a thread per connection.
//!
//! [`Driver`] and [`Outbox`] are those of the crate, with methods that block. See the [crate's example](crate).
//!
//! A thread blocks in one call at a time. So that deadlines hold, a server's end is noticed, and two peers that both
//! pipeline do not wait for each other, no call blocks without end: reads are bounded by the deadline (and, in a server,
//! by a second), and a write that moves nothing for 20 ms lets a read have its turn.

mod exchange;
mod halves;
#[cfg(feature = "http-client")]
mod http_client;
#[cfg(feature = "ws")]
mod ws;

pub use exchange::Exchange;
pub use halves::{Receiver, Sender};
#[cfg(feature = "http-client")]
pub use http_client::{Connector, HttpClient, Response, Upload};
#[cfg(feature = "ws")]
pub use ws::{WsConn, connect_ws, reconnect_ws};

use crate::{
    BoxError, ClientOptions, Error, ServerOptions, Shutdown, Transport,
    accept::accept_each,
    client::{begin, first_that_answers},
    connections::{Connections, Stage},
};
use bytewise::{Machine, RecvBuf, SendBuf, Time, Timeouts, http1};
use futures_lite::future::or;
use std::{
    future::Future,
    io::{self, ErrorKind, IoSlice, Read, Write},
    net::{TcpListener, TcpStream, ToSocketAddrs},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::Instant,
};

/// How long a write may move nothing before a read has its turn.
const WRITE_TURN: Time = Time::from_millis(20);
/// How long that read may take.
const READ_TURN: Time = Time::from_millis(5);
/// How often a server's connections look whether it ends.
const WATCH: Time = Time::from_secs(1);

/// A stream of std's whose calls can be bounded in time.
pub trait BlockingStream: Read + Write {
    /// How long a read may block; then it is [`WouldBlock`](ErrorKind::WouldBlock) or [`TimedOut`](ErrorKind::TimedOut).
    ///
    /// # Errors
    ///
    /// As of the system.
    fn set_read_timeout(&mut self, at_most: Option<Time>) -> io::Result<()>;

    /// The same for a write.
    ///
    /// # Errors
    ///
    /// As of the system.
    fn set_write_timeout(&mut self, at_most: Option<Time>) -> io::Result<()>;

    /// Shuts down writing.
    ///
    /// # Errors
    ///
    /// As of the system.
    fn shut_down_writing(&mut self) -> io::Result<()>;
}

macro_rules! blocking_stream {
    ($stream:ty) => {
        impl BlockingStream for $stream {
            fn set_read_timeout(&mut self, at_most: Option<Time>) -> io::Result<()> {
                Self::set_read_timeout(self, at_most)
            }
            fn set_write_timeout(&mut self, at_most: Option<Time>) -> io::Result<()> {
                Self::set_write_timeout(self, at_most)
            }
            fn shut_down_writing(&mut self) -> io::Result<()> {
                self.shutdown(std::net::Shutdown::Write)
            }
        }
    };
}

blocking_stream!(TcpStream);
#[cfg(unix)]
blocking_stream!(std::os::unix::net::UnixStream);

/// A stream that blocks, with a clock beside it.
#[derive(Debug)]
pub struct Stream<S = TcpStream> {
    stream: S,
    origin: Instant,
    deadline: Option<Time>,
    /// How long a read blocks at most if there is no deadline before.
    watch: Option<Time>,
    read_timeout: Option<Time>,
    has_write_timeout: bool,
    /// Whether the last write moved nothing.
    stuck: bool,
    /// Set if another waits for input, without the lock under which this one reads.
    input: Option<Arc<halves::Input>>,
}

impl<S: BlockingStream> Stream<S> {
    /// Over any stream that can be bounded in time.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            origin: Instant::now(),
            deadline: None,
            watch: None,
            read_timeout: None,
            has_write_timeout: false,
            stuck: false,
            input: None,
        }
    }

    /// The stream.
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream, to read or write it by hand.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Gives the stream back, with bounds in time of this one's.
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// Bounds the next read: roughly, so that it costs no system call as long as little changes.
    fn bound_read(&mut self) -> io::Result<()> {
        let left = self.deadline.map(|deadline| deadline.saturating_sub(self.now()));
        let turn = self.stuck.then_some(READ_TURN);
        let wanted =
            [left, self.watch, turn].into_iter().flatten().min().map(|wanted| wanted.max(Time::from_millis(1)));
        let near = match (self.read_timeout, wanted) {
            (Some(set), Some(wanted)) => (wanted / 2..=wanted.saturating_add(wanted / 8)).contains(&set),
            (None, None) => true,
            _ => false,
        };
        if !near {
            self.stream.set_read_timeout(wanted)?;
            self.read_timeout = wanted;
        }
        Ok(())
    }
}

/// What a call that blocks came to: not ready if its bound of time was over.
fn bounded<T>(mut call: impl FnMut() -> io::Result<T>) -> Poll<io::Result<T>> {
    loop {
        match call() {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return Poll::Pending,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return Poll::Ready(result),
        }
    }
}

impl<S: BlockingStream> Transport for Stream<S> {
    const BLOCKING: bool = true;

    fn poll_read(&mut self, _: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        self.bound_read()?;
        if self.input.as_ref().is_some_and(|input| !input.take()) {
            return Poll::Pending;
        }
        bounded(|| self.stream.read(space))
    }

    fn poll_write(&mut self, _: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if !self.has_write_timeout {
            self.stream.set_write_timeout(Some(WRITE_TURN))?;
            self.has_write_timeout = true;
        }
        let written = match chunks {
            [chunk] => bounded(|| self.stream.write(chunk)),
            _ => bounded(|| self.stream.write_vectored(chunks)),
        };
        self.stuck = written.is_pending();
        written
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        bounded(|| self.stream.flush())
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.stream.shut_down_writing())
    }

    fn now(&self) -> Time {
        self.origin.elapsed()
    }

    fn poll_deadline(&mut self, _: &mut Context<'_>, at: Time) -> Poll<()> {
        let over = self.now() >= at;
        self.deadline = Some(at).filter(|at| !over && *at != Time::MAX);
        if over { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Blocks until the future is ready, which waits for nothing but calls that block.
fn block<T>(future: impl Future<Output = T>) -> T {
    // Not ready means that a call was bounded in time, and has to be made again.
    block_waiting(future, Waker::noop(), || {})
}

/// The same for a future that waits for something else, which is done between tries.
fn block_waiting<T>(future: impl Future<Output = T>, waker: &Waker, mut wait: impl FnMut()) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
            return output;
        }
        wait();
    }
}

/// One stream that blocks bound to one machine: [`crate::Driver`] without `async`.
#[derive(Debug)]
pub struct Driver<Io, M>(crate::Driver<Io, M>);

/// What a handler is given: a connection that was accepted.
pub type Conn<M> = Driver<Stream, M>;

impl<Io: Transport, M: Machine> Driver<Io, M> {
    /// Over an open stream, without bounds in time.
    ///
    /// It does not compile for a transport that does not [block](Transport::BLOCKING).
    pub fn new(io: Io, machine: M) -> Self {
        const { assert!(Io::BLOCKING, "a transport that does not block needs a runtime") };
        Self(crate::Driver::new(io, machine))
    }

    /// With those buffers: limits of your own, or bytes that are there already.
    #[must_use]
    pub fn with_buffers(self, rx: RecvBuf, tx: SendBuf) -> Self {
        Self(self.0.with_buffers(rx, tx))
    }

    /// With those bounds in time.
    #[must_use]
    pub fn with_timeouts(self, timeouts: impl Into<Arc<Timeouts>>) -> Self {
        Self(self.0.with_timeouts(timeouts))
    }

    /// With so many bytes of answers queued at most before the next event, as [`crate::Driver::with_high_water`].
    #[must_use]
    pub fn with_high_water(self, bytes: usize) -> Self {
        Self(self.0.with_high_water(bytes))
    }

    /// The next event, and where answers to it go, as [`crate::Driver::next`].
    ///
    /// # Errors
    ///
    /// The peer broke the protocol (what answers that is written by then), the stream failed, or something took too long.
    #[expect(
        clippy::should_implement_trait,
        reason = "it lends, and it may fail; the name is that of the other runtimes"
    )]
    #[expect(clippy::type_complexity, reason = "spelled out, it says what is lent")]
    pub fn next(&mut self) -> Result<Option<(M::Event<'_>, Outbox<'_, Io, M>)>, Error<M::Error>> {
        let turn = block(self.0.next())?;
        Ok(turn.map(|(event, crate::Outbox { machine, tx, link })| (event, Outbox { machine, tx, link })))
    }

    /// Ends well, as [`crate::Driver::close`].
    ///
    /// # Errors
    ///
    /// The stream failed before all was written, or took nothing for too long.
    pub fn close(self) -> Result<(), Error<M::Error>> {
        block(self.0.close())
    }

    /// The same connection under another protocol, which begins with what is unread.
    pub fn switch<N>(self, machine: N) -> Driver<Io, N> {
        Driver(self.0.switch(machine))
    }
}

#[cfg(feature = "tls")]
impl<Io: Transport, M> Driver<Io, M> {
    /// Under TLS, as [`crate::Driver::with_tls`].
    #[must_use]
    pub fn with_tls(self, tls: crate::tls::Tls) -> Self {
        Self(self.0.with_tls(tls))
    }

    /// What TLS knows of the peer, if there is TLS.
    pub fn tls(&self) -> Option<&crate::tls::Tls> {
        self.0.tls()
    }

    /// Changes the keys of TLS with the next write, as [`crate::Driver::refresh_keys`].
    pub fn refresh_keys(&mut self) -> bool {
        self.0.refresh_keys()
    }

    /// Blocks until hands are shaken, if there is TLS.
    ///
    /// # Errors
    ///
    /// As [`crate::Driver::handshake`].
    pub fn handshake(&mut self) -> io::Result<()> {
        block(self.0.handshake())
    }
}

impl<Io, M> Driver<Io, M> {
    /// Where to send without an event.
    pub fn outbox(&mut self) -> Outbox<'_, Io, M> {
        let crate::Outbox { machine, tx, link } = self.0.outbox();
        Outbox { machine, tx, link }
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        self.0.machine()
    }

    /// The machine, to set limits, say. To send, take the [`outbox`](Self::outbox).
    pub const fn machine_mut(&mut self) -> &mut M {
        self.0.machine_mut()
    }

    /// The stream.
    pub const fn io(&self) -> &Io {
        self.0.io()
    }

    /// What is received and not consumed, and how input ended.
    pub fn received(&self) -> &RecvBuf {
        self.0.received()
    }

    /// Gives all parts back. A server no longer counts the connection among its own.
    pub fn into_parts(self) -> (Io, M, RecvBuf, SendBuf) {
        self.0.into_parts()
    }
}

/// [`Conn`] of an HTTP server: [`exchange`](Driver::exchange) gives its requests.
pub type HttpConn = Conn<http1::Server>;

/// Where replies go: [`crate::Outbox`] without `async`.
#[derive(Debug)]
pub struct Outbox<'a, Io, M> {
    /// The machine.
    pub machine: &'a mut M,
    /// What it sends into.
    pub tx: &'a mut SendBuf,
    link: &'a mut crate::link::Link<Io>,
}

impl<Io: Transport, M> Outbox<'_, Io, M> {
    fn outbox(&mut self) -> crate::Outbox<'_, Io, M> {
        crate::Outbox { machine: self.machine, tx: self.tx, link: self.link }
    }

    /// Writes until nothing is queued, or only what the caller writes itself ([`SendBuf::external`]).
    ///
    /// # Errors
    ///
    /// The stream failed, or took nothing for too long.
    pub fn flush(&mut self) -> io::Result<()> {
        block(self.outbox().flush())
    }

    /// Writes until at most `high_water` bytes are queued; does nothing if there are no more.
    ///
    /// # Errors
    ///
    /// The stream failed, or took nothing for too long.
    pub fn ready(&mut self, high_water: usize) -> io::Result<()> {
        block(self.outbox().ready(high_water))
    }

    /// Writes what is queued, then does something else that takes its time.
    ///
    /// # Errors
    ///
    /// The stream failed, or took nothing for too long; then `other` is not done.
    pub fn flush_while<T>(&mut self, other: impl FnOnce() -> T) -> io::Result<T> {
        self.flush()?;
        Ok(other())
    }

    /// The stream, to write what is [`external`](SendBuf::external). `None` under TLS: put it into `tx` instead.
    pub const fn io(&mut self) -> Option<&mut Io> {
        self.link.io_itself()
    }
}

/// Accepts until `shutdown` has begun, then drains. A thread per connection; the calling one accepts.
///
/// Each connection has a machine out of `machine`. The handler owns it; what it fails with goes to the log of the options.
/// `TCP_NODELAY` is set. Accepting survives a lack of descriptors and of threads. Connections notice the end within a
/// second. There are no other topologies.
///
/// # Errors
///
/// The listener is of no use. Errors of connections go to the log.
pub fn serve<M, H>(
    listener: TcpListener,
    options: ServerOptions,
    machine: impl Fn() -> M,
    handler: H,
    shutdown: Shutdown,
) -> io::Result<()>
where
    M: Machine + Send + 'static,
    H: Fn(Conn<M>) -> Result<(), BoxError> + Clone + Send + 'static,
{
    let connections = Arc::new(Connections::default());
    let options = Arc::new(options);
    let most = options.max_connections.saturating_sub(1);
    let room = || {
        block_for(None, or(connections.at_most(most), shutdown.wait()));
    };
    let outcome = accept_each(listener, &options, &shutdown, room, |stream| {
        if let Err(error) = stream.set_nonblocking(false).and_then(|()| stream.set_nodelay(true)) {
            return options.log(error.into());
        }
        let stream = Stream { watch: Some(WATCH), ..Stream::new(stream) };
        let conn = match options.connection(stream, machine(), connections.enter()) {
            Ok(conn) => Driver(conn),
            Err(error) => return options.log(error.into()),
        };
        let (log, handler) = (Arc::clone(&options), handler.clone());
        let work = move || log.settle(catch_unwind(AssertUnwindSafe(|| handler(conn))));
        if let Err(error) = thread::Builder::new().spawn(work) {
            options.log(error.into());
        }
    });
    // The listener is gone: who comes from now on is refused.
    connections.set_stage(Stage::Draining);
    block_for(Some(options.drain), connections.at_most(0));
    connections.set_stage(Stage::Over);
    outcome
}

/// Connects to the first address of `host` that answers. `TCP_NODELAY` is set. How long resolving takes is up to the
/// system.
///
/// # Errors
///
/// The name has no address, none of them answers, or that takes too long.
pub fn connect<M: Machine>(
    host: &str,
    port: u16,
    options: &ClientOptions,
    machine: M,
) -> io::Result<Driver<Stream, M>> {
    let addresses = (host, port).to_socket_addrs()?;
    // Zero is refused, where the other runtimes time out.
    let within = options.connect_timeout.max(Time::from_millis(1));
    let connect = move |address| std::future::ready(TcpStream::connect_timeout(&address, within));
    let stream = block(first_that_answers(addresses, connect))?;
    stream.set_nodelay(true)?;
    block(begin(Stream::new(stream), host, options, machine)).map(Driver)
}

/// Parks the thread until the future is ready, or so much time is over.
fn block_for<T>(at_most: Option<Time>, future: impl Future<Output = T>) -> Option<T> {
    let waker = unparking();
    let mut future = pin!(future);
    let begin = Instant::now();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(output);
        }
        match at_most {
            None => thread::park(),
            Some(at_most) => match at_most.checked_sub(begin.elapsed()) {
                Some(left) => thread::park_timeout(left),
                None => return None,
            },
        }
    }
}

/// Unparks the calling thread.
fn unparking() -> Waker {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    Waker::from(Arc::new(Unpark(thread::current())))
}
