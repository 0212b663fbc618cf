//! Upgrade and CONNECT: RFC 9110, sections 7.8, 9.3.6 and 15.2.2; RFC 9112, section 6.3.

use crate::{Input, OPEN, Row, http1, receive, serve};
use bytewise::{
    SendBuf,
    http1::{BodyLength, Client, Config, Misuse, NO_FIELDS, Server, ServerEvent},
};

/// What is unread when the protocol switches stays in the buffer, whole, at every cut.
#[test]
fn a_server_switches() {
    let rows: &[Row<'_>] = &[
        (
            "9110 7.8",
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
            "GET / . 101/upgrade switched",
        ),
        (
            "9110 7.8, what follows is not HTTP",
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n\x81\x05\r\nnext",
            r"GET / . 101/upgrade switched +\x81\x05\r\nnext",
        ),
        (
            "9110 7.8, one option of several",
            b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: keep-alive, UPGRADE\r\n\r\nleft",
            "GET / . 101/upgrade switched +left",
        ),
        (
            "9110 7.8, after the body",
            b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 2\r\n\r\nhileft",
            "POST / {hi} . 101/upgrade switched +left",
        ),
        (
            "9110 7.8, after the chunks",
            b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nleft",
            "POST / {hi} . 101/upgrade switched +left",
        ),
        (
            "9110 7.8, after a 100",
            b"POST / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhileft",
            "POST / {hi} . 100 101/upgrade switched +left",
        ),
        ("9110 7.8, no option", b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\n\r\nleft", "GET / . 200 read +left"),
        ("9110 7.8, no field", b"GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\n\r\nleft", "GET / . 200 read +left"),
        (
            "9110 7.8, ignored in 1.0",
            b"GET / HTTP/1.0\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nleft",
            "GET / . 200/close linger +left",
        ),
        ("9110 9.3.6", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nleft", "CONNECT a:1 . 200 switched +left"),
        ("9110 9.3.6, in 1.0", b"CONNECT a:1 HTTP/1.0\r\n\r\nleft", "CONNECT a:1 . 200 switched +left"),
        (
            "9110 9.3.6, the request comes first",
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nGET",
            "GET / . CONNECT a:1 . 200 200 switched +GET",
        ),
    ];
    serve(&Config::default(), OPEN, rows);
}

#[test]
fn a_client_switches() {
    let switching = b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nleft";
    let rows: &[Row<'_>] = &[
        ("9110 7.8", switching, "switched 101 switched +left"),
        (
            "9110 15.2, after a 103",
            &[b"HTTP/1.1 103 E\r\n\r\n", &switching[..]].concat(),
            "(103) switched 101 switched +left",
        ),
        ("9110 7.8, refused", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 {ok} . reusable read"),
        (
            "9110 7.8, another one is offered",
            b"HTTP/1.1 426 U\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbody",
            "426 {body} . reusable read",
        ),
        ("9110 15.2.2, no field", b"HTTP/1.1 101 S\r\nConnection: upgrade\r\n\r\n", "!Unsolicited close"),
        ("9110 15.2.2, no option", b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n", "!Unsolicited close"),
        ("9110 7.8, in 1.0", b"HTTP/1.0 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "!Unsolicited close"),
    ];
    receive(&Config::default(), &["UPGRADE"], OPEN, rows);
    let rows: &[Row<'_>] = &[
        ("9112 6.3 (2)", b"HTTP/1.1 200 OK\r\n\r\nleft", "switched 200 switched +left"),
        ("9112 6.3 (2), any 2xx", b"HTTP/1.1 299 OK\r\n\r\nleft", "switched 299 switched +left"),
        (
            "9112 6.3 (2), its framing is ignored",
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nleft",
            "switched 200 switched +left",
        ),
        (
            "9112 6.3 (2), its framing is ignored",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            r"switched 200 switched +0\r\n\r\n",
        ),
        ("9110 15.2", b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\nleft", "(100) switched 200 switched +left"),
        ("9110 9.3.6, refused", b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno", "407 {no} . reusable read"),
        ("9110 15.2.2", b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "!Unsolicited close"),
    ];
    receive(&Config::default(), &["CONNECT"], OPEN, rows);
    // Behind another request: its response comes first.
    let input = [b"HTTP/1.1 204 N\r\n\r\n", &switching[..]].concat();
    receive(
        &Config::default(),
        &["GET", "UPGRADE"],
        OPEN,
        &[("9112 9.3.2", &input, "204 . switched 101 switched +left")],
    );
    receive(&Config::default(), &["GET", "UPGRADE"], OPEN, &[("9112 9.3.2", switching, "!Unsolicited close")]);
}

/// A request without a body has ended with its head, and can be switched at once; no end follows then.
#[test]
fn a_server_switches_at_the_head() {
    let run = |input: &[u8]| {
        Input::new(input).output(http1::statuses).any_split(
            || Server::new(&Config::default()),
            |event, http, tx, log| {
                let is_head = matches!(event, ServerEvent::Request(_));
                http1::note_request(event, log);
                if is_head {
                    let switched = http.switch(101, NO_FIELDS, tx).or_else(|_| http.switch(200, NO_FIELDS, tx));
                    // A body has to end before.
                    assert!(matches!(switched, Ok(()) | Err(Misuse::State)));
                } else if http.is_responding() {
                    http.switch(101, NO_FIELDS, tx).unwrap_or_default();
                }
            },
        )
    };
    let upgrade = "Host: a\r\nConnection: upgrade\r\nUpgrade: x\r\n";
    for (input, expected) in [
        (format!("GET / HTTP/1.1\r\n{upgrade}\r\nleft"), "GET / 101/upgrade switched +left"),
        (format!("GET / HTTP/1.1\r\n{upgrade}Content-Length: 0\r\n\r\nleft"), "GET / 101/upgrade switched +left"),
        (
            format!("POST / HTTP/1.1\r\n{upgrade}Content-Length: 2\r\n\r\nhileft"),
            "POST / {hi} . 101/upgrade switched +left",
        ),
        (format!("CONNECT a:1 HTTP/1.1\r\n{upgrade}\r\nleft"), "CONNECT a:1 101/upgrade switched +left"),
        ("CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\nleft".to_owned(), "CONNECT a:1 200 switched +left"),
    ] {
        assert_eq!(run(input.as_bytes()), expected, "{input}");
    }
}

/// A request has to end before its protocol is switched: what is sent of its body would be taken for the other protocol.
#[test]
fn a_client_that_has_not_sent_its_body() {
    let input = b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nleft";
    for (is_sent, expected) in [(false, "!Unsolicited close"), (true, "switched 101 switched +left")] {
        let ask = || {
            let (mut http, mut tx) = (Client::new(&Config::default()), SendBuf::new());
            let fields = [("host", "a"), ("upgrade", "x")];
            http.send_request("POST", "/", fields, BodyLength::Length(2), &mut tx).unwrap();
            if is_sent {
                http.send_data("hi", &mut tx).unwrap();
                http.send_end(NO_FIELDS, &mut tx).unwrap();
            }
            http
        };
        assert_eq!(Input::new(input).any_split(ask, http1::note_response), expected);
    }
}
