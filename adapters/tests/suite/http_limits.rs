//! Bodies and responses of any length in bounded memory, and the limits of bodies.

use crate::{
    http_handlers::{PIECE, Site, target},
    http_peer::{HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, post, post_chunked, refusal},
    http_server::{listen, serve_here, start, with},
    peer::{Peer, noise},
    server::{Runtime, Server},
};
use allocation_counter::measure;
use bytewise::http1::{self, Config};
use bytewise_net::{Error, ServerOptions};
use std::{io::Write, thread};

on_every_runtime!(
    a_body_at_its_limit,
    a_body_above_its_limit,
    a_body_in_chunks_above_its_limit,
    the_rest_of_a_body,
    the_rest_of_a_body_in_chunks,
    the_rest_of_a_body_above_its_limit,
    a_limit_that_is_raised,
    a_limit_that_is_lowered,
    limits_of_the_server,
    an_upload_of_64_mebibytes,
    an_echo_of_64_mebibytes,
    a_slow_reader_of_a_long_response,
    a_slow_reader_of_an_echo,
);

const TOO_LONG: &str = "413 Content Too Large";

/// The log hears of it when the connection has ended, from both sides.
#[track_caller]
fn assert_too_long(server: &Server) {
    match server.error_of() {
        Error::Protocol(http1::Error::BodyTooLong) => {}
        other => panic!("{other}"),
    }
}

fn a_body_at_its_limit(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post("/body/5", "hello"), ok("5"));
    peer.ask([&post_chunked("/body/5"), &chunk("he"), &chunk("llo"), LAST_CHUNK].concat(), ok("5"));
    peer.ask(post("/body/0", ""), ok("0"));
    peer.ask([&post_chunked("/body/0"), LAST_CHUNK].concat(), ok("0"));
    drop(peer);
    server.stop();
}

/// Told by the head alone.
fn a_body_above_its_limit(runtime: Runtime) {
    let server = start(runtime);
    let request = post("/body/5", "hello!");
    let head = &request[..request.len() - 6];
    // What came before is answered, what comes after is not.
    for request in [head, &request, &[&request, &*get("/never")].concat()] {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask([&get("/before"), request].concat(), [ok("/before"), refusal(TOO_LONG)].concat());
        peer.expect_end();
        drop(peer);
        assert_too_long(&server);
    }
    server.stop();
}

