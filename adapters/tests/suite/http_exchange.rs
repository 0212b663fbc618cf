//! Requests and responses: heads, bodies and trailers, whole and in pieces, one after another on one connection.

use crate::{
    http_handlers::{PIECE, target},
    http_peer::{HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked},
    http_server::start,
    peer::{Peer, frame, noise},
    server::Runtime,
};
use std::{fmt::Write as _, io::Write, thread};

on_every_runtime!(
    the_head_of_a_request,
    one_after_another,
    byte_by_byte,
    whole_bodies,
    a_body_as_it_comes,
    a_body_in_chunks,
    trailers,
    trailers_that_must_not_be,
    a_response_before_its_request_has_ended,
    interim_responses,
    pipelined,
    pipelined_with_bodies,
    a_window_larger_than_what_the_sockets_hold,
    head_requests,
    http_10,
    http_10_that_keeps_alive,
    chunks_to_http_10,
    close_is_asked_for,
    half_closed,
    a_response_of_a_mebibyte,
    tunnels_are_refused,
    switching,
    bytes_past_the_buffers,
    heads_of_many_at_once,
);

fn the_head_of_a_request(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let request = "GET /head?a=b&c HTTP/1.1\r\nHost: example.org\r\nX-Empty:\r\nX-Spaces: \t a b \r\n\r\n";
    let head = "GET /head a=b&c HTTP/1.1\nHost=example.org\nX-Empty=\nX-Spaces=a b";
    // The query is part of the target: this is not the route.
    peer.ask(request, ok("/head?a=b&c"));
    let request = request.replace("?a=b&c", "");
    let head = head.replace("a=b&c", "-");
    let answer = ok(&head).replace("content-length", "content-type: text/plain\r\ncontent-length");
    peer.ask(request, answer);
    drop(peer);
    server.stop();
}

fn one_after_another(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for i in 0..100 {
        peer.ask(get(&format!("/{i}")), ok(&format!("/{i}")));
    }
    drop(peer);
    server.stop();
}

fn byte_by_byte(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for request in [get("/one"), post("/body/5", "hello"), get("/two")] {
        for byte in request.bytes() {
            peer.send([byte]);
        }
        peer.expect(match request.split(' ').nth(1) {
            Some("/body/5") => ok("5"),
            target => ok(target.unwrap()),
        });
    }
    drop(peer);
    server.stop();
}

fn whole_bodies(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post("/body/100", "hello"), ok("5"));
    peer.ask(post("/body/100", ""), ok("0"));
    // Without a body there is none to wait for.
    peer.ask(get("/body/100"), ok("0"));
    peer.ask([&post_chunked("/body/100"), &chunk("hello, "), &chunk("world"), LAST_CHUNK].concat(), ok("12"));
    let body = "x".repeat(1 << 20);
    peer.ask(post("/body/1048576", &body), ok("1048576"));
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

