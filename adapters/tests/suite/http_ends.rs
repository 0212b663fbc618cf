//! How servers and handlers end: in order where they can, and alone where they fail.

use crate::{
    http_handlers::{PIECE, Site, target},
    http_peer::{HttpPeer, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked, refusal},
    http_server::{listen, serve, start, with},
    server::{Runtime, Server},
};
use async_channel::Sender;
use bytewise::{Time, Timeouts, http1::Config};
use bytewise_net::ServerOptions;
use std::{io::ErrorKind, net::TcpStream};

on_every_runtime!(
    idle_connections_end,
    what_is_under_way_is_finished,
    a_request_that_has_begun_is_answered,
    a_response_that_has_begun_is_finished,
    requests_behind_the_last_one_are_not_answered,
    the_deadline_of_the_drain,
    a_forgotten_response_while_it_ends,
    how_many_at_once,
    a_handler_that_fails,
    a_handler_that_panics,
    a_handler_that_returns,
    failures_again_and_again,
);

/// Long enough that nothing but the drain ends it, and a gate to hold handlers.
fn gated(runtime: Runtime, drain: Time) -> (Server, Sender<()>) {
    let (open, gate) = async_channel::unbounded();
    let options = ServerOptions::default().with_timeouts(Timeouts::none()).with_drain(drain);
    (serve(runtime, listen(), options, Config::default(), Site::waiting_for(gate)), open)
}

const LONG: Time = Time::from_secs(1000);

/// Begins it, and waits until connections are told.
fn begin_to_end(server: &Server) {
    let mut idle = HttpPeer::connect(server.address);
    idle.ask(get("/before"), ok("/before"));
    server.shutdown.begin();
    idle.expect_end();
}

fn idle_connections_end(runtime: Runtime) {
    let (server, _) = gated(runtime, LONG);
    let mut peers: Vec<_> = (0..20).map(|_| HttpPeer::connect(server.address)).collect();
    for (i, peer) in peers.iter_mut().enumerate() {
        // Also the last one, so that all are accepted.
        if i % 2 == 1 {
            peer.ask(get("/one"), ok("/one"));
        }
    }
    server.shutdown.begin();
    for mut peer in peers {
        peer.expect_end();
    }
    server.stop();
}

