//! Lines and what separates them: RFC 9112, sections 2.2 and 5.

use crate::{OPEN, refuse, refuse_response, serve};
use bytewise::http1::Config;

#[test]
fn bare_line_feeds() {
    refuse(
        &Config::default(),
        &[
            ("9112 2.2", b"GET / HTTP/1.1\n", "BareLf", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\n", "BareLf", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\n\n", "BareLf", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: y\n", "BareLf", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: 1\r\n\r\n", "BareLf", 400),
            ("9112 2.2", b"\n", "BareLf", 400),
            ("9112 2.2", b"\r\n\n", "BareLf", 400),
            // What is between two bare ones is no request of its own.
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: y\n\nGET /x HTTP/1.1\r\n", "BareLf", 400),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("9112 2.2", b"HTTP/1.1 200 OK\n", "BareLf"),
            ("9112 2.2", b"HTTP/1.1 200 OK\r\nA: b\n", "BareLf"),
            ("9112 2.2", b"HTTP/1.1 200 OK\r\nA: b\r\n\n", "BareLf"),
            ("9112 2.2", b"\n", "BareLf"),
        ],
    );
}

#[test]
fn bare_carriage_returns() {
    refuse(
        &Config::default(),
        &[
            ("9112 2.2", b"GET /\rHTTP/1.1\r\n", "StartLine", 400),
            ("9112 2.2", b"GET\r/ HTTP/1.1\r\n", "StartLine", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\r\n", "StartLine", 400),
            ("9112 2.2", b"\rGET / HTTP/1.1\r\n", "StartLine", 400),
            ("9112 2.2", b"\r\r\n", "StartLine", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\rb\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nX: a\rContent-Length: 5\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nHost: a\r\n\r\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\nX\r: a\r\n", "Field", 400),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("9112 2.2", b"HTTP/1.1 200 O\rK\r\n", "StartLine"),
            ("9112 2.2", b"HTTP/1.1\r200 OK\r\n", "StartLine"),
            ("9112 2.2", b"HTTP/1.1 200\r\r\n", "StartLine"),
            ("9112 2.2", b"\rHTTP/1.1 200 OK\r\n", "StartLine"),
            ("9112 2.2", b"HTTP/1.1 200 OK\r\nA: b\rc\r\n", "Field"),
            ("9112 2.2", b"HTTP/1.1 200 OK\r\nA: b\r\r\n", "Field"),
        ],
    );
}

/// One before a request is tolerated, for the sake of old clients that send one after a body.
#[test]
fn empty_lines_before_a_head() {
    serve(
        &Config::default(),
        OPEN,
        &[
            ("9112 2.2", b"\r\n", "read"),
            ("9112 2.2", b"\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / . 200 read"),
            (
                "9112 2.2, each time",
                b"\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n\r\n",
                "GET /1 . GET /2 . 200 200 read",
            ),
            (
                "9112 2.2, behind a body",
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                "POST / {hi} . GET / . 200 200 read",
            ),
        ],
    );
    refuse(
        &Config::default(),
        &[
            ("9112 2.2, two of them", b"\r\n\r\n", "StartLine", 400),
            ("9112 2.2, two of them", b"\r\n\r\nGET / HTTP/1.1\r\n", "StartLine", 400),
        ],
    );
    // Before a response there is none.
    refuse_response(
        &Config::default(),
        &[("9112 2.2", b"\r\n", "StartLine"), ("9112 2.2", b"\r\nHTTP/1.1 200 OK\r\n", "StartLine")],
    );
}

#[test]
fn whitespace_before_the_first_field() {
    refuse(
        &Config::default(),
        &[
            ("9112 2.2", b"GET / HTTP/1.1\r\n Host: a\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\n\tHost: a\r\n", "Field", 400),
            ("9112 2.2", b"GET / HTTP/1.1\r\n \r\n", "Field", 400),
            ("9112 2.2", b"POST / HTTP/1.1\r\n Content-Length: 5\r\n", "Field", 400),
        ],
    );
    refuse_response(&Config::default(), &[("9112 2.2", b"HTTP/1.1 200 OK\r\n A: b\r\n", "Field")]);
}

#[test]
fn folded_lines() {
    refuse(
        &Config::default(),
        &[
            ("9112 5.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n", "Field", 400),
            ("9112 5.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n", "Field", 400),
            ("9112 5.2", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b: c\r\n", "Field", 400),
            ("9112 5.2, only space", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n \r\n", "Field", 400),
            ("9112 5.2, no fold", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\x0Bb: c\r\n", "Field", 400),
            ("9112 5.2, no fold", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\x0Cb: c\r\n", "Field", 400),
            ("9112 5.2, no fold", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\x85b: c\r\n", "Field", 400),
            ("9112 5.2, no fold", b"GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\xA0b: c\r\n", "Field", 400),
        ],
    );
    refuse_response(&Config::default(), &[("9112 5.2", b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\n", "Field")]);
}

/// What is no HTTP at all fails with its first bytes, and does not wait for the end of a line.
#[test]
fn what_is_no_http() {
    refuse(
        &Config::default(),
        &[
            ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03", "StartLine", 400),
            ("SSH, at the end of its line", b"SSH-2.0-OpenSSH_9.6\r\n", "StartLine", 400),
            ("NUL", b"GET /\0", "StartLine", 400),
            ("tab", b"GET\t", "StartLine", 400),
            ("DEL", b"GET /\x7F", "StartLine", 400),
            ("UTF-8", b"GET /\xC3\xBC", "StartLine", 400),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("SSH", b"S", "StartLine"),
            ("SMTP", b"2", "StartLine"),
            ("IMAP", b"*", "StartLine"),
            ("in small letters", b"h", "StartLine"),
            ("RTSP", b"RTSP/1.0", "StartLine"),
            ("ICY", b"ICY 200 OK", "StartLine"),
            ("HTTP, but no slash", b"HTTPS", "StartLine"),
            ("NUL", b"HTTP/1.1 200 \0", "StartLine"),
            ("DEL", b"HTTP/1.1 200 \x7F", "StartLine"),
            ("space before it", b" ", "StartLine"),
        ],
    );
}
