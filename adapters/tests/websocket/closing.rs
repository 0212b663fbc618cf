//! How connections end: by the handshake from either side, by what breaks the protocol, by the server's end, or not at all.

use crate::{
    peer::{BINARY, CLOSE, Peer, TEXT, close_payload, frame},
    runtime::{Runtime, Serving, Ws},
};
use bytewise::{
    Phase, Time, TimedOut, Timeouts,
    ws::{self, CloseCode, CloseFrame, Config, Connection, Event, MaskKeys, handshake::Negotiated},
};
use bytewise_net::{Error, ServerOptions};

on_every_runtime!(
    the_peer_closes,
    the_server_closes,
    a_client_closes,
    a_client_is_done,
    no_answer,
    what_breaks_the_protocol,
    too_big,
    cut_off,
    reset,
    the_server_ends,
    nobody_reads_the_answer,
);

fn ours<R: Runtime>(config: &Config) -> (Ws<R>, Peer) {
    let (socket, peer) = Peer::pair(true);
    (R::over(socket, Connection::server(config, Negotiated::default())), peer)
}

fn client<R: Runtime>() -> (Ws<R>, Peer) {
    let (socket, peer) = Peer::pair(false);
    let machine = Connection::client(&Config::default(), Negotiated::default(), MaskKeys::from_seed([3; 32]));
    (R::over(socket, machine), peer)
}

fn going(reason: &str) -> Option<CloseFrame<'_>> {
    Some(CloseFrame { code: CloseCode::new(4001).unwrap(), reason })
}

async fn the_peer_closes<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    peer.send(CLOSE, &close_payload(4001, "tired"));
    // Nothing counts behind it.
    peer.send(TEXT, b"late");
    assert_eq!(ws.next().await.unwrap().map(|(event, _)| event), Some(Event::Close(going("tired"))));
    peer.finish();
    assert!(ws.next().await.unwrap().is_none());
    ws.close().await.unwrap();
    peer.expect_close(4001);
    peer.expect_end();
}

async fn the_server_closes<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    ws.with(|ws, tx| ws.close(going("tired"), tx)).unwrap();
    ws.outbox().flush().await.unwrap();
    peer.expect(CLOSE, &close_payload(4001, "tired"));
    // What was under way is still heard.
    peer.send(TEXT, b"one more");
    peer.send(CLOSE, &close_payload(4001, ""));
    peer.finish();
    assert_eq!(ws.next().await.unwrap().map(|(event, _)| event), Some(Event::Text("one more")));
    assert!(matches!(ws.next().await, Ok(Some((Event::Close(Some(_)), _)))));
    assert!(ws.next().await.unwrap().is_none());
    peer.expect_end();
}

/// It waits for the server's end (RFC 6455, section 7.1.1).
async fn a_client_closes<R: Runtime>() {
    let (mut ws, mut peer) = client::<R>();
    ws.with(|ws, tx| ws.close(going("done"), tx)).unwrap();
    ws.outbox().flush().await.unwrap();
    peer.expect(CLOSE, &close_payload(4001, "done"));
    peer.send(CLOSE, &close_payload(4001, ""));
    peer.finish();
    assert!(matches!(ws.next().await, Ok(Some((Event::Close(Some(_)), _)))));
    assert!(ws.next().await.unwrap().is_none());
    ws.close().await.unwrap();
    peer.expect_end();
}

/// With nothing but `close`.
async fn a_client_is_done<R: Runtime>() {
    let (ws, mut peer) = client::<R>();
    let closing = R::spawn(async move { ws.close().await });
    peer.expect_close(1000);
    peer.send(CLOSE, &close_payload(1000, ""));
    peer.expect_end();
    closing.join().await.unwrap();
}

