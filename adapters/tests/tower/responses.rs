//! Responses of services: their heads, and how their bodies are framed.

use crate::{
    peer::{LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, refusal},
    server::{Runtime, Server},
    service::{Frames, Next, answering, data, ok as respond, status, trailers},
};
use axum::{
    body::Body,
    http::{Request, Response, StatusCode, Version},
};
use bytewise_net::{BoxError, tower::RequestBody};

on_both_runtimes!(
    heads,
    whole_bodies,
    one_frame_that_is_all,
    frames_of_a_length,
    frames_without_a_length,
    trailers_in_chunks,
    trailers_that_cannot_be,
    trailers_without_chunks,
    no_content,
    not_modified,
    head_requests,
    a_head_request_for_what_never_ends,
    lengths_that_the_service_announces,
    lengths_that_are_lies,
    hints_that_are_lies,
    close_is_said,
    chunks_to_http_10,
    statuses_that_are_no_responses,
);

/// A server whose service answers by target.
fn site(runtime: Runtime, answer: fn(&str) -> Result<Response<Body>, BoxError>) -> Server {
    let service = answering(move |request: Request<RequestBody>| {
        let target = request.uri().to_string();
        async move { answer(&target) }
    });
    Server::start(runtime, service)
}

fn with(field: (&'static str, &str), body: impl Into<Body>) -> Result<Response<Body>, BoxError> {
    Ok(Response::builder().header(field.0, field.1).body(body.into())?)
}

fn frames(frames: impl IntoIterator<Item = Next>) -> Body {
    Frames::ready(frames).body()
}

fn heads(runtime: Runtime) {
    let server = site(runtime, |_| {
        let mut response =
            Response::builder().status(StatusCode::IM_A_TEAPOT).header("x-one", "1").header("x-one", "2");
        // The version is that of the connection, whatever it says.
        response = response.version(Version::HTTP_2).header("x-latin", b"caf\xe9".as_slice()).header("x-empty", "");
        // The core frames the message itself.
        response = response.header("transfer-encoding", "gzip").header("connection", "keep-alive, x-one");
        Ok(response.body(Body::from("short"))?)
    });
    let mut peer = server.connect();
    peer.send(get("/"));
    let lines = "x-one: 1\r\nx-one: 2\r\nx-latin: caf";
    // A status without a reason in the core's list has none.
    peer.expect(format!("HTTP/1.1 418 \r\n{lines}"));
    peer.expect(b"\xe9\r\nx-empty: \r\n");
    assert_eq!(peer.head().0, "content-length: 5\r\n\r\n");
    peer.expect("short");
    drop(peer);
    server.stop();
}

fn whole_bodies(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/empty" => respond(""),
        "/none" => respond(Body::empty()),
        "/mebibyte" => respond("x".repeat(1 << 20)),
        _ => respond("hello"),
    });
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.ask(get("/"), ok("hello"));
        peer.ask(get("/empty"), ok(""));
        peer.ask(get("/none"), ok(""));
        peer.ask(get("/mebibyte"), ok(&"x".repeat(1 << 20)));
    }
    drop(peer);
    server.stop();
}

fn one_frame_that_is_all(runtime: Runtime) {
    let server = site(runtime, |_| respond(Frames::ready([data("hello")]).hinting(5).body()));
    let mut peer = server.connect();
    peer.ask(get("/"), ok("hello"));
    peer.ask(get("/"), ok("hello"));
    drop(peer);
    server.stop();
}

fn frames_of_a_length(runtime: Runtime) {
    let server = site(runtime, |_| {
        respond(Frames::ready([data("hello"), data(""), data(", "), data("world")]).hinting(12).body())
    });
    let mut peer = server.connect();
    peer.ask(get("/"), ok("hello, world"));
    peer.ask(get("/"), ok("hello, world"));
    drop(peer);
    server.stop();
}

/// An empty one is no end.
fn frames_without_a_length(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/none" => respond(frames([])),
        _ => respond(frames([data("hello"), data(""), data(", world")])),
    });
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.ask(get("/"), [OK_CHUNKED, &chunk("hello"), &chunk(", world"), LAST_CHUNK].concat());
        peer.ask(get("/none"), [OK_CHUNKED, LAST_CHUNK].concat());
    }
    drop(peer);
    server.stop();
}

