//! Which connection a request takes, and what becomes of it.

use crate::{
    client::{Client, Response},
    site::{Conn, Site, ok},
};
use bytewise::Time;
use std::{
    sync::{Arc, Barrier},
    thread,
};

on_every_runtime!(
    one_after_another,
    two_at_once,
    a_site_each,
    so_many_for_each_site,
    none,
    not_for_long,
    clones_share,
    a_response_without_a_body_needs_no_reading,
    a_response_that_is_not_read,
    a_response_that_is_read_in_part,
    a_response_read_by_another_thread,
    close_is_said,
    http_10,
    more_than_was_asked_for,
    the_client_is_gone,
);

const LONG: Time = Time::from_secs(600);

/// Answers when so many requests are there.
fn together(count: usize) -> Site {
    let barrier = Arc::new(Barrier::new(count));
    Site::start(move |conn| {
        while let Some(request) = conn.request() {
            if request.target() == "/together" {
                barrier.wait();
            }
            conn.say(ok(request.target()));
        }
    })
}

/// Asks as often, at once.
fn ask_at_once<C: Client>(client: &C, site: &Site, count: usize) {
    let url = site.url("/together");
    thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| assert_eq!(client.ask_get(&url), "/together"));
        }
    });
}

fn one_after_another<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    for i in 0..20 {
        let target = format!("/{i}");
        assert_eq!(client.ask("PUT", &site.url(&target)), format!("PUT {target}"));
    }
    assert!(site.heard().iter().all(|heard| heard.starts_with("0 ")));
}

/// Each has its own connection; later, both are there to be used, the last one first.
fn two_at_once<C: Client>() {
    let site = together(2);
    let client = C::new();
    ask_at_once(&client, &site, 2);
    let mut conns: Vec<_> = site.heard();
    conns.sort();
    assert_eq!(conns, ["0 GET /together", "1 GET /together"]);
    ask_at_once(&client, &site, 2);
    for _ in 0..4 {
        client.ask_get(&site.url("/alone"));
    }
    let heard = site.heard();
    assert!(heard.iter().all(|heard| heard.starts_with('0') || heard.starts_with('1')), "{heard:?}");
    assert!(heard[2..].iter().all(|other| *other == heard[2]), "{heard:?}");
}

/// A connection leads to one host and port.
fn a_site_each<C: Client>() {
    let (one, other) = (Site::plain(), Site::plain());
    let client = C::new();
    for _ in 0..3 {
        client.ask_get(&one.url("/one"));
        client.ask_get(&other.url("/other"));
    }
    assert_eq!((one.heard(), other.heard()), (vec!["0 GET /one".into(); 3], vec!["0 GET /other".into(); 3]));
    // Another name for the same is another site.
    client.ask_get(&format!("http://localhost:{}/", one.address.port()));
    assert_eq!(one.heard(), ["1 GET /"]);
}

fn so_many_for_each_site<C: Client>() {
    let site = together(3);
    let client = C::new().idle(2, LONG);
    ask_at_once(&client, &site, 3);
    // The third that comes back has no place; its connection closes.
    let closed = site.ended();
    let _ = site.heard();
    for _ in 0..3 {
        client.ask_get(&site.url("/alone"));
    }
    let heard = site.heard();
    assert!(heard.iter().all(|other| *other == heard[0] && !other.starts_with(&closed.to_string())), "{heard:?}");
    assert!(!site.has_ended());
}

fn none<C: Client>() {
    let site = Site::plain();
    let client = C::new().idle(0, LONG);
    for conn in 0..3 {
        client.ask_get(&site.url("/"));
        assert_eq!(site.ended(), conn);
    }
    assert_eq!(site.heard(), ["0 GET /", "1 GET /", "2 GET /"]);
}

/// One that was idle for too long is not used; it closes when another comes, or is looked for.
fn not_for_long<C: Client>() {
    let site = Site::plain();
    let client = C::new().idle(8, Time::ZERO);
    client.ask_get(&site.url("/"));
    assert!(!site.has_ended());
    client.ask_get(&site.url("/"));
    assert_eq!(site.ended(), 0);
    let other = Site::plain();
    client.ask_get(&other.url("/"));
    assert_eq!(site.ended(), 1);
    assert_eq!(site.heard(), ["0 GET /", "1 GET /"]);
}

