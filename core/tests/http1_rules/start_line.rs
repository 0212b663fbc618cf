//! Request line, status line and versions: RFC 9112, sections 2.3, 3 and 4; RFC 9110, section 2.5.

use crate::{Input, OPEN, http1::statuses, receive, refuse, refuse_response, serve};
use bytewise::http1::{Client, ClientEvent, Config, NO_FIELDS, Server, ServerEvent, Version};

#[test]
fn request_line() {
    refuse(
        &Config::default(),
        &[
            ("9112 3, two spaces", b"GET  / HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, two spaces", b"GET /  HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, space behind", b"GET / HTTP/1.1 \r\n", "StartLine", 400),
            ("9112 3, space before", b" GET / HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, four words", b"GET / x HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, tab", b"GET\t/ HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, HTTP/0.9", b"GET /\r\n", "StartLine", 400),
            ("9112 3, no target", b"GET  HTTP/1.1\r\n", "StartLine", 400),
            ("9112 3, one word", b"GET\r\n", "StartLine", 400),
            ("9112 3, one word", b"GET \r\n", "StartLine", 400),
            ("9112 3, a response", b"HTTP/1.1 200 OK\r\n", "StartLine", 400),
            ("9110 9.1, no token", b"G(T / HTTP/1.1\r\n", "StartLine", 400),
            ("9110 9.1, no token", b"GE\"T / HTTP/1.1\r\n", "StartLine", 400),
            ("9110 9.1, no token", b"GET: / HTTP/1.1\r\n", "StartLine", 400),
        ],
    );
    serve(
        &Config::default(),
        OPEN,
        &[
            ("9110 9.1, case matters", b"get / HTTP/1.1\r\nHost: a\r\n\r\n", "get / . 200 read"),
            (
                "9110 9.1, any token",
                b"!#$%&'*+-.^_`|~09aZ / HTTP/1.1\r\nHost: a\r\n\r\n",
                "!#$%&'*+-.^_`|~09aZ / . 200 read",
            ),
            ("9110 9.1, one letter", b"M / HTTP/1.1\r\nHost: a\r\n\r\n", "M / . 200 read"),
            ("9110 16.1, WebDAV", b"VERSION-CONTROL /a HTTP/1.1\r\nHost: a\r\n\r\n", "VERSION-CONTROL /a . 200 read"),
        ],
    );
}