fn a_body_as_it_comes(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.send("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n01234");
    peer.expect("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234");
    peer.ask("56", "56");
    peer.ask("789", "789");
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

fn a_body_in_chunks(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for _ in 0..3 {
        // Extensions are nobody's affair.
        peer.send([&post_chunked(target::ECHO), "5;a=b;c=\"d\"\r\nhello\r\n"].concat());
        peer.expect([OK_CHUNKED, &chunk("hello")].concat());
        peer.ask(chunk("world"), chunk("world"));
        // A chunk that is cut: what is there comes back.
        peer.ask("A\r\n0123", chunk("0123"));
        peer.ask("456789\r\n", chunk("456789"));
        peer.ask(LAST_CHUNK, LAST_CHUNK);
    }
    drop(peer);
    server.stop();
}

fn trailers(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let head = "HTTP/1.1 200 OK\r\ntrailer: x-length\r\ntransfer-encoding: chunked\r\n\r\n";
    peer.send([&post_chunked(target::TRAILERS), &chunk("hello"), "0\r\nX-Sum: 7\r\nx-empty:\r\n\r\n"].concat());
    peer.expect([head, "0\r\nX-Sum: 7\r\nx-empty: \r\nx-length: 5\r\n\r\n"].concat());
    // A body of a length has none.
    peer.ask(post(target::TRAILERS, "hello"), [head, "0\r\nx-length: 5\r\n\r\n"].concat());
    peer.send([&post_chunked(target::ECHO), &chunk("hello"), "0\r\nx-sum: 7\r\n\r\n"].concat());
    peer.expect([OK_CHUNKED, &chunk("hello"), "0\r\nx-sum: 7\r\n\r\n"].concat());
    drop(peer);
    server.stop();
}

/// Dropped, where a field could be taken for one of the head.
fn trailers_that_must_not_be(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let trailers = "0\r\nx-sum: 7\r\nhost: b\r\ncontent-length: 3\r\nauthorization: c\r\n\r\n";
    peer.send([&post_chunked(target::ECHO), &chunk("hello"), trailers].concat());
    peer.expect([OK_CHUNKED, &chunk("hello"), "0\r\nx-sum: 7\r\n\r\n"].concat());
    drop(peer);
    server.stop();
}

fn a_response_before_its_request_has_ended(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for _ in 0..3 {
        peer.ask(post_chunked(target::EARLY), [OK_CHUNKED, &chunk("early")].concat());
        peer.ask(chunk("hello"), chunk("hello"));
        peer.ask(LAST_CHUNK, LAST_CHUNK);
    }
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

fn interim_responses(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let hints = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n";
    peer.ask(get(target::HINTS), [hints, &ok("hinted")].concat());
    // Not to HTTP/1.0.
    let request = "GET /hints HTTP/1.0\r\nconnection: keep-alive\r\n\r\n";
    peer.ask(request, "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 6\r\n\r\nhinted");
    drop(peer);
    server.stop();
}

fn pipelined(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let targets: Vec<_> = (0..16).map(|i| format!("/{i}")).collect();
    let requests: String = targets.iter().map(|target| get(target)).collect();
    let answers: String = targets.iter().map(|target| ok(target)).collect();
    for _ in 0..5 {
        peer.ask(&requests, &answers);
    }
    // Cut anywhere, too.
    for block in requests.as_bytes().chunks(7) {
        peer.send(block);
    }
    peer.expect(&answers);
    drop(peer);
    server.stop();
}

/// Each route in one window; each answer at its place.
fn pipelined_with_bodies(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let requests = [
        post("/body/9", "first"),
        [&post_chunked(target::ECHO), &chunk("second"), LAST_CHUNK].concat(),
        get("/third"),
        post(target::IGNORE, "fourth"),
        get(target::OPEN),
        get(target::FORGET),
        [&post_chunked("/limit/9"), &chunk("seventh"), LAST_CHUNK].concat(),
        get("/eighth"),
    ];
    let answers = [
        ok("5"),
        [OK_CHUNKED, &chunk("second"), LAST_CHUNK].concat(),
        ok("/third"),
        ok("ignored"),
        [OK_CHUNKED, &chunk("open"), LAST_CHUNK].concat(),
        "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n".into(),
        ok("7"),
        ok("/eighth"),
    ];
    peer.ask(requests.concat(), answers.concat());
    peer.ask(requests.concat(), answers.concat());
    drop(peer);
    server.stop();
}

/// Nobody reads an answer before all is asked.
fn a_window_larger_than_what_the_sockets_hold(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::over(Peer::with_receive_buffer(server.address, 4096));
    let count = 20_000;
    let mut requests = String::new();
    for i in 0..count {
        write!(requests, "GET /{i} HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    }
    let mut writer = peer.writer();
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(requests.as_bytes()).unwrap());
        for i in 0..count {
            peer.expect(ok(&format!("/{i}")));
        }
    });
    drop(peer);
    server.stop();
}

/// The same heads as those of GET, and nothing behind them.
fn head_requests(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let head = |target: &str| get(target).replace("GET", "HEAD");
    peer.ask(head("/abc"), "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n");
    peer.ask(head("/stream/10"), OK_CHUNKED);
    peer.ask(head(target::OPEN), OK_CHUNKED);
    peer.ask(head(target::MISUSE).replace("HEAD", "GET"), ok("unharmed"));
    // Nothing of it would be sent: that it is short is no difference.
    peer.ask(head("/short/4"), "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n");
    peer.ask([head("/a"), get("/b")].concat(), ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", &ok("/b")].concat());
    drop(peer);
    server.stop();
}

fn http_10(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask("GET /old HTTP/1.0\r\n\r\n", ok_and_close("/old"));
    peer.expect_end();
    drop(peer);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask("POST /body/9 HTTP/1.0\r\ncontent-length: 5\r\n\r\nhello", ok_and_close("5"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

fn http_10_that_keeps_alive(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for i in 0..3 {
        let request = format!("GET /{i} HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        peer.ask(request, format!("HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n/{i}"));
    }
    peer.ask("GET /last HTTP/1.0\r\n\r\n", ok_and_close("/last"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// It has no chunks: the end of the connection is the end of the body.
fn chunks_to_http_10(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n";
    peer.ask("GET /open HTTP/1.0\r\nconnection: keep-alive\r\n\r\n", [head, "open"].concat());
    peer.expect_end();
    drop(peer);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask("GET /stream/3 HTTP/1.0\r\n\r\n", head);
    assert!(peer.bytes(3 * PIECE).iter().all(|&byte| byte == 7));
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// What follows is not processed (RFC 9112, section 9.6).
fn close_is_asked_for(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let last = "GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    peer.send([&get("/first"), last, &get("/never")].concat());
    peer.expect([ok("/first"), ok_and_close("/last")].concat());
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// Who has shut down writing is still answered.
fn half_closed(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.send([get("/one"), post("/body/9", "two"), get("/stream/3")].concat());
    peer.peer.finish();
    peer.expect([&ok("/one"), &ok("3"), OK_CHUNKED].concat());
    let (body, _) = peer.chunks();
    assert_eq!(body.len(), 3 * PIECE);
    peer.expect_end();
    drop(peer);
    server.stop();
}

fn a_response_of_a_mebibyte(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let body: String = noise(1 << 20, 1).iter().map(|byte| char::from(b'a' + byte % 26)).collect();
    for _ in 0..3 {
        let mut writer = peer.writer();
        let body = &body;
        thread::scope(|scope| {
            scope.spawn(move || writer.write_all(post(target::ECHO, body).as_bytes()).unwrap());
            peer.expect(ok(body));
        });
    }
    drop(peer);
    server.stop();
}

/// Nobody here switches: a refused CONNECT closes, an ignored upgrade does not.
fn tunnels_are_refused(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let upgrade = "GET /plain HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n";
    peer.ask(upgrade, ok("/plain"));
    peer.send("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n");
    // The site answers 200 to what it does not know: to CONNECT that is a misuse, and it fails.
    peer.expect_end();
    assert_eq!(server.error().to_string(), "not a status for this place");
    drop(peer);
    server.stop();
}

const SWITCHES: &str = "HTTP/1.1 101 Switching Protocols\r\nupgrade: frames\r\nconnection: upgrade\r\n\r\n";

/// What comes behind the request belongs to the next protocol, whether it came with it or later.
fn switching(runtime: Runtime) {
    let server = start(runtime);
    let upgrade = "GET /switch HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: frames\r\n\r\n";
    for together in [true, false] {
        let mut peer = HttpPeer::connect(server.address);
        let first = if together { frame(b"first") } else { Vec::new() };
        peer.send([get("/before").as_bytes(), upgrade.as_bytes(), &first].concat());
        peer.expect([ok("/before").as_bytes(), SWITCHES.as_bytes(), &first].concat());
        peer.ask(frame(b"second"), frame(b"second"));
        peer.peer.finish();
        peer.expect_end();
    }
    // Nobody switches who was not asked to.
    let mut peer = HttpPeer::connect(server.address);
    peer.send(get(target::SWITCH));
    peer.expect_end();
    assert_eq!(server.error().to_string(), "not a status for this place");
    drop(peer);
    server.stop();
}

/// As sendfile would write them.
fn bytes_past_the_buffers(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let body = chunk(&"0123456789".repeat(1000));
    let requests = [get("/before"), get(target::EXTERNAL), get("/after")].concat();
    peer.ask(requests, [&ok("/before"), OK_CHUNKED, &body, LAST_CHUNK, &ok("/after")].concat());
    // Nothing of it to HEAD.
    peer.ask(get(target::EXTERNAL).replace("GET", "HEAD"), OK_CHUNKED);
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

/// Connections of a thread share memory, and each sees its own head to the end: the handler asserts it.
fn heads_of_many_at_once(runtime: Runtime) {
    let server = start(runtime);
    let mut peers: Vec<_> = (0..40).map(|_| HttpPeer::connect(server.address)).collect();
    for round in 0..3 {
        for (i, peer) in peers.iter_mut().enumerate() {
            let field = format!("x-own: {}\r\n\r\n", i.to_string().repeat(1 + (i * 7 + round) % 100));
            peer.send(post_chunked("/limit/9").replacen("\r\n\r\n", &format!("\r\n{field}"), 1));
        }
        for part in ["one", "two", "3"] {
            for peer in &mut peers {
                peer.send(chunk(part));
            }
        }
        for peer in &mut peers {
            peer.ask(LAST_CHUNK, ok("7"));
        }
    }
    drop(peers);
    server.stop();
}
