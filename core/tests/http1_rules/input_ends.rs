//! The end of input in each state: RFC 9112, sections 8, 9.6 and 9.8.

use crate::{
    Input,
    common::{BROKEN, CLEAN},
    http1, note_difference, post, receive,
};
use bytewise::http1::{Config, NO_FIELDS, Server, ServerEvent};

#[test]
fn of_a_server() {
    let chunked = |body| post("Transfer-Encoding: chunked", body);
    let length = |body| post("Content-Length: 5", body);
    let eof =
        |seen: u64, expected: Option<u64>| format!("!UnexpectedEof {{ seen: {seen}, expected: {expected:?} }} close");
    let head_cut = "GET / HTTP/1.1\r\nHost: a\r\n\r";
    let rows: Vec<(&str, String, String)> = vec![
        ("9112 9.6, between requests", String::new(), "close".into()),
        ("9112 2.2, after an empty line", "\r\n".into(), "close".into()),
        ("9112 8, in an empty line", "\r".into(), eof(1, None)),
        ("9112 8, in a request line", "G".into(), eof(1, None)),
        ("9112 8, in a head", "GET / HTTP/1.1\r\nHost".into(), eof(20, None)),
        ("9112 8, in a head", head_cut.into(), eof(head_cut.len() as u64, None)),
        ("9112 8, before a body", length(""), format!("POST / {}", eof(0, Some(5)))),
        ("9112 8, in a body", length("hel"), format!("POST / {{hel}} {}", eof(3, Some(5)))),
        ("9112 8, before the first chunk", chunked(""), format!("POST / {}", eof(0, None))),
        ("9112 8, in a size", chunked("5"), format!("POST / {}", eof(0, None))),
        ("9112 8, in an extension", chunked("5;a"), format!("POST / {}", eof(0, None))),
        ("9112 8, in a size line", chunked("5\r"), format!("POST / {}", eof(0, None))),
        ("9112 8, before the data", chunked("5\r\n"), format!("POST / {}", eof(0, None))),
        ("9112 8, in the data", chunked("5\r\nhel"), format!("POST / {{hel}} {}", eof(3, None))),
        ("9112 8, behind the data", chunked("5\r\nhello"), format!("POST / {{hello}} {}", eof(5, None))),
        ("9112 8, behind the data", chunked("5\r\nhello\r"), format!("POST / {{hello}} {}", eof(5, None))),
        ("9112 8, between chunks", chunked("5\r\nhello\r\n"), format!("POST / {{hello}} {}", eof(5, None))),
        (
            "9112 8, in the second chunk",
            chunked("5\r\nhello\r\n9\r\nab"),
            format!("POST / {{helloab}} {}", eof(7, None)),
        ),
        ("9112 8, before the trailers", chunked("0\r\n"), format!("POST / {}", eof(0, None))),
        ("9112 8, in the trailers", chunked("0\r\nX: y\r\n"), format!("POST / {}", eof(0, None))),
        ("9112 8, in the trailers", chunked("0\r\nX: y\r\n\r"), format!("POST / {}", eof(0, None))),
        ("9112 9.6, the answer is still sent", length("hello"), "POST / {hello} . 200 close".into()),
        (
            "9112 9.6, two answers are",
            length("hello").repeat(2),
            "POST / {hello} . POST / {hello} . 200 200 close".into(),
        ),
        (
            "9112 8, in the second head",
            length("hello") + "G",
            format!("POST / {{hello}} . {}", eof(1, None)).replace(" close", " 200 close"),
        ),
        ("9112 9.6, after the last request", "GET / HTTP/1.0\r\n\r\n".into(), "GET / . 200/close linger".into()),
    ];
    let mut wrong = String::new();
    for (section, input, expected) in rows {
        // Whether the peer closed in order or broke off says nothing here: bodies of requests have their own end.
        for eof in [CLEAN, BROKEN] {
            let log = http1::serve(&Config::default(), Input::new(input.as_bytes()).ending(eof));
            note_difference(&mut wrong, section, input.as_bytes(), &log, &expected);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn of_a_client() {
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let length = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    let eof =
        |seen: u64, expected: Option<u64>| format!("!UnexpectedEof {{ seen: {seen}, expected: {expected:?} }} close");
    let rows = [
        ("9112 8, no response", String::new(), eof(0, None)),
        ("9112 8, in a status line", "HTTP/1.1 20".into(), eof(11, None)),
        ("9112 8, in a head", "HTTP/1.1 200 OK\r\nContent".into(), eof(24, None)),
        ("9112 8, in a head", "HTTP/1.1 200 OK\r\n\r".into(), eof(18, None)),
        ("9112 8, after an interim one", "HTTP/1.1 100 C\r\n\r\n".into(), format!("(100) {}", eof(0, None))),
        ("9112 8, before a body", length.into(), format!("200 {}", eof(0, Some(100)))),
        ("9112 8, in a body", format!("{length}hello"), format!("200 {{hello}} {}", eof(5, Some(100)))),
        ("9112 8, before the first chunk", chunks.into(), format!("200 {}", eof(0, None))),
        ("9112 8, in a chunk", format!("{chunks}5\r\nhel"), format!("200 {{hel}} {}", eof(3, None))),
        ("9112 8, between chunks", format!("{chunks}5\r\nhello\r\n"), format!("200 {{hello}} {}", eof(5, None))),
        ("9112 8, in the trailers", format!("{chunks}0\r\nX: y\r\n"), format!("200 {}", eof(0, None))),
        ("9112 9.6, between requests", format!("{chunks}0\r\n\r\n"), "200 . reusable close".into()),
        ("9112 9.6, without a body", "HTTP/1.1 204 N\r\n\r\n".into(), "204 . reusable close".into()),
    ];
    for (section, input, expected) in rows {
        for eof in [CLEAN, BROKEN] {
            receive(&Config::default(), &["GET"], eof, &[(section, input.as_bytes(), &expected)]);
        }
    }
    // Until close, it makes the difference: `responses::until_close`.
}

/// A client that closes its direction and waits is answered in full, at once or later.
#[test]
fn half_closed() {
    let input = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned() + &post("Content-Length: 2", "hi");
    let log = Input::new(input.as_bytes()).ending(CLEAN).output(http1::statuses).any_split(
        || Server::new(&Config::default()),
        |event, http, tx, log| {
            // Answered at the head, the first without a body, the second before it.
            if matches!(event, ServerEvent::Request(_)) {
                http.respond(200, NO_FIELDS, "", tx).unwrap();
            }
            http1::note_request(event, log);
        },
    );
    assert_eq!(log, "GET /1 . POST / {hi} . 200 200 close");

    use bytewise::{Machine, NextIo, RecvBuf, SendBuf};
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(input.as_bytes());
    rx.set_eof(bytewise::Eof::Clean);
    for _ in 0..2 {
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        assert_eq!(http.next_io(), NextIo::Paused);
        http.respond(200, NO_FIELDS, "later", &mut tx).unwrap();
    }
    assert!(http.next_event(&mut rx, &mut tx).unwrap().is_none());
    assert_eq!((http1::statuses(tx.pending()), http.next_io()), ("200 200".to_owned(), NextIo::Close));
}

/// No response can follow a request that will never be complete.
#[test]
fn no_answer_to_what_is_incomplete() {
    let input = post("Content-Length: 5", "hel");
    let log = Input::new(input.as_bytes()).ending(CLEAN).output(http1::statuses).any_split(
        || Server::new(&Config::default()),
        |event, http, tx, log| {
            if matches!(event, ServerEvent::Request(_)) {
                http.send_response(200, NO_FIELDS, bytewise::http1::BodyLength::Chunked, tx).unwrap();
            }
            http1::note_request(event, log);
        },
    );
    assert_eq!(log, "POST / {hel} !UnexpectedEof { seen: 3, expected: Some(5) } 200 close");
}
