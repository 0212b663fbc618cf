//! What a handler leaves undone: bodies that it does not ask for or does not take, responses that it forgets or does not
//! end, and what it does wrong.

use crate::{
    http_handlers::target,
    http_peer::{
        CONTINUE, HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked, post_expecting,
        refusal,
    },
    http_server::{start, with},
    server::Runtime,
};
use bytewise::http1::Config;
use bytewise_net::ServerOptions;
use std::{io::Write, thread};

on_every_runtime!(
    a_body_that_is_asked_for,
    a_body_that_is_not_asked_for,
    a_body_that_is_refused_by_its_length,
    a_body_that_does_not_wait,
    a_body_that_is_asked_for_by_nobody,
    a_response_that_asks,
    an_expectation_of_http_10,
    a_small_body_that_nobody_takes,
    the_rest_of_a_small_body,
    a_body_in_chunks_that_nobody_takes,
    a_large_body_that_nobody_takes,
    a_body_larger_than_what_is_lingered_for,
    how_much_is_read_for_nobody,
    a_response_that_is_forgotten,
    a_response_that_is_not_ended,
    a_response_that_is_not_ended_and_a_large_body,
    a_response_that_is_too_short,
    a_response_that_is_too_short_to_whoever_still_sends,
    misuse,
    a_response_that_is_refused,
);

const SERVER_ERROR: &str = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";

fn a_body_that_is_asked_for(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for _ in 0..3 {
        peer.ask(post_expecting("/body/9", 5), CONTINUE);
        peer.ask("hello", ok("5"));
        peer.ask(post_expecting("/limit/9", 5), CONTINUE);
        peer.ask("hello", ok("5"));
    }
    let chunked = post_chunked("/body/9").replace("host: a", "host: a\r\nExpect: 100-Continue");
    peer.ask(chunked, CONTINUE);
    peer.ask([&chunk("hello"), LAST_CHUNK].concat(), ok("5"));
    drop(peer);
    server.stop();
}

/// It may never come, so that no other request can follow (RFC 9110, section 10.1.1).
fn a_body_that_is_not_asked_for(runtime: Runtime) {
    let server = start(runtime);
    let refused = "HTTP/1.1 417 Expectation Failed\r\nconnection: close\r\ncontent-length: 7\r\n\r\nrefused";
    for (target, answer) in [(target::REFUSE, refused), (target::IGNORE, &ok_and_close("ignored"))] {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask(post_expecting(target, 5), answer);
        peer.expect_end();
    }
    server.stop();
}

fn a_body_that_is_refused_by_its_length(runtime: Runtime) {
    let server = start(runtime);
    for target in ["/body/4", "/limit/4"] {
        let mut peer = HttpPeer::connect(server.address);
        peer.ask(post_expecting(target, 5), refusal("413 Content Too Large"));
        peer.expect_end();
        drop(peer);
        assert_eq!(server.error().to_string(), "the peer broke the protocol: body too long");
    }
    server.stop();
}

/// Whatever has come of it by then, the answer is the same.
fn a_body_that_does_not_wait(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask([&post_expecting("/body/9", 5), "hello"].concat(), [CONTINUE, &ok("5")].concat());
    peer.ask([&post_expecting("/body/9", 5), "hel"].concat(), CONTINUE);
    peer.ask("lo", ok("5"));
    drop(peer);
    server.stop();
}

