//! Connections that were kept and turn out to be closed.

use crate::{
    client::{Client, Response, Upload},
    site::{Conn, Site, ok},
};
use bytewise::http1;
use bytewise_net::{Error, RequestError};
use std::sync::{Arc, Barrier};

on_every_runtime!(
    asked_again,
    asked_again_after_a_reset,
    not_asked_again,
    with_its_body,
    not_while_it_is_new,
    not_once_a_response_has_begun,
    several,
    uploads_are_not_sent_again,
    noticed_before_it_is_used,
    an_answer_that_came_too_early,
);

/// Answers `/first`, and takes any other request on the same connection with it to the grave; on others, answers.
fn once(conn: &mut Conn) {
    while let Some(request) = conn.request() {
        if request.target() != "/first" && request.conn == 0 {
            return;
        }
        conn.say(ok(&request.body));
    }
}

#[track_caller]
fn assert_cut_off(error: &RequestError) {
    match error {
        RequestError::Connection(Error::Protocol(http1::Error::UnexpectedEof { seen: 0, .. }) | Error::Io(_)) => {}
        other => panic!("{other}"),
    }
}

/// What is idempotent may be asked twice (RFC 9110, section 9.2.2).
fn asked_again<C: Client>() {
    for method in ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"] {
        let site = Site::start(once);
        let client = C::new();
        client.ask_get(&site.url("/first"));
        client.ask(method, &site.url("/a"));
        assert_eq!(site.heard(), ["0 GET /first".into(), format!("0 {method} /a"), format!("1 {method} /a")]);
        // It is the other one that is kept.
        client.ask_get(&site.url("/b"));
        assert_eq!(site.heard(), ["1 GET /b"]);
    }
}

fn asked_again_after_a_reset<C: Client>() {
    let site = Site::start(|conn| {
        conn.reset();
        once(conn);
    });
    let client = C::new();
    client.ask_get(&site.url("/first"));
    client.ask_get(&site.url("/a"));
    assert_eq!(site.heard(), ["0 GET /first", "0 GET /a", "1 GET /a"]);
}

/// What is not may have been done.
fn not_asked_again<C: Client>() {
    for method in ["POST", "PATCH", "get", "LOCK"] {
        let site = Site::start(once);
        let client = C::new();
        client.ask_get(&site.url("/first"));
        assert_cut_off(&client.refused(method, &site.url("/a")));
        assert_eq!(site.heard(), ["0 GET /first".into(), format!("0 {method} /a")]);
        client.ask(method, &site.url("/b"));
        assert_eq!(site.heard(), [format!("1 {method} /b")]);
    }
}

fn with_its_body<C: Client>() {
    let site = Site::start(once);
    let client = C::new();
    client.ask_get(&site.url("/first"));
    let body = "x".repeat(100_000);
    assert!(client.request("PUT", &site.url("/a"), &[("x-one", "1")], &body).unwrap().text() == body);
    site.request();
    let (first, second) = (site.request(), site.request());
    assert_eq!(first.head, second.head);
    assert_eq!((first.body, second.body), (body.clone(), body));
}

/// Who closes a connection that is new does so for a reason.
fn not_while_it_is_new<C: Client>() {
    let site = Site::start(|conn| drop(conn.request()));
    assert_cut_off(&C::new().refused("GET", &site.url("/a")));
    assert_eq!(site.heard(), ["0 GET /a"]);
}

fn not_once_a_response_has_begun<C: Client>() {
    let site = Site::start(|conn| {
        while let Some(request) = conn.request() {
            if request.target() != "/first" {
                return conn.say("HTTP/1.1 200 OK\r\nx");
            }
            conn.say(ok("first"));
        }
    });
    let client = C::new();
    client.ask_get(&site.url("/first"));
    match client.refused("GET", &site.url("/a")) {
        RequestError::Connection(Error::Protocol(http1::Error::UnexpectedEof { seen: 18, expected: None })) => {}
        other => panic!("{other}"),
    }
    assert_eq!(site.heard(), ["0 GET /first", "0 GET /a"]);
}

/// All that were kept are tried, and then one that is new.
fn several<C: Client>() {
    let together = Arc::new(Barrier::new(3));
    let site = Site::start(move |conn| {
        while let Some(request) = conn.request() {
            match request.target() {
                "/first" => drop(together.wait()),
                _ if request.conn < 3 => return,
                _ => {}
            }
            conn.say(ok(request.target()));
        }
    });
    let (client, first) = (C::new(), site.url("/first"));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| client.ask_get(&first));
        }
    });
    assert_eq!(site.heard().len(), 3);
    assert_eq!(client.ask_get(&site.url("/a")), "/a");
    let heard = site.heard();
    assert_eq!((heard.len(), heard[3].as_str()), (4, "3 GET /a"));
}

/// What was sent is gone.
fn uploads_are_not_sent_again<C: Client>() {
    let site = Site::start(once);
    let client = C::new();
    client.ask_get(&site.url("/first"));
    let mut upload = client.begin("PUT", &site.url("/a"), &[], http1::BodyLength::Chunked).unwrap();
    upload.send("hello").unwrap();
    assert_cut_off(&upload.finish(&[]).err().unwrap());
    assert_eq!(site.heard(), ["0 GET /first", "0 PUT /a"]);
}

/// Closed a while ago, which the client could know: then what is not idempotent is not sent there in the first place.
fn noticed_before_it_is_used<C: Client>() {
    let (site, other) = (Site::start(|conn| say_once(conn, "")), Site::plain());
    let client = C::new();
    for conn in 0..5 {
        // A short one comes with its head, a long one takes many reads.
        let body = "x".repeat(conn * 100_000);
        assert!(client.post(&site.url("/a"), &body).unwrap().text() == body);
        assert_eq!(site.ended(), conn);
        // Whatever runs the client has been told when it has this answer, which came later.
        client.ask_get(&other.url("/"));
        assert_eq!(site.heard(), [format!("{conn} POST /a")]);
    }
}

/// Answers one request, and says something more.
fn say_once(conn: &mut Conn, more: &str) {
    if let Some(request) = conn.request() {
        conn.say(ok(&request.body));
        conn.say(more);
    }
}

/// Servers that close say `408` at times, which is no answer to what was not asked yet (RFC 9110, section 15.5.9).
fn an_answer_that_came_too_early<C: Client>() {
    let timed_out = "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let (site, other) = (Site::start(move |conn| say_once(conn, timed_out)), Site::plain());
    let client = C::new();
    for conn in 0..3 {
        assert_eq!(client.post(&site.url("/a"), "hello").unwrap().text(), "hello");
        assert_eq!(site.ended(), conn);
        client.ask_get(&other.url("/"));
    }
    assert_eq!(site.heard(), ["0 POST /a", "1 POST /a", "2 POST /a"]);
}
