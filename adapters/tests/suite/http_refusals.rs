//! What is not HTTP, or not allowed, is answered: once, behind what came before, and with an orderly end.

use crate::{
    http_peer::{HttpPeer, chunk, get, ok, post_chunked, refusal},
    http_server::{start, with},
    server::Runtime,
};
use bytewise::http1::{Config, Error};
use bytewise_net::{Error::Protocol, ServerOptions};
use std::{io::Write, thread};

on_every_runtime!(
    what_breaks_the_rules,
    what_is_above_a_limit,
    inside_a_body,
    at_once,
    in_small_pieces,
    with_more_behind_it,
    with_endless_input_behind_it,
    cut_off_inside_a_request,
    while_a_response_is_under_way,
);

const BAD: &str = "400 Bad Request";

/// That input, on a connection of its own behind a request that is fine.
#[track_caller]
fn refused(runtime: Runtime, rows: &[(&[u8], &str, Error)]) {
    let server = start(runtime);
    for (input, answer, error) in rows {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask([get("/before").as_bytes(), input].concat(), [ok("/before"), refusal(answer)].concat());
        peer.expect_end();
        drop(peer);
        match server.error_of::<Error>() {
            Protocol(found) => assert_eq!(found, *error, "{}", input.escape_ascii()),
            other => panic!("{other}"),
        }
    }
    server.stop();
}

fn what_breaks_the_rules(runtime: Runtime) {
    refused(
        runtime,
        &[
            (b"GET /\r\n\r\n", BAD, Error::StartLine),
            (b"GET / HTTP/1.1\n\r\n", BAD, Error::BareLf),
            (b"GET / HTTP/1.1\r\n\r\n", BAD, Error::Host),
            (b"GET / HTTP/1.1\r\nhost: a\r\nhost: a\r\n\r\n", BAD, Error::Host),
            (b"GET / HTTP/1.1\r\nhost: a\r\nx : b\r\n\r\n", BAD, Error::Field),
            (b"GET / HTTP/1.1\r\nhost: a\r\n folded\r\n\r\n", BAD, Error::Field),
            (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: x\r\n\r\n", BAD, Error::ContentLength),
            (
                b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n",
                BAD,
                Error::ContentLength,
            ),
            (
                b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked, chunked\r\n\r\n",
                BAD,
                Error::TransferEncoding,
            ),
            (
                b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
                "501 Not Implemented",
                Error::UnsupportedCoding,
            ),
            (b"GET / HTTP/2.0\r\nhost: a\r\n\r\n", "505 HTTP Version Not Supported", Error::Version),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "505 HTTP Version Not Supported", Error::Version),
        ],
    );
}

fn what_is_above_a_limit(runtime: Runtime) {
    let long_target = [b"GET /", vec![b'x'; 8000].as_slice(), b" HTTP/1.1\r\nhost: a\r\n\r\n"].concat();
    let long_field = [b"GET / HTTP/1.1\r\nhost: a\r\nx: ", vec![b'x'; 16 << 10].as_slice(), b"\r\n\r\n"].concat();
    let many_fields = [b"GET / HTTP/1.1\r\nhost: a\r\n", b"x: y\r\n".repeat(100).as_slice(), b"\r\n"].concat();
    refused(
        runtime,
        &[
            (&long_target, "414 URI Too Long", Error::TargetTooLong),
            (&long_field, "431 Request Header Fields Too Large", Error::HeadTooLong),
            (&many_fields, "431 Request Header Fields Too Large", Error::TooManyFields),
            (
                b"POST /trailers HTTP/1.1\r\nhost: a\r\ncontent-length: 16777217\r\n\r\n",
                "413 Content Too Large",
                Error::BodyTooLong,
            ),
        ],
    );
}

