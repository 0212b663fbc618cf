//! In steady state an exchange allocates nothing, on either side. Counted per thread: the other end does not count.
//!
//! On tokio and on blocking sockets. With smol and async-std whoever waits runs the reactor of the whole process, which
//! allocates for itself and for all other tests.
#![cfg(all(feature = "tokio", feature = "blocking"))]

use crate::{
    http_handlers::target,
    http_peer::{HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, post},
    http_server::{listen, start},
    server::Runtime,
};
use allocation_counter::measure;
use bytewise::http1::{BodyLength, Client, Config, NO_FIELDS, Server};
use bytewise_net::{self as net, BoxError, Transport};
use std::{net::TcpStream, thread};

#[test]
fn on_tokio() {
    a_server_in_steady_state(Runtime::Tokio);
    a_client_in_steady_state(Runtime::Tokio);
}

#[test]
fn on_blocking_sockets() {
    a_server_in_steady_state(Runtime::Blocking);
    a_client_in_steady_state(Runtime::Blocking);
}

/// Exchanges until nothing new happens, and those that are counted.
const WARM_UP: usize = 2_000;
const COUNTED: usize = 10_000;

macro_rules! sides {
    ($name:ident: $Driver:path, [$($async:tt)?], [$($await:tt)*]) => {
        mod $name {
            use super::*;
            use $Driver as Driver;

            /// Serves so many requests: whole, streamed, with a body.
            pub(super) $($async)? fn serve<Io: Transport>(
                conn: &mut Driver<Io, Server>,
                count: usize,
            ) -> Result<(), BoxError> {
                for _ in 0..count {
                    let Some(mut exchange) = conn.exchange()$($await)*? else { return Err("it ended".into()) };
                    match exchange.head().target() {
                        "/whole" => {
                            assert_eq!(exchange.head().fields().get("host"), Some(&b"a"[..]));
                            exchange.respond(200, NO_FIELDS, "hello")?;
                        }
                        target::ECHO => {
                            let out = exchange.outbox();
                            out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx)?;
                            while let Some((data, mut out)) = exchange.data()$($await)*? {
                                out.machine.send_data(data, out.tx)?;
                                out.ready(1 << 16)$($await)*?;
                            }
                            let out = exchange.outbox();
                            out.machine.send_end(NO_FIELDS, out.tx)?;
                        }
                        _ => {}
                    }
                }
                // What was answered last is still queued.
                Ok(conn.outbox().flush()$($await)*?)
            }

            /// Makes so many exchanges.
            pub(super) $($async)? fn ask<Io: Transport>(
                conn: &mut Driver<Io, Client>,
                count: usize,
            ) -> Result<(), BoxError> {
                for i in 0..count {
                    let out = conn.outbox();
                    if i % 2 == 0 {
                        out.machine.request("GET", "/whole", [("host", "a")], "", out.tx)?;
                    } else {
                        out.machine.request("POST", target::ECHO, [("host", "a")], "hello", out.tx)?;
                    }
                    let Some(mut exchange) = conn.exchange()$($await)*? else { return Err("it ended".into()) };
                    assert_eq!(exchange.head().status(), 200);
                    while exchange.data()$($await)*?.is_some() {}
                }
                Ok(())
            }
        }
    };
}

sides!(tasks: bytewise_net::Driver, [async], [.await]);

sides!(threads: bytewise_net::blocking::Driver, [], []);

/// Runs that side of the connection on this thread: first to warm up, then counted.
macro_rules! count {
    ($runtime:expr, $socket:expr, $machine:expr, $run:ident) => {
        match $runtime {
            Runtime::Tokio => {
                $socket.set_nonblocking(true).unwrap();
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                let socket = runtime.block_on(async { tokio::net::TcpStream::from_std($socket).unwrap() });
                let io = net::tokio::Stream::new(socket);
                let mut conn = net::Driver::new(io, $machine);
                runtime.block_on(tasks::$run(&mut conn, WARM_UP)).unwrap();
                measure(|| runtime.block_on(tasks::$run(&mut conn, COUNTED)).unwrap())
            }
            Runtime::Blocking => {
                let mut conn = net::blocking::Driver::new(net::blocking::Stream::new($socket), $machine);
                threads::$run(&mut conn, WARM_UP).unwrap();
                measure(|| threads::$run(&mut conn, COUNTED).unwrap())
            }
            #[cfg(any(feature = "smol", feature = "async-std"))]
            other => panic!("not on {other:?}"),
        }
    };
}

/// One after another, and sixteen at once.
fn a_server_in_steady_state(runtime: Runtime) {
    let listener = listen();
    let address = listener.local_addr().unwrap();
    let echo = [OK_CHUNKED, &*chunk("hello"), LAST_CHUNK].concat();
    let left = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
    // What is left is answered when another is asked for: it must not be the last.
    let requests = [get("/left"), post("/left", "hello"), post(target::ECHO, "hello"), get("/whole")];
    let answers = [left.into(), left.into(), echo, ok("hello")];
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut peer = HttpPeer::connect(address);
            let window = (requests.concat().repeat(4), answers.concat().repeat(4));
            for _ in 0..(WARM_UP + COUNTED) / 20 {
                for (request, answer) in requests.iter().zip(&answers) {
                    peer.ask(request, answer);
                }
                peer.ask(&window.0, &window.1);
            }
        });
        let socket = listener.accept().unwrap().0;
        socket.set_nodelay(true).unwrap();
        let info = count!(runtime, socket, Server::new(&Config::default()), serve);
        assert_eq!(info.count_total, 0, "{info:?}");
    });
}

fn a_client_in_steady_state(runtime: Runtime) {
    let server = start(runtime);
    let socket = TcpStream::connect(server.address).unwrap();
    socket.set_nodelay(true).unwrap();
    let info = count!(runtime, socket, Client::new(&Config::default()), ask);
    assert_eq!(info.count_total, 0, "{info:?}");
    server.stop();
}
