//! Bodies of responses: however they are delimited, whole and in pieces, within limits, and cut.

use crate::{
    client::{Client, Response},
    site::{Site, ok},
};
use bytewise::http1::{self, BodyLength, Config};
use bytewise_net::{Error, RequestError};

on_every_runtime!(
    by_length,
    in_chunks,
    trailers,
    until_close,
    none_at_all,
    after_head,
    piece_by_piece,
    the_rest_after_a_piece,
    within_the_callers_limit,
    within_the_connections_limit,
    cut,
    of_many_megabytes,
);

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// The error of a body, and whether another request uses its connection.
#[track_caller]
fn failed(body: Result<impl std::fmt::Debug, RequestError>) -> http1::Error {
    match body {
        Err(RequestError::Connection(Error::Protocol(error))) => error,
        other => panic!("{other:?}"),
    }
}

fn by_length<C: Client>() {
    let site = Site::plain();
    let mut response = C::new().get(&site.url("/a")).unwrap();
    assert_eq!(response.head().body_length(), BodyLength::Length(6));
    assert_eq!(response.body(6).unwrap(), "GET /a");
    // It is taken.
    assert_eq!(response.body(6).unwrap(), "");
    assert!(response.data().unwrap().is_none());
}

fn in_chunks<C: Client>() {
    let site = Site::answering(|_| [CHUNKED, "5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\n\r\n"].concat());
    let client = C::new();
    for _ in 0..3 {
        let mut response = client.get(&site.url("/")).unwrap();
        assert_eq!(response.head().body_length(), BodyLength::Chunked);
        assert_eq!(response.text(), "hello, world");
        assert!(response.trailers().is_empty());
    }
    assert_eq!(site.heard(), ["0 GET /"; 3]);
}

fn trailers<C: Client>() {
    let site = Site::answering(|_| [CHUNKED, "2\r\nhi\r\n0\r\nX-Sum: 7\r\nhost: never\r\n\r\n"].concat());
    let client = C::new();
    let mut response = client.get(&site.url("/")).unwrap();
    assert!(response.trailers().is_empty(), "there are none before the end");
    assert_eq!(response.text(), "hi");
    assert_eq!(response.trailers().iter().collect::<Vec<_>>(), [("X-Sum", &b"7"[..])]);
    let mut response = client.get(&site.url("/")).unwrap();
    while response.data().unwrap().is_some() {}
    assert_eq!(response.trailers().get("x-sum"), Some(&b"7"[..]));
}

/// The connection is used up by it.
fn until_close<C: Client>() {
    let site = Site::start(|conn| {
        if let Some(request) = conn.request() {
            conn.say(format!("HTTP/1.1 200 OK\r\n\r\n{}", request.target()));
        }
    });
    let client = C::new();
    for target in ["/one", "/two"] {
        let mut response = client.get(&site.url(target)).unwrap();
        assert_eq!(response.head().body_length(), BodyLength::UntilClose);
        assert_eq!(response.text(), target);
    }
    assert_eq!(site.heard(), ["0 GET /one", "1 GET /two"]);
}

fn none_at_all<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/length" => ok(""),
        "/chunks" => [CHUNKED, "0\r\n\r\n"].concat(),
        // What else these say of a body is of one that they do not have.
        "/204" => "HTTP/1.1 204 No Content\r\n\r\n".into(),
        _ => "HTTP/1.1 304 Not Modified\r\ncontent-length: 1000\r\n\r\n".into(),
    });
    let client = C::new();
    for target in ["/length", "/chunks", "/204", "/304"] {
        let mut response = client.get(&site.url(target)).unwrap();
        assert!(response.data().unwrap().is_none(), "{target}");
        assert_eq!(response.body(0).unwrap(), "");
    }
    assert_eq!(site.heard(), ["0 GET /length", "0 GET /chunks", "0 GET /204", "0 GET /304"]);
}

fn after_head<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/length" => "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n".into(),
        "/chunks" => CHUNKED.into(),
        _ => "HTTP/1.1 200 OK\r\n\r\n".into(),
    });
    let client = C::new();
    for target in ["/length", "/chunks", "/nothing"] {
        assert_eq!(client.ask("HEAD", &site.url(target)), "");
    }
    assert_eq!(site.heard(), ["0 HEAD /length", "0 HEAD /chunks", "0 HEAD /nothing"]);
}

