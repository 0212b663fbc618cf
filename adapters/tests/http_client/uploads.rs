//! Requests whose body is sent as it is made.

use crate::{
    client::{Client, OnRuntime, Response, Upload},
    site::{GUARD, Site, ok},
};
use bytewise::http1::{BodyLength, Misuse, NO_FIELDS};
use bytewise_net::{self as net, ClientOptions, RequestError};
use futures_lite::future::poll_once;
use std::sync::{Mutex, mpsc};

on_every_runtime!(
    in_chunks,
    with_trailers,
    of_a_length,
    without_a_body,
    fields_and_host,
    the_connection_is_kept,
    shorter_than_announced,
    longer_than_announced,
    trailers_that_cannot_be,
    given_up,
    answered_early,
    of_many_megabytes,
    comes_back_as_it_goes,
    refused_while_it_goes,
);

/// Answers with what it was sent, and how.
fn site() -> Site {
    Site::answering(|request| {
        let framing = request.field("transfer-encoding").or(request.field("content-length")).unwrap_or("nothing");
        ok(&format!("{} {framing}: {} {:?}", request.method(), request.body, request.trailers))
    })
}

fn in_chunks<C: Client>() {
    let site = site();
    let mut upload = C::new().post_stream(&site.url("/a")).unwrap();
    upload.send("one, ").unwrap();
    // Is no end.
    upload.send("").unwrap();
    upload.send(b"two".to_vec()).unwrap();
    let mut response = upload.finish(&[]).unwrap();
    assert_eq!(response.text(), "POST chunked: one, two \"\"");
    assert_eq!(response.url(), site.url("/a"));
}

