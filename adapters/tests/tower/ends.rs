//! The server ends: what is under way is finished, and says that it was the last.

use crate::{
    peer::{GUARD, LAST_CHUNK, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_chunked},
    server::{Runtime, Server},
    service::{Frames, answering, data, ok as respond, whole},
};
use axum::http::Request;
use bytewise::{Phase, Time, Timeouts, http1::Config};
use bytewise_net::{ServerOptions, tower::RequestBody};
use std::{io::Read, sync::mpsc};

on_both_runtimes!(
    between_requests,
    before_an_answer,
    in_the_middle_of_an_answer,
    in_the_middle_of_a_request,
    idle_for_too_long,
    a_client_that_takes_nothing,
);

fn between_requests(runtime: Runtime) {
    let server = Server::start(runtime, answering(async |_| respond("answered")));
    // Accepted by the time that who comes later is answered.
    let silent = server.connect();
    let mut peer = server.connect();
    peer.ask(get("/"), ok("answered"));
    server.shutdown.begin();
    peer.expect_end();
    silent.expect_end();
    server.stop();
}

/// A service that tells when it is called, and then waits.
fn waiting(runtime: Runtime) -> (Server, mpsc::Receiver<()>, async_channel::Sender<()>) {
    let (tell, told) = mpsc::channel();
    let (go, may_go) = async_channel::unbounded::<()>();
    let service = answering(move |request: Request<RequestBody>| {
        let (tell, may_go) = (tell.clone(), may_go.clone());
        async move {
            tell.send(())?;
            may_go.recv().await?;
            respond(whole(request.into_body()).await?.0)
        }
    });
    (Server::start(runtime, service), told, go)
}

fn before_an_answer(runtime: Runtime) {
    let (server, told, go) = waiting(runtime);
    let idle = server.connect();
    let mut peer = server.connect();
    peer.send([post("/", "hello"), get("/never")].concat());
    told.recv_timeout(GUARD).unwrap();
    server.shutdown.begin();
    // Then all know.
    idle.expect_end();
    go.send_blocking(()).unwrap();
    peer.hears(ok_and_close("hello"));
    peer.expect_end();
    server.stop();
    assert!(told.try_recv().is_err(), "no other request is begun");
}

/// Its head is gone; it is ended as it was begun.
fn in_the_middle_of_an_answer(runtime: Runtime) {
    let (send, receive) = async_channel::unbounded();
    let service = answering(move |_| {
        let receive = receive.clone();
        async move { respond(Frames::of(receive).body()) }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.send(get("/"));
    send.send_blocking(data("one")).unwrap();
    peer.hears([OK_CHUNKED, &chunk("one")].concat());
    server.shutdown.begin();
    send.send_blocking(data("two")).unwrap();
    peer.expect(chunk("two"));
    send.close();
    peer.expect(LAST_CHUNK);
    peer.expect_end();
    server.stop();
}

fn in_the_middle_of_a_request(runtime: Runtime) {
    let (server, told, go) = waiting(runtime);
    go.send_blocking(()).unwrap();
    let idle = server.connect();
    let mut peer = server.connect();
    peer.send([post_chunked("/"), chunk("hello")].concat());
    told.recv_timeout(GUARD).unwrap();
    server.shutdown.begin();
    idle.expect_end();
    peer.send([&chunk(", world"), LAST_CHUNK].concat());
    peer.hears(ok_and_close("hello, world"));
    peer.expect_end();
    server.stop();
}

const SHORT: Time = Time::from_millis(150);

fn idle_for_too_long(runtime: Runtime) {
    let options = ServerOptions::default().with_timeouts(Timeouts::none().with(Phase::Idle, Some(SHORT)));
    let server = Server::with(runtime, options, Config::default(), answering(async |_| respond("answered")));
    let mut peer = server.connect();
    peer.ask(get("/"), ok("answered"));
    peer.expect_end();
    assert!(server.error().starts_with("timed out: "));
    server.stop();
}

/// The answer is not made for ever.
fn a_client_that_takes_nothing(runtime: Runtime) {
    let options = ServerOptions::default().with_timeouts(Timeouts::none().with_write_stall(Some(SHORT)));
    let service = answering(async |_| respond("x".repeat(64 << 20)));
    let server = Server::with(runtime, options, Config::default(), service);
    let mut peer = server.connect();
    peer.send(get("/"));
    // The first byte, and then no more.
    peer.socket.read_exact(&mut [0]).unwrap();
    assert!(server.error().contains("timed out"), "the log says so");
    server.stop();
}
