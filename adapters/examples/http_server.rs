//! An HTTP server on the runtime and in the topology of your choice; try it with curl or a browser.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example http_server -- tokio
//! cargo run --release -p bytewise-net --all-features --example http_server -- smol 127.0.0.1:8001 per-thread 2
//!
//! curl http://127.0.0.1:8000/                                  a greeting
//! curl -d hello http://127.0.0.1:8000/echo                     what was sent, streamed back as it comes
//! curl -T big.iso http://127.0.0.1:8000/upload                 how much came: up to 4 GiB here, 16 MiB elsewhere
//! ```
//!
//! The arguments: `tokio`, `smol`, `async-std` or `blocking`; an address; `single`, or `shared`, `per-thread` or
//! `handed-out` with a number of threads, which `blocking` ignores.

use bytewise::http1::{Config, NO_FIELDS, Server};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, bind_reuse_port, blocking};
use std::{env, num::NonZeroUsize, time::SystemTime};

const UPLOAD: u64 = 4 << 30;

/// The same handler for every transport.
async fn handle<Io: Transport>(mut conn: Driver<Io, Server>) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange().await? {
        match (exchange.head().method(), exchange.head().target()) {
            ("GET" | "HEAD", "/") => {
                exchange.respond(200, [("content-type", "text/plain")], "Hello, this is bytewise.\n")?;
            }
            ("POST" | "PUT", "/echo") => {
                let length = exchange.head().body_length();
                let out = exchange.outbox();
                out.machine.send_response(200, NO_FIELDS, length, out.tx)?;
                while let Some((data, mut out)) = exchange.data().await? {
                    out.machine.send_data(data, out.tx)?;
                    out.ready(64 * 1024).await?;
                }
                let out = exchange.outbox();
                out.machine.send_end(NO_FIELDS, out.tx)?;
            }
            ("POST" | "PUT", "/upload") => {
                exchange.outbox().machine.limit_body(UPLOAD);
                let mut bytes = 0;
                while let Some((data, _)) = exchange.data().await? {
                    bytes += data.len();
                }
                exchange.respond(200, NO_FIELDS, format!("{bytes} bytes\n"))?;
            }
            ("POST" | "PUT", _) => {
                let bytes = exchange.body(16 << 20).await?.len();
                exchange.respond(200, NO_FIELDS, format!("{bytes} bytes\n"))?;
            }
            ("GET" | "HEAD", _) => exchange.respond(404, NO_FIELDS, "There is nothing here.\n")?,
            _ => exchange.respond(405, [("allow", "GET, HEAD, POST, PUT")], "")?,
        }
    }
    Ok(conn.close().await?)
}

/// The same without `async`.
fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        match (exchange.head().method(), exchange.head().target()) {
            ("GET" | "HEAD", "/") => {
                exchange.respond(200, [("content-type", "text/plain")], "Hello, this is bytewise.\n")?;
            }
            ("POST" | "PUT", "/echo") => {
                let length = exchange.head().body_length();
                let out = exchange.outbox();
                out.machine.send_response(200, NO_FIELDS, length, out.tx)?;
                while let Some((data, mut out)) = exchange.data()? {
                    out.machine.send_data(data, out.tx)?;
                    out.ready(64 * 1024)?;
                }
                let out = exchange.outbox();
                out.machine.send_end(NO_FIELDS, out.tx)?;
            }
            ("POST" | "PUT", "/upload") => {
                exchange.outbox().machine.limit_body(UPLOAD);
                let mut bytes = 0;
                while let Some((data, _)) = exchange.data()? {
                    bytes += data.len();
                }
                exchange.respond(200, NO_FIELDS, format!("{bytes} bytes\n"))?;
            }
            ("POST" | "PUT", _) => {
                let bytes = exchange.body(16 << 20)?.len();
                exchange.respond(200, NO_FIELDS, format!("{bytes} bytes\n"))?;
            }
            ("GET" | "HEAD", _) => exchange.respond(404, NO_FIELDS, "There is nothing here.\n")?,
            _ => exchange.respond(405, [("allow", "GET, HEAD, POST, PUT")], "")?,
        }
    }
    Ok(conn.close()?)
}

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let argument = |at: usize, default| arguments.get(at).map_or(default, String::as_str);
    let count: NonZeroUsize = argument(3, "2").parse()?;
    let topology = match argument(2, "single") {
        "single" => Topology::Single,
        "shared" => Topology::Shared(count),
        "per-thread" => Topology::PerThread(count),
        "handed-out" => Topology::HandedOut(count),
        other => return Err(format!("{other} is no topology").into()),
    };
    let listener = bind_reuse_port(argument(1, "127.0.0.1:8000").parse()?)?;
    println!("listening on http://{}", listener.local_addr()?);

    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    let config = Config::default().with_clock(SystemTime::now);
    let http = move || Server::new(&config);
    // Ends with the process; a program of yours would begin it at a signal.
    let shutdown = Shutdown::new();
    match argument(0, "tokio") {
        "tokio" => bytewise_net::tokio::run(topology, listener, options, http, handle, shutdown.wait())?,
        "smol" => bytewise_net::smol::run(topology, listener, options, http, handle, shutdown.wait())?,
        "async-std" => bytewise_net::async_std::run(topology, listener, options, http, handle, shutdown.wait())?,
        "blocking" => blocking::serve(listener, options, http, handle_blocking, shutdown)?,
        other => return Err(format!("{other} is no runtime of this example").into()),
    }
    Ok(())
}