fn clones_share<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    client.ask_get(&site.url("/"));
    client.clone().ask_get(&site.url("/"));
    // One with settings of its own has connections of its own.
    let other = client.clone().idle(1, LONG);
    other.ask_get(&site.url("/"));
    drop(client);
    assert_eq!(site.ended(), 0);
    other.ask_get(&site.url("/"));
    assert_eq!(site.heard(), ["0 GET /", "0 GET /", "1 GET /", "1 GET /"]);
}

/// There is nothing to wait for: the head is all.
fn a_response_without_a_body_needs_no_reading<C: Client>() {
    let site = Site::answering(|request| match (request.method(), request.target()) {
        ("HEAD", _) => "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n".into(),
        (_, "/empty") => ok(""),
        (_, "/204") => "HTTP/1.1 204 No Content\r\n\r\n".into(),
        _ => "HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n".into(),
    });
    let client = C::new();
    for (method, target) in [("HEAD", "/"), ("POST", "/empty"), ("DELETE", "/204"), ("GET", "/304")] {
        drop(client.request(method, &site.url(target), &[], "").unwrap());
    }
    assert_eq!(site.heard(), ["0 HEAD /", "0 POST /empty", "0 DELETE /204", "0 GET /304"]);
}

/// Says the head and part of what it announced, and waits.
fn endless(conn: &mut Conn) {
    while conn.request().is_some() {
        conn.say("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\nbegun");
    }
}

fn a_response_that_is_not_read<C: Client>() {
    let site = Site::start(endless);
    let client = C::new();
    for conn in 0..3 {
        drop(client.get(&site.url("/")).unwrap());
        assert_eq!(site.ended(), conn);
    }
}

fn a_response_that_is_read_in_part<C: Client>() {
    let site = Site::start(endless);
    let client = C::new();
    for conn in 0..3 {
        let mut response = client.get(&site.url("/")).unwrap();
        assert_eq!(response.data().unwrap(), Some(&b"begun"[..]));
        drop(response);
        assert_eq!(site.ended(), conn);
    }
}

fn a_response_read_by_another_thread<C: Client<Response: Send>>() {
    let site = Site::plain();
    let client = C::new();
    for _ in 0..3 {
        let mut response = client.get(&site.url("/")).unwrap();
        thread::scope(|scope| scope.spawn(move || assert_eq!(response.text(), "GET /")).join().unwrap());
    }
    assert_eq!(site.heard(), ["0 GET /"; 3]);
}

fn close_is_said<C: Client>() {
    let site = Site::answering(|_| ok("last").replace("\r\n\r\n", "\r\nConnection: Close\r\n\r\n"));
    let client = C::new();
    for conn in 0..3 {
        client.ask_get(&site.url("/"));
        // It closes first.
        assert_eq!(site.ended(), conn);
    }
}

fn http_10<C: Client>() {
    let site = Site::answering(|request| {
        let keep = if request.target() == "/kept" { "\r\nconnection: keep-alive" } else { "" };
        format!("HTTP/1.0 200 OK{keep}\r\ncontent-length: 2\r\n\r\nhi")
    });
    let client = C::new();
    for target in ["/kept", "/kept", "/closed", "/kept"] {
        assert_eq!(client.ask_get(&site.url(target)), "hi");
    }
    assert_eq!(site.heard(), ["0 GET /kept", "0 GET /kept", "0 GET /closed", "1 GET /kept"]);
}

/// What comes behind a response would be taken for the next one: that is how responses are swapped.
fn more_than_was_asked_for<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/two" => [ok("asked for"), ok("smuggled")].concat(),
        target => ok(target),
    });
    let client = C::new();
    assert_eq!(client.ask_get(&site.url("/two")), "asked for");
    assert_eq!(client.ask_get(&site.url("/next")), "/next");
    assert_eq!(site.heard(), ["0 GET /two", "1 GET /next"]);
}

/// With the last clone, and the last response, its connections go.
fn the_client_is_gone<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    client.ask_get(&site.url("/"));
    drop(client);
    assert_eq!(site.ended(), 0);
    let client = C::new();
    let mut response = client.get(&site.url("/")).unwrap();
    drop(client);
    assert_eq!(response.text(), "GET /");
    drop(response);
    assert_eq!(site.ended(), 1);
}
