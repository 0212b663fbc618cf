//! HTTPS and WSS on one port, on the runtime of your choice: bodies and messages are echoed.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example tls_server -- tokio 127.0.0.1:8443 localhost.pem
//! curl --cacert localhost.pem -d hello https://localhost:8443/
//! ```
//!
//! The arguments: `tokio`, `smol`, `async-std` or `blocking`; an address; a file for the certificate, which is made anew.

#[path = "pki/mod.rs"]
mod pki;

use bytewise::{
    http1::{Config, NO_FIELDS, Server},
    ws::{self, Deflate, Event, handshake::Upgrade},
};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, blocking};
use std::{env, net::TcpListener};

const MAX_BODY: usize = 64 << 20;

fn config() -> ws::Config {
    ws::Config::default().with_max_message(MAX_BODY).with_deflate(Deflate::default())
}

/// The same as without TLS: where the bytes come from is not the handler's affair.
async fn handle<Io: Transport>(mut conn: Driver<Io, Server>) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange().await? {
        if let Ok(upgrade) = Upgrade::parse(exchange.head()) {
            let accepted = upgrade.accept(&config(), None);
            let out = exchange.outbox();
            out.machine.switch(101, accepted.fields(), out.tx)?;
            return echo(conn.switch(accepted.into_connection())).await;
        }
        let body = exchange.body(MAX_BODY).await?;
        exchange.respond(200, NO_FIELDS, body)?;
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
        out.ready(1 << 20).await?;
    }
    Ok(ws.close().await?)
}

/// The same without `async`.
fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        if let Ok(upgrade) = Upgrade::parse(exchange.head()) {
            let accepted = upgrade.accept(&config(), None);
            let out = exchange.outbox();
            out.machine.switch(101, accepted.fields(), out.tx)?;
            return echo_blocking(conn.switch(accepted.into_connection()));
        }
        let body = exchange.body(MAX_BODY)?;
        exchange.respond(200, NO_FIELDS, body)?;
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
    let mut tls = pki::server_config(argument(2, "localhost.pem"))?;
    tls.alpn_protocols = vec![b"http/1.1".to_vec()];
    let listener = TcpListener::bind(argument(1, "127.0.0.1:8443"))?;
    println!("listening on https://{}", listener.local_addr()?);

    let options = ServerOptions::default().with_tls(tls).with_error_log(|error| eprintln!("{error}"));
    let http = || Server::new(&Config::default());
    // Ends with the process; a program of yours would begin it at a signal.
    let (shutdown, single) = (Shutdown::new(), Topology::Single);
    match argument(0, "tokio") {
        "tokio" => bytewise_net::tokio::run(single, listener, options, http, handle, shutdown.wait())?,
        "smol" => bytewise_net::smol::run(single, listener, options, http, handle, shutdown.wait())?,
        "async-std" => bytewise_net::async_std::run(single, listener, options, http, handle, shutdown.wait())?,
        "blocking" => blocking::serve(listener, options, http, handle_blocking, shutdown)?,
        other => return Err(format!("{other} is no runtime of this example").into()),
    }
    Ok(())
}
