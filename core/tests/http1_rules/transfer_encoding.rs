//! Transfer codings: RFC 9112, sections 6.1, 6.3 and 7.

use crate::{OPEN, post, receive, refuse, refuse_response, serve};
use bytewise::http1::Config;

#[test]
fn chunked_in_any_spelling() {
    for line in [
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: CHUNKED",
        "tRANSFER-eNCODING:chunked",
        "Transfer-Encoding: \t chunked\t ",
    ] {
        let request = post(line, "2\r\nhi\r\n0\r\n\r\n");
        serve(&Config::default(), OPEN, &[("9112 7", request.as_bytes(), "POST / {hi} . 200 read")]);
        let response = format!("HTTP/1.1 200 OK\r\n{line}\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
        receive(&Config::default(), &["GET"], OPEN, &[("9112 7", response.as_bytes(), "200 {hi} . reusable read")]);
    }
}

/// Each fails at its line, whatever follows.
#[test]
fn malformed() {
    let values: &[(&str, &[u8])] = &[
        ("9112 6.1, nothing", b""),
        ("9110 5.6.1, empty elements", b"chunked,"),
        ("9110 5.6.1, empty elements", b",chunked"),
        ("9110 5.6.1, empty elements", b"gzip,,chunked"),
        ("9110 5.6.1, empty elements", b","),
        ("9112 6.1, chunked twice", b"chunked, chunked"),
        ("9112 6.1, chunked not last", b"chunked, gzip"),
        ("9112 6.1, chunked not last", b"chunked, identity"),
        ("9112 7, no parameters", b"chunked;x=1"),
        ("9112 7, no parameters", b"chunked;"),
        ("9112 7, no parameters", b"chunked ;x"),
        ("9110 5.6.2, no token", b"\"chunked\""),
        ("9110 5.6.2, no token", b"chunked foo"),
        ("9110 5.6.2, no token", b"chunked/1"),
        ("9110 5.6.2, no token", b"chun\xFCked"),
        ("9110 5.6.2, no token", b"\xA0chunked"),
        ("9110 5.6.2, no token", b"gzip, (chunked)"),
        ("9110 5.6.2, no token", b";q=1, chunked"),
    ];
    for (section, value) in values {
        let request = [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ", *value, b"\r\n"].concat();
        refuse(&Config::default(), &[(section, &request, "TransferEncoding", 400)]);
        let response = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: ", *value, b"\r\n"].concat();
        refuse_response(&Config::default(), &[(section, &response, "TransferEncoding")]);
    }
    refuse(
        &Config::default(),
        &[
            (
                "9112 6.3 (4), over two lines",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
                "TransferEncoding",
                400,
            ),
            (
                "9112 6.1, over two lines",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX: y\r\ntransfer-encoding: chunked\r\n",
                "TransferEncoding",
                400,
            ),
            ("9110 5.5, vertical tab", b"POST / HTTP/1.1\r\nTransfer-Encoding: \x0Bchunked\r\n", "Field", 400),
            ("9110 5.5, NUL", b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\0\r\n", "Field", 400),
            ("9112 6.1, in 1.0", b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n", "TransferEncoding", 400),
            (
                "9112 6.1, in 1.0",
                b"POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: identity\r\n",
                "TransferEncoding",
                400,
            ),
        ],
    );
    refuse_response(
        &Config::default(),
        &[("9112 6.1, in 1.0", b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n", "TransferEncoding")],
    );
}

/// What is only known when all lines have come: whether chunked is last, and what is before it.
#[test]
fn other_codings() {
    let rows = [
        ("9112 6.3 (4), not chunked", "Transfer-Encoding: gzip", "TransferEncoding", 400),
        ("9112 6.3 (4), not chunked", "Transfer-Encoding: identity", "TransferEncoding", 400),
        ("9112 6.3 (4), not chunked", "Transfer-Encoding: xchunked", "TransferEncoding", 400),
        ("9112 6.3 (4), not chunked", "Transfer-Encoding: chunked-x", "TransferEncoding", 400),
        ("9112 6.3 (4), not chunked", "Transfer-Encoding: chunke", "TransferEncoding", 400),
        ("9112 6.1, unknown", "Transfer-Encoding: gzip, chunked", "UnsupportedCoding", 501),
        ("9112 6.1, unknown", "Transfer-Encoding: JUNK, chunked", "UnsupportedCoding", 501),
        ("9112 6.1, unknown", "Transfer-Encoding: a;b=\"c,d\", e , chunked", "UnsupportedCoding", 501),
        (
            "9112 6.1, over two lines",
            "Transfer-Encoding: gzip\r\nX: y\r\nTransfer-Encoding: chunked",
            "UnsupportedCoding",
            501,
        ),
        ("9112 6.1, identity is no coding", "Transfer-Encoding: identity, chunked", "UnsupportedCoding", 501),
    ];
    for (section, lines, error, status) in rows {
        let request = post(lines, "5\r\nhello\r\n0\r\n\r\n");
        serve(&Config::default(), OPEN, &[(section, request.as_bytes(), &format!("!{error} {status}/close linger"))]);
        let response = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
        receive(&Config::default(), &["GET"], OPEN, &[(section, response.as_bytes(), &format!("!{error} close"))]);
    }
}

/// Never both.
#[test]
fn with_a_length() {
    refuse(
        &Config::default(),
        &[
            (
                "9112 6.3 (3)",
                b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "ContentLength",
                400,
            ),
            (
                "9112 6.3 (3)",
                b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nX: y\r\nContent-Length: 0\r\n",
                "ContentLength",
                400,
            ),
            (
                "9112 6.3 (3), whatever the coding",
                b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: gzip\r\n",
                "ContentLength",
                400,
            ),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            (
                "9112 6.3 (3)",
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                "ContentLength",
            ),
            (
                "9112 6.3 (3)",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                "ContentLength",
            ),
        ],
    );
}
