//! Connecting, on every runtime.

use crate::{
    handlers::{self, WINDOW},
    peer::{Peer, noise},
    server::{Runtime, Server, frames},
};
use bytewise::{Phase, Time, TimedOut, Timeouts, framing};
use bytewise_net::{self as net, BoxError, ClientOptions};
use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener, TcpStream},
};

on_every_runtime!(by_name, by_address, unknown_name, refused, connect_timeout, idle_timeout, the_server_closes,);

/// Connects, sends all of `bodies`, and returns as many answers.
pub(crate) fn converse(
    runtime: Runtime,
    host: &str,
    port: u16,
    options: &ClientOptions,
    bodies: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, BoxError> {
    converse_within(WINDOW, runtime, host, port, options, bodies)
}

/// The same with so many bytes sent at most that are not answered.
pub(crate) fn converse_within(
    window: usize,
    runtime: Runtime,
    host: &str,
    port: u16,
    options: &ClientOptions,
    bodies: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, BoxError> {
    match runtime {
        #[cfg(feature = "tokio")]
        Runtime::Tokio => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                handlers::tasks::converse(net::tokio::connect(host, port, options, frames()).await?, bodies, window)
                    .await
            })
        }
        #[cfg(feature = "smol")]
        Runtime::Smol => smol::block_on(async {
            handlers::tasks::converse(net::smol::connect(host, port, options, frames()).await?, bodies, window).await
        }),
        #[cfg(feature = "async-std")]
        Runtime::AsyncStd => async_std::task::block_on(async {
            handlers::tasks::converse(net::async_std::connect(host, port, options, frames()).await?, bodies, window)
                .await
        }),
        #[cfg(feature = "blocking")]
        Runtime::Blocking => {
            handlers::threads::converse(net::blocking::connect(host, port, options, frames())?, bodies, window)
        }
    }
}

#[track_caller]
fn assert_io(outcome: Result<Vec<Vec<u8>>, BoxError>, kind: ErrorKind) {
    let error = outcome.unwrap_err().downcast::<std::io::Error>().unwrap();
    assert_eq!(error.kind(), kind, "{error}");
}

/// The name has another address too, perhaps, at which nobody listens.
fn by_name(runtime: Runtime) {
    let server = Server::start(runtime);
    let bodies = vec![b"hello".to_vec(), noise(200_000, 1)];
    let port = server.address.port();
    assert!(converse(runtime, "localhost", port, &ClientOptions::default(), bodies.clone()).unwrap() == bodies);
    server.stop();
}

fn by_address(runtime: Runtime) {
    let server = Server::start(runtime);
    let bodies = vec![b"hello".to_vec()];
    let port = server.address.port();
    assert_eq!(converse(runtime, "127.0.0.1", port, &ClientOptions::default(), bodies.clone()).unwrap(), bodies);
    server.stop();
}

/// Not a name at all (a label is empty), so that nobody is asked for it.
fn unknown_name(runtime: Runtime) {
    converse(runtime, "a..b", 1, &ClientOptions::default(), vec![]).unwrap_err();
}

fn refused(runtime: Runtime) {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let outcome = converse(runtime, "127.0.0.1", port, &ClientOptions::default(), vec![]);
    assert_io(outcome, ErrorKind::ConnectionRefused);
}

/// A listener whose queue is full.
#[cfg(target_os = "linux")]
fn connect_timeout(runtime: Runtime) {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    socket.listen(0).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    let within = Time::from_millis(200);
    let mut queue = Vec::new();
    while let Ok(socket) = TcpStream::connect_timeout(&address, within) {
        queue.push(socket);
    }
    let options = ClientOptions::default().with_connect_timeout(within);
    let outcome = converse(runtime, "127.0.0.1", address.port(), &options, vec![]);
    assert_io(outcome, ErrorKind::TimedOut);
}

#[cfg(not(target_os = "linux"))]
fn connect_timeout(_: Runtime) {}

fn idle_timeout(runtime: Runtime) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let timeouts = Timeouts::none().with(Phase::Idle, Some(Time::from_millis(100)));
    let options = ClientOptions::default().with_timeouts(timeouts);
    let error = converse(runtime, "127.0.0.1", port, &options, vec![b"anyone?".to_vec()]).unwrap_err();
    match *error.downcast::<net::Error<framing::Error>>().unwrap() {
        net::Error::TimedOut(TimedOut::Phase(Phase::Idle)) => {}
        other => panic!("{other}"),
    }
    // What it had sent was sent.
    assert_eq!(Peer::over(listener.accept().unwrap().0).receive(), b"anyone?");
}

fn the_server_closes(runtime: Runtime) {
    let server = Server::start(runtime);
    let bodies = vec![handlers::command::DROP.to_vec()];
    let port = server.address.port();
    let error = converse(runtime, "127.0.0.1", port, &ClientOptions::default(), bodies).unwrap_err();
    assert_eq!(error.to_string(), "the server closed");
    server.stop();
}