fn trailers_in_chunks(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/alone" => respond(frames([trailers(&[("x-sum", "0")])])),
        _ => {
            let body = frames([data("hello"), trailers(&[("x-sum", "7"), ("x-sum", "8")]), data("never")]);
            with(("trailer", "x-sum"), body)
        }
    });
    let mut peer = server.connect();
    let head = OK_CHUNKED.replace("transfer", "trailer: x-sum\r\ntransfer");
    for _ in 0..2 {
        peer.ask(get("/"), [&head, &chunk("hello"), "0\r\nx-sum: 7\r\nx-sum: 8\r\n\r\n"].concat());
        peer.ask(get("/alone"), [OK_CHUNKED, "0\r\nx-sum: 0\r\n\r\n"].concat());
    }
    drop(peer);
    server.stop();
}

/// RFC 9110, section 6.5.1: the body is none the worse for it.
fn trailers_that_cannot_be(runtime: Runtime) {
    let server = site(runtime, |_| respond(frames([data("hello"), trailers(&[("content-length", "3")])])));
    let mut peer = server.connect();
    peer.ask(get("/"), [OK_CHUNKED, &chunk("hello"), LAST_CHUNK].concat());
    peer.ask(get("/"), [OK_CHUNKED, &chunk("hello"), LAST_CHUNK].concat());
    drop(peer);
    server.stop();
}

fn trailers_without_chunks(runtime: Runtime) {
    let server = site(runtime, |target| {
        let frames = Frames::ready([data("hel"), data("lo"), trailers(&[("x-sum", "7")])]);
        respond(if target == "/length" { frames.hinting(5) } else { frames }.body())
    });
    let mut peer = server.connect();
    peer.ask(get("/length"), ok("hello"));
    peer.ask("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello");
    peer.expect_end();
    server.stop();
}

/// What has no content has none, whatever a service makes of it: there are services that say `null`.
fn no_content(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/204" => status(204, ""),
        "/204/null" => status(204, "null"),
        "/204/stream" => status(204, frames([data("null")])),
        "/204/length" => Ok(Response::builder().status(204).header("content-length", "4").body(Body::empty())?),
        "/205/null" => status(205, "null"),
        _ => status(205, frames([data("null")])),
    });
    let mut peer = server.connect();
    for target in ["/204", "/204/null", "/204/stream", "/204/length"] {
        peer.ask(get(target), "HTTP/1.1 204 No Content\r\n\r\n");
    }
    for target in ["/205/null", "/205/stream"] {
        peer.ask(get(target), "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n");
    }
    drop(peer);
    server.stop();
}

/// It may say how long it would be.
fn not_modified(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/length" => Ok(Response::builder().status(304).header("content-length", "1000").body(Body::empty())?),
        "/body" => status(304, "never"),
        "/stream" => status(304, frames([data("never")])),
        _ => Ok(Response::builder().status(304).header("etag", "\"a\"").body(Body::empty())?),
    });
    let mut peer = server.connect();
    for _ in 0..2 {
        peer.ask(get("/"), "HTTP/1.1 304 Not Modified\r\netag: \"a\"\r\n\r\n");
        peer.ask(get("/length"), "HTTP/1.1 304 Not Modified\r\ncontent-length: 1000\r\n\r\n");
        peer.ask(get("/body"), "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n");
        peer.send(get("/stream"));
        assert!(peer.head().0.starts_with("HTTP/1.1 304 Not Modified\r\n"));
    }
    drop(peer);
    server.stop();
}

