//! A page, an HTTP echo and a WebSocket echo on one port, on the runtime and in the topology of your choice.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example serve
//! cargo run --release -p bytewise-net --all-features --example serve -- --runtime smol --topology per-thread --port 0
//!
//! http://127.0.0.1:8000/                          in a browser: round trips over a WebSocket as they happen
//! http://127.0.0.1:8000/?selftest                 in a browser: whether its WebSocket and this one agree
//! curl -d hello http://127.0.0.1:8000/echo        what was sent, streamed back as it comes
//! curl http://127.0.0.1:8000/ws                   426: that is for WebSockets
//! ```

use bytewise::{
    SendBuf,
    http1::{self, NO_FIELDS, Server},
    ws::{self, CloseCode, CloseFrame, Deflate, Event, Misuse, handshake::Upgrade},
};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Topology, Transport, bind_reuse_port, blocking};
use std::{env, io, net::Ipv4Addr, num::NonZeroUsize, process, thread, time::SystemTime};

const USAGE: &str = "\
Serves a page, an HTTP echo and a WebSocket echo on one port.

  --runtime   tokio, smol, async-std or blocking       [tokio]
  --topology  single, shared, per-thread or handed-out [single]; blocking has a thread per connection
  --threads   of a topology that is not single         [2]
  --port      0 for any that is free                   [8000]

Enter ends it in order: open WebSockets are told 1001.";

const RUNTIMES: [&str; 4] = ["tokio", "smol", "async-std", "blocking"];

const PAGE: &str = include_str!("page.html");