#[test]
fn request_versions() {
    refuse(
        &Config::default(),
        &[
            ("9110 2.5", b"GET / HTTP/2.0\r\n", "Version", 505),
            ("9110 2.5", b"GET / HTTP/2\r\n", "Version", 505),
            ("9110 2.5", b"GET / HTTP/3\r\n", "Version", 505),
            ("9113 3.4, its preface", b"PRI * HTTP/2.0\r\n", "Version", 505),
            ("9110 2.5", b"GET / HTTP/0.9\r\n", "Version", 505),
            ("9110 2.5", b"GET / HTTP/9.9\r\n", "Version", 505),
            ("9112 2.3, case matters", b"GET / http/1.1\r\n", "StartLine", 400),
            ("9112 2.3, one digit", b"GET / HTTP/1.10\r\n", "StartLine", 400),
            ("9112 2.3, one digit", b"GET / HTTP/01.1\r\n", "StartLine", 400),
            ("9112 2.3, two numbers", b"GET / HTTP/1\r\n", "StartLine", 400),
            ("9112 2.3, two numbers", b"GET / HTTP/1.\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / HTTP/.1\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / HTTP/1,1\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / HTTP/+1.1\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / HTTP /1.1\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / HTTPS/1.1\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / ICE/1.0\r\n", "StartLine", 400),
            ("9112 2.3", b"GET / RTSP/1.0\r\n", "StartLine", 400),
        ],
    );
    serve(
        &Config::default(),
        OPEN,
        &[
            ("9110 2.5, a higher minor version", b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / . 200 read"),
            ("9110 2.5, is held to the rules of 1.1", b"GET / HTTP/1.9\r\n\r\n", "!Host 400/close linger"),
            ("9112 9.3, 1.0 closes", b"GET / HTTP/1.0\r\n\r\n", "GET / . 200/close linger"),
        ],
    );
}

#[test]
fn status_line() {
    receive(
        &Config::default(),
        &["GET"],
        OPEN,
        &[
            ("9112 4", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 {ok} . reusable read"),
            ("9112 4, no reason", b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 . reusable read"),
            ("9112 4, as many servers do", b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", "200 . reusable read"),
            ("9112 4, obs-text", b"HTTP/1.1 200 \xFCber\tall\r\nContent-Length: 0\r\n\r\n", "200 . reusable read"),
            ("9112 4, a reason of spaces", b"HTTP/1.1 200   \r\nContent-Length: 0\r\n\r\n", "200 . reusable read"),
            ("9110 15, unknown", b"HTTP/1.1 299 ?\r\nContent-Length: 0\r\n\r\n", "299 . reusable read"),
            ("9110 15, no class", b"HTTP/1.1 999 ?\r\nContent-Length: 0\r\n\r\n", "999 . reusable read"),
            (
                "9110 2.5, a higher minor version",
                b"HTTP/1.3 200 OK\r\nContent-Length: 0\r\n\r\n",
                "200 . reusable read",
            ),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("9112 4", b"HTTP/1.1 20 OK\r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1 2000 OK\r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1 2xx OK\r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1 +20 OK\r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1 20\r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1 \r\n", "StartLine"),
            ("9112 4", b"HTTP/1.1\r\n", "StartLine"),
            ("9112 4, two spaces", b"HTTP/1.1  200 OK\r\n", "StartLine"),
            ("9112 4, no space", b"HTTP/1.1200 OK\r\n", "StartLine"),
            ("9112 4, tab", b"HTTP/1.1\t200 OK\r\n", "StartLine"),
            ("9112 4, no space", b"HTTP/1.1 200OK\r\n", "StartLine"),
            ("9112 4, tab", b"HTTP/1.1 200\tOK\r\n", "StartLine"),
            ("9110 15", b"HTTP/1.1 099 ?\r\n", "StartLine"),
            ("9110 15", b"HTTP/1.1 000 ?\r\n", "StartLine"),
            ("9112 4, control characters", b"HTTP/1.1 200 O\x01K\r\n", "StartLine"),
            ("9112 4, control characters", b"HTTP/1.1 200 O\x0BK\r\n", "StartLine"),
            ("9110 2.5", b"HTTP/2.0 200 OK\r\n", "Version"),
            ("9110 2.5", b"HTTP/0.9 200 OK\r\n", "Version"),
            ("9112 2.3", b"HTTP/1.10 200 OK\r\n", "StartLine"),
            ("9112 2.3", b"HTTP/11 200 OK\r\n", "StartLine"),
            ("9112 2.3", b"HTTP/1 200 OK\r\n", "StartLine"),
        ],
    );
}

/// What a head says of its version and its reason.
#[test]
fn versions_and_reasons_are_shown() {
    let request = |input: &[u8]| {
        Input::new(input).output(statuses).any_split(
            || Server::new(&Config::default()),
            |event, http, tx, log| {
                if let ServerEvent::Request(head) = event {
                    assert_eq!(
                        head.version().to_string(),
                        if head.version() == Version::Http10 { "HTTP/1.0" } else { "HTTP/1.1" }
                    );
                    log.item(format_args!("{:?}", head.version()));
                    http.respond(200, NO_FIELDS, "", tx).unwrap();
                }
            },
        )
    };
    assert_eq!(request(b"GET / HTTP/1.0\r\n\r\n"), "Http10 200/close linger");
    assert_eq!(request(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "Http11 200 read");
    assert_eq!(request(b"GET / HTTP/1.7\r\nHost: a\r\n\r\n"), "Http11 200 read");

    let response = |input: &[u8]| {
        Input::new(input).any_split(
            || crate::http1::asking(&Config::default(), &["GET"]),
            |event, _: &mut Client, _, log| {
                if let ClientEvent::Response(head) = event {
                    log.item(format_args!("{:?} {} <{}>", head.version(), head.status(), head.reason().escape_ascii()));
                }
            },
        )
    };
    assert_eq!(
        response(b"HTTP/1.0 200 All is  well \r\nContent-Length: 0\r\n\r\n"),
        "Http10 200 <All is  well > close"
    );
    assert_eq!(response(b"HTTP/1.1 404 \r\nContent-Length: 0\r\n\r\n"), "Http11 404 <> read");
    assert_eq!(response(b"HTTP/1.1 404\r\nContent-Length: 0\r\n\r\n"), "Http11 404 <> read");
    assert_eq!(response(b"HTTP/1.1 200 \xFC\r\nContent-Length: 0\r\n\r\n"), r"Http11 200 <\xfc> read");
}
