//! What is sent for a request, and what is told of its response.

use crate::{
    client::{Client, Response, Upload},
    site::{Site, ok},
};
use bytewise::http1::{self, BodyLength, Config, Misuse, Version};
use bytewise_net::{Error, RequestError};

on_every_runtime!(
    a_get,
    a_post,
    an_empty_post,
    fields_in_their_order,
    any_method,
    the_head_of_a_response,
    statuses_are_not_errors,
    interim_responses_are_skipped,
    too_many_interim_responses,
    a_client_that_expects_100,
    what_cannot_be_sent,
    nonsense,
    a_head_above_the_limit,
    nobody_answers,
);

fn a_get<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    assert_eq!(client.ask_get(&site.url("/a?b=c#d")), "GET /a?b=c");
    assert_eq!(site.request().head, format!("GET /a?b=c HTTP/1.1\r\nhost: {}\r\n\r\n", site.address));
    // Without a path it is `/`.
    assert_eq!(client.ask_get(&site.url("")), "GET /");
    assert_eq!(client.ask_get(&site.url("?a")), "GET /?a");
}

fn a_post<C: Client>() {
    let site = Site::answering(|request| ok(&request.body));
    let client = C::new();
    assert_eq!(client.post(&site.url("/a"), "hello").unwrap().text(), "hello");
    let head = format!("POST /a HTTP/1.1\r\nhost: {}\r\ncontent-length: 5\r\n\r\n", site.address);
    assert_eq!(site.request().head, head);
    let long = "x".repeat(300_000);
    assert!(client.post(&site.url("/a"), &long).unwrap().text() == long);
}

/// Its emptiness is announced, where it means something.
fn an_empty_post<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    for method in ["POST", "PUT", "PATCH"] {
        client.ask(method, &site.url("/"));
        assert_eq!(site.request().field("content-length"), Some("0"));
    }
    for method in ["GET", "DELETE", "OPTIONS"] {
        client.ask(method, &site.url("/"));
        assert_eq!(site.request().field("content-length"), None);
    }
}

fn fields_in_their_order<C: Client>() {
    let site = Site::plain();
    let fields = [("X-One", "1"), ("accept", "*/*"), ("X-One", "2"), ("x-empty", "")];
    C::new().request("GET", &site.url("/"), &fields, "").unwrap().text();
    let host = site.address;
    let lines = format!("host: {host}\r\nX-One: 1\r\naccept: */*\r\nX-One: 2\r\nx-empty: \r\n\r\n");
    assert_eq!(site.request().head, format!("GET / HTTP/1.1\r\n{lines}"));
}

fn any_method<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    for method in ["PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "PURGE", "get"] {
        assert_eq!(client.ask(method, &site.url("/a")), format!("{method} /a"));
    }
}

fn the_head_of_a_response<C: Client>() {
    let site = Site::answering(|_| {
        "HTTP/1.1 203 I heard\r\nX-One: 1\r\nx-two: caf\u{e9}\r\nX-One: 3\r\nContent-Length: 2\r\n\r\nhi".into()
    });
    let mut response = C::new().get(&site.url("/a")).unwrap();
    let head = response.head();
    assert_eq!((head.version(), head.status(), head.reason()), (Version::Http11, 203, &b"I heard"[..]));
    assert_eq!(head.fields().get("x-one"), Some(&b"1"[..]));
    assert_eq!(head.fields().get_all("X-ONE").count(), 2);
    assert_eq!(head.fields().get("x-two"), Some("café".as_bytes()));
    assert_eq!(head.body_length(), BodyLength::Length(2));
    assert_eq!(response.url(), site.url("/a"));
    // It stays when the body is read.
    assert_eq!(response.text(), "hi");
    assert_eq!(response.status(), 203);
}

fn statuses_are_not_errors<C: Client>() {
    let site = Site::answering(|request| {
        ok("why").replace("200 OK", &format!("{} Whatever", request.target().trim_start_matches('/')))
    });
    let client = C::new();
    for status in [200, 300, 304, 400, 404, 418, 500, 599, 999] {
        assert_eq!(client.get(&site.url(&format!("/{status}"))).unwrap().status(), status);
    }
}

fn interim_responses_are_skipped<C: Client>() {
    let site = Site::answering(|_| {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
        [interim, &ok("final")].concat()
    });
    let client = C::new();
    for _ in 0..3 {
        let mut response = client.get(&site.url("/")).unwrap();
        assert_eq!((response.status(), response.head().fields().get("link")), (200, None));
        assert_eq!(response.text(), "final");
    }
    assert_eq!(site.heard(), ["0 GET /", "0 GET /", "0 GET /"]);
}

