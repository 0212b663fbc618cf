//! On async-std, which is discontinued and names smol its successor.
//!
//! ```
//! use bytewise::framing::{Frame, Framed, VarintPrefix};
//! use bytewise_net::{ClientOptions, ServerOptions, Shutdown, async_std::{connect, serve}};
//! use async_std::net::TcpListener;
//!
//! # async_std::task::block_on(async {
//! let listener = TcpListener::bind("127.0.0.1:0").await?;
//! let port = listener.local_addr()?.port();
//! let frames = || Framed::new(VarintPrefix::new(1 << 20));
//! let shutdown = Shutdown::new();
//!
//! let server = async_std::task::spawn(serve(listener, ServerOptions::default(), frames, async |mut conn| {
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
    BoxError, ClientOptions, Driver, ServerOptions, Topology, futures_io,
    serve::{self, Accept, Runtime, Threads},
    topology,
};
use ::async_std::net::{TcpListener, ToSocketAddrs};
use async_executor::Executor;
use async_global_executor::{GlobalExecutorConfig, block_on, init_with_config};
use async_io::{Async, Timer};
use bytewise::{Machine, Time, http1};
use std::{future::Future, io, net, sync::Arc};

/// What a handler is given: a connection that was accepted.
pub type Conn<M> = Driver<Stream, M>;

/// [`Conn`] of an HTTP server: [`exchange`](Driver::exchange) gives its requests.
pub type HttpConn = Conn<http1::Server>;

/// Where the tasks go.
enum AsyncStd {
    /// To async-std's threads.
    Global,
    /// To an executor of its own, whose tasks end with it.
    Own(Arc<Executor<'static>>),
}

impl Runtime for AsyncStd {
    type Io = Stream;

    fn block_on<T>(threads: Threads, work: impl AsyncFnOnce(&Self) -> io::Result<T>) -> io::Result<T> {
        match threads {
            Threads::One => {
                let executor = Arc::new(Executor::new());
                block_on(executor.run(work(&Self::Own(Arc::clone(&executor)))))
            }
            Threads::Many(count) => {
                let count = count.get();
                init_with_config(GlobalExecutorConfig::default().with_min_threads(count).with_max_threads(count));
                block_on(work(&Self::Global))
            }
        }
    }

    fn listen(&self, listener: net::TcpListener) -> io::Result<impl Accept<Io = Stream>> {
        Ok(Arc::new(Async::new(listener)?))
    }

    fn adopt(&self, stream: net::TcpStream) -> io::Result<Stream> {
        futures_io::open(stream)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Global => drop(::async_std::task::spawn(task)),
            Self::Own(executor) => executor.spawn(task).detach(),
        }
    }

    async fn sleep(&self, time: Time) {
        Timer::after(time).await;
    }
}

/// Accepts until `shutdown` is ready, then drains. A task per connection, spawned on async-std's threads.
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
    #[cfg(unix)]
    let listener = std::os::fd::OwnedFd::from(listener);
    #[cfg(windows)]
    let listener = std::os::windows::io::OwnedSocket::from(listener);
    let listener = Arc::new(Async::new(net::TcpListener::from(listener))?);
    serve::serve(&AsyncStd::Global, listener, options, machine, handler, shutdown).await
}

/// [`serve`] on async-std's executors, in that topology, on the calling thread and others. `shutdown` is polled on the
/// calling thread.
///
/// A context of one thread has an executor of its own. The threads of [`Topology::Shared`] are those of the process: who
/// first asks for them, or spawns anything, decides how many there are. The reactor is one for the process too.
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
    topology::run::<AsyncStd, _, _, _>(topology, listener, options, machine, handler, shutdown)
}

/// Connects to the first address of `host` that answers. `TCP_NODELAY` is set.
///
/// # Errors
///
/// The name has no address, none of them answers, or that takes too long.
pub async fn connect<M>(host: &str, port: u16, options: &ClientOptions, machine: M) -> io::Result<Driver<Stream, M>> {
    futures_io::connect(async { (host, port).to_socket_addrs().await }, host, options, machine).await
}

#[cfg(feature = "http-client")]
crate::http_client::on_a_runtime!();

#[cfg(feature = "ws")]
crate::ws::on_a_runtime!("async_std", Timer::after);
