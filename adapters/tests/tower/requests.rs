//! What a service is given, and the connection around it.

use crate::{
    peer::{chunk, get, ok, ok_and_close, post, post_chunked, refusal},
    server::{Runtime, Server},
    service::{answering, ok as respond, whole},
};
use axum::{
    body::Body,
    http::{Request, Version},
};
use bytewise::http1::Config;
use bytewise_net::{Driver, ServerOptions, tokio::Stream, tower::serve_connection};
use http_body::Body as _;
use std::time::SystemTime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

on_both_runtimes!(
    heads,
    lengths_of_bodies,
    one_after_another,
    pipelined,
    http_10,
    half_closed,
    a_target_that_is_no_uri,
    tunnels_are_refused,
    dates,
);

/// Tells what it was asked.
fn describe<B>(request: &Request<B>) -> String {
    let fields = request.headers().iter().map(|(name, value)| format!(" {name}={}", value.as_bytes().escape_ascii()));
    format!("{} {} {:?}{}", request.method(), request.uri(), request.version(), fields.collect::<String>())
}

fn describing(runtime: Runtime) -> Server {
    Server::start(runtime, answering(async |request| respond(describe(&request))))
}

fn heads(runtime: Runtime) {
    let server = describing(runtime);
    let mut peer = server.connect();
    for (request, told) in [
        ("GET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a?b=c HTTP/1.1 host=a"),
        ("PURGE / HTTP/1.1\r\nhost: a\r\nX-One: 1\r\nx-one:  2 \r\n\r\n", "PURGE / HTTP/1.1 host=a x-one=1 x-one=2"),
        ("OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", "OPTIONS * HTTP/1.1 host=a"),
        ("GET http://b/c HTTP/1.1\r\nhost: a\r\n\r\n", "GET http://b/c HTTP/1.1 host=a"),
        ("GET / HTTP/1.1\r\nhost: a\r\nx: \u{e9}\r\n\r\n", "GET / HTTP/1.1 host=a x=\\xc3\\xa9"),
        // What frames the message is told, too.
        (
            "POST / HTTP/1.1\r\nhost: a\r\nconnection: x\r\ncontent-length: 0\r\n\r\n",
            "POST / HTTP/1.1 host=a connection=x content-length=0",
        ),
    ] {
        peer.ask(request, ok(told));
    }
    drop(peer);
    server.stop();
}