/// As for GET, and nothing behind it.
fn head_requests(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/announced" => with(("content-length", "1000"), Body::empty()),
        "/announced/stream" => with(("content-length", "5"), frames([data("never")])),
        "/empty" => respond(""),
        "/stream" => respond(frames([data("never"), trailers(&[("x-sum", "7")])])),
        _ => respond("never"),
    });
    let mut peer = server.connect();
    let head = |target: &str| get(target).replace("GET", "HEAD");
    for _ in 0..2 {
        peer.ask(head("/"), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
        peer.ask(head("/announced"), "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n");
        peer.ask(head("/announced/stream"), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
        // Empty because it is none, perhaps: nothing is said of it.
        peer.ask(head("/empty"), "HTTP/1.1 200 OK\r\n\r\n");
        peer.ask(head("/stream"), OK_CHUNKED);
    }
    peer.ask([head("/"), get("/")].concat(), "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
    peer.hears(ok("never"));
    drop(peer);
    server.stop();
}

/// A body that nobody is sent is not asked for, and dropped.
fn a_head_request_for_what_never_ends(runtime: Runtime) {
    let (send, receive) = async_channel::unbounded();
    let service = answering(move |request: Request<RequestBody>| {
        let receive = receive.clone();
        async move { if request.uri() == "/" { respond(Frames::of(receive).body()) } else { respond("next") } }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    send.send_blocking(data("kept")).unwrap();
    peer.ask("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n", OK_CHUNKED);
    peer.ask(get("/next"), ok("next"));
    // It is all there for who does ask.
    peer.ask(get("/"), [OK_CHUNKED, &chunk("kept")].concat());
    drop((peer, send));
}

/// If the body does not say it itself.
fn lengths_that_the_service_announces(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/nonsense" => with(("content-length", "five"), frames([data("hello")])),
        _ => with(("content-length", "5"), frames([data("hel"), data("lo")])),
    });
    let mut peer = server.connect();
    peer.ask(get("/"), ok("hello"));
    peer.ask(get("/"), ok("hello"));
    peer.ask(get("/nonsense"), [OK_CHUNKED, &chunk("hello"), LAST_CHUNK].concat());
    drop(peer);
    server.stop();
}

/// The client must not take the next response for the rest: the connection closes.
fn lengths_that_are_lies(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/short" => with(("content-length", "10"), frames([data("hello")])),
        "/shorter" => with(("content-length", "10"), frames([])),
        "/long" => with(("content-length", "7"), frames([data("hello"), data(", world")])),
        // What is known is not believed otherwise.
        _ => with(("content-length", "10"), "hello"),
    });
    let announced = |length: u32| format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    for (target, answer, error) in [
        ("/short", announced(10) + "hello", "less body than announced"),
        ("/shorter", announced(10), "less body than announced"),
        // The piece that does not fit is left out.
        ("/long", announced(7) + "hello", "more body than announced"),
    ] {
        let mut peer = server.connect();
        peer.ask(get("/known"), ok("hello"));
        peer.ask([get(target), get("/never")].concat(), answer);
        peer.expect_end();
        assert_eq!(server.error(), error);
    }
    server.stop();
}

fn hints_that_are_lies(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/short" => respond(Frames::ready([data("hello")]).hinting(10).body()),
        _ => respond(Frames::ready([data("hello"), data(", world")]).hinting(7).body()),
    });
    for (target, length, error) in
        [("/short", 10, "less body than announced"), ("/long", 7, "more body than announced")]
    {
        let mut peer = server.connect();
        peer.ask(get(target), format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\nhello"));
        peer.expect_end();
        assert_eq!(server.error(), error);
    }
    server.stop();
}

fn close_is_said(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/list" => with(("connection", "x, Close"), "last"),
        "/stream" => with(("connection", "close"), frames([data("last")])),
        "/other" => with(("connection", "closed"), "not the last"),
        _ => with(("connection", "close"), "last"),
    });
    for target in ["/", "/list"] {
        let mut peer = server.connect();
        peer.ask(get("/other"), ok("not the last"));
        peer.ask([get(target), get("/never")].concat(), ok_and_close("last"));
        peer.expect_end();
    }
    let mut peer = server.connect();
    let head = OK_CHUNKED.replace("transfer", "connection: close\r\ntransfer");
    peer.ask(get("/stream"), [&head, &chunk("last"), LAST_CHUNK].concat());
    peer.expect_end();
    server.stop();
}

/// It has no chunks: the end of the connection is the end of the body.
fn chunks_to_http_10(runtime: Runtime) {
    let server = site(runtime, |_| respond(frames([data("hello"), data(", world")])));
    let mut peer = server.connect();
    let request = "GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    peer.ask(request, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello, world");
    peer.expect_end();
    server.stop();
}

/// The service's mistake is answered as one.
fn statuses_that_are_no_responses(runtime: Runtime) {
    let server = site(runtime, |target| match target {
        "/100" => status(100, ""),
        "/101" => status(101, ""),
        _ => status(101, frames([data("hello")])),
    });
    for target in ["/100", "/101", "/101/stream"] {
        let mut peer = server.connect();
        peer.ask([get(target), get("/never")].concat(), refusal("500 Internal Server Error"));
        peer.expect_end();
        assert_eq!(server.error(), "not a status for this place");
    }
    server.stop();
}