fn with_trailers<C: Client>() {
    let site = site();
    let mut upload = C::new().post_stream(&site.url("/a")).unwrap();
    upload.send("hello").unwrap();
    let trailers = [("x-sum", "7"), ("X-Sum", "8")];
    assert_eq!(upload.finish(&trailers).unwrap().text(), r#"POST chunked: hello "x-sum: 7\r\nX-Sum: 8\r\n""#);
}

fn of_a_length<C: Client>() {
    let site = site();
    let mut upload = C::new().begin("PUT", &site.url("/a"), &[], BodyLength::Length(8)).unwrap();
    upload.send("one, ").unwrap();
    upload.send("two").unwrap();
    assert_eq!(upload.finish(&[]).unwrap().text(), "PUT 8: one, two \"\"");
}

fn without_a_body<C: Client>() {
    let site = site();
    let client = C::new();
    for (length, text) in [(BodyLength::None, "PUT nothing:  \"\""), (BodyLength::Length(0), "PUT 0:  \"\"")] {
        let upload = client.begin("PUT", &site.url("/a"), &[], length).unwrap();
        assert_eq!(upload.finish(&[]).unwrap().text(), text);
    }
}

fn fields_and_host<C: Client>() {
    let site = site();
    let client = C::new();
    let fields = [("content-type", "text/plain")];
    client.begin("PUT", &site.url("/a?b"), &fields, BodyLength::Length(0)).unwrap().finish(&[]).unwrap();
    let lines = format!("host: {}\r\ncontent-type: text/plain\r\ncontent-length: 0\r\n\r\n", site.address);
    assert_eq!(site.request().head, format!("PUT /a?b HTTP/1.1\r\n{lines}"));
    let fields = [("Host", "example.org")];
    client.begin("PUT", &site.url("/"), &fields, BodyLength::Length(0)).unwrap().finish(&[]).unwrap();
    assert_eq!(site.request().names(), ["Host", "content-length"]);
}

fn the_connection_is_kept<C: Client>() {
    let site = site();
    let client = C::new();
    for i in 0..3 {
        let mut upload = client.post_stream(&site.url("/")).unwrap();
        upload.send(i.to_string()).unwrap();
        upload.finish(&[]).unwrap().text();
        client.ask_get(&site.url("/"));
    }
    assert!(site.heard().iter().all(|heard| heard.starts_with("0 ")));
}

#[track_caller]
fn misuse<T>(outcome: Result<T, RequestError>) -> Misuse {
    match outcome.err() {
        Some(RequestError::Misuse(misuse)) => misuse,
        other => panic!("{other:?}"),
    }
}

/// It never becomes a request: the site sees it cut.
fn shorter_than_announced<C: Client>() {
    let site = site();
    let client = C::new();
    let mut upload = client.begin("PUT", &site.url("/"), &[], BodyLength::Length(10)).unwrap();
    upload.send("012345678").unwrap();
    assert_eq!(misuse(upload.finish(&[])), Misuse::BodyTooShort);
    assert_eq!(client.ask_get(&site.url("/after")), "GET nothing:  \"\"");
    assert!(site.heard()[0].ends_with(" GET /after"));
}

/// The piece that is too long is not sent; what fits may follow.
fn longer_than_announced<C: Client>() {
    let site = site();
    let mut upload = C::new().begin("PUT", &site.url("/"), &[], BodyLength::Length(3)).unwrap();
    upload.send("01").unwrap();
    assert_eq!(misuse(upload.send("23")), Misuse::BodyTooLong);
    upload.send("2").unwrap();
    assert_eq!(misuse(upload.send("3")), Misuse::BodyTooLong);
    assert_eq!(upload.finish(&[]).unwrap().text(), "PUT 3: 012 \"\"");
}

fn trailers_that_cannot_be<C: Client>() {
    let site = site();
    let client = C::new();
    let upload = client.begin("PUT", &site.url("/"), &[], BodyLength::Length(0)).unwrap();
    assert_eq!(misuse(upload.finish(&[("x-sum", "7")])), Misuse::BodyForbidden);
    for trailer in [("content-length", "3"), ("host", "a"), ("x", "a\r\nb: c"), ("", "x")] {
        let upload = client.post_stream(&site.url("/")).unwrap();
        assert_eq!(misuse(upload.finish(&[trailer])), Misuse::Field, "{trailer:?}");
    }
    let upload = client.begin("GET", &site.url("/"), &[], BodyLength::UntilClose);
    assert_eq!(misuse(upload), Misuse::BodyForbidden);
}

/// Its connection closes, for the site waits for the rest.
fn given_up<C: Client>() {
    let site = site();
    let client = C::new();
    for conn in 0..2 {
        let mut upload = client.post_stream(&site.url("/")).unwrap();
        upload.send("x".repeat(100_000)).unwrap();
        drop(upload);
        assert_eq!(site.ended(), conn);
    }
    assert_eq!(site.heard(), [""; 0]);
}

/// Heard at the end, and a connection whose request went out whole is kept.
fn answered_early<C: Client>() {
    let (tell, told) = mpsc::channel();
    let tell = Mutex::new(tell);
    let site = Site::start(move |conn| {
        while let Some(head) = conn.head() {
            conn.say(ok("early"));
            tell.lock().unwrap().send(()).unwrap();
            if head.field("content-length").is_some() {
                assert_eq!(conn.take(5).as_deref(), Some("hello"));
            }
            conn.heard(&head);
        }
    });
    let client = C::new();
    for _ in 0..2 {
        let mut upload = client.begin("PUT", &site.url("/"), &[], BodyLength::Length(5)).unwrap();
        upload.send("hel").unwrap();
        // It only writes what is much: the head of a small one may wait for the end.
        upload.send("lo").unwrap();
        let mut response = upload.finish(&[]).unwrap();
        told.recv_timeout(GUARD).unwrap();
        assert_eq!(response.text(), "early");
        drop(response);
        client.ask_get(&site.url("/"));
        told.recv_timeout(GUARD).unwrap();
    }
    assert!(site.request().conn == 0 && site.request().conn == 0);
}

fn of_many_megabytes<C: Client>() {
    const PIECE: usize = 100_000;
    let site = Site::start(|conn| {
        while let Some(request) = conn.request() {
            assert!(request.body.bytes().enumerate().all(|(i, byte)| byte == b'a' + (i / PIECE % 23) as u8));
            conn.say(ok(&request.body.len().to_string()));
        }
    });
    let client = C::new();
    for length in [BodyLength::Chunked, BodyLength::Length(80 * PIECE as u64)] {
        let mut upload = client.begin("PUT", &site.url("/"), &[], length).unwrap();
        for i in 0..80 {
            upload.send(vec![b'a' + i % 23; PIECE]).unwrap();
        }
        assert_eq!(upload.finish(&[]).unwrap().text(), (80 * PIECE).to_string());
    }
    assert_eq!(site.heard(), ["0 PUT /"; 2]);
}

/// A site that answers while it is asked, and takes no more than it can give back: who only wrote would wait for ever.
fn comes_back_as_it_goes<C: Client>() {
    const LEN: usize = 8 << 20;
    let site = Site::start(|conn| {
        let socket = socket2::SockRef::from(&conn.socket);
        socket.set_send_buffer_size(1 << 16).unwrap();
        socket.set_recv_buffer_size(1 << 16).unwrap();
        while let Some(head) = conn.head() {
            let mut left: usize = head.field("content-length").unwrap().parse().unwrap();
            conn.say(format!("HTTP/1.1 200 OK\r\ncontent-length: {left}\r\n\r\n"));
            while left > 0 {
                let piece = conn.take(left.min(1 << 16)).unwrap();
                left -= piece.len();
                conn.say(piece);
            }
        }
    });
    let body = "x".repeat(LEN);
    assert!(C::new().post(&site.url("/"), &body).unwrap().body(LEN).unwrap() == body);
}

/// The site answers, and takes no more: the answer is heard without the rest being sent.
fn refused_while_it_goes<C: Client>() {
    let (heard, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let site = Site::start(move |conn| {
        conn.head().unwrap();
        conn.say("HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nno!");
        wait.lock().unwrap().recv_timeout(GUARD).unwrap();
    });
    let client = C::new();
    let mut response = client.post(&site.url("/"), &"x".repeat(32 << 20)).unwrap();
    assert_eq!((response.status(), response.text()), (413, "no!".into()));
    heard.send(()).unwrap();
    drop(response);
    assert_eq!(site.ended(), 0);
}

/// While the site takes nothing, only so much is queued; when it does, all of it comes.
#[test]
fn waits_for_a_slow_site() {
    slow_site::<net::tokio::Connector>();
    slow_site::<net::smol::Connector>();
    slow_site::<net::async_std::Connector>();
}

fn slow_site<C: OnRuntime>() {
    const PIECE: usize = 64 * 1024;
    let (go, may_go) = mpsc::channel::<()>();
    let may_go = Mutex::new(may_go);
    let site = Site::start(move |conn| {
        let Some(head) = conn.head() else { return };
        may_go.lock().unwrap().recv_timeout(GUARD).unwrap();
        let length = head.field("content-length").unwrap().parse().unwrap();
        let body = conn.take(length).unwrap();
        conn.say(ok(&body.len().to_string()));
    });
    C::block_on(async {
        let client = net::HttpClient::<C>::new(ClientOptions::default());
        let pieces = 512;
        let length = BodyLength::Length((pieces * PIECE) as u64);
        let mut upload = client.begin("PUT", &site.url("/"), NO_FIELDS, length).await.unwrap();
        let mut sent = 0;
        // A piece is queued once it was asked for, whether that was waited for or not.
        while poll_once(upload.send(vec![b'x'; PIECE])).await.is_some() {
            sent += 1;
            assert!(sent < pieces, "all of it is in memory");
        }
        go.send(()).unwrap();
        for _ in sent + 1..pieces {
            upload.send(vec![b'x'; PIECE]).await.unwrap();
        }
        let mut response = upload.finish(NO_FIELDS).await.unwrap();
        assert_eq!(response.body(100).await.unwrap(), (pieces * PIECE).to_string());
    });
}
