//! The server's side: HTTP, then a WebSocket on the same port and the same buffers.

use crate::{
    peer::{CLOSE, KEY, PING, PONG, Peer, TEXT, close_payload, field, frame, request},
    runtime::{Runtime, Serving},
};
use bytewise::ws::Config;
use bytewise_net::ServerOptions;

on_every_runtime!(
    upgrade,
    frames_right_behind_the_request,
    requests_before_the_upgrade,
    a_body_before_the_upgrade,
    refusals,
    subprotocol_and_fields,
    plain_http_beside_it,
    byte_by_byte,
);

fn serving<R: Runtime>() -> Serving {
    Serving::echo::<R>(ServerOptions::default(), Config::default())
}

/// Says good-bye as a client; the server ends the connection.
fn part(mut peer: Peer) {
    peer.send(CLOSE, &close_payload(1000, "bye"));
    peer.expect_close(1000);
    peer.expect_end();
}

async fn upgrade<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    peer.write(&request("/ws", ""));
    let head = peer.head();
    assert!(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    // RFC 6455, section 1.3.
    assert_eq!(field(&head, "sec-websocket-accept"), Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
    assert_eq!(field(&head, "upgrade"), Some("websocket"));
    assert!(field(&head, "connection").unwrap().eq_ignore_ascii_case("upgrade"));
    assert_eq!(field(&head, "sec-websocket-protocol"), None);
    assert_eq!(field(&head, "sec-websocket-extensions"), None);
    peer.send(TEXT, b"hello");
    peer.expect(TEXT, b"hello");
    peer.send(PING, b"?");
    peer.expect(PONG, b"?");
    part(peer);
    server.stop().await;
}

async fn frames_right_behind_the_request<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    let frames = [frame(TEXT, b"one", true), frame(TEXT, b"two", true), frame(CLOSE, &close_payload(1000, ""), true)];
    peer.write(&[request("/ws", ""), frames.concat()].concat());
    assert!(peer.head().starts_with("HTTP/1.1 101 "));
    peer.expect(TEXT, b"one");
    peer.expect(TEXT, b"two");
    peer.expect_close(1000);
    peer.expect_end();
    server.stop().await;
}

async fn requests_before_the_upgrade<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nhost: a\r\n\r\n").into_bytes();
    // One after the other, then all in one packet.
    peer.write(&get("/a"));
    assert!(peer.head().starts_with("HTTP/1.1 200 "));
    assert_eq!(peer.read(2), b"/a");
    peer.write(&[get("/b"), get("/c"), request("/ws", ""), frame(TEXT, b"hello", true)].concat());
    for target in ["/b", "/c"] {
        assert!(peer.head().starts_with("HTTP/1.1 200 "));
        assert_eq!(peer.read(2), target.as_bytes());
    }
    assert!(peer.head().starts_with("HTTP/1.1 101 "));
    peer.expect(TEXT, b"hello");
    part(peer);
    server.stop().await;
}

async fn a_body_before_the_upgrade<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    let length = "POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello";
    let chunked = "POST /b HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    peer.write(&[length.as_bytes(), chunked.as_bytes(), &request("/ws", ""), &frame(TEXT, b"!", true)].concat());
    for echo in ["/ahello", "/bhello"] {
        assert!(peer.head().starts_with("HTTP/1.1 200 "));
        assert_eq!(peer.read(7), echo.as_bytes());
    }
    assert!(peer.head().starts_with("HTTP/1.1 101 "));
    peer.expect(TEXT, b"!");
    part(peer);
    server.stop().await;
}

/// Each on the same connection, which is upgraded at last.
async fn refusals<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    let good = String::from_utf8(request("/ws", "")).unwrap();
    let wrong = [
        (good.replace(KEY, "short"), 400),
        (good.replace("sec-websocket-key", "x-key"), 400),
        (good.replace(KEY, &format!("{KEY}\r\nsec-websocket-key: {KEY}")), 400),
        (good.replace("host: a\r\n", "host: a\r\ncontent-length: 2\r\n") + "no", 400),
        (good.replace("host: a\r\n", "host: a\r\norigin: http://evil\r\n"), 403),
        (good.replace("GET", "PUT"), 405),
        (good.replace("version: 13", "version: 8"), 426),
        (good.replace("sec-websocket-version: 13\r\n", ""), 426),
        (good.replace("upgrade: websocket", "upgrade: h2c"), 426),
        (good.replace("connection: Upgrade\r\n", ""), 426),
        ("GET /ws HTTP/1.1\r\nhost: a\r\n\r\n".into(), 426),
    ];
    for (request, status) in wrong {
        peer.write(request.as_bytes());
        let head = peer.head();
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head} to {request}");
        match status {
            426 => {
                assert_eq!(field(&head, "sec-websocket-version"), Some("13"));
                assert_eq!(field(&head, "upgrade"), Some("websocket"));
            }
            405 => assert_eq!(field(&head, "allow"), Some("GET")),
            _ => {}
        }
        let length = field(&head, "content-length").unwrap().parse().unwrap();
        peer.read(length);
    }
    peer.write(good.as_bytes());
    assert!(peer.head().starts_with("HTTP/1.1 101 "));
    part(peer);

    // HTTP/1.0 has no upgrade.
    let mut peer = Peer::plain(server.port);
    peer.write(good.replace("HTTP/1.1", "HTTP/1.0").as_bytes());
    assert!(peer.head().contains(" 426 "));
    peer.finish();
    peer.drain();
    server.stop().await;
}

async fn subprotocol_and_fields<R: Runtime>() {
    let server = serving::<R>();
    for (offered, chosen) in [("chat", Some("chat")), ("other, chat", Some("chat")), ("other", None)] {
        let mut peer = Peer::plain(server.port);
        peer.write(&request("/ws", &format!("sec-websocket-protocol: {offered}\r\n")));
        let head = peer.head();
        assert_eq!(field(&head, "sec-websocket-protocol"), chosen, "{head}");
        assert_eq!(field(&head, "x-served-by"), Some("bytewise"));
        part(peer);
    }
    server.stop().await;
}

/// Connections of both kinds at once.
async fn plain_http_beside_it<R: Runtime>() {
    let server = serving::<R>();
    let (mut ws, mut http) = (Peer::connect(server.port), Peer::plain(server.port));
    for i in 0..10 {
        http.write(b"GET /beside HTTP/1.1\r\nhost: a\r\n\r\n");
        let text = format!("message {i}");
        ws.send(TEXT, text.as_bytes());
        ws.expect(TEXT, text.as_bytes());
        assert!(http.head().starts_with("HTTP/1.1 200 "));
        assert_eq!(http.read(7), b"/beside");
    }
    http.finish();
    http.expect_end();
    part(ws);
    server.stop().await;
}

async fn byte_by_byte<R: Runtime>() {
    let server = serving::<R>();
    let mut peer = Peer::plain(server.port);
    for byte in [request("/ws", ""), frame(TEXT, b"slowly", true)].concat() {
        peer.write(&[byte]);
    }
    assert!(peer.head().starts_with("HTTP/1.1 101 "));
    peer.expect(TEXT, b"slowly");
    part(peer);
    server.stop().await;
}