fn a_body_in_chunks_above_its_limit(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.send([post_chunked("/body/5"), chunk("hello")].concat());
    // Told by the size of the chunk.
    peer.ask("1\r\n", refusal(TOO_LONG));
    peer.expect_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

fn the_rest_of_a_body(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for (max, rest) in [(5, "56789"), (100, "56789"), (0, "")] {
        let request = post(&format!("/rest/{max}"), &["01234", rest].concat());
        let (front, rest) = request.split_at(request.len() - rest.len());
        peer.ask(front, "HTTP/1.1 102 Processing\r\n\r\n");
        peer.ask(rest, ok(&format!("5 + {}", rest.len())));
    }
    drop(peer);
    server.stop();
}

/// The limit is for what is left, as it is without chunks.
fn the_rest_of_a_body_in_chunks(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for max in [5, 100] {
        let front = [post_chunked(&format!("/rest/{max}")), chunk("01234")].concat();
        peer.ask(front, "HTTP/1.1 102 Processing\r\n\r\n");
        peer.ask([&chunk("56"), &chunk("789"), LAST_CHUNK].concat(), ok("5 + 5"));
    }
    drop(peer);
    server.stop();
}

/// The answer is as if nothing had been taken: told, and the last one.
fn the_rest_of_a_body_above_its_limit(runtime: Runtime) {
    let server = start(runtime);
    for in_chunks in [false, true] {
        let mut peer = HttpPeer::connect(server.address);
        let (front, rest) = if in_chunks {
            ([post_chunked("/rest/4"), chunk("01234")].concat(), [&chunk("56789"), LAST_CHUNK].concat())
        } else {
            let request = post("/rest/4", "0123456789");
            (request[..request.len() - 5].to_owned(), "56789".to_owned())
        };
        peer.ask(front, "HTTP/1.1 102 Processing\r\n\r\n");
        peer.ask([&rest, &*get("/never")].concat(), refusal(TOO_LONG));
        peer.expect_end();
        drop(peer);
        assert_too_long(&server);
    }
    server.stop();
}

/// For one request: the next one has the server's again.
fn a_limit_that_is_raised(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let length = (16 << 20) + 1;
    let body = vec![b'x'; length];
    for request in [
        format!("POST /limit/{length} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n"),
        format!("POST /body/{length} HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n"),
    ] {
        peer.send(request);
        peer.send(&body);
        peer.expect(ok(&length.to_string()));
    }
    peer.send(format!("POST /trailers HTTP/1.1\r\nhost: a\r\ncontent-length: {length}\r\n\r\n"));
    peer.expect(refusal(TOO_LONG));
    peer.expect_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

fn a_limit_that_is_lowered(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post("/limit/5", "hello"), ok("5"));
    peer.ask(post("/limit/4", "hello"), refusal(TOO_LONG));
    peer.expect_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

fn limits_of_the_server(runtime: Runtime) {
    let server = with(runtime, ServerOptions::default(), Config::default().with_max_body(5));
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(
        post(target::TRAILERS, "hello"),
        ["HTTP/1.1 200 OK\r\ntrailer: x-length\r\ntransfer-encoding: chunked\r\n\r\n", "0\r\nx-length: 5\r\n\r\n"]
            .concat(),
    );
    peer.ask(post(target::TRAILERS, "hello!"), refusal(TOO_LONG));
    peer.expect_end();
    drop(peer);
    assert_too_long(&server);
    server.stop();
}

const LARGE: usize = 64 << 20;

/// Memory of a server that has a body or a response of 64 MiB in its hands.
const BOUND: u64 = 1 << 20;

/// Serves one client on this thread, and returns what was allocated at the most.
fn memory_for(runtime: Runtime, client: impl FnOnce(HttpPeer) + Send) -> u64 {
    let listener = listen();
    let address = listener.local_addr().unwrap();
    thread::scope(|scope| {
        scope.spawn(move || client(HttpPeer::connect(address)));
        let socket = listener.accept().unwrap().0;
        measure(|| serve_here(runtime, socket, &Config::default(), Site::default()).unwrap()).bytes_max
    })
}

fn send_in_chunks(mut writer: impl Write) {
    let piece = noise(100_000, 1);
    let mut left = LARGE;
    while left > 0 {
        let piece = &piece[..left.min(piece.len())];
        writer.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).unwrap();
        writer.write_all(piece).unwrap();
        writer.write_all(b"\r\n").unwrap();
        left -= piece.len();
    }
    writer.write_all(LAST_CHUNK.as_bytes()).unwrap();
}

fn an_upload_of_64_mebibytes(runtime: Runtime) {
    let memory = memory_for(runtime, |mut peer| {
        peer.send(post_chunked(&format!("/limit/{LARGE}")));
        send_in_chunks(peer.writer());
        peer.expect(ok(&LARGE.to_string()));
    });
    assert!(memory < BOUND, "{memory} bytes");
}

/// Both ways at the same time.
fn an_echo_of_64_mebibytes(runtime: Runtime) {
    let listener = listen();
    let address = listener.local_addr().unwrap();
    let config = Config::default().with_max_body(LARGE as u64);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut peer = HttpPeer::connect(address);
            peer.send(post_chunked(target::ECHO));
            let writer = peer.writer();
            thread::scope(|scope| {
                scope.spawn(move || send_in_chunks(writer));
                peer.expect(OK_CHUNKED);
                let (body, _) = peer.chunks();
                assert_eq!(body.len(), LARGE);
                assert!(body.chunks(100_000).all(|piece| noise(100_000, 1).starts_with(piece)));
            });
        });
        let socket = listener.accept().unwrap().0;
        let memory = measure(|| serve_here(runtime, socket, &config, Site::default()).unwrap()).bytes_max;
        assert!(memory < BOUND, "{memory} bytes");
    });
}

/// The handler waits for room: it asserts that little is queued.
fn a_slow_reader_of_a_long_response(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::over(Peer::with_receive_buffer(server.address, 8 * 1024));
    peer.ask(get("/stream/1000"), OK_CHUNKED);
    // It is under way when others are served.
    HttpPeer::connect(server.address).ask(get("/beside"), ok("/beside"));
    let (body, _) = peer.chunks();
    assert_eq!(body.len(), 1000 * PIECE);
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

/// Who sends and does not read is not read from for ever; once he reads, all is there.
fn a_slow_reader_of_an_echo(runtime: Runtime) {
    let server = with(runtime, ServerOptions::default(), Config::default().with_max_body(64 << 20));
    let mut peer = HttpPeer::over(Peer::with_receive_buffer(server.address, 8 * 1024));
    let body = noise(24 << 20, 1);
    peer.send(format!("POST /echo HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", body.len()));
    let written = peer.peer.fill(&body);
    assert!(written < body.len(), "the server took all without anyone reading its answer");
    let mut writer = peer.writer();
    thread::scope(|scope| {
        scope.spawn(|| writer.write_all(&body[written..]).unwrap());
        peer.expect(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len()));
        assert!(peer.bytes(body.len()) == body);
    });
    peer.ask(get("/after"), ok("/after"));
    drop((peer, writer));
    server.stop();
}
