//! Messages of every size and make, both ways.

use crate::{
    peer::{BINARY, CLOSE, PING, PONG, Peer, TEXT, close_payload, frame, noise},
    runtime::{Runtime, Serving, Ws},
};
use bytewise::ws::{Config, Connection, Deflate, Delivery, Event, Kind, Prepared, handshake::Negotiated};
use bytewise_net::{ServerOptions, WsOptions};

on_every_runtime!(
    every_size,
    every_size_compressed,
    fragments,
    streamed,
    streamed_compressed,
    prepared,
    in_chunks,
    pings_left_to_the_caller,
);

const SIZES: [usize; 8] = [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 16 << 20];

fn deflating() -> Config {
    Config::default().with_deflate(Deflate::default().with_threshold(0).with_level(1))
}

async fn connect<R: Runtime>(server: &Serving, config: Config) -> Ws<R> {
    R::connect_ws(&server.url(), &WsOptions::default().with_config(config)).await.unwrap()
}

async fn assert_text<R: Runtime>(ws: &mut Ws<R>, expected: &str) {
    match ws.next().await.unwrap() {
        Some((Event::Text(text), _)) => assert!(text == expected, "another text, of {} bytes", text.len()),
        other => panic!("{:?} for a text of {}", other.map(|(event, _)| name(&event)), expected.len()),
    }
}

async fn assert_binary<R: Runtime>(ws: &mut Ws<R>, expected: &[u8]) {
    match ws.next().await.unwrap() {
        Some((Event::Binary(data), _)) => assert!(data == expected, "other bytes, {} of them", data.len()),
        other => panic!("{:?} for {} bytes", other.map(|(event, _)| name(&event)), expected.len()),
    }
}

fn name(event: &Event<'_>) -> &'static str {
    match event {
        Event::Text(_) => "text",
        Event::Binary(_) => "binary",
        Event::Chunk { .. } => "chunk",
        Event::Ping(_) => "ping",
        Event::Pong(_) => "pong",
        _ => "close",
    }
}

async fn finish<R: Runtime>(ws: Ws<R>, server: Serving) {
    ws.close().await.unwrap();
    server.stop().await;
}

/// Text of so many bytes with code points of all lengths.
fn text(len: usize) -> String {
    let mut text = "aé€😀".repeat(len / 10);
    text.extend(std::iter::repeat_n('x', len - text.len()));
    text
}

async fn every_size<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let mut ws = connect::<R>(&server, Config::default()).await;
    for size in SIZES {
        let (text, data) = (text(size), noise(size, 7));
        ws.with(|ws, tx| ws.send_text(&*text, tx)).unwrap();
        assert_text(&mut ws, &text).await;
        ws.with(|ws, tx| ws.send_binary(&*data, tx)).unwrap();
        assert_binary(&mut ws, &data).await;
    }
    finish(ws, server).await;
}

async fn every_size_compressed<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), deflating());
    let mut ws = connect::<R>(&server, deflating()).await;
    for size in SIZES {
        // Noise of megabytes would take its time.
        let (text, data) = (text(size), noise(size.min(1 << 20), 8));
        ws.with(|ws, tx| ws.send_text(&*text, tx)).unwrap();
        assert_text(&mut ws, &text).await;
        ws.with(|ws, tx| ws.send_binary(&*data, tx)).unwrap();
        assert_binary(&mut ws, &data).await;
    }
    finish(ws, server).await;
}

/// With pings between fragments, each of which is answered before the message.
async fn fragments<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let mut peer = Peer::connect(server.port);
    let whole = text(200_000);
    for size in [1000, 65_535, 65_536, 100_001] {
        let mut pieces = whole.as_bytes().chunks(size);
        peer.send(TEXT & 0x7F, pieces.next().unwrap());
        for piece in pieces {
            peer.send(PING, b"between");
            peer.expect(PONG, b"between");
            peer.send(0, piece);
        }
        peer.send(0x80, b"");
        peer.expect(TEXT, whole.as_bytes());
    }
    // Byte by byte, in one packet.
    let mut frames = frame(BINARY & 0x7F, b"0", true);
    for byte in b"123456789" {
        frames.extend(frame(0, &[*byte], true));
    }
    frames.extend(frame(0x80, b"", true));
    peer.write(&frames);
    peer.expect(BINARY, b"0123456789");
    peer.send(CLOSE, &close_payload(1000, ""));
    peer.expect_close(1000);
    peer.expect_end();
    server.stop().await;
}

