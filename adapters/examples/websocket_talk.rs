//! A WebSocket client that talks with an echo server, on the runtime of your choice, and says whether what comes back is what it
//! sent: text, bytes, fragments, 16 MiB, what compresses well and what does not, a ping, the close.
//!
//! ```text
//! cargo run --release -p bytewise-net --all-features --example websocket_talk -- tokio ws://127.0.0.1:8000/ws
//! ```
//!
//! More arguments are subprotocols.

use bytewise::ws::{CloseCode, CloseFrame, Config, Connection, Deflate, Event, Kind, handshake::Negotiated};
use bytewise_net::{BoxError, Driver, Transport, WsOptions, async_std, blocking, smol, tokio};
use std::env;

const BIG: usize = 16 << 20;

/// What is said, and how.
fn words() -> Vec<(&'static str, Kind, Vec<u8>)> {
    let noise = |len: u32| (0..len).map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    vec![
        ("text", Kind::Text, "Grüße, 你好, שלום, 🙂".into()),
        ("an empty text", Kind::Text, Vec::new()),
        ("bytes", Kind::Binary, noise(1000)),
        ("what compresses well", Kind::Text, "the same again; ".repeat(65_536).into()),
        ("16 MiB", Kind::Binary, noise(BIG as u32)),
    ]
}

/// An echo, if it is that of what was said.
fn check(what: &str, kind: Kind, said: &[u8], heard: &Event<'_>) -> Result<(), BoxError> {
    let same = match (kind, heard) {
        (Kind::Text, Event::Text(text)) => text.as_bytes() == said,
        (Kind::Binary, Event::Binary(data)) => *data == said,
        _ => false,
    };
    if !same {
        return Err(format!("{what} came back as something else").into());
    }
    println!("ok: {what}");
    Ok(())
}

fn agreed(negotiated: &Negotiated) -> String {
    let both = [negotiated.protocol(), negotiated.extensions()];
    both.into_iter().flatten().fold(String::new(), |all, one| all + ", " + one)
}

const CLOSE: CloseFrame<'_> = CloseFrame { code: CloseCode::NORMAL, reason: "done" };

async fn talk<Io: Transport>(mut ws: Driver<Io, Connection>) -> Result<(), BoxError> {
    println!("ok: connected{}", agreed(ws.machine().negotiated()));
    for (what, kind, said) in words() {
        let out = ws.outbox();
        match kind {
            Kind::Text => out.machine.send_text(&said, out.tx)?,
            Kind::Binary => out.machine.send_binary(&said, out.tx)?,
        }
        let (heard, _) = ws.next().await?.ok_or("the server closed")?;
        check(what, kind, &said, &heard)?;
    }
    let out = ws.outbox();
    out.machine.begin(Kind::Text)?;
    for piece in ["frag", "", "ments"] {
        out.machine.chunk(piece, out.tx)?;
    }
    out.machine.finish(out.tx)?;
    let (heard, out) = ws.next().await?.ok_or("the server closed")?;
    check("fragments", Kind::Text, b"fragments", &heard)?;
    out.machine.ping(b"there?", out.tx)?;
    match ws.next().await?.ok_or("the server closed")?.0 {
        Event::Pong(b"there?") => println!("ok: a ping"),
        other => return Err(format!("{other:?} instead of a pong").into()),
    }
    let out = ws.outbox();
    out.machine.close(Some(CLOSE), out.tx)?;
    match ws.next().await?.ok_or("the server closed")?.0 {
        Event::Close(Some(frame)) if frame.code == CloseCode::NORMAL => println!("ok: the close"),
        other => return Err(format!("{other:?} instead of the close").into()),
    }
    while ws.next().await?.is_some() {}
    Ok(ws.close().await?)
}

/// The same without `async`, and without the last words.
fn talk_blocking(mut ws: blocking::WsConn) -> Result<(), BoxError> {
    println!("ok: connected{}", agreed(ws.machine().negotiated()));
    for (what, kind, said) in words() {
        let out = ws.outbox();
        match kind {
            Kind::Text => out.machine.send_text(&said, out.tx)?,
            Kind::Binary => out.machine.send_binary(&said, out.tx)?,
        }
        let (heard, _) = ws.next()?.ok_or("the server closed")?;
        check(what, kind, &said, &heard)?;
    }
    let out = ws.outbox();
    out.machine.close(Some(CLOSE), out.tx)?;
    while ws.next()?.is_some() {}
    println!("ok: the close");
    Ok(ws.close()?)
}

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let argument = |at: usize, default| arguments.get(at).map_or(default, String::as_str);
    let url = argument(1, "ws://127.0.0.1:8000/ws");
    let config = Config::default().with_deflate(Deflate::default());
    let options = WsOptions::default().with_config(config).with_protocols(arguments.iter().skip(2));
    match argument(0, "tokio") {
        "tokio" => ::tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async { talk(tokio::connect_ws(url, &options).await?).await }),
        "smol" => ::smol::block_on(async { talk(smol::connect_ws(url, &options).await?).await }),
        "async-std" => ::async_std::task::block_on(async { talk(async_std::connect_ws(url, &options).await?).await }),
        "blocking" => talk_blocking(blocking::connect_ws(url, &options)?),
        other => Err(format!("{other} is no runtime of this example").into()),
    }
}
