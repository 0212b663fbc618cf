//! Services that fail, and bodies that do: the client notices, and the log says why.

use crate::{
    peer::{OK_CHUNKED, chunk, get, ok, post, refusal},
    server::{Runtime, Server},
    service::{Frames, answering, data, ok as respond},
};
use axum::{
    body::Body,
    http::{Request, Response},
};
use bytewise_net::{BoxError, tower::RequestBody};
use std::{
    future::{Ready, ready},
    task::{Context, Poll, Waker},
};
use tower_service::Service;

on_both_runtimes!(
    the_service,
    the_service_while_the_body_comes,
    the_service_is_not_ready,
    the_service_is_not_ready_yet,
    a_panic,
    a_body_midway,
    a_body_of_a_length_midway,
    a_body_at_its_beginning,
    the_client,
);

fn failing(runtime: Runtime) -> Server {
    let service = answering(async |request: Request<RequestBody>| match request.uri().path() {
        "/fine" => respond("fine"),
        "/panic" => std::panic::resume_unwind(Box::new("a service's own panic")),
        _ => Err("a service's own error".into()),
    });
    Server::start(runtime, service)
}

/// The client is told, and that it was the last one; what was answered before has come.
fn the_service(runtime: Runtime) {
    let server = failing(runtime);
    let mut peer = server.connect();
    peer.send([get("/fine"), get("/fail"), get("/fine")].concat());
    peer.hears(ok("fine"));
    peer.hears(refusal("500 Internal Server Error"));
    peer.expect_end();
    assert_eq!(server.error(), "a service's own error");
    server.stop();
}

/// It is told without a reset, whatever it was sending.
fn the_service_while_the_body_comes(runtime: Runtime) {
    let server = failing(runtime);
    let mut peer = server.connect();
    peer.send(post("/fail", &"x".repeat(500_000)));
    peer.hears(refusal("500 Internal Server Error"));
    peer.expect_end();
    assert_eq!(server.error(), "a service's own error");
    server.stop();
}

/// A service that becomes ready at the third time it is asked, or fails.
#[derive(Debug, Clone)]
struct Reluctant {
    asked: u32,
    fails: bool,
}

impl Service<Request<RequestBody>> for Reluctant {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Ready<Result<Response<Body>, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.asked += 1;
        match self.asked {
            3 if self.fails => Poll::Ready(Err("overloaded".into())),
            3 => Poll::Ready(Ok(())),
            _ => {
                Waker::wake_by_ref(cx.waker());
                Poll::Pending
            }
        }
    }

    fn call(&mut self, _: Request<RequestBody>) -> Self::Future {
        assert_eq!(std::mem::take(&mut self.asked), 3, "it was not ready");
        ready(respond("ready"))
    }
}

fn the_service_is_not_ready(runtime: Runtime) {
    let server = Server::start(runtime, Reluctant { asked: 0, fails: true });
    let mut peer = server.connect();
    peer.ask(get("/"), refusal("500 Internal Server Error"));
    peer.expect_end();
    assert_eq!(server.error(), "overloaded");
    server.stop();
}

fn the_service_is_not_ready_yet(runtime: Runtime) {
    let server = Server::start(runtime, Reluctant { asked: 0, fails: false });
    let mut peer = server.connect();
    peer.ask(get("/"), ok("ready"));
    peer.ask(get("/"), ok("ready"));
    drop(peer);
    server.stop();
}

/// Ends its connection, and no other.
fn a_panic(runtime: Runtime) {
    let server = failing(runtime);
    let mut other = server.connect();
    other.ask(get("/fine"), ok("fine"));
    let mut peer = server.connect();
    peer.send(get("/panic"));
    peer.expect_end();
    assert_eq!(server.error(), "a handler panicked: a service's own panic");
    other.ask(get("/fine"), ok("fine"));
    drop(other);
    server.stop();
}

/// Without the last chunk: it must not be taken for whole.
fn a_body_midway(runtime: Runtime) {
    let service = answering(async |_| {
        respond(Frames::ready([data("hello"), Err("a body's own error".into()), data("never")]).body())
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask([get("/"), get("/never")].concat(), [OK_CHUNKED, &chunk("hello")].concat());
    peer.expect_end();
    assert_eq!(server.error(), "a body's own error");
    server.stop();
}

fn a_body_of_a_length_midway(runtime: Runtime) {
    let service = answering(async |_| {
        respond(Frames::ready([data("hello"), Err("a body's own error".into())]).hinting(10).body())
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask(get("/"), "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello");
    peer.expect_end();
    assert_eq!(server.error(), "a body's own error");
    server.stop();
}

/// Before a byte of the answer is sent, there is still a better one.
fn a_body_at_its_beginning(runtime: Runtime) {
    let service = answering(async |_| respond(Frames::ready([Err("a body's own error".into())]).body()));
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.ask([get("/"), get("/never")].concat(), refusal("500 Internal Server Error"));
    peer.expect_end();
    assert_eq!(server.error(), "a body's own error");
    server.stop();
}

/// Who goes away before the answer harms nobody; what the service failed with is what the log hears.
fn the_client(runtime: Runtime) {
    let (go, may_go) = async_channel::unbounded::<()>();
    let (tell, told) = async_channel::unbounded::<()>();
    let service = answering(move |_| {
        let (may_go, tell) = (may_go.clone(), tell.clone());
        async move {
            tell.send(()).await?;
            may_go.recv().await?;
            Err("a service's own error".into())
        }
    });
    let server = Server::start(runtime, service);
    let mut peer = server.connect();
    peer.send(get("/"));
    told.recv_blocking().unwrap();
    // With a reset, so that nothing can be written.
    socket2::SockRef::from(&peer.socket).set_linger(Some(std::time::Duration::ZERO)).unwrap();
    drop(peer);
    go.send_blocking(()).unwrap();
    assert_eq!(server.error(), "a service's own error");
    server.stop();
}
