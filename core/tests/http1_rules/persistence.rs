//! Which connections go on, and in which order: RFC 9112, section 9; RFC 9110, sections 7.6.1 and 10.1.1.

use crate::{Input, OPEN, Row, http1, post, serve};
use bytewise::http1::{BodyLength, Config, NO_FIELDS, Server, ServerEvent};

#[test]
fn keep_alive_and_close() {
    for (section, head, goes_on) in [
        ("9112 9.3, 1.1", "GET / HTTP/1.1\r\nHost: a", true),
        ("9112 9.3", "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive", true),
        ("9112 9.3", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close", false),
        ("9110 7.6.1, case", "GET / HTTP/1.1\r\nHost: a\r\nCONNECTION: CLOSE", false),
        ("9112 9.3, close counts more", "GET / HTTP/1.1\r\nHost: a\r\nConnection: close, keep-alive", false),
        (
            "9112 9.3, over two lines",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\nX: y\r\nConnection: x,CLOSE",
            false,
        ),
        ("9110 5.6.1, empty elements", "GET / HTTP/1.1\r\nHost: a\r\nConnection: , ,close,", false),
        ("9110 5.6.1, empty elements", "GET / HTTP/1.1\r\nHost: a\r\nConnection: ,", true),
        (
            "9110 7.6.1, options are tokens: no quotes",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: \"x, close, y\"",
            false,
        ),
        ("9110 7.6.1, another option", "GET / HTTP/1.1\r\nHost: a\r\nConnection: closed, not-close, clos", true),
        ("9110 7.6.1, another field", "GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: close", true),
        ("9110 2.5, 1.2", "GET / HTTP/1.2\r\nHost: a", true),
    ] {
        let input = format!("{head}\r\n\r\n{head}\r\n\r\n");
        let expected = if goes_on { "GET / . GET / . 200 200 read" } else { "GET / . 200/close linger" };
        let rest = if goes_on { String::new() } else { format!(" +{head}\r\n\r\n").escape_debug().to_string() };
        serve(&Config::default(), OPEN, &[(section, input.as_bytes(), &format!("{expected}{rest}"))]);
    }
    let rows: &[Row<'_>] = &[
        ("9112 9.3, 1.0", b"GET / HTTP/1.0\r\n\r\nGET", "GET / . 200/close linger +GET"),
        ("9112 9.3, 1.0", b"GET / HTTP/1.0\r\nConnection: close\r\n\r\nGET", "GET / . 200/close linger +GET"),
        (
            "9112 9.3, 1.0, as it asks",
            b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\nGET / HTTP/1.0\r\nConnection: x, keep-alive\r\n\r\n",
            "GET / . GET / . 200/keep-alive 200/keep-alive read",
        ),
        (
            "9112 9.3, 1.0",
            b"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\nGET",
            "GET / . 200/close linger +GET",
        ),
        (
            "9112 9.3, each message by its own version",
            b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n",
            "GET / . GET / . GET / . 200/keep-alive 200 200/close linger",
        ),
        // What is wrong after the last request is not even looked at.
        (
            "9112 9.6",
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n\0\n\0",
            r"GET / . 200/close linger +\x00\n\x00",
        ),
    ];
    serve(&Config::default(), OPEN, rows);
}

/// The next request waits until both sides of this one are complete.
#[test]
fn pipelining() {
    let wire = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned()
        + &post("Content-Length: 2", "hi")
        + &post("Transfer-Encoding: chunked", "2\r\nhi\r\n0\r\nX: y\r\n\r\n")
        + "HEAD /4 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /5 HTTP/1.1\r\nHost: a\r\n\r\n";
    let all = "GET /1 . POST / {hi} . POST / {hi} .(X=y) HEAD /4 . GET /5 . 200 200 200 200 200 read";
    serve(&Config::default(), OPEN, &[("9112 9.3.2", wire.as_bytes(), all)]);

    // Not answered, the first one holds the others back, and they stay unread.
    let log = Input::new(wire.as_bytes())
        .any_split(|| Server::new(&Config::default()), |event, _, _, log| http1::note_request(event, log));
    assert_eq!(log, format!("GET /1 . paused +{}", wire["GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".len()..].escape_debug()));

    // A response under way does so too.
    let log = Input::new(wire.as_bytes()).output(http1::statuses).any_split(
        || Server::new(&Config::default()),
        |event, http, tx, log| {
            if matches!(event, ServerEvent::Request(_)) {
                http.send_response(200, NO_FIELDS, BodyLength::Chunked, tx).unwrap();
            }
            http1::note_request(event, log);
        },
    );
    assert!(log.starts_with("GET /1 . 200 paused +POST"), "{log}");
}

/// RFC 9110, section 10.1.1: `100` goes out when the body is asked for, whether or not it is on its way already.
#[test]
fn expect_continue() {
    let body = "Content-Length: 2\r\n\r\nhi";
    let rows = [
        ("9110 10.1.1", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n", body, "POST / {hi} . 100 200 read"),
        (
            "9110 10.1.1, case",
            "POST / HTTP/1.1\r\nHost: a\r\nEXPECT: 100-Continue\r\n",
            body,
            "POST / {hi} . 100 200 read",
        ),
        (
            "9110 10.1.1, chunks",
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n",
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "POST / {hi} . 100 200 read",
        ),
        (
            "9110 10.1.1, a list",
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: x, 100-continue\r\n",
            body,
            "POST / {hi} . 100 200 read",
        ),
        (
            "9110 10.1.1, not in 1.0",
            "POST / HTTP/1.0\r\nExpect: 100-continue\r\n",
            body,
            "POST / {hi} . 200/close linger",
        ),
        ("9110 10.1.1, no body", "GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n", "\r\n", "GET / . 200 read"),
        (
            "9110 10.1.1, an empty one",
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n",
            "Content-Length: 0\r\n\r\n",
            "POST / . 200 read",
        ),
        ("9110 10.1.1, another", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n", body, "POST / {hi} . 200 read"),
    ];
    for (section, head, body, expected) in rows {
        serve(&Config::default(), OPEN, &[(section, format!("{head}{body}").as_bytes(), expected)]);
    }
    // It is asked for though nothing of it has come, and once.
    let head = post("Expect: 100-continue\r\nContent-Length: 2", "");
    serve(&Config::default(), OPEN, &[("9110 10.1.1", head.as_bytes(), "POST / 100 read")]);

    // By hand, it is not sent again.
    let run = |status| {
        let input = post("Expect: 100-continue\r\nContent-Length: 2", "hi");
        Input::new(input.as_bytes()).output(http1::statuses).any_split(
            || Server::new(&Config::default()),
            |event, http, tx, log| {
                match event {
                    ServerEvent::Request(head) => {
                        assert!(head.expects_continue());
                        http.send_informational(status, NO_FIELDS, tx).unwrap();
                    }
                    ServerEvent::End(_) => http.respond(200, NO_FIELDS, "", tx).unwrap(),
                    _ => {}
                }
                http1::note_request(event, log);
            },
        )
    };
    assert_eq!(run(100), "POST / {hi} . 100 200 read");
    assert_eq!(run(103), "POST / {hi} . 103 100 200 read");
}