fn too_many_interim_responses<C: Client>() {
    let site = Site::answering(|_| ["HTTP/1.1 102 Processing\r\n\r\n".repeat(3), ok("final")].concat());
    let client = C::new().config(Config::default().with_max_interim(2));
    match client.refused("GET", &site.url("/")) {
        RequestError::Connection(Error::Protocol(http1::Error::TooManyInterim)) => {}
        other => panic!("{other}"),
    }
    let client = C::new().config(Config::default().with_max_interim(3));
    assert_eq!(client.ask_get(&site.url("/")), "final");
}

/// It does not wait for it.
fn a_client_that_expects_100<C: Client>() {
    let site = Site::start(|conn| {
        while let Some(request) = conn.request() {
            conn.say("HTTP/1.1 100 Continue\r\n\r\n");
            conn.say(ok(&request.body));
        }
    });
    let expect = [("expect", "100-continue")];
    let client = C::new();
    assert_eq!(client.request("POST", &site.url("/"), &expect, "hello").unwrap().text(), "hello");
    let mut upload = client.begin("PUT", &site.url("/"), &expect, BodyLength::Length(5)).unwrap();
    upload.send("again").unwrap();
    assert_eq!(upload.finish(&[]).unwrap().text(), "again");
}

/// It is told, and nothing of it is sent; what follows is not touched by it.
fn what_cannot_be_sent<C: Client>() {
    let site = Site::plain();
    let client = C::new();
    let url = site.url("/");
    let misuse = |method: &str, fields: &[(&str, &str)]| match client.request(method, &url, fields, "").err() {
        Some(RequestError::Misuse(misuse)) => misuse,
        other => panic!("{other:?}"),
    };
    assert_eq!(misuse("", &[]), Misuse::RequestLine);
    assert_eq!(misuse("GET /smuggled HTTP/1.1\r\n", &[]), Misuse::RequestLine);
    // A tunnel has another target, and what is in it is not HTTP.
    assert_eq!(misuse("CONNECT", &[]), Misuse::RequestLine);
    for field in [
        ("x", "a\r\nhost: b"),
        ("x\r\nhost", "b"),
        ("", ""),
        ("x", "\0"),
        ("connection", "close"),
        ("content-length", "3"),
        ("transfer-encoding", "chunked"),
    ] {
        assert_eq!(misuse("GET", &[("fine", "fine"), field]), Misuse::Field, "{field:?}");
    }
    assert_eq!(misuse("GET", &[("host", "a"), ("Host", "b")]), Misuse::Field);
    assert_eq!(site.heard(), [""; 0]);
    assert_eq!(client.ask_get(&url), "GET /");
}

/// Is an error, on a connection that was kept too: it is no sign of one that was closed meanwhile.
fn nonsense<C: Client>() {
    let site = Site::answering(|request| match request.target() {
        "/fine" => ok("fine"),
        _ => "220 ftp.example.org ready\r\n".into(),
    });
    let client = C::new();
    for kept in [false, true] {
        if kept {
            client.ask_get(&site.url("/fine"));
        }
        let error = client.refused("GET", &site.url("/"));
        match &error {
            RequestError::Connection(Error::Protocol(http1::Error::StartLine | http1::Error::Version)) => {}
            other => panic!("{other}"),
        }
        assert!(error.to_string().starts_with("the peer broke the protocol: "), "{error}");
    }
    assert_eq!(site.heard(), ["0 GET /", "1 GET /fine", "1 GET /"]);
}

fn a_head_above_the_limit<C: Client>() {
    let site = Site::answering(|_| ok("").replace("\r\n\r\n", &format!("\r\nx: {}\r\n\r\n", "x".repeat(2000))));
    let client = C::new().config(Config::default().with_max_head(1000));
    match client.refused("GET", &site.url("/")) {
        RequestError::Connection(Error::Protocol(http1::Error::HeadTooLong)) => {}
        other => panic!("{other}"),
    }
    C::new().get(&site.url("/")).unwrap();
}

/// On a connection of its own, that is the answer; nothing is tried again.
fn nobody_answers<C: Client>() {
    let site = Site::start(|conn| drop(conn.request()));
    let error = C::new().refused("GET", &site.url("/"));
    match &error {
        RequestError::Connection(Error::Protocol(http1::Error::UnexpectedEof { seen: 0, expected: None })) => {}
        other => panic!("{other}"),
    }
    assert_eq!(error.to_string(), "the peer broke the protocol: input ended inside a message, after 0 bytes");
    assert_eq!(site.heard(), ["0 GET /"]);
}