/// As they are announced: a service may refuse before it reads.
fn lengths_of_bodies(runtime: Runtime) {
    let service = answering(async |request: Request<bytewise_net::tower::RequestBody>| {
        let body = request.into_body();
        let told = format!("{} {:?}", body.is_end_stream(), body.size_hint().exact());
        let (data, _) = whole(body).await?;
        respond(format!("{told} {}", data.len()))
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask(get("/"), ok("true Some(0) 0"));
    peer.ask(post("/", ""), ok("true Some(0) 0"));
    peer.ask(post("/", "hello"), ok("false Some(5) 5"));
    let chunks = [&post_chunked("/"), &chunk("hello"), crate::peer::LAST_CHUNK].concat();
    peer.ask(chunks, ok("false None 5"));
    let empty = [&post_chunked("/"), crate::peer::LAST_CHUNK].concat();
    peer.ask(empty, ok("false None 0"));
    drop(peer);
    server.stop();
}

fn one_after_another(runtime: Runtime) {
    let server = describing(runtime);
    let mut peer = server.connect();
    for i in 0..50 {
        peer.ask(get(&format!("/{i}")), ok(&format!("GET /{i} HTTP/1.1 host=a")));
    }
    drop(peer);
    server.stop();
}

/// Answers come in the order of requests, however long each takes; a service sees one after the other.
fn pipelined(runtime: Runtime) {
    let service = answering(async |request: Request<bytewise_net::tower::RequestBody>| {
        let target = request.uri().to_string();
        for _ in 0..target.len() * 3 % 7 {
            futures_lite::future::yield_now().await;
        }
        match target.as_str() {
            "/ignore" => respond("ignored"),
            "/stream" => respond(Body::new(request.into_body())),
            _ => respond(format!("{target} {}", whole(request.into_body()).await?.0.len())),
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    let stream = [&post_chunked("/stream"), &chunk("hello"), crate::peer::LAST_CHUNK].concat();
    let requests = [get("/1"), post("/22", "two"), post("/ignore", "three"), stream, get("/55555"), post("/6", "")];
    peer.send(requests.concat());
    peer.send(requests.concat());
    for _ in 0..2 {
        peer.hears(ok("/1 0"));
        peer.hears(ok("/22 3"));
        peer.hears(ok("ignored"));
        peer.hears([crate::peer::OK_CHUNKED, &chunk("hello"), crate::peer::LAST_CHUNK].concat());
        peer.hears(ok("/55555 0"));
        peer.hears(ok("/6 0"));
    }
    drop(peer);
    server.stop();
}

fn http_10(runtime: Runtime) {
    let service = answering(async |request: Request<bytewise_net::tower::RequestBody>| {
        assert_eq!(request.version(), Version::HTTP_10);
        let (data, _) = whole(request.into_body()).await?;
        respond(data)
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask("POST / HTTP/1.0\r\ncontent-length: 5\r\n\r\nhello", ok_and_close("hello"));
    peer.expect_end();
    let mut peer = server.connect();
    let kept = ok("hello").replacen("content-length", "connection: keep-alive\r\ncontent-length", 1);
    for _ in 0..3 {
        peer.ask("POST / HTTP/1.0\r\nconnection: keep-alive\r\ncontent-length: 5\r\n\r\nhello", &kept);
    }
    drop(peer);
    server.stop();
}

/// Who has said all is still answered.
fn half_closed(runtime: Runtime) {
    let server = describing(runtime);
    let mut peer = server.connect();
    peer.send([get("/1"), get("/2")].concat());
    peer.finish();
    peer.hears(ok("GET /1 HTTP/1.1 host=a"));
    peer.hears(ok("GET /2 HTTP/1.1 host=a"));
    peer.expect_end();
    server.stop();
}

/// Characters that HTTP lets pass and [`axum::http::Uri`] does not.
fn a_target_that_is_no_uri(runtime: Runtime) {
    let server = describing(runtime);
    let mut peer = server.connect();
    peer.ask(get("/`a`"), "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    peer.ask(get("/a"), ok("GET /a HTTP/1.1 host=a"));
    drop(peer);
    server.stop();
}

/// Whoever answers CONNECT with `200` means a tunnel, which it cannot have here.
fn tunnels_are_refused(runtime: Runtime) {
    let server = describing(runtime);
    let mut peer = server.connect();
    peer.ask("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", refusal("500 Internal Server Error"));
    peer.expect_end();
    assert_eq!(server.error(), "not a status for this place");
    // To ask for another protocol is to be answered in this one.
    let mut peer = server.connect();
    let upgrade = "GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    peer.ask(upgrade, ok("GET / HTTP/1.1 host=a connection=upgrade upgrade=x"));
    drop(peer);
    server.stop();
}

/// Added where there is none (RFC 9110, section 6.6.1), by whomever.
fn dates(runtime: Runtime) {
    let service = || {
        answering(async |request: Request<bytewise_net::tower::RequestBody>| {
            let mut response = respond("")?;
            if request.uri() == "/own" {
                response.headers_mut().insert("date", "Sun, 06 Nov 1994 08:49:37 GMT".parse()?);
            }
            Ok(response)
        })
    };
    let clock = Config::default().with_clock(SystemTime::now);
    for config in [Config::default(), clock] {
        let server = Server::with(runtime, ServerOptions::default(), config, service());
        let mut peer = server.connect();
        peer.send(get("/own"));
        assert_eq!(peer.head().1, ["Sun, 06 Nov 1994 08:49:37 GMT"]);
        peer.send(get("/none"));
        let (head, dates) = peer.head();
        assert_eq!(head, ok(""));
        assert!(matches!(&dates[..], [date] if date.len() == 29 && date.ends_with(" GMT")), "{dates:?}");
        peer.send(get("/`a`"));
        assert_eq!(peer.head().1.len(), 1);
        drop(peer);
        server.stop();
    }
}

/// Any transport will do.
#[tokio::test]
async fn over_a_pipe() {
    let (mut client, server) = tokio::io::duplex(64);
    let conn = Driver::new(Stream::new(server), bytewise::http1::Server::new(&Config::default()));
    let service = answering(async |request| respond(describe(&request)));
    let served = tokio::spawn(serve_connection(conn, service));
    client.write_all(get("/a").as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.ends_with("\r\n\r\nGET /a HTTP/1.1 host=a"), "{answer}");
    served.await.unwrap().unwrap();
}
