//! Bodies that are streamed: what is there is sent, and no more is made or held than fits.

use crate::{
    peer::{GUARD, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, post_chunked},
    server::{Runtime, Server},
    service::{Frames, answering, data, frame, ok as respond},
};
use axum::{body::Body, http::Request};
use bytes::Bytes;
use bytewise::http1::Config;
use bytewise_net::{BoxError, ServerOptions, tower::RequestBody};
use http_body::Frame;
use std::{
    io::Write,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::{Context, Poll},
    thread,
};

on_both_runtimes!(
    events_one_by_one,
    the_head_before_the_first_event,
    a_frame_of_a_known_length_before_the_next,
    both_ways_at_once,
    an_answer_before_its_request_has_ended,
    many_megabytes_both_ways,
    many_megabytes_to_a_slow_client,
);

/// A server whose service streams what the test sends.
fn streaming(runtime: Runtime, length: Option<u64>) -> (Server, async_channel::Sender<crate::service::Next>) {
    let (send, receive) = async_channel::unbounded();
    let service = answering(move |_| {
        let frames = Frames::of(receive.clone());
        async move {
            match length {
                Some(length) => respond(frames.hinting(length).body()),
                None => respond(frames.body()),
            }
        }
    });
    (Server::start(runtime, service), send)
}

/// The client has each before the next is made.
fn events_one_by_one(runtime: Runtime) {
    let (server, events) = streaming(runtime, None);
    let mut peer = server.connect();
    peer.send(get("/"));
    events.send_blocking(data("data: 0\n\n")).unwrap();
    peer.hears([OK_CHUNKED, &chunk("data: 0\n\n")].concat());
    for i in 1..20 {
        let event = format!("data: {i}\n\n");
        events.send_blocking(data(event.clone())).unwrap();
        peer.expect(chunk(&event));
    }
    events.close();
    peer.expect(LAST_CHUNK);
    drop(peer);
    server.stop();
}

/// So that it knows that there will be some.
fn the_head_before_the_first_event(runtime: Runtime) {
    let (server, events) = streaming(runtime, None);
    let mut peer = server.connect();
    peer.ask(get("/"), OK_CHUNKED);
    events.send_blocking(data("at last")).unwrap();
    peer.expect(chunk("at last"));
    events.close();
    peer.expect(LAST_CHUNK);
    drop(peer);
    server.stop();
}

fn a_frame_of_a_known_length_before_the_next(runtime: Runtime) {
    let (server, frames) = streaming(runtime, Some(10));
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.ask(get("/"), "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
        for piece in ["01234", "56", "789"] {
            frames.send_blocking(data(piece)).unwrap();
            peer.expect(piece);
        }
        frames.send_blocking(crate::service::trailers(&[])).unwrap();
    }
    drop(peer);
    server.stop();
}

fn echoing(runtime: Runtime) -> Server {
    let config = Config::default().with_max_body(u64::MAX);
    let service = answering(async |request: Request<RequestBody>| respond(Body::new(request.into_body())));
    Server::with(runtime, ServerOptions::default(), config, service)
}

/// The body of the request is that of the response: what comes goes back before more comes.
fn both_ways_at_once(runtime: Runtime) {
    let server = echoing(runtime);
    let mut peer = server.connect();
    for _ in 0..3 {
        peer.ask(post_chunked("/"), OK_CHUNKED);
        for piece in ["one", "two", "three"] {
            peer.send(chunk(piece));
            peer.expect(chunk(piece));
        }
        // With its trailers.
        peer.send("0\r\nx-sum: 7\r\n\r\n");
        peer.expect("0\r\nx-sum: 7\r\n\r\n");
    }
    drop(peer);
    server.stop();
}

/// And while it is sent, another task reads on.
fn an_answer_before_its_request_has_ended(runtime: Runtime) {
    let (tell, told) = mpsc::channel();
    let service = answering(move |request: Request<RequestBody>| {
        let tell = tell.clone();
        async move {
            let (send, receive) = async_channel::bounded(1);
            thread::spawn(move || {
                let mut body = request.into_body();
                futures_lite::future::block_on(async {
                    while let Some(piece) = frame(&mut body).await {
                        tell.send(piece?.into_data().unwrap())?;
                    }
                    send.send(data("all of it")).await?;
                    Ok::<(), BoxError>(())
                })
            });
            respond(Frames::of(receive).body())
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.ask(post_chunked("/"), OK_CHUNKED);
        for piece in ["one", "two", "three"] {
            peer.send(chunk(piece));
            assert_eq!(told.recv_timeout(GUARD).unwrap(), piece);
        }
        peer.send(LAST_CHUNK);
        peer.expect([&chunk("all of it"), LAST_CHUNK].concat());
    }
    drop(peer);
    server.stop();
}

const LEN: usize = 64 << 20;

/// More than what two sockets hold between them, and far less than all of it.
const HELD: usize = 24 << 20;

/// What nobody takes is not taken in, either; when it is read, it is all there.
fn many_megabytes_both_ways(runtime: Runtime) {
    let server = echoing(runtime);
    let mut peer = server.connect();
    let head = format!("PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: {LEN}\r\n\r\n");
    // Of a period that is no power of two.
    let period: Vec<_> = (0..=250).collect();
    let mut body = period.repeat(LEN / period.len() + 1);
    body.truncate(LEN);
    peer.send(head);
    let written = peer.fill(&body);
    assert!(written < HELD, "it took {written} bytes without anyone reading its answer");
    let mut writer = peer.socket.try_clone().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&body[written..]).unwrap());
        peer.hears(format!("HTTP/1.1 200 OK\r\ncontent-length: {LEN}\r\n\r\n"));
        for expected in body.chunks(1 << 20) {
            assert!(peer.bytes(expected.len()) == expected);
        }
    });
    // The connection is as good as before.
    peer.ask(get("/"), ok(""));
    drop((peer, writer));
    server.stop();
}

/// A body that is made as it is asked for, and counts what it made.
struct Made {
    left: usize,
    made: Arc<AtomicUsize>,
}

const PIECE: usize = 32 * 1024;

impl http_body::Body for Made {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<crate::service::Next>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= PIECE;
        self.made.fetch_add(PIECE, Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(&[7; PIECE])))))
    }
}

/// At no time is much more made than was read.
fn many_megabytes_to_a_slow_client(runtime: Runtime) {
    let made = Arc::new(AtomicUsize::new(0));
    let service = answering({
        let made = Arc::clone(&made);
        move |_| {
            let body = Made { left: LEN, made: Arc::clone(&made) };
            async move { respond(Body::new(body)) }
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask(get("/"), OK_CHUNKED);
    let mut read = 0;
    while let Some(piece) = peer.chunk() {
        assert!(piece == [7; PIECE]);
        read += piece.len();
        let ahead = made.load(Ordering::Relaxed) - read;
        assert!(ahead < HELD, "{ahead} bytes ahead of the client");
    }
    assert_eq!(read, LEN);
    drop(peer);
    server.stop();
}
