//! What a test needs of a runtime, and a server on it.

use bytewise::{
    Time,
    http1::{self, Server as Http},
    ws::{self, Event, handshake::Upgrade},
};
use bytewise_net::{
    BoxError, Connect, Driver, ServerOptions, Shutdown, Topology, Transport, async_std, blocking, smol, tokio,
};
use std::{
    fmt::Debug,
    future::Future,
    io,
    net::{TcpListener, TcpStream},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
    task::{Context, Poll, Waker},
    thread::{self, JoinHandle},
};

/// A `#[test]` for each runtime out of a function that is generic over it.
macro_rules! on_every_runtime {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            #[test]
            fn on_tokio() {
                super::$test::<crate::runtimes::Tokio>();
            }

            #[test]
            fn on_smol() {
                super::$test::<crate::runtimes::Smol>();
            }

            #[test]
            fn on_async_std() {
                super::$test::<crate::runtimes::AsyncStd>();
            }

            #[test]
            fn on_blocking() {
                super::$test::<crate::runtimes::Blocking>();
            }
        })*
    };
}
pub(crate) use on_every_runtime;

pub(crate) trait Runtime {
    type Io: Transport + Debug + Send + 'static;
    type Connector: Connect<Io = Self::Io> + Debug + Default;

    fn block_on<T>(future: impl Future<Output = T>) -> T;

    fn run(
        listener: TcpListener,
        options: ServerOptions,
        accepted: Arc<AtomicUsize>,
        shutdown: Shutdown,
    ) -> io::Result<()>;
}

pub(crate) struct Tokio;
pub(crate) struct Smol;
pub(crate) struct AsyncStd;
pub(crate) struct Blocking;

fn http() -> Http {
    Http::new(&http1::Config::default())
}

macro_rules! runtime {
    ($runtime:ident, $module:ident, $block_on:path) => {
        impl Runtime for $runtime {
            type Io = $module::Stream;
            type Connector = $module::Connector;

            fn block_on<T>(future: impl Future<Output = T>) -> T {
                $block_on(future)
            }

            fn run(
                listener: TcpListener,
                options: ServerOptions,
                accepted: Arc<AtomicUsize>,
                shutdown: Shutdown,
            ) -> io::Result<()> {
                let handler = move |conn| {
                    accepted.fetch_add(1, Ordering::Relaxed);
                    handle(conn)
                };
                $module::run(Topology::Single, listener, options, http, handler, shutdown.wait())
            }
        }
    };
}

fn on_tokio<T>(future: impl Future<Output = T>) -> T {
    ::tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

runtime!(Tokio, tokio, on_tokio);
runtime!(Smol, smol, ::smol::block_on);
runtime!(AsyncStd, async_std, ::async_std::task::block_on);

impl Runtime for Blocking {
    type Io = blocking::Stream;
    type Connector = blocking::Connector;

    /// Not ready means that a call was bounded in time, and has to be made again.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return output;
            }
        }
    }

    fn run(
        listener: TcpListener,
        options: ServerOptions,
        accepted: Arc<AtomicUsize>,
        shutdown: Shutdown,
    ) -> io::Result<()> {
        let handler = move |conn| {
            accepted.fetch_add(1, Ordering::Relaxed);
            handle_blocking(conn)
        };
        blocking::serve(listener, options, http, handler, shutdown)
    }
}

/// Ended with all of its connections when dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) shutdown: Shutdown,
    /// Connections so far.
    pub(crate) accepted: Arc<AtomicUsize>,
    errors: Receiver<String>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Server {
    /// Echoes bodies and messages.
    pub(crate) fn start<R: Runtime>(options: ServerOptions) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (shutdown, accepted) = (Shutdown::new(), Arc::<AtomicUsize>::default());
        let (log, errors) = mpsc::channel();
        let options = options.with_drain(Time::from_secs(5)).with_error_log(move |error| {
            let _ = log.send(error.to_string());
        });
        let thread = thread::spawn({
            let (shutdown, accepted) = (shutdown.clone(), Arc::clone(&accepted));
            move || R::run(listener, options, accepted, shutdown)
        });
        Self { port, shutdown, accepted, errors, thread: Some(thread) }
    }

    /// The next error of a connection.
    #[track_caller]
    pub(crate) fn error(&self) -> String {
        self.errors.recv_timeout(Time::from_secs(20)).expect("an error in the log")
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.set_read_timeout(Some(Time::from_secs(20))).unwrap();
        socket.set_nodelay(true).unwrap();
        socket
    }

    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://localhost:{}/", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.begin();
        let ended = self.thread.take().unwrap().join();
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

async fn handle<Io: Transport>(mut conn: Driver<Io, Http>) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange().await? {
        if let Ok(upgrade) = Upgrade::parse(exchange.head()) {
            let accepted = upgrade.accept(&ws::Config::default(), None);
            let out = exchange.outbox();
            assert!(out.machine.switch(101, accepted.fields(), out.tx).is_ok());
            return echo(conn.switch(accepted.into_connection())).await;
        }
        let body = exchange.body(1 << 24).await?;
        exchange.respond(200, http1::NO_FIELDS, body)?;
    }
    Ok(conn.close().await?)
}

async fn echo<Io: Transport>(mut ws: Driver<Io, ws::Connection>) -> Result<(), BoxError> {
    while let Some((event, mut out)) = ws.next().await? {
        if let Event::Binary(data) = event {
            out.machine.send_binary(data, out.tx)?;
            out.ready(1 << 20).await?;
        }
    }
    Ok(ws.close().await?)
}

fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        if let Ok(upgrade) = Upgrade::parse(exchange.head()) {
            let accepted = upgrade.accept(&ws::Config::default(), None);
            let out = exchange.outbox();
            assert!(out.machine.switch(101, accepted.fields(), out.tx).is_ok());
            let mut ws = conn.switch(accepted.into_connection());
            while let Some((event, mut out)) = ws.next()? {
                if let Event::Binary(data) = event {
                    out.machine.send_binary(data, out.tx)?;
                    out.ready(1 << 20)?;
                }
            }
            return Ok(ws.close()?);
        }
        let body = exchange.body(1 << 24)?;
        exchange.respond(200, http1::NO_FIELDS, body)?;
    }
    Ok(conn.close()?)
}
