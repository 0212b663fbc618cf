//! Bodies of requests: read when the service asks for them, wherever it does; or not at all.

use crate::{
    peer::{GUARD, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked, refusal},
    server::{Runtime, Server},
    service::{Frames, answering, data, frame, ok as respond, whole},
};
use axum::{
    body::Body,
    http::{Request, Response},
};
use bytewise::{Phase, Time, Timeouts, http1::Config};
use bytewise_net::{
    BoxError, ServerOptions,
    tower::{RequestBody, serve_connection},
};
use futures_lite::future::{block_on, or, poll_once};
use std::{future::Future, sync::mpsc, thread};

on_both_runtimes!(
    whole_ones,
    piece_by_piece,
    trailers,
    on_another_thread,
    never_read,
    never_read_and_long,
    read_in_part,
    dropped_while_it_is_awaited,
    continue_is_said_to_who_waits_for_it,
    continue_is_not_said_for_nothing,
    continue_is_said_before_a_streamed_answer,
    above_the_limit,
    malformed,
    cut,
    too_slow,
    outlives_its_request,
    outlives_its_request_with_a_piece_on_its_way,
    outlives_its_connection,
);

/// Answers with the length and the trailers of what it is sent.
async fn measure(request: Request<RequestBody>) -> Result<Response<Body>, BoxError> {
    let (data, trailers) = whole(request.into_body()).await?;
    respond(format!("{} {trailers:?}", data.len()))
}

fn whole_ones(runtime: Runtime) {
    let server = Server::start(runtime, answering(measure));
    let mut peer = server.connect();
    peer.ask(post("/", "hello"), ok("5 {}"));
    peer.ask([&post_chunked("/"), &chunk("hello"), &chunk(", world"), LAST_CHUNK].concat(), ok("12 {}"));
    peer.ask(post("/", &"x".repeat(1 << 20)), ok("1048576 {}"));
    // However it is cut.
    for byte in post("/", "hello").bytes() {
        peer.send([byte]);
    }
    peer.hears(ok("5 {}"));
    drop(peer);
    server.stop();
}