async fn stream_pieces<R: Runtime>(config: Config) {
    let server = Serving::echo::<R>(ServerOptions::default(), config.clone());
    let mut ws = connect::<R>(&server, config).await;
    let whole = text(300_000);
    for size in [7, 4096, 100_000] {
        // Code points are cut.
        ws.with(|ws, _| ws.begin(Kind::Text)).unwrap();
        for piece in whole.as_bytes()[..size * 3].chunks(size) {
            ws.with(|ws, tx| ws.chunk(piece, tx)).unwrap();
            ws.with(|ws, tx| ws.ping(b"between", tx)).unwrap();
            ws.outbox().flush().await.unwrap();
        }
        let end = (0..).find(|&more| whole.is_char_boundary(size * 3 + more)).unwrap() + size * 3;
        ws.with(|ws, tx| ws.chunk(&whole.as_bytes()[size * 3..end], tx)).unwrap();
        ws.with(Connection::finish).unwrap();
        for _ in 0..3 {
            assert!(matches!(ws.next().await, Ok(Some((Event::Pong(b"between"), _)))));
        }
        assert_text(&mut ws, &whole[..end]).await;
    }
    // Nothing at all.
    ws.with(|ws, tx| ws.begin(Kind::Binary).and_then(|()| ws.finish(tx))).unwrap();
    assert_binary(&mut ws, b"").await;
    finish(ws, server).await;
}

async fn streamed<R: Runtime>() {
    stream_pieces::<R>(Config::default()).await;
}

async fn streamed_compressed<R: Runtime>() {
    stream_pieces::<R>(deflating()).await;
}

/// By a server and by a client, to those with compression and those without.
async fn prepared<R: Runtime>() {
    let news = text(10_000);
    let plain = Prepared::new(Kind::Text, &*news).unwrap();
    let both = Prepared::compressed(Kind::Text, &*news, &Deflate::default()).unwrap();
    let binary = Prepared::new(Kind::Binary, &b"bytes"[..]).unwrap();
    let (sent, all) = (news.clone(), [plain, both, binary]);
    let theirs = all.clone();
    let server = Serving::websocket::<R, _>(ServerOptions::default(), deflating(), move |mut ws| {
        let theirs = theirs.clone();
        async move {
            for _ in 0..2 {
                for message in &theirs {
                    ws.with(|ws, tx| ws.send_prepared(message, tx))?;
                }
                ws.with(|ws, tx| ws.send_text("between", tx))?;
            }
            crate::runtime::echo(ws).await
        }
    });
    for config in [Config::default(), deflating()] {
        let mut ws = connect::<R>(&server, config).await;
        for _ in 0..2 {
            assert_text(&mut ws, &sent).await;
            assert_text(&mut ws, &sent).await;
            assert_binary(&mut ws, b"bytes").await;
            assert_text(&mut ws, "between").await;
        }
        for message in &all {
            ws.with(|ws, tx| ws.send_prepared(message, tx)).unwrap();
        }
        assert_text(&mut ws, &sent).await;
        assert_text(&mut ws, &sent).await;
        assert_binary(&mut ws, b"bytes").await;
        ws.close().await.unwrap();
    }
    server.stop().await;
}

/// A message above the limit of messages, which pieces are not.
async fn in_chunks<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let config = Config::default().with_delivery(Delivery::Chunks).with_max_message(1000);
    let mut ws = connect::<R>(&server, config).await;
    let whole = text(1 << 20);
    for _ in 0..2 {
        ws.with(|ws, tx| ws.send_text(&*whole, tx)).unwrap();
        let (mut got, mut pieces) = (Vec::new(), 0);
        loop {
            let Ok(Some((Event::Chunk { kind: Kind::Text, data, last }, _))) = ws.next().await else { panic!() };
            got.extend_from_slice(data);
            pieces += 1;
            if last {
                break;
            }
        }
        assert!(got == whole.as_bytes() && pieces > 1, "in {pieces} pieces");
    }
    finish(ws, server).await;
}

async fn pings_left_to_the_caller<R: Runtime>() {
    let (socket, mut peer) = Peer::pair(true);
    let machine = Connection::server(&Config::default().with_manual_pong(), Negotiated::default());
    let mut ws = R::over(socket, machine);
    peer.send(PING, b"one");
    peer.send(PING, b"two");
    for own in ["1", "2"] {
        let (event, mut out) = ws.next().await.unwrap().unwrap();
        assert!(matches!(event, Event::Ping(_)));
        out.with(|ws, tx| ws.pong(own.as_bytes(), tx)).unwrap();
        out.flush().await.unwrap();
        peer.expect(PONG, own.as_bytes());
    }
}
