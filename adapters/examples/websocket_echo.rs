//! A WebSocket echo on the runtime and in the topology of your choice, behind the HTTP server, on one port.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example websocket_echo -- tokio 127.0.0.1:8000
//! ```
//!
//! The arguments: `tokio`, `smol`, `async-std` or `blocking`; an address; `single`, or `shared`, `per-thread` or
//! `handed-out` with a number of threads, which `blocking` ignores.

use bytewise::{
    http1::{self, Server},
    ws::{self, Deflate, Event, handshake::Upgrade},
};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, bind_reuse_port, blocking};
use std::{env, num::NonZeroUsize};

fn config() -> ws::Config {
    // As a test suite wants it: 4 MiB in fragments of 64 bytes, and all messages compressed.
    ws::Config::default().with_deflate(Deflate::default().with_threshold(0)).with_max_fragments(1 << 17)
}

/// HTTP until a request asks for a WebSocket.
async fn handle<Io: Transport>(mut conn: Driver<Io, Server>) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange().await? {
        match Upgrade::parse(exchange.head()) {
            Ok(upgrade) => {
                let accepted = upgrade.accept(&config(), None);
                let out = exchange.outbox();
                out.machine.switch(101, accepted.fields(), out.tx)?;
                return echo(conn.switch(accepted.into_connection())).await;
            }
            Err(refusal) => exchange.respond(refusal.status(), refusal.fields(), refusal.to_string())?,
        }
    }
    Ok(conn.close().await?)
}

async fn echo<Io: Transport>(mut ws: Driver<Io, ws::Connection>) -> Result<(), BoxError> {
    while let Some((event, mut out)) = ws.next().await? {
        match event {
            Event::Text(text) => out.machine.send_text(text, out.tx)?,
            Event::Binary(data) => out.machine.send_binary(data, out.tx)?,
            _ => {}
        }
        out.ready(1 << 20).await?; // waits while the peer does not read
    }
    Ok(ws.close().await?)
}

/// The same without `async`.
fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        match Upgrade::parse(exchange.head()) {
            Ok(upgrade) => {
                let accepted = upgrade.accept(&config(), None);
                let out = exchange.outbox();
                out.machine.switch(101, accepted.fields(), out.tx)?;
                return echo_blocking(conn.switch(accepted.into_connection()));
            }
            Err(refusal) => exchange.respond(refusal.status(), refusal.fields(), refusal.to_string())?,
        }
    }
    Ok(conn.close()?)
}

fn echo_blocking(mut ws: blocking::Conn<ws::Connection>) -> Result<(), BoxError> {
    while let Some((event, mut out)) = ws.next()? {
        match event {
            Event::Text(text) => out.machine.send_text(text, out.tx)?,
            Event::Binary(data) => out.machine.send_binary(data, out.tx)?,
            _ => {}
        }
        out.ready(1 << 20)?;
    }
    Ok(ws.close()?)
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
    println!("listening on ws://{}", listener.local_addr()?);

    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    let http = || Server::new(&http1::Config::default());
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
