//! Connections of owned messages: a stream and a sink, together and apart.

use crate::{
    peer::{BINARY, CLOSE, PING, PONG, Peer, TEXT, close_payload, frame, noise},
    runtime::{Conn, Runtime, Serving, Ws},
};
use bytes::Bytes;
use bytewise::ws::{self, CloseCode, Config, Connection, Delivery, Event, Misuse, handshake::Negotiated};
use bytewise_net::{Error, Message, MessageError, Messages, ServerOptions, WsOptions};
use futures::{
    FutureExt, SinkExt, StreamExt, TryStreamExt,
    stream::{self, FusedStream},
};
use std::thread;

on_every_task!(
    forwarded,
    a_conversation,
    in_two_tasks,
    backpressure,
    an_error_comes_once,
    chunks_are_none,
    what_cannot_be_sent,
    whole_again,
    closed_by_the_sink,
);

const HIGH_WATER: usize = 64 * 1024;

fn messages<R: Runtime>(ws: Ws<R>, high_water: usize) -> Messages<R::Io> {
    match ws {
        Conn::Task(ws) => ws.into_messages(high_water),
        Conn::Thread(_) => panic!("only tasks have streams"),
    }
}

fn ours<R: Runtime>(config: &Config) -> (Messages<R::Io>, Peer) {
    let (socket, peer) = Peer::pair(true);
    let ws = R::over(socket, Connection::server(config, Negotiated::default()));
    (messages::<R>(ws, HIGH_WATER), peer)
}

/// An echo of nothing but combinators.
async fn forwarded<R: Runtime>() {
    let handler = async |ws: Ws<R>| {
        let (sink, stream) = messages::<R>(ws, HIGH_WATER).split();
        let echoes = stream.try_filter(|message| {
            std::future::ready(matches!(message, Message::Text(_) | Message::Binary(_) | Message::Close(_)))
        });
        Ok(echoes.forward(sink).await?)
    };
    let server = Serving::websocket::<R, _>(ServerOptions::default(), Config::default(), handler);
    let mut peer = Peer::connect(server.port);
    for n in 0..20 {
        peer.send(TEXT, format!("message {n}").as_bytes());
        peer.send(BINARY, &noise(n * 5000, n as u64));
    }
    for n in 0..20 {
        peer.expect(TEXT, format!("message {n}").as_bytes());
        peer.expect(BINARY, &noise(n * 5000, n as u64));
    }
    peer.send(PING, b"?");
    peer.expect(PONG, b"?");
    peer.send(CLOSE, &close_payload(1000, "bye"));
    peer.expect_close(1000);
    peer.expect_end();
    server.stop().await;
}

async fn a_conversation<R: Runtime>() {
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let mut ws = messages::<R>(R::connect_ws(&server.url(), &WsOptions::default()).await.unwrap(), HIGH_WATER);
    let said: Vec<Message> = vec!["hello".into(), "".into(), vec![7; 100_000].into(), Bytes::from_static(b"x").into()];
    ws.send_all(&mut stream::iter(said.clone()).map(Ok)).await.unwrap();
    for message in said {
        assert_eq!(ws.next().await.unwrap().unwrap(), message);
    }
    ws.send(Message::Ping(Bytes::from_static(b"?"))).await.unwrap();
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::Pong(Bytes::from_static(b"?")));
    ws.send(Message::Close(Some((CloseCode::NORMAL, "done".into())))).await.unwrap();
    assert!(matches!(ws.next().await.unwrap().unwrap(), Message::Close(Some((CloseCode::NORMAL, _)))));
    assert!(ws.next().await.is_none() && ws.is_terminated());
    assert!(ws.next().await.is_none());
    // The server waits for the client's end, too.
    drop(ws);
    server.stop().await;
}

async fn in_two_tasks<R: Runtime>() {
    const COUNT: usize = 500;
    let server = Serving::echo::<R>(ServerOptions::default(), Config::default());
    let ws = messages::<R>(R::connect_ws(&server.url(), &WsOptions::default()).await.unwrap(), HIGH_WATER);
    let (mut sink, mut stream) = ws.split();
    let sending = R::spawn(async move {
        for n in 0..COUNT {
            sink.feed(noise(n * 41, n as u64).into()).await.unwrap();
        }
        sink.flush().await.unwrap();
        sink
    });
    for n in 0..COUNT {
        assert_eq!(stream.next().await.unwrap().unwrap(), Message::from(noise(n * 41, n as u64)));
    }
    let mut sink = sending.join().await;
    sink.close().await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(Message::Close(_)))));
    assert!(stream.next().await.is_none());
    drop((sink, stream));
    server.stop().await;
}

/// Ready only while there is room; then it goes on, and nothing is lost.
async fn backpressure<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    let mut sent = 0;
    while let Some(fed) = ws.feed(noise(16_384, sent).into()).now_or_never() {
        fed.unwrap();
        sent += 1;
    }
    let last = R::spawn(async move {
        ws.send("the last".into()).await.unwrap();
        ws
    });
    for seed in 0..sent {
        peer.expect(BINARY, &noise(16_384, seed));
    }
    peer.expect(TEXT, b"the last");
    drop(last.join().await);
}

async fn an_error_comes_once<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    peer.write(&[frame(TEXT, b"before", true), frame(TEXT, b"\xFF", true)].concat());
    peer.finish();
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::from("before"));
    let error = ws.next().await.unwrap().unwrap_err();
    assert!(matches!(error, MessageError::Connection(Error::Protocol(ws::Error::Utf8))), "{error:?}");
    assert!(ws.next().await.is_none() && ws.next().await.is_none());
    peer.expect_close(1007);
    peer.expect_end();
}

async fn chunks_are_none<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default().with_delivery(Delivery::Chunks));
    peer.send(TEXT, b"a");
    assert!(matches!(ws.next().await, Some(Err(MessageError::Chunks))));
    assert!(ws.next().await.is_none());
}

async fn what_cannot_be_sent<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    let error = ws.send(Message::Ping(vec![0; 126].into())).await.unwrap_err();
    assert!(matches!(error, MessageError::Misuse(Misuse::TooLong)), "{error:?}");
    ws.close().await.unwrap();
    let error = ws.send("late".into()).await.unwrap_err();
    assert!(matches!(error, MessageError::Misuse(Misuse::Closed)), "{error:?}");
    // In answer to the peer's, an echo for one.
    ws.send(Message::Close(None)).await.unwrap();
    peer.expect_close(1000);
}

async fn whole_again<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    peer.write(&[frame(TEXT, b"one", true), frame(TEXT, b"two", true)].concat());
    assert_eq!(ws.next().await.unwrap().unwrap(), Message::from("one"));
    ws.feed("fed".into()).await.unwrap();
    let mut ws = ws.into_driver();
    let (event, mut out) = ws.next().await.unwrap().unwrap();
    assert_eq!(event, Event::Text("two"));
    out.flush().await.unwrap();
    peer.expect(TEXT, b"fed");
}

async fn closed_by_the_sink<R: Runtime>() {
    let (mut ws, mut peer) = ours::<R>(&Config::default());
    let peer = thread::spawn(move || {
        peer.expect_close(1000);
        peer.send(CLOSE, &close_payload(1000, ""));
        peer.expect_end();
    });
    ws.close().await.unwrap();
    assert!(matches!(ws.next().await, Some(Ok(Message::Close(_)))));
    assert!(ws.next().await.is_none());
    peer.join().unwrap();
}
