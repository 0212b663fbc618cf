//! On tokio.
//!
//! ```
//! use bytewise::framing::{Frame, Framed, VarintPrefix};
//! use bytewise_net::{ClientOptions, ServerOptions, Shutdown, tokio::{connect, serve}};
//! use tokio::net::TcpListener;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), bytewise_net::BoxError> {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let port = listener.local_addr()?.port();
//! let frames = || Framed::new(VarintPrefix::new(1 << 20));
//! let shutdown = Shutdown::new();
//!
//! let server = tokio::spawn(serve(listener, ServerOptions::default(), frames, async |mut conn| {
//!     while let Some((frame, out)) = conn.next().await? {
//!         if let Frame::Data(frame) = frame {
//!             out.machine.send(frame, out.tx)?;
//!         }
//!     }
//!     Ok(conn.close().await?)
//! }, shutdown.wait()));
//!
//! let mut client = connect("127.0.0.1", port, &ClientOptions::default(), frames()).await?;
//! let out = client.outbox();
//! out.machine.send("hello", out.tx)?;
//! let Some((Frame::Data(echo), _)) = client.next().await? else { panic!("the server closed") };
//! assert_eq!(echo, b"hello");
//! client.close().await?;
//!
//! shutdown.begin();
//! server.await??;
//! # Ok(())
//! # }
//! ```

use crate::{
    BoxError, ClientOptions, Driver, ServerOptions, Topology, Transport,
    client::{begin, first_that_answers, too_slow},
    serve::{self, Accept, Runtime, Threads},
    topology,
};
use ::tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream, lookup_host},
    runtime::Builder,
    time::{Instant, Sleep, sleep, sleep_until, timeout},
};
use bytewise::{Machine, Time, http1};
use std::{
    future::Future,
    io::{self, IoSlice},
    net,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll, ready},
};

/// What times are counted from: one for all, since each connection would have to remember its own.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A stream of tokio's, with a timer beside it.
#[derive(Debug)]
pub struct Stream<S = TcpStream> {
    stream: S,
    timer: Option<Pin<Box<Sleep>>>,
}

/// What a handler is given: a connection that was accepted.
pub type Conn<M> = Driver<Stream, M>;

/// [`Conn`] of an HTTP server: [`exchange`](Driver::exchange) gives its requests.
pub type HttpConn = Conn<http1::Server>;

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    /// Over any stream: a socket, a pipe, the end of a duplex.
    pub const fn new(stream: S) -> Self {
        Self { stream, timer: None }
    }

    /// The stream.
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream, to read or write it by hand.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Gives the stream back.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Transport for Stream<S> {
    /// tokio's sockets remember that a read which did not fill its space has drained them, and make no
    /// system call before the next event; `try_read` would.
    #[inline]
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut space = ReadBuf::new(space);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut space))?;
        Poll::Ready(Ok(space.filled().len()))
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match chunks {
            [chunk] => Pin::new(&mut self.stream).poll_write(cx, chunk),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, chunks),
        }
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    #[inline]
    fn now(&self) -> Time {
        ORIGIN.elapsed()
    }

    #[inline]
    fn poll_deadline(&mut self, cx: &mut Context<'_>, at: Time) -> Poll<()> {
        // What is beyond the clock is beyond the connection's life.
        let Some(at) = ORIGIN.checked_add(at) else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if timer.deadline() != at {
            timer.as_mut().reset(at);
        }
        timer.as_mut().poll(cx)
    }
}

struct Tokio;

impl Runtime for Tokio {
    type Io = Stream;

    fn block_on<T>(threads: Threads, work: impl AsyncFnOnce(&Self) -> io::Result<T>) -> io::Result<T> {
        let mut builder = match threads {
            Threads::One => Builder::new_current_thread(),
            Threads::Many(_) => Builder::new_multi_thread(),
        };
        if let Threads::Many(count) = threads {
            builder.worker_threads(count.get());
        }
        builder.enable_all().build()?.block_on(work(&Self))
    }

    fn listen(&self, listener: net::TcpListener) -> io::Result<impl Accept<Io = Stream>> {
        TcpListener::from_std(listener)
    }

    fn adopt(&self, stream: net::TcpStream) -> io::Result<Stream> {
        open(TcpStream::from_std(stream)?)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        ::tokio::spawn(task);
    }

    fn sleep(&self, time: Time) -> impl Future<Output = ()> {
        sleep(time)
    }
}

impl Accept for TcpListener {
    type Io = Stream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Stream>>> {
        let accepted = ready!((*self).poll_accept(cx));
        Poll::Ready(Some(accepted.and_then(|(stream, _)| open(stream))))
    }
}

fn open(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nodelay(true)?;
    Ok(Stream::new(stream))
}

/// Accepts until `shutdown` is ready, then drains. A task per connection, spawned on the runtime it is called in.
///
/// Each connection has a machine out of `machine`. The handler owns it; what it fails with goes to the log of the options.
/// `TCP_NODELAY` is set. Accepting survives a lack of descriptors. If this future is dropped before it is ready, connections go
/// on, and are not told of an end.
///
/// # Errors
///
/// The listener is of no use. Errors of connections go to the log.
///
/// # Panics
///
/// Outside a runtime of tokio's with I/O and time enabled.
pub async fn serve<M, H, F>(
    listener: TcpListener,
    options: ServerOptions,
    machine: impl Fn() -> M + Clone + Send + 'static,
    handler: H,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    M: Machine + Send + 'static,
    H: Fn(Conn<M>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    serve::serve(&Tokio, listener, options, machine, handler, shutdown).await
}

/// [`serve`] on runtimes of its own, in that topology, on the calling thread and others. `shutdown` is polled on the
/// calling thread, in a runtime.
///
/// # Errors
///
/// The listener is of no use, or a runtime or a thread cannot be made.
pub fn run<M, H, F>(
    topology: Topology,
    listener: net::TcpListener,
    options: ServerOptions,
    machine: impl Fn() -> M + Clone + Send + 'static,
    handler: H,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    M: Machine + Send + 'static,
    H: Fn(Conn<M>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    topology::run::<Tokio, _, _, _>(topology, listener, options, machine, handler, shutdown)
}

/// Connects to the first address of `host` that answers. `TCP_NODELAY` is set.
///
/// # Errors
///
/// The name has no address, none of them answers, or that takes too long.
///
/// # Panics
///
/// Outside a runtime of tokio's with I/O and time enabled.
pub async fn connect<M>(host: &str, port: u16, options: &ClientOptions, machine: M) -> io::Result<Driver<Stream, M>> {
    let within = options.connect_timeout;
    let addresses = timeout(within, lookup_host((host, port))).await.map_err(|_| too_slow())??;
    let connect =
        move |address| async move { timeout(within, TcpStream::connect(address)).await.map_err(|_| too_slow())? };
    let stream = first_that_answers(addresses, connect).await?;
    begin(open(stream)?, host, options, machine).await
}

#[cfg(feature = "http-client")]
crate::http_client::on_a_runtime!();

#[cfg(feature = "ws")]
crate::ws::on_a_runtime!("tokio", sleep);
