//! A router of axum's, as it is: what the server gives it, and what it answers.

use crate::{
    peer::{LAST_CHUNK, OK_CHUNKED, Peer, chunk, get, ok, post, post_chunked, refusal},
    server::{Runtime, Server},
};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, Method, StatusCode, Uri},
    middleware::{self, Next},
    response::{AppendHeaders, IntoResponse},
    routing::{get as on_get, post as on_post, put},
};
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

on_both_runtimes!(
    routes,
    extractors,
    json,
    json_that_is_none,
    streamed_both_ways,
    head_and_other_methods,
    limits_of_its_own,
    layers,
    state,
    pipelined,
);

#[derive(serde::Serialize, serde::Deserialize)]
struct Number {
    n: i64,
}

fn app() -> Router {
    Router::new()
        .route("/", on_get("index"))
        .route("/hello/{name}", on_get(async |Path(name): Path<String>| format!("Hello, {name}.")))
        .route("/double", on_post(async |Json(Number { n })| Json(Number { n: 2 * n })))
        .route("/length", on_post(async |body: Bytes| body.len().to_string()))
        .route("/upper", on_post(async |text: String| text.to_uppercase()))
        .route("/echo", put(async |body: Body| body).post(async |body: Body| body))
        .route("/teapot", on_get(async || (StatusCode::IM_A_TEAPOT, [("x-spout", "short")], "tea")))
        .route("/cookies", on_get(async || AppendHeaders([("set-cookie", "a"), ("set-cookie", "b")])))
        .route("/nothing", put(async || StatusCode::NO_CONTENT))
        .route("/null", put(async || (StatusCode::NO_CONTENT, Json(()))))
        .route("/fails", on_get(async || Err::<(), _>((StatusCode::BAD_GATEWAY, "upstream"))))
        .route(
            "/asked",
            on_get(async |method: Method, uri: Uri, headers: HeaderMap| {
                format!("{method} {uri} {:?}", headers.get("x-one"))
            }),
        )
        .nest("/nested", Router::new().route("/a", on_get("nested")))
}

/// A response of axum's, with its content type.
fn text(body: &str) -> String {
    ok(body).replacen("content-length", "content-type: text/plain; charset=utf-8\r\ncontent-length", 1)
}

fn start(runtime: Runtime) -> (Server, Peer) {
    let server = Server::start(runtime, app());
    let peer = server.connect();
    (server, peer)
}

fn routes(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    peer.ask(get("/"), text("index"));
    peer.ask(get("/hello/you"), text("Hello, you."));
    peer.ask(get("/hello/%C3%A9%20b"), text("Hello, \u{e9} b."));
    peer.ask(get("/nested/a"), text("nested"));
    let tea =
        text("tea").replace("200 OK", "418 ").replace("\r\ncontent-length", "\r\nx-spout: short\r\ncontent-length");
    peer.ask(get("/teapot"), tea);
    peer.ask(get("/cookies"), ok("").replace("content-length", "set-cookie: a\r\nset-cookie: b\r\ncontent-length"));
    peer.ask(get("/fails"), text("upstream").replace("200 OK", "502 Bad Gateway"));
    peer.ask(get("/nowhere"), ok("").replace("200 OK", "404 Not Found"));
    peer.ask(get("/"), text("index"));
    drop(peer);
    server.stop();
}