/// And says that it is the last, though the handler waited for something else when it was told.
fn what_is_under_way_is_finished(runtime: Runtime) {
    let (server, open) = gated(runtime, LONG);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask([get("/before"), get(target::WAIT)].concat(), ok("/before"));
    begin_to_end(&server);
    open.send_blocking(()).unwrap();
    peer.expect(ok_and_close("waited"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

/// With a head or a body that is still to come, wherever it was cut.
fn a_request_that_has_begun_is_answered(runtime: Runtime) {
    let (server, _) = gated(runtime, LONG);
    let mut peers: Vec<_> = [get("/whole"), post("/body/9", "hello"), post("/body/9", "hello")]
        .into_iter()
        .zip([5, 10, post("/body/9", "hello").len() - 2])
        .map(|(request, cut)| {
            let mut peer = HttpPeer::connect(server.address);
            // Behind an answer, so that it has come by then.
            peer.ask([&get("/before"), &request[..cut]].concat(), ok("/before"));
            (peer, request[cut..].to_owned())
        })
        .collect();
    begin_to_end(&server);
    let refused = TcpStream::connect(server.address).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    for ((peer, rest), answer) in peers.iter_mut().zip(["/whole", "5", "5"]) {
        peer.ask([rest.as_str(), &get("/never")].concat(), ok_and_close(answer));
        peer.expect_end();
    }
    drop(peers);
    server.stop();
}

/// Its head has said nothing of an end, which comes all the same.
fn a_response_that_has_begun_is_finished(runtime: Runtime) {
    let (server, open) = gated(runtime, LONG);
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get(target::WAIT_INSIDE), [OK_CHUNKED, &chunk("begun")].concat());
    let mut echo = HttpPeer::connect(server.address);
    echo.ask([post_chunked(target::ECHO), chunk("begun")].concat(), [OK_CHUNKED, &chunk("begun")].concat());
    begin_to_end(&server);
    open.send_blocking(()).unwrap();
    peer.expect(LAST_CHUNK);
    peer.expect_end();
    echo.ask(chunk("and ended"), chunk("and ended"));
    echo.ask(LAST_CHUNK, LAST_CHUNK);
    echo.expect_end();
    drop((peer, echo));
    server.stop();
}

fn requests_behind_the_last_one_are_not_answered(runtime: Runtime) {
    let (server, open) = gated(runtime, LONG);
    let mut peer = HttpPeer::connect(server.address);
    let request = [get(target::WAIT_INSIDE), get("/never"), get("/never")].concat();
    peer.ask(request, [OK_CHUNKED, &chunk("begun")].concat());
    begin_to_end(&server);
    open.send_blocking(()).unwrap();
    peer.expect(LAST_CHUNK);
    peer.expect_end();
    drop(peer);
    server.stop();
}

fn the_deadline_of_the_drain(runtime: Runtime) {
    let (server, _open) = gated(runtime, Time::from_millis(200));
    let mut peer = HttpPeer::connect(server.address);
    peer.ask([&get("/before"), "GET /"].concat(), ok("/before"));
    let mut echo = HttpPeer::connect(server.address);
    echo.ask(post_chunked(target::EARLY), [OK_CHUNKED, &chunk("early")].concat());
    server.shutdown.begin();
    server.ended().unwrap();
    peer.peer.assert_cut_off();
    echo.peer.assert_cut_off();
}

fn a_forgotten_response_while_it_ends(runtime: Runtime) {
    let (server, _) = gated(runtime, LONG);
    let mut peer = HttpPeer::connect(server.address);
    let request = post(target::FORGET_REST, "hello");
    let (front, rest) = request.split_at(request.len() - 5);
    peer.ask([&get("/before"), front].concat(), ok("/before"));
    begin_to_end(&server);
    peer.ask(rest, refusal("500 Internal Server Error"));
    peer.expect_end();
    drop(peer);
    server.stop();
}

fn how_many_at_once(runtime: Runtime) {
    let server = with(runtime, ServerOptions::default().with_max_connections(2), Config::default());
    let mut first = HttpPeer::connect(server.address);
    first.ask(get("/1"), ok("/1"));
    let mut second = HttpPeer::connect(server.address);
    second.ask(get("/2"), ok("/2"));
    let mut third = HttpPeer::connect(server.address);
    third.send(get("/3"));
    for _ in 0..100 {
        first.ask(get("/1"), ok("/1"));
        second.ask(get("/2"), ok("/2"));
    }
    assert!(third.peer.has_nothing(), "more connections than it should have");
    // The last answer of a connection makes room as its end does.
    first.ask("GET /1 HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", ok_and_close("/1"));
    drop(first);
    third.expect(ok("/3"));
    drop((second, third));
    server.stop();
}

/// Others on the same server hear nothing of it.
fn fails(runtime: Runtime, target: &str, error: Option<&str>) {
    let server = start(runtime);
    let mut other = HttpPeer::connect(server.address);
    other.ask(get("/before"), ok("/before"));
    let mut peer = HttpPeer::connect(server.address);
    peer.ask(get("/before"), ok("/before"));
    peer.send(get(target));
    peer.expect_end();
    if let Some(error) = error {
        assert_eq!(server.error().to_string(), error);
    }
    other.ask(get("/after"), ok("/after"));
    HttpPeer::connect(server.address).ask(get("/new"), ok("/new"));
    drop((other, peer));
    server.stop();
}

fn a_handler_that_fails(runtime: Runtime) {
    fails(runtime, target::FAIL, Some("a handler's own error"));
}

fn a_handler_that_panics(runtime: Runtime) {
    fails(runtime, target::PANIC, Some("a handler panicked: a handler's own panic"));
}

fn a_handler_that_returns(runtime: Runtime) {
    fails(runtime, target::DROP, None);
}

fn failures_again_and_again(runtime: Runtime) {
    let server = start(runtime);
    let mut streaming = HttpPeer::connect(server.address);
    streaming.ask(get("/stream/100"), OK_CHUNKED);
    for i in 0..20 {
        let mut peer = HttpPeer::connect(server.address);
        peer.send(get(if i % 2 == 0 { target::FAIL } else { target::PANIC }));
        peer.expect_end();
        server.error();
    }
    assert_eq!(streaming.chunks().0.len(), 100 * PIECE);
    drop(streaming);
    server.stop();
}
