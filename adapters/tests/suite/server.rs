//! A server on any runtime, on a thread of its own.

use crate::{handlers, peer::GUARD};
use bytewise::framing::{ByteOrder, Error, Framed, LengthPrefix, Width};
use bytewise_net::{self as net, BoxError, ServerOptions, Shutdown};
use std::{
    io,
    net::{SocketAddr, TcpListener},
    sync::mpsc,
    thread,
};

/// What all servers here speak, unless a handler switches: a length of four bytes, big-endian.
pub(crate) type Frames = Framed<LengthPrefix>;

/// The largest frame.
pub(crate) const MAX_FRAME: usize = 16 << 20;

pub(crate) const fn frames() -> Frames {
    Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, MAX_FRAME))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    #[cfg(feature = "tokio")]
    Tokio,
    #[cfg(feature = "smol")]
    Smol,
    #[cfg(feature = "async-std")]
    AsyncStd,
    #[cfg(feature = "blocking")]
    Blocking,
}

impl Runtime {
    /// Whether handlers are threads.
    pub(crate) fn blocks(self) -> bool {
        #[cfg(feature = "blocking")]
        return self == Self::Blocking;
        #[cfg(not(feature = "blocking"))]
        false
    }
}

/// Contexts and threads, by names that are there with every set of features.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(any(feature = "tokio", feature = "smol", feature = "async-std")), allow(dead_code))]
pub(crate) enum Spread {
    Single,
    Shared(usize),
    PerThread(usize),
    HandedOut(usize),
}

#[cfg(any(feature = "tokio", feature = "smol", feature = "async-std"))]
impl Spread {
    fn topology(self) -> net::Topology {
        let count = |count| std::num::NonZeroUsize::new(count).unwrap();
        match self {
            Self::Single => net::Topology::Single,
            Self::Shared(n) => net::Topology::Shared(count(n)),
            Self::PerThread(n) => net::Topology::PerThread(count(n)),
            Self::HandedOut(n) => net::Topology::HandedOut(count(n)),
        }
    }
}

/// A server that runs; dropped, it is told to end.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: Shutdown,
    ended: mpsc::Receiver<io::Result<()>>,
    errors: mpsc::Receiver<BoxError>,
    /// As long as this is there the server's thread is, also when the server has ended: nothing may depend on its end.
    _thread: mpsc::Sender<()>,
}

impl Server {
    /// Whose handler is [`handlers`]' for commands.
    pub(crate) fn start(runtime: Runtime) -> Self {
        Self::with(runtime, ServerOptions::default(), handlers::Kind::Commands)
    }

    pub(crate) fn with(runtime: Runtime, options: ServerOptions, kind: handlers::Kind) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self::spread(runtime, Spread::Single, listener, options, kind)
    }

    pub(crate) fn spread(
        runtime: Runtime,
        spread: Spread,
        listener: TcpListener,
        options: ServerOptions,
        kind: handlers::Kind,
    ) -> Self {
        Self::launch(listener, options, move |listener, options, shutdown| {
            run(runtime, spread, listener, options, kind, shutdown)
        })
    }

    /// Whatever `serve` serves, on a thread of its own.
    pub(crate) fn launch(
        listener: TcpListener,
        options: ServerOptions,
        serve: impl FnOnce(TcpListener, ServerOptions, Shutdown) -> io::Result<()> + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let (log, errors) = mpsc::channel();
        let options = options.with_error_log(move |error| drop(log.send(error)));
        let (end, ended) = mpsc::channel();
        let (_thread, may_go) = mpsc::channel::<()>();
        let until = shutdown.clone();
        thread::spawn(move || {
            drop(end.send(serve(listener, options, until)));
            let _ = may_go.recv();
        });
        Self { address, shutdown, ended, errors, _thread }
    }

    /// What the log heard next.
    pub(crate) fn error(&self) -> BoxError {
        self.errors.recv_timeout(GUARD).expect("an error in the log")
    }

    /// The same, as an error of a connection that speaks frames.
    pub(crate) fn connection_error(&self) -> net::Error<Error> {
        self.error_of()
    }

    /// The same, as an error of a connection whose machine has errors of that type.
    pub(crate) fn error_of<E: std::error::Error + 'static>(&self) -> net::Error<E> {
        match self.error().downcast::<net::Error<E>>() {
            Ok(error) => *error,
            Err(other) => panic!("another error in the log: {other}"),
        }
    }

    /// Whether the log has heard nothing since.
    #[track_caller]
    pub(crate) fn assert_no_errors(&self) {
        let errors: Vec<_> = self.errors.try_iter().collect();
        assert!(errors.is_empty(), "{errors:?} in the log");
    }

    /// What serving came to.
    pub(crate) fn ended(&self) -> io::Result<()> {
        self.ended.recv_timeout(GUARD).expect("the server ends")
    }

    /// Ends it; nothing must have gone wrong.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.shutdown.begin();
        self.ended().unwrap();
        self.assert_no_errors();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}

fn run(
    runtime: Runtime,
    spread: Spread,
    listener: TcpListener,
    options: ServerOptions,
    kind: handlers::Kind,
    shutdown: Shutdown,
) -> io::Result<()> {
    match runtime {
        #[cfg(feature = "tokio")]
        Runtime::Tokio => {
            let handler = move |conn| handlers::tasks::handle(conn, kind.clone());
            net::tokio::run(spread.topology(), listener, options, frames, handler, shutdown.wait())
        }
        #[cfg(feature = "smol")]
        Runtime::Smol => {
            let handler = move |conn| handlers::tasks::handle(conn, kind.clone());
            net::smol::run(spread.topology(), listener, options, frames, handler, shutdown.wait())
        }
        #[cfg(feature = "async-std")]
        Runtime::AsyncStd => {
            let handler = move |conn| handlers::tasks::handle(conn, kind.clone());
            net::async_std::run(spread.topology(), listener, options, frames, handler, shutdown.wait())
        }
        #[cfg(feature = "blocking")]
        Runtime::Blocking => {
            assert_eq!(spread, Spread::Single, "there is no other");
            let handler = move |conn| handlers::threads::handle(conn, kind.clone());
            net::blocking::serve(listener, options, frames, handler, shutdown)
        }
    }
}