fn extractors(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    peer.ask("GET /asked?a=b HTTP/1.1\r\nHost: a\r\nX-One: 1\r\n\r\n", text(r#"GET /asked?a=b Some("1")"#));
    peer.ask(post("/upper", "hello"), text("HELLO"));
    peer.ask(post("/length", ""), text("0"));
    let chunks = [&post_chunked("/length"), &chunk("hello"), &chunk(", world"), LAST_CHUNK].concat();
    peer.ask(chunks, text("12"));
    peer.ask(post("/upper", "hell\u{f6}"), text("HELL\u{d6}"));
    drop(peer);
    server.stop();
}

fn post_json(body: &str) -> String {
    post("/double", body).replace("host: a", "host: a\r\ncontent-type: application/json")
}

fn json(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    let answer =
        |body: &str| ok(body).replacen("content-length", "content-type: application/json\r\ncontent-length", 1);
    peer.ask(post_json(r#"{"n": 21}"#), answer(r#"{"n":42}"#));
    peer.ask(post_json(r#"{"n": -1}"#), answer(r#"{"n":-2}"#));
    drop(peer);
    server.stop();
}

/// Refused by axum; the connection goes on, for the body was read, or is short.
fn json_that_is_none(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    for (request, status) in [
        (post_json("{"), "HTTP/1.1 400 Bad Request\r\n"),
        (post_json("{}"), "HTTP/1.1 422 Unprocessable Content\r\n"),
        (post("/double", "{}"), "HTTP/1.1 415 Unsupported Media Type\r\n"),
    ] {
        peer.send(request);
        let (head, _) = peer.head();
        assert!(head.starts_with(status), "{head}");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
        peer.bytes(length.parse().unwrap());
        peer.ask(get("/"), text("index"));
    }
    drop(peer);
    server.stop();
}

fn streamed_both_ways(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    for _ in 0..3 {
        peer.ask(post_chunked("/echo"), OK_CHUNKED);
        for piece in ["one", "two"] {
            peer.send(chunk(piece));
            peer.expect(chunk(piece));
        }
        peer.send(LAST_CHUNK);
        peer.expect(LAST_CHUNK);
        peer.ask(post("/echo", "whole"), ok("whole"));
    }
    drop(peer);
    server.stop();
}

fn head_and_other_methods(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    let with = |method: &str, target: &str| get(target).replace("GET", method);
    peer.ask(with("HEAD", "/hello/you"), text("Hello, you.").replace("Hello, you.", ""));
    peer.ask(with("HEAD", "/nowhere"), "HTTP/1.1 404 Not Found\r\n\r\n");
    let not_allowed = "HTTP/1.1 405 Method Not Allowed\r\nallow: GET,HEAD\r\ncontent-length: 0\r\n\r\n";
    peer.ask(with("DELETE", "/hello/you"), not_allowed);
    peer.ask(post("/hello/you", "a body that nobody reads"), not_allowed);
    peer.ask(with("PUT", "/nothing"), "HTTP/1.1 204 No Content\r\n\r\n");
    // It has no content, and says so twice.
    peer.ask(with("PUT", "/null"), "HTTP/1.1 204 No Content\r\ncontent-type: application/json\r\n\r\n");
    peer.ask(get("/"), text("index"));
    drop(peer);
    server.stop();
}

/// The server's are beside them.
fn limits_of_its_own(runtime: Runtime) {
    let app = app().layer(DefaultBodyLimit::max(10));
    let server = Server::start(runtime, app);
    let mut peer = server.connect();
    peer.ask(post("/length", "0123456789"), text("10"));
    peer.send(post("/length", "0123456789x"));
    let (head, _) = peer.head();
    assert!(head.starts_with("HTTP/1.1 413 Content Too Large\r\n"), "{head}");
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
    peer.bytes(length.parse().unwrap());
    peer.ask(get("/"), text("index"));
    // A body that is above the server's is refused by it, when it is asked for.
    let body = "POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 100000000\r\n\r\n";
    peer.send(body);
    assert_eq!(peer.head().0, refusal("413 Content Too Large"));
    peer.expect_end();
    assert_eq!(server.error(), "the peer broke the protocol: body too long");
    server.stop();
}

fn layers(runtime: Runtime) {
    let app = app().layer(middleware::from_fn(async |request: axum::extract::Request, next: Next| {
        let target = request.uri().to_string();
        let mut response = next.run(request).await;
        response.headers_mut().insert("x-target", target.parse().unwrap());
        if target == "/teapot" { "no tea".into_response() } else { response }
    }));
    let server = Server::start(runtime, app);
    let mut peer = server.connect();
    peer.ask(get("/"), text("index").replace("content-length: 5\r\n", "x-target: /\r\ncontent-length: 5\r\n"));
    peer.ask(get("/teapot"), text("no tea"));
    drop(peer);
    server.stop();
}

/// One router for all connections.
fn state(runtime: Runtime) {
    let count = Arc::new(AtomicUsize::new(0));
    let route =
        on_get(async |State(count): State<Arc<AtomicUsize>>| (count.fetch_add(1, Ordering::Relaxed) + 1).to_string());
    let server = Server::start(runtime, Router::new().route("/", route).with_state(Arc::clone(&count)));
    let (mut one, mut other) = (server.connect(), server.connect());
    one.ask(get("/"), text("1"));
    other.ask(get("/"), text("2"));
    one.ask(get("/"), text("3"));
    drop((one, other));
    server.stop();
}

fn pipelined(runtime: Runtime) {
    let (server, mut peer) = start(runtime);
    let chunks = [&post_chunked("/upper"), &chunk("four"), LAST_CHUNK].concat();
    let requests = [get("/hello/1"), post("/upper", "two"), get("/nowhere"), chunks, get("/")];
    peer.send(requests.concat().repeat(3));
    for _ in 0..3 {
        peer.hears(text("Hello, 1."));
        peer.hears(text("TWO"));
        peer.hears("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
        peer.hears(text("FOUR"));
        peer.hears(text("index"));
    }
    drop(peer);
    server.stop();
}