/// Each as it comes: the client goes on when the service has it.
fn piece_by_piece(runtime: Runtime) {
    let (tell, told) = mpsc::channel();
    let service = answering(move |request: Request<RequestBody>| {
        let tell = tell.clone();
        async move {
            let mut body = request.into_body();
            while let Some(piece) = frame(&mut body).await {
                tell.send(piece?.into_data().unwrap())?;
            }
            respond("")
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    for _ in 0..3 {
        peer.send(post_chunked("/"));
        for piece in ["one", "two", "three"] {
            peer.send(chunk(piece));
            assert_eq!(told.recv_timeout(GUARD).unwrap(), piece);
        }
        peer.ask(LAST_CHUNK, ok(""));
    }
    drop(peer);
    server.stop();
}

fn trailers(runtime: Runtime) {
    let server = Server::start(runtime, answering(measure));
    let mut peer = server.connect();
    let body = [&chunk("hello"), "0\r\nX-Sum: 7\r\nx-sum: 8\r\nhost: never\r\n\r\n"].concat();
    peer.ask([post_chunked("/"), body].concat(), ok(r#"5 {"x-sum": "7", "x-sum": "8"}"#));
    // Those that cannot be are none.
    let body = [&chunk("hello"), "0\r\ncontent-length: 3\r\n\r\n"].concat();
    peer.ask([post_chunked("/"), body].concat(), ok("5 {}"));
    drop(peer);
    server.stop();
}

/// The body is handed to whoever wants it: here, a thread that knows no runtime.
fn on_another_thread(runtime: Runtime) {
    let service = answering(async |request: Request<RequestBody>| {
        let (tell, told) = async_channel::bounded(1);
        thread::spawn(move || tell.send_blocking(block_on(whole(request.into_body())).unwrap().0.len()));
        respond(told.recv().await?.to_string())
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    for _ in 0..3 {
        peer.ask(post("/", "hello"), ok("5"));
        peer.ask(post("/", &"x".repeat(300_000)), ok("300000"));
        peer.ask([&post_chunked("/"), &chunk("hello"), LAST_CHUNK].concat(), ok("5"));
    }
    drop(peer);
    server.stop();
}

fn ignoring(runtime: Runtime) -> Server {
    Server::start(runtime, answering(async |_| respond("ignored")))
}

/// What is short is read over, and the connection goes on.
fn never_read(runtime: Runtime) {
    let server = ignoring(runtime);
    let mut peer = server.connect();
    for _ in 0..3 {
        peer.ask(post("/", "hello"), ok("ignored"));
        peer.ask(post("/", &"x".repeat(60_000)), ok("ignored"));
    }
    // It may come later.
    peer.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n", ok("ignored"));
    peer.ask(["hello", &get("/")].concat(), ok("ignored"));
    drop(peer);
    server.stop();
}

/// What is not, or may not be, closes it; the client is not reset while it still writes.
fn never_read_and_long(runtime: Runtime) {
    let server = ignoring(runtime);
    let mut peer = server.connect();
    peer.ask(post("/", &"x".repeat(500_000)), ok_and_close("ignored"));
    peer.expect_end();
    let mut peer = server.connect();
    peer.ask([post_chunked("/"), chunk("hello")].concat(), ok_and_close("ignored"));
    peer.send([LAST_CHUNK, &get("/never")].concat());
    peer.expect_end();
    server.stop();
}

/// The same for what is left of it.
fn read_in_part(runtime: Runtime) {
    let service = answering(async |request: Request<RequestBody>| {
        let mut body = request.into_body();
        let first = frame(&mut body).await.unwrap()?.into_data().unwrap();
        respond(first[..1].to_vec())
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234", ok("0"));
    peer.send("56789");
    peer.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n12345", ok_and_close("1"));
    peer.expect_end();
    server.stop();
}

/// Who gives up waiting for it may still answer.
fn dropped_while_it_is_awaited(runtime: Runtime) {
    let service = answering(async |request: Request<RequestBody>| {
        let mut body = request.into_body();
        assert!(poll_once(frame(&mut body)).await.is_none());
        drop(body);
        respond("given up")
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n", ok("given up"));
    peer.ask(["hello", &post("/", "again")].concat(), ok("given up"));
    drop(peer);
    server.stop();
}

const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";

/// A request that waits for `100`, up to its head.
fn post_expecting(length: usize) -> String {
    format!("POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
}

/// That is, when the service asks for the body.
fn continue_is_said_to_who_waits_for_it(runtime: Runtime) {
    let (tell, told) = mpsc::channel();
    let (go, may_go) = async_channel::unbounded::<()>();
    let service = answering(move |request| {
        let (tell, may_go) = (tell.clone(), may_go.clone());
        async move {
            tell.send(())?;
            may_go.recv().await?;
            measure(request).await
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.send(post_expecting(5));
        told.recv_timeout(GUARD).unwrap();
        assert!(peer.has_nothing());
        go.send_blocking(()).unwrap();
        peer.expect(CONTINUE);
        peer.ask("hello", ok("5 {}"));
    }
    drop(peer);
    server.stop();
}

/// The answer comes without it; whether the body still comes is not known, so that the connection closes.
fn continue_is_not_said_for_nothing(runtime: Runtime) {
    let server = ignoring(runtime);
    let mut peer = server.connect();
    peer.ask(post_expecting(5), ok_and_close("ignored"));
    peer.expect_end();
    server.stop();
}

fn continue_is_said_before_a_streamed_answer(runtime: Runtime) {
    let server = Server::start(runtime, answering(async |request| respond(Body::new(request.into_body()))));
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.send(post_expecting(10));
        peer.expect(CONTINUE);
        peer.hears("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
        peer.send("01234");
        peer.expect("01234");
        peer.send("56789");
        peer.expect("56789");
    }
    drop(peer);
    server.stop();
}

/// Refused when it is asked for: announced, or when it becomes so long. The service need not say anything.
fn above_the_limit(runtime: Runtime) {
    let config = Config::default().with_max_body(10);
    let server = Server::with(runtime, ServerOptions::default(), config, answering(measure));
    for request in [post("/", "0123456789x"), [post_chunked("/"), chunk("01234"), chunk("56789x")].concat()] {
        let mut peer = server.connect();
        peer.ask(post("/", "0123456789"), ok("10 {}"));
        // The core's own, without a clock.
        peer.send(request);
        assert_eq!(peer.head().0, refusal("413 Content Too Large"));
        peer.expect_end();
        assert_eq!(server.error(), "the peer broke the protocol: body too long");
    }
    server.stop();
}

fn malformed(runtime: Runtime) {
    let server = Server::start(runtime, answering(measure));
    let mut peer = server.connect();
    peer.send([&post_chunked("/"), &chunk("hello"), "nonsense\r\n"].concat());
    assert_eq!(peer.head().0, refusal("400 Bad Request"));
    peer.expect_end();
    assert_eq!(server.error(), "the peer broke the protocol: malformed chunk");
    server.stop();
}

/// The client is gone: nobody is left to be answered.
fn cut(runtime: Runtime) {
    let server = Server::start(runtime, answering(measure));
    let mut peer = server.connect();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234");
    peer.finish();
    peer.expect_end();
    assert_eq!(server.error(), "the peer broke the protocol: input ended after 5 of 10 bytes");
    server.stop();
}

fn too_slow(runtime: Runtime) {
    let timeouts = Timeouts::none().with(Phase::Body, Some(Time::from_millis(150)));
    let options = ServerOptions::default().with_timeouts(timeouts);
    let server = Server::with(runtime, options, Config::default(), answering(measure));
    let mut peer = server.connect();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234");
    assert_eq!(peer.head().0, refusal("408 Request Timeout"));
    peer.expect_end();
    assert!(server.error().starts_with("timed out: "));
    server.stop();
}

/// A server whose service hands the body out, and answers at once.
fn handing_out(runtime: Runtime) -> (Server, mpsc::Receiver<RequestBody>) {
    let (hand, handed) = mpsc::channel();
    let service = answering(move |request: Request<RequestBody>| {
        let hand = hand.clone();
        async move {
            hand.send(request.into_body())?;
            respond("answered")
        }
    });
    (Server::start(runtime, service), handed)
}

/// What comes of it before the guard is tired of waiting.
#[track_caller]
fn soon<T>(work: impl Future<Output = T>) -> T {
    let guard = async {
        smol::Timer::after(GUARD).await;
        None
    };
    block_on(or(async { Some(work.await) }, guard)).expect("an end of waiting")
}

/// It fails, and does not wait for what never comes.
#[track_caller]
fn assert_cut_off(body: &mut RequestBody) {
    let error = soon(frame(body)).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the request ended before its body");
    assert!(soon(frame(body)).is_none(), "once");
}

fn outlives_its_request(runtime: Runtime) {
    let (server, handed) = handing_out(runtime);
    let mut peer = server.connect();
    peer.ask(post("/", "hello"), ok("answered"));
    let mut body = handed.recv_timeout(GUARD).unwrap();
    // The next request is not mistaken for it.
    peer.ask(post("/", "again"), ok("answered"));
    assert_cut_off(&mut body);
    drop(peer);
    server.stop();
}

/// The same for who was waiting, and who had a piece waiting.
fn outlives_its_request_with_a_piece_on_its_way(runtime: Runtime) {
    let (hand, handed) = mpsc::channel();
    let (go, may_go) = async_channel::unbounded();
    let service = answering(move |request: Request<RequestBody>| {
        let (hand, may_go) = (hand.clone(), may_go.clone());
        async move {
            if request.uri() == "/next" {
                return respond("next");
            }
            let mut body = request.into_body();
            // It is asked for, and what comes is not taken.
            assert!(poll_once(frame(&mut body)).await.is_none());
            hand.send(body)?;
            respond(Frames::of(may_go).body())
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    for (piece, rest) in [("hello", ", world"), ("", "hello, world")] {
        let head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 12\r\n\r\n";
        peer.send([head, piece].concat());
        go.send_blocking(data("answered")).unwrap();
        peer.hears([OK_CHUNKED, &chunk("answered")].concat());
        let mut body = handed.recv_timeout(GUARD).unwrap();
        go.send_blocking(crate::service::trailers(&[])).unwrap();
        peer.expect(LAST_CHUNK);
        peer.send(rest);
        peer.ask(get("/next"), ok("next"));
        if !piece.is_empty() {
            assert_eq!(soon(frame(&mut body)).unwrap().unwrap().into_data().unwrap(), piece);
        }
        assert_cut_off(&mut body);
    }
    drop(peer);
    server.stop();
}

/// A thread that waits for a body hears that the client is gone.
fn outlives_its_connection(runtime: Runtime) {
    let (tell, told) = mpsc::channel();
    let service = answering(move |request: Request<RequestBody>| {
        let tell = tell.clone();
        async move {
            thread::spawn(move || tell.send(block_on(whole(request.into_body())).map(drop)));
            std::future::pending::<()>().await;
            respond("never")
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234");
    drop(peer);
    let error = told.recv_timeout(GUARD).unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the request ended before its body");
    assert_eq!(server.error(), "the peer broke the protocol: input ended after 5 of 10 bytes");
    server.stop();
}

/// What is served may go to other threads, bodies of requests too. This is decided when it is compiled.
#[test]
fn all_may_go_to_other_threads() {
    fn assert_send<T: Send>(_: &T) {}
    let (_, socket) = tokio::io::duplex(1);
    let machine = bytewise::http1::Server::new(&Config::default());
    let conn = bytewise_net::Driver::new(bytewise_net::tokio::Stream::new(socket), machine);
    assert_send(&serve_connection(conn, answering(measure)));
    assert_send(&None::<RequestBody>);
}