/// Each as it comes: the site goes on when the client has it.
fn piece_by_piece<C: Client>() {
    let (has, heard) = std::sync::mpsc::channel();
    let heard = std::sync::Mutex::new(heard);
    let site = Site::start(move |conn| {
        while conn.request().is_some() {
            conn.say(CHUNKED);
            for piece in ["one", "two", "three"] {
                conn.say(format!("{:x}\r\n{piece}\r\n", piece.len()));
                heard.lock().unwrap().recv_timeout(crate::site::GUARD).unwrap();
            }
            conn.say("0\r\n\r\n");
        }
    });
    let client = C::new();
    for _ in 0..2 {
        let mut response = client.get(&site.url("/")).unwrap();
        for piece in ["one", "two", "three"] {
            assert_eq!(response.data().unwrap(), Some(piece.as_bytes()));
            has.send(()).unwrap();
        }
        assert_eq!(response.data().unwrap(), None);
        assert_eq!(response.data().unwrap(), None);
    }
    assert_eq!(site.heard(), ["0 GET /"; 2]);
}

fn the_rest_after_a_piece<C: Client>() {
    let site = Site::answering(|_| [CHUNKED, "3\r\none\r\n", "3\r\ntwo\r\n", "5\r\nthree\r\n0\r\n\r\n"].concat());
    let mut response = C::new().get(&site.url("/")).unwrap();
    assert_eq!(response.data().unwrap(), Some(&b"one"[..]));
    assert_eq!(response.body(8).unwrap(), "twothree");
}

fn within_the_callers_limit<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/length" => ok("0123456789"),
        _ => [CHUNKED, "5\r\n01234\r\n", "5\r\n56789\r\n0\r\n\r\n"].concat(),
    });
    let client = C::new();
    for target in ["/length", "/chunks"] {
        for max in [10, 11, usize::MAX] {
            assert_eq!(client.get(&site.url(target)).unwrap().body(max).unwrap(), "0123456789");
        }
        for max in [0, 9] {
            let body = client.get(&site.url(target)).unwrap().body(max);
            assert_eq!(failed(body), http1::Error::BodyTooLong);
            // What is left of it is nobody's.
            site.ended();
        }
    }
}

fn within_the_connections_limit<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/length" => ok("0123456789"),
        _ => [CHUNKED, "5\r\n01234\r\n", "5\r\n56789\r\n0\r\n\r\n"].concat(),
    });
    for target in ["/length", "/chunks"] {
        let client = C::new().config(Config::default().with_max_body(10));
        assert_eq!(client.ask_get(&site.url(target)), "0123456789");
        let client = C::new().config(Config::default().with_max_body(9));
        let body = client.get(&site.url(target)).unwrap().body(10);
        assert_eq!(failed(body), http1::Error::BodyTooLong);
    }
}

/// However it is delimited: a body that is not whole is not taken for one. (Until close, only a reset tells.)
fn cut<C: Client>() {
    let site = Site::start(|conn| {
        match conn.request().as_ref().map(crate::site::Request::target) {
            Some("/length") => conn.say("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n01234"),
            Some("/chunk") => conn.say([CHUNKED, "a\r\n01234"].concat()),
            Some("/chunks") => conn.say([CHUNKED, "5\r\n01234\r\n"].concat()),
            Some("/trailers") => conn.say([CHUNKED, "5\r\n01234\r\n0\r\nx-sum: 7\r\n"].concat()),
            _ => {}
        };
    });
    let client = C::new();
    for (target, expected) in [("/length", Some(10)), ("/chunk", None), ("/chunks", None), ("/trailers", None)] {
        let body = client.get(&site.url(target)).unwrap().body(100);
        assert_eq!(failed(body), http1::Error::UnexpectedEof { seen: 5, expected });
    }
}

/// Read slowly or not, it is all there; the site sends it at once.
fn of_many_megabytes<C: Client>() {
    const LEN: usize = 8 << 20;
    let site = Site::start(|conn| {
        while let Some(request) = conn.request() {
            let body: String = (0..LEN).map(|i| char::from(b'a' + (i % 23) as u8)).collect();
            if request.target() == "/length" {
                conn.say(ok(&body));
            } else {
                conn.say(CHUNKED);
                conn.say(format!("{LEN:X}\r\n{body}\r\n0\r\n\r\n"));
            }
        }
    });
    let client = C::new();
    for target in ["/length", "/chunks", "/length"] {
        let mut response = client.get(&site.url(target)).unwrap();
        let mut len = 0;
        while let Some(data) = response.data().unwrap() {
            assert!(data.iter().enumerate().all(|(i, &byte)| byte == b'a' + ((len + i) % 23) as u8));
            len += data.len();
        }
        assert_eq!(len, LEN);
    }
    assert_eq!(site.heard(), ["0 GET /length", "0 GET /chunks", "0 GET /length"]);
}