async fn no_answer<R: Runtime>() {
    for (mut ws, mut peer) in [ours::<R>(&Config::default()), client::<R>()] {
        ws = ws.with_timeouts(Timeouts::none().with(Phase::Closing, Some(Time::from_millis(80))));
        ws.with(|ws, tx| ws.close(None, tx)).unwrap();
        let outcome = ws.next().await.map(|next| next.is_some());
        assert!(matches!(outcome, Err(Error::TimedOut(TimedOut::Phase(Phase::Closing)))), "{outcome:?}");
        peer.expect(CLOSE, b"");
        drop(ws);
        peer.expect_end();
    }
}

/// What came before is answered, and the peer is told, though it has more to say.
async fn what_breaks_the_protocol<R: Runtime>() {
    let unmasked = frame(TEXT, b"a", false);
    let cases: [(&[u8], u16, ws::Error); 5] = [
        (&frame(0x83, b"", true), 1002, ws::Error::Opcode),
        (&frame(0xC1, b"a", true), 1002, ws::Error::ReservedBits),
        (&unmasked, 1002, ws::Error::Masking),
        (&frame(TEXT, b"\xFF", true), 1007, ws::Error::Utf8),
        (&frame(CLOSE, &[3], true), 1002, ws::Error::CloseFrame),
    ];
    for (wrong, code, error) in cases {
        let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
        let mut peer = Peer::connect(server.port);
        peer.write(&[&frame(TEXT, b"before", true), wrong, &frame(TEXT, &[b'x'; 100_000], true)].concat());
        peer.expect(TEXT, b"before");
        peer.expect_close(code);
        peer.expect_end();
        let heard = server.ws_error().await;
        assert!(matches!(&heard, Error::Protocol(heard) if *heard == error), "{heard:?}");
    }
}

async fn too_big<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default().with_max_message(1000));
    let mut peer = Peer::connect(server.port);
    peer.send(BINARY, &[7; 1000]);
    peer.expect(BINARY, &[7; 1000]);
    peer.send(BINARY, &[7; 1001]);
    peer.expect_close(1009);
    peer.expect_end();
    assert!(matches!(server.ws_error().await, Error::Protocol(ws::Error::TooBig)));
}

async fn cut_off<R: Runtime>() {
    let whole = frame(TEXT, b"hello", true);
    for cut in 0..whole.len() {
        let (mut ws, mut peer) = ours::<R>(&Config::default());
        peer.write(&whole[..cut]);
        peer.finish();
        match ws.next().await.map(|next| next.is_some()) {
            Err(Error::Protocol(ws::Error::UnexpectedEof { seen, .. })) => assert_eq!(seen, cut as u64),
            other => panic!("{other:?} after {cut} bytes"),
        }
        drop(ws);
        peer.expect_end();
    }
}

async fn reset<R: Runtime>() {
    let (mut ws, peer) = ours::<R>(&Config::default());
    peer.reset();
    let outcome = ws.next().await.map(|next| next.is_some());
    assert!(matches!(outcome, Err(Error::Protocol(ws::Error::UnexpectedEof { .. }) | Error::Io(_))), "{outcome:?}");
}

/// A message under way is still echoed; new ones are no more.
async fn the_server_ends<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let (mut idle, mut busy) = (Peer::connect(server.port), Peer::connect(server.port));
    busy.send(TEXT, b"here");
    busy.expect(TEXT, b"here");
    server.shutdown.begin();
    for peer in [&mut idle, &mut busy] {
        peer.expect_close(1001);
        peer.send(CLOSE, &close_payload(1001, ""));
    }
    idle.expect_end();
    busy.expect_end();
    server.ended().await.unwrap();
}

/// The end of a connection is not held up by a peer that does not listen.
async fn nobody_reads_the_answer<R: Runtime>() {
    let (ws, mut peer) = ours::<R>(&Config::default());
    let mut ws = ws.with_timeouts(Timeouts::none().with_write_stall(Some(Time::from_millis(100))));
    ws.with(|ws, tx| ws.send_binary(vec![0; 32 << 20], tx)).unwrap();
    let outcome = ws.close().await;
    assert!(matches!(&outcome, Err(Error::Io(error)) if error.kind() == std::io::ErrorKind::TimedOut), "{outcome:?}");
    peer.drain();
}
