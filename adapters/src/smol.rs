//! On smol.
//!
//! ```
//! use bytewise::framing::{Frame, Framed, VarintPrefix};
//! use bytewise_net::{ClientOptions, ServerOptions, Shutdown, smol::{connect, serve}};
//! use smol::net::TcpListener;
//!
//! # smol::block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let port = listener.local_addr()?.port();
//! let frames = || Framed::new(VarintPrefix::new(1 << 20));
//! let shutdown = Shutdown::new();
//!
//! let server = smol::spawn(serve(listener, ServerOptions::default(), frames, async |mut conn| {
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
//! server.await?;
//! # Ok::<(), bytewise_net::BoxError>(())
//! # }).unwrap();
//! ```

pub use crate::futures_io::Stream;

use crate::{
    BoxError, ClientOptions, Driver, ServerOptions, Shutdown, Topology, futures_io,
    serve::{self, Accept, Runtime, Threads},
    topology,
};
use ::smol::{
    Executor, block_on,
    net::{TcpListener, resolve},
    spawn,
};
use async_io::{Async, Timer};
use bytewise::{Machine, Time, http1};
use std::{
    future::Future,
    io, net,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
    thread,
};

/// What a handler is given: a connection that was accepted.
pub type Conn<M> = Driver<Stream, M>;

/// [`Conn`] of an HTTP server: [`exchange`](Driver::exchange) gives its requests.
pub type HttpConn = Conn<http1::Server>;

/// Where the tasks go: an executor of its own, or smol's global one.
struct Smol(Option<Arc<Executor<'static>>>);

impl Runtime for Smol {
    type Io = Stream;

    fn block_on<T>(threads: Threads, work: impl AsyncFnOnce(&Self) -> io::Result<T>) -> io::Result<T> {
        let executor = Arc::new(Executor::new());
        let context = Self(Some(Arc::clone(&executor)));
        let Threads::Many(count) = threads else { return block_on(executor.run(work(&context))) };
        let ended = Shutdown::new();
        thread::scope(|scope| {
            for _ in 0..count.get() {
                scope.spawn(|| block_on(executor.run(ended.wait())));
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| block_on(work(&context))));
            ended.begin();
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        })
    }

    fn listen(&self, listener: net::TcpListener) -> io::Result<impl Accept<Io = Stream>> {
        Ok(Arc::new(Async::new(listener)?))
    }

    fn adopt(&self, stream: net::TcpStream) -> io::Result<Stream> {
        futures_io::open(stream)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Some(executor) => executor.spawn(task).detach(),
            None => spawn(task).detach(),
        }
    }

    async fn sleep(&self, time: Time) {
        Timer::after(time).await;
    }
}

/// Accepts until `shutdown` is ready, then drains. A task per connection, spawned on smol's global executor.
///
/// Each connection has a machine out of `machine`. The handler owns it; what it fails with goes to the log of the options.
/// `TCP_NODELAY` is set. Accepting survives a lack of descriptors. If this future is dropped before it is ready, connections go
/// on, and are not told of an end.
///
/// # Errors
///
/// The listener is of no use. Errors of connections go to the log.
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
    let listener: Arc<Async<net::TcpListener>> = listener.into();
    serve::serve(&Smol(None), listener, options, machine, handler, shutdown).await
}

/// [`serve`] on executors of its own, in that topology, on the calling thread and others. `shutdown` is polled on the
/// calling thread.
///
/// The reactor is one for the process: contexts share it.
///
/// # Errors
///
/// The listener is of no use, or a thread cannot be made.
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
    topology::run::<Smol, _, _, _>(topology, listener, options, machine, handler, shutdown)
}

/// Connects to the first address of `host` that answers. `TCP_NODELAY` is set.
///
/// # Errors
///
/// The name has no address, none of them answers, or that takes too long.
pub async fn connect<M>(host: &str, port: u16, options: &ClientOptions, machine: M) -> io::Result<Driver<Stream, M>> {
    futures_io::connect(resolve((host, port)), host, options, machine).await
}

#[cfg(feature = "http-client")]
crate::http_client::on_a_runtime!();

#[cfg(feature = "ws")]
crate::ws::on_a_runtime!("smol", Timer::after);