fn a_body_that_is_asked_for_by_nobody(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post_expecting(target::FORGET, 5), refusal("500 Internal Server Error"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// A success that is streamed asks for the body before its head: who begins to answer so wants it.
fn a_response_that_asks(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for _ in 0..2 {
        peer.ask(post_expecting(target::EARLY, 5), [CONTINUE, OK_CHUNKED, &chunk("early")].concat());
        peer.ask("hello", [&chunk("hello"), LAST_CHUNK].concat());
    }
    drop(peer);
    server.stop();
}

/// Which has none (RFC 9110, section 10.1.1).
fn an_expectation_of_http_10(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let request = post_expecting("/body/9", 5).replace("HTTP/1.1", "HTTP/1.0");
    peer.ask([&request, "hello"].concat(), ok_and_close("5"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// It is read over, whenever it comes, and the connection goes on.
fn a_small_body_that_nobody_takes(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    for len in [1, 1000, 64 * 1024] {
        let request = post(target::IGNORE, &"x".repeat(len));
        let (head, body) = request.split_at(request.len() - len);
        peer.ask(&request, ok("ignored"));
        // The answer does not wait for it, and the next request does.
        peer.ask(head, ok("ignored"));
        peer.ask([body, &get("/after")].concat(), ok("/after"));
    }
    drop(peer);
    server.stop();
}

fn the_rest_of_a_small_body(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let request = post(target::FORGET_REST, &"x".repeat(1000));
    let (front, back) = request.split_at(request.len() - 500);
    peer.ask(front, SERVER_ERROR);
    peer.ask([back, &get("/after")].concat(), ok("/after"));
    drop(peer);
    server.stop();
}

/// How long it will be is not known: the response is the last one.
fn a_body_in_chunks_that_nobody_takes(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask([post_chunked(target::IGNORE), chunk("hello")].concat(), ok_and_close("ignored"));
    // The client goes on; nobody resets the connection for that.
    peer.send([&chunk("world"), LAST_CHUNK, &get("/never")].concat());
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// The whole body can be sent, the answer is there, and the end is an orderly one.
fn a_large_body_that_nobody_takes(runtime: Runtime) {
    let server = start(runtime);
    for target in [target::IGNORE, target::REFUSE, target::FORGET, target::FORGET_REST] {
        let mut peer = HttpPeer::connect(server.address);
        peer.send(post(target, &"x".repeat(900 * 1024)));
        peer.peer.finish();
        peer.expect(match target {
            target::IGNORE => ok_and_close("ignored"),
            target::REFUSE => {
                "HTTP/1.1 417 Expectation Failed\r\nconnection: close\r\ncontent-length: 7\r\n\r\nrefused".into()
            }
            _ => refusal("500 Internal Server Error"),
        });
        peer.expect_end();
    }
    server.stop();
}

/// Who does not stop is cut off, but has been answered before.
fn a_body_larger_than_what_is_lingered_for(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let body = vec![b'x'; 1 << 20];
    let mut writer = peer.writer();
    peer.send(format!("POST /ignore HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n", 1_u64 << 40));
    peer.expect(ok_and_close("ignored"));
    // It ends because it fails.
    while writer.write_all(&body).is_ok() {}
    drop((peer, writer));
    server.stop();
}

fn how_much_is_read_for_nobody(runtime: Runtime) {
    let server = with(runtime, ServerOptions::default(), Config::default().with_drain(10));
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(post(target::IGNORE, "0123456789"), ok("ignored"));
    peer.ask(post(target::IGNORE, "0123456789+"), ok_and_close("ignored"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

fn a_response_that_is_forgotten(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get(target::FORGET), SERVER_ERROR);
    peer.ask(post(target::FORGET, "hello"), SERVER_ERROR);
    peer.ask([get(target::FORGET), get("/after")].concat(), [SERVER_ERROR, &ok("/after")].concat());
    drop(peer);
    server.stop();
}

fn a_response_that_is_not_ended(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let open = [OK_CHUNKED, &chunk("open"), LAST_CHUNK].concat();
    peer.ask(get(target::OPEN), &open);
    peer.ask(post(target::OPEN, "hello"), &open);
    peer.ask([get(target::OPEN), get("/after")].concat(), [open, ok("/after")].concat());
    drop(peer);
    server.stop();
}

/// The response is ended without the body, which is not read for nobody: the connection ends with it.
fn a_response_that_is_not_ended_and_a_large_body(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let request = post(target::OPEN, &"x".repeat(900 * 1024));
    peer.send(&request[..request.len() - 1]);
    peer.expect([OK_CHUNKED, &chunk("open"), LAST_CHUNK].concat());
    peer.send(["x", &get("/never")].concat());
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// What is missing is noticed: the connection ends inside the response.
fn a_response_that_is_too_short(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n";
    // All ten are enough, though nobody said that this is the end.
    peer.ask(get("/short/10"), [head, "0123456789"].concat());
    peer.ask([get("/short/4"), get("/never")].concat(), [head, "0123"].concat());
    peer.expect_end();
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get("/short/0"), head);
    peer.expect_end();
    server.stop();
}

/// What there is of it is not lost.
fn a_response_that_is_too_short_to_whoever_still_sends(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    let mut writer = peer.writer();
    let sender = thread::spawn(move || writer.write_all(post("/short/4", &"x".repeat(10 << 20)).as_bytes()));
    peer.expect("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123");
    // It is an abnormal end, one way or the other.
    peer.peer.assert_cut_off();
    drop(peer);
    let _ = sender.join().unwrap();
    server.stop();
}

fn misuse(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get(target::MISUSE), ok("unharmed"));
    peer.ask([get("/before"), get(target::MISUSE)].concat(), [ok("/before"), ok("unharmed")].concat());
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}

/// The handler that was told of its mistake and did nothing about it has not answered.
fn a_response_that_is_refused(runtime: Runtime) {
    let server = start(runtime);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get(target::NO_STATUS), SERVER_ERROR);
    peer.ask(get("/after"), ok("/after"));
    drop(peer);
    server.stop();
}