/// With the last two a browser lets the page measure microseconds.
const PAGE_FIELDS: [(&str, &str); 3] = [
    ("content-type", "text/html; charset=utf-8"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
];

const NOTHING: &str = "There is nothing here.\n";

fn config() -> ws::Config {
    ws::Config::default().with_max_message(64 << 20).with_deflate(Deflate::default())
}

enum Route {
    Page,
    Echo,
    WebSocket,
    Nothing,
}

fn route(method: &str, target: &str) -> Route {
    match (method, target.split('?').next()) {
        ("GET" | "HEAD", Some("/")) => Route::Page,
        ("POST", Some("/echo")) => Route::Echo,
        (_, Some("/ws")) => Route::WebSocket,
        _ => Route::Nothing,
    }
}

/// `/ws?close=4000` is closed with that code, so that a client can see how that looks from its side.
fn close_wanted(target: &str) -> Option<CloseCode> {
    CloseCode::new(target.split_once("?close=")?.1.parse().ok()?)
}

/// HTTP until a request asks for a WebSocket.
async fn handle<Io: Transport>(mut conn: Driver<Io, Server>) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange().await? {
        match route(exchange.head().method(), exchange.head().target()) {
            Route::Page => exchange.respond(200, PAGE_FIELDS, PAGE)?,
            Route::Echo => {
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
            Route::WebSocket => match Upgrade::parse(exchange.head()) {
                Ok(upgrade) => {
                    let close = close_wanted(upgrade.head().target());
                    let accepted = upgrade.accept(&config(), None);
                    let out = exchange.outbox();
                    out.machine.switch(101, accepted.fields(), out.tx)?;
                    return echo(conn.switch(accepted.into_connection()), close).await;
                }
                Err(refusal) => exchange.respond(refusal.status(), refusal.fields(), format!("{refusal}\n"))?,
            },
            Route::Nothing => exchange.respond(404, NO_FIELDS, NOTHING)?,
        }
    }
    Ok(conn.close().await?)
}

async fn echo<Io: Transport>(mut ws: Driver<Io, ws::Connection>, close: Option<CloseCode>) -> Result<(), BoxError> {
    if let Some(code) = close {
        let out = ws.outbox();
        close_with(code, out.machine, out.tx)?;
    }
    while let Some((event, mut out)) = ws.next().await? {
        send_back(event, out.machine, out.tx)?;
        out.ready(1 << 20).await?; // waits while the peer does not read
    }
    Ok(ws.close().await?)
}

fn send_back(event: Event<'_>, ws: &mut ws::Connection, tx: &mut SendBuf) -> Result<(), Misuse> {
    match event {
        // What comes while it closes has nowhere to go.
        _ if ws.is_closing() => Ok(()),
        Event::Text(text) => ws.send_text(text, tx),
        Event::Binary(data) => ws.send_binary(data, tx),
        // Pings and the closing handshake are answered already.
        _ => Ok(()),
    }
}

fn close_with(code: CloseCode, ws: &mut ws::Connection, tx: &mut SendBuf) -> Result<(), Misuse> {
    ws.close(Some(CloseFrame { code, reason: "as asked" }), tx)
}

/// The same without `async`.
fn handle_blocking(mut conn: blocking::HttpConn) -> Result<(), BoxError> {
    while let Some(mut exchange) = conn.exchange()? {
        match route(exchange.head().method(), exchange.head().target()) {
            Route::Page => exchange.respond(200, PAGE_FIELDS, PAGE)?,
            Route::Echo => {
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
            Route::WebSocket => match Upgrade::parse(exchange.head()) {
                Ok(upgrade) => {
                    let close = close_wanted(upgrade.head().target());
                    let accepted = upgrade.accept(&config(), None);
                    let out = exchange.outbox();
                    out.machine.switch(101, accepted.fields(), out.tx)?;
                    return echo_blocking(conn.switch(accepted.into_connection()), close);
                }
                Err(refusal) => exchange.respond(refusal.status(), refusal.fields(), format!("{refusal}\n"))?,
            },
            Route::Nothing => exchange.respond(404, NO_FIELDS, NOTHING)?,
        }
    }
    Ok(conn.close()?)
}

fn echo_blocking(mut ws: blocking::Conn<ws::Connection>, close: Option<CloseCode>) -> Result<(), BoxError> {
    if let Some(code) = close {
        let out = ws.outbox();
        close_with(code, out.machine, out.tx)?;
    }
    while let Some((event, mut out)) = ws.next()? {
        send_back(event, out.machine, out.tx)?;
        out.ready(1 << 20)?;
    }
    Ok(ws.close()?)
}

struct Options {
    runtime: String,
    topology: Topology,
    port: u16,
}

impl Options {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, BoxError> {
        let (mut runtime, mut topology, mut port) = ("tokio".to_owned(), "single".to_owned(), 8000);
        let mut threads = NonZeroUsize::MIN.saturating_add(1);
        while let Some(flag) = arguments.next() {
            if flag == "--help" {
                println!("{USAGE}");
                process::exit(0);
            }
            let value = arguments.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--runtime" if RUNTIMES.contains(&value.as_str()) => runtime = value,
                "--runtime" => return Err(format!("{value} is no runtime of this example").into()),
                "--topology" => topology = value,
                "--threads" => threads = value.parse().map_err(|_| format!("{value} is no number of threads"))?,
                "--port" => port = value.parse().map_err(|_| format!("{value} is no port"))?,
                _ => return Err(format!("{flag} is no option").into()),
            }
        }
        let topology = match topology.as_str() {
            "single" => Topology::Single,
            "shared" => Topology::Shared(threads),
            "per-thread" => Topology::PerThread(threads),
            "handed-out" => Topology::HandedOut(threads),
            other => return Err(format!("{other} is no topology").into()),
        };
        Ok(Self { runtime, topology, port })
    }
}

fn main() -> Result<(), BoxError> {
    let Options { runtime, topology, port } = Options::parse(env::args().skip(1)).unwrap_or_else(|wrong| {
        eprintln!("{wrong}\n\n{USAGE}");
        process::exit(2);
    });
    let listener = bind_reuse_port((Ipv4Addr::LOCALHOST, port).into())?;
    println!("listening on http://{}", listener.local_addr()?);

    let options = ServerOptions::default().with_error_log(|error| eprintln!("{error}"));
    let config = http1::Config::default().with_clock(SystemTime::now);
    let http = move || Server::new(&config);
    let shutdown = Shutdown::new();
    thread::spawn({
        let shutdown = shutdown.clone();
        // Where nobody types, input ends at once: that is no wish to end.
        move || matches!(io::stdin().read_line(&mut String::new()), Ok(1..)).then(|| shutdown.begin())
    });
    match runtime.as_str() {
        "tokio" => bytewise_net::tokio::run(topology, listener, options, http, handle, shutdown.wait())?,
        "smol" => bytewise_net::smol::run(topology, listener, options, http, handle, shutdown.wait())?,
        "async-std" => bytewise_net::async_std::run(topology, listener, options, http, handle, shutdown.wait())?,
        _ => blocking::serve(listener, options, http, handle_blocking, shutdown)?,
    }
    Ok(())
}
