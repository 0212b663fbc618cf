//! Who takes too long, and who is not there.

use crate::{
    client::{Client, Response, Upload},
    site::{Conn, Site, ok},
};
use bytewise::{Phase, Time, TimedOut, Timeouts, http1::BodyLength};
use bytewise_net::{ClientOptions, Error, RequestError};
use std::{error::Error as _, io, net::TcpListener};

on_every_runtime!(
    nobody_is_there,
    no_such_name,
    a_response_that_does_not_begin,
    an_upload_that_is_not_answered,
    a_body_that_stops,
    a_response_that_trickles,
    a_site_that_takes_nothing,
    time_between_requests_is_nobodys,
);

const SHORT: Time = Time::from_millis(400);

fn client<C: Client>(timeouts: Timeouts) -> C {
    C::with_options(ClientOptions::default().with_timeouts(timeouts))
}

#[track_caller]
fn assert_timed_out(error: &RequestError, phase: Phase) {
    match error {
        RequestError::Connection(Error::TimedOut(TimedOut::Phase(which))) => assert_eq!(*which, phase),
        other => panic!("{other}"),
    }
    assert!(error.to_string().starts_with("timed out: "), "{error}");
}

/// The text says what failed, and why.
fn nobody_is_there<C: Client>() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}/");
    let client = C::new();
    let errors = [client.get(&url).err(), client.post(&url, "a").err(), client.post_stream(&url).err()];
    for error in errors.map(Option::unwrap) {
        match &error {
            RequestError::Connect(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused),
            other => panic!("{other}"),
        }
        let why = error.source().unwrap().to_string();
        assert!(why.to_lowercase().contains("connection refused"), "{why}");
        assert_eq!(error.to_string(), format!("connecting failed: {why}"));
    }
}

/// Not a name at all (a label is empty), so that nobody is asked for it.
fn no_such_name<C: Client>() {
    let error = C::new().refused("GET", "http://a..b/");
    assert!(matches!(error, RequestError::Connect(_)), "{error}");
}

/// Takes requests, and answers none but those for `/fine`.
fn silent(conn: &mut Conn) {
    while let Some(request) = conn.request() {
        if request.target() == "/fine" {
            conn.say(ok("fine"));
        }
    }
}

fn a_response_that_does_not_begin<C: Client>() {
    let site = Site::start(silent);
    let client: C = client(Timeouts::none().with(Phase::Head, Some(SHORT)));
    assert_timed_out(&client.refused("GET", &site.url("/")), Phase::Head);
    assert_eq!(site.ended(), 0);
    // A connection that was kept is no other: it is not asked again.
    client.ask_get(&site.url("/fine"));
    assert_timed_out(&client.refused("GET", &site.url("/")), Phase::Head);
    assert_eq!(site.heard(), ["0 GET /", "1 GET /fine", "1 GET /"]);
}

fn an_upload_that_is_not_answered<C: Client>() {
    let site = Site::start(silent);
    let client: C = client(Timeouts::none().with(Phase::Head, Some(SHORT)));
    let mut upload = client.begin("PUT", &site.url("/"), &[], BodyLength::Chunked).unwrap();
    upload.send("hello").unwrap();
    assert_timed_out(&upload.finish(&[]).err().unwrap(), Phase::Head);
}

fn a_body_that_stops<C: Client>() {
    let site = Site::start(|conn| {
        while conn.request().is_some() {
            conn.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234");
        }
    });
    let client: C = client(Timeouts::none().with(Phase::Body, Some(SHORT)));
    assert_timed_out(&client.get(&site.url("/")).unwrap().body(100).unwrap_err(), Phase::Body);
    let mut response = client.get(&site.url("/")).unwrap();
    assert_eq!(response.data().unwrap(), Some(&b"01234"[..]));
    assert_timed_out(&response.data().unwrap_err(), Phase::Body);
    // And so on.
    assert_timed_out(&response.data().unwrap_err(), Phase::Body);
}

/// More bytes of a head are no reprieve.
fn a_response_that_trickles<C: Client>() {
    let site = Site::start(|conn| {
        if conn.request().is_some() {
            conn.say("HTTP/1.1 200 OK\r\n");
            conn.socket.set_read_timeout(Some(Time::from_millis(10))).unwrap();
            // Until the client is gone.
            while !conn.is_over() {
                conn.say("x: y\r\n");
            }
        }
    });
    let client: C = client(Timeouts::none().with(Phase::Head, Some(SHORT)));
    assert_timed_out(&client.refused("GET", &site.url("/")), Phase::Head);
}

fn a_site_that_takes_nothing<C: Client>() {
    let (gone, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let site = Site::start(move |_| wait.lock().unwrap().recv_timeout(crate::site::GUARD).unwrap());
    let client: C = client(Timeouts::none().with_write_stall(Some(SHORT)));
    let error = client.post(&site.url("/"), &"x".repeat(32 << 20)).err().unwrap();
    match &error {
        RequestError::Connection(Error::TimedOut(TimedOut::Write)) => {}
        other => panic!("{other}"),
    }
    gone.send(()).unwrap();
    let mut upload = client.begin("PUT", &site.url("/"), &[], BodyLength::Chunked).unwrap();
    let piece = "x".repeat(1 << 20);
    let error = (0..32).find_map(|_| upload.send(&*piece).err()).expect("it stalls");
    match &error {
        RequestError::Connection(Error::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::TimedOut),
        other => panic!("{other}"),
    }
    gone.send(()).unwrap();
}

/// A connection that was kept for longer than a response may take is as good as new.
fn time_between_requests_is_nobodys<C: Client>() {
    let site = Site::plain();
    let timeouts = Timeouts::none().with(Phase::Head, Some(SHORT)).with(Phase::Body, Some(SHORT));
    let client: C = client(timeouts.with_min_rate(1, SHORT));
    client.ask_get(&site.url("/"));
    // Something else takes longer than that.
    let slow = Site::start(silent);
    client.refused("GET", &slow.url("/"));
    client.ask_get(&site.url("/"));
    assert_eq!(site.heard(), ["0 GET /", "0 GET /"]);
}