/// The handler is in it, and hears of it too.
fn inside_a_body(runtime: Runtime) {
    let to = |target: &str, rest: &str| [post_chunked(target), chunk("hello"), rest.into()].concat().into_bytes();
    let long_trailers = format!("0\r\nx: {}\r\n\r\n", "x".repeat(8 << 10));
    let long_extension = format!("5;{}", "x".repeat(256));
    refused(
        runtime,
        &[
            (&to("/body/99", "x\r\n"), BAD, Error::Chunk),
            (&to("/limit/99", "5\r\nworldly"), BAD, Error::Chunk),
            (&to("/body/99", &long_extension), BAD, Error::Chunk),
            (&to("/body/99", "0\r\nno trailer\r\n\r\n"), BAD, Error::Field),
            (&to("/body/99", &long_trailers), "431 Request Header Fields Too Large", Error::TrailersTooLong),
            (&to("/body/10", "6\r\n"), "413 Content Too Large", Error::BodyTooLong),
        ],
    );
}

/// A line is judged at its end, and what is no text at all at its first byte: nobody waits for a line end that never comes.
fn at_once(runtime: Runtime) {
    let client_hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    refused(
        runtime,
        &[
            (client_hello, BAD, Error::StartLine),
            (&client_hello[..1], BAD, Error::StartLine),
            (b"\0", BAD, Error::StartLine),
            (b"GET /\0", BAD, Error::StartLine),
            (b"GET / HTTP/1.1\r\nhost: a\r\nx: a\0\r\n", BAD, Error::Field),
            (b"GET / HTTP/1.1\r\nhost: a\r\n folded\r\n", BAD, Error::Field),
            (b"SSH-2.0-OpenSSH_9.2\r\n", BAD, Error::StartLine),
            (b"GET / HTTP/1.1\n", BAD, Error::BareLf),
            (b"\r\n\r\n", BAD, Error::StartLine),
        ],
    );
}

fn in_small_pieces(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for byte in b"GET / HTTP/1.1\r\nhost: a\r\nbad header" {
        peer.send([*byte]);
    }
    peer.ask("\r\n", refusal(BAD));
    peer.expect_end();
    drop(peer);
    server.error_of::<Error>();
    server.stop();
}

/// Neither answered nor a reason to reset the connection.
fn with_more_behind_it(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let bad = "GET / HTTP/1.1\r\nbad header\r\n\r\n".to_owned();
    peer.send([get("/before"), bad, get("/never").repeat(20_000)].concat());
    peer.expect([ok("/before"), refusal(BAD)].concat());
    peer.expect_end();
    drop(peer);
    server.error_of::<Error>();
    server.stop();
}

/// Left after a while, but answered before.
fn with_endless_input_behind_it(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let mut writer = peer.writer();
    peer.ask("bad\r\n\r\n", refusal(BAD));
    while writer.write_all(&[b'x'; 1 << 16]).is_ok() {}
    drop((peer, writer));
    server.error_of::<Error>();
    server.stop();
}

/// Nobody is there to be answered; nothing is made of half a request.
fn cut_off_inside_a_request(runtime: Runtime) {
    let server = with(runtime, ServerOptions::default(), Config::default());
    for input in [
        "GET / HTTP/1.1\r\nhost: a\r\n",
        "POST /body/9 HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhello",
        "POST /body/9 HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n",
    ] {
        let mut peer = HttpPeer::connect(server.address);
        peer.send([&get("/before"), input].concat());
        peer.peer.finish();
        peer.expect(ok("/before"));
        peer.expect_end();
        drop(peer);
        match server.error_of::<Error>() {
            Protocol(Error::UnexpectedEof { .. }) => {}
            other => panic!("{other}"),
        }
    }
    server.stop();
}

/// A second head in the midst of the first response would be part of its body: it ends as it is.
fn while_a_response_is_under_way(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post_chunked("/early"), [crate::http_peer::OK_CHUNKED, &chunk("early")].concat());
    peer.ask(chunk("hello"), chunk("hello"));
    let mut writer = peer.writer();
    let sender = thread::spawn(move || writer.write_all(b"no size\r\n"));
    peer.expect_end();
    sender.join().unwrap().unwrap();
    drop(peer);
    match server.error_of::<Error>() {
        Protocol(Error::Chunk) => {}
        other => panic!("{other}"),
    }
    server.stop();
}
