//! A WebSocket client that echoes what a server says, on the runtime of your choice: it runs the cases of a conformance server.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example websocket_client -- tokio ws://127.0.0.1:9001
//! ```
//!
//! The server says at `/getCaseCount` how many cases it has, plays each at `/runCase`, and writes its reports at
//! `/updateReports`, as that of Autobahn does.
//!
//! Some of its cases want to agree on messages of the client's that are each compressed by itself, which is up to the server only
//! if the client hints at it: a third argument, `no-context-takeover`.

use bytewise::ws::{Config, Connection, Deflate, Event};
use bytewise_net::{BoxError, Driver, Transport, UpgradeError, WsOptions, async_std, blocking, smol, tokio};
use std::env;

fn options(takeover: bool) -> WsOptions {
    // As the suite wants it: 4 MiB in fragments of 64 bytes, and all messages compressed.
    let deflate = Deflate::default().with_threshold(0);
    let deflate = if takeover { deflate } else { deflate.without_context_takeover() };
    WsOptions::default().with_config(Config::default().with_deflate(deflate).with_max_fragments(1 << 17))
}

/// Runs all cases; `agent` is the name in the reports.
async fn run<Io: Transport>(
    server: &str,
    agent: &str,
    connect: impl AsyncFn(&str) -> Result<Driver<Io, Connection>, UpgradeError>,
) -> Result<(), BoxError> {
    let mut ws = connect(&format!("{server}/getCaseCount")).await?;
    let count: u32 = match ws.next().await? {
        Some((Event::Text(count), _)) => count.parse()?,
        _ => return Err("the server did not say how many cases it has".into()),
    };
    ws.close().await?;
    for case in 1..=count {
        let ws = connect(&format!("{server}/runCase?case={case}&agent={agent}")).await?;
        // Many cases are meant to fail.
        if let Err(error) = echo(ws).await {
            println!("case {case}: {error}");
        }
    }
    // Some close this one without saying so.
    let ws = connect(&format!("{server}/updateReports?agent={agent}")).await?;
    let _ = echo(ws).await;
    Ok(())
}

async fn echo<Io: Transport>(mut ws: Driver<Io, Connection>) -> Result<(), BoxError> {
    while let Some((event, mut out)) = ws.next().await? {
        match event {
            Event::Text(text) => out.machine.send_text(text, out.tx)?,
            Event::Binary(data) => out.machine.send_binary(data, out.tx)?,
            _ => {}
        }
        out.ready(1 << 20).await?; // waits while the server does not read
    }
    Ok(ws.close().await?)
}

/// The same without `async`.
fn run_blocking(server: &str, agent: &str, options: &WsOptions) -> Result<(), BoxError> {
    let connect = |path: String| blocking::connect_ws(&format!("{server}/{path}"), options);
    let mut ws = connect("getCaseCount".into())?;
    let count: u32 = match ws.next()? {
        Some((Event::Text(count), _)) => count.parse()?,
        _ => return Err("the server did not say how many cases it has".into()),
    };
    ws.close()?;
    for case in 1..=count {
        if let Err(error) = echo_blocking(connect(format!("runCase?case={case}&agent={agent}"))?) {
            println!("case {case}: {error}");
        }
    }
    let _ = echo_blocking(connect(format!("updateReports?agent={agent}"))?);
    Ok(())
}

fn echo_blocking(mut ws: blocking::WsConn) -> Result<(), BoxError> {
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
    let (runtime, server) = (argument(0, "tokio"), argument(1, "ws://127.0.0.1:9001"));
    let options = options(argument(2, "") != "no-context-takeover");
    match runtime {
        "tokio" => ::tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run(
            server,
            runtime,
            async |url| tokio::connect_ws(url, &options).await,
        )),
        "smol" => ::smol::block_on(run(server, runtime, async |url| smol::connect_ws(url, &options).await)),
        "async-std" => {
            ::async_std::task::block_on(run(server, runtime, async |url| async_std::connect_ws(url, &options).await))
        }
        "blocking" => run_blocking(server, runtime, &options),
        other => Err(format!("{other} is no runtime of this example").into()),
    }
}
