//! A service on a server, on a thread of its own.

use crate::peer::{GUARD, Peer};
use axum::http::{Request, Response};
use bytewise::http1::{self, Config};
use bytewise_net::{
    self as net, BoxError, ServerOptions, Shutdown, Topology,
    tower::{RequestBody, serve_connection},
};
use http_body::Body;
use std::{
    io,
    net::{SocketAddr, TcpListener},
    num::NonZeroUsize,
    sync::mpsc,
    thread,
};
use tower_service::Service;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// Whose tasks go from thread to thread.
    Tokio,
    Smol,
}

/// A server that runs; dropped, it is told to end.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) shutdown: Shutdown,
    ended: mpsc::Receiver<io::Result<()>>,
    errors: mpsc::Receiver<BoxError>,
}

impl Server {
    pub(crate) fn start<S, B>(runtime: Runtime, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Future: Send> + Clone + Send + 'static,
        S::Error: Into<BoxError> + Send,
        B: Body<Data: Send, Error: Into<BoxError> + Send> + Send + 'static,
    {
        Self::with(runtime, ServerOptions::default(), Config::default(), service)
    }

    pub(crate) fn with<S, B>(runtime: Runtime, options: ServerOptions, config: Config, service: S) -> Self
    where
        S: Service<Request<RequestBody>, Response = Response<B>, Future: Send> + Clone + Send + 'static,
        S::Error: Into<BoxError> + Send,
        B: Body<Data: Send, Error: Into<BoxError> + Send> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::new();
        let ((log, errors), (end, ended)) = (mpsc::channel(), mpsc::channel());
        let options = options.with_error_log(move |error| drop(log.send(error)));
        let until = shutdown.wait();
        let http = move || http1::Server::new(&config);
        thread::spawn(move || {
            let outcome = match runtime {
                Runtime::Tokio => {
                    let topology = Topology::Shared(NonZeroUsize::new(2).unwrap());
                    let handler = move |conn| serve_connection(conn, service.clone());
                    net::tokio::run(topology, listener, options, http, handler, until)
                }
                Runtime::Smol => {
                    let handler = move |conn| serve_connection(conn, service.clone());
                    net::smol::run(Topology::Single, listener, options, http, handler, until)
                }
            };
            drop(end.send(outcome));
        });
        Self { address, shutdown, ended, errors }
    }

    pub(crate) fn connect(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// What the log heard next.
    #[track_caller]
    pub(crate) fn error(&self) -> String {
        self.errors.recv_timeout(GUARD).expect("an error in the log").to_string()
    }

    #[track_caller]
    pub(crate) fn ended(&self) {
        self.ended.recv_timeout(GUARD).expect("the server ends").unwrap();
    }

    /// Ends it; nothing must have gone wrong.
    #[track_caller]
    pub(crate) fn stop(self) {
        self.shutdown.begin();
        self.ended();
        let errors: Vec<_> = self.errors.try_iter().collect();
        assert!(errors.is_empty(), "{errors:?} in the log");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shutdown.begin();
    }
}
