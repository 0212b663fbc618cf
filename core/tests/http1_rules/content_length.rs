//! Bodies by length: RFC 9112, sections 6.2 and 6.3; RFC 9110, section 8.6.

use crate::{OPEN, Row, post, receive, refuse, refuse_response, serve};
use bytewise::http1::Config;

#[test]
fn lengths() {
    let rows = [
        ("9112 6.2, and not a byte more", "Content-Length: 5", "helloGET", "POST / {hello} . 200 read +GET"),
        ("9112 6.2", "Content-Length: 5", "hell", "POST / {hell} read"),
        ("9112 6.2, leading zeros", "Content-Length: 0000000000000000000000005", "hello", "POST / {hello} . 200 read"),
        ("9112 6.2, zero", "Content-Length: 0", "", "POST / . 200 read"),
        ("9112 6.2, zero", "Content-Length: 00", "", "POST / . 200 read"),
        ("9112 6.3 (7), none", "X: y", "", "POST / . 200 read"),
        ("9112 5.1, whitespace", "Content-Length:\t 5 \t", "hello", "POST / {hello} . 200 read"),
        ("9110 5.1, name in any case", "cONTENT-lENGTH: 5", "hello", "POST / {hello} . 200 read"),
        ("9110 8.6, of any method", "Content-Length: 2", "{}", "POST / {{}} . 200 read"),
    ];
    for (section, line, body, expected) in rows {
        serve(&Config::default(), OPEN, &[(section, post(line, body).as_bytes(), expected)]);
    }
    serve(
        &Config::default(),
        OPEN,
        &[
            (
                "9110 9.3.1, of GET too",
                b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
                "GET / {hi} . 200 read",
            ),
            (
                "9112 6.3, in 1.0 too",
                b"POST / HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi",
                "POST / {hi} . 200/close linger",
            ),
            (
                "9112 6.3, a body that looks like a request",
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 28\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n",
                r"POST / {GET /x HTTP/1.1\r\nHost: a\r\n\r\n} . 200 read",
            ),
        ],
    );
}

#[test]
fn malformed() {
    let values: &[&str] = &[
        "",
        "+5",
        "-5",
        "-0",
        "0x5",
        "5x",
        "5.0",
        "5e0",
        "1 1",
        "1_000",
        "five",
        "\"5\"",
        "5;",
        "5,",
        ",5",
        "5, 5",
        "5,6",
        "5 ,5",
        "0, 0",
        "18446744073709551616",
        "18446744073709551617",
        "99999999999999999999",
        "000018446744073709551616",
        "\u{665}",
    ];
    for value in values {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {value}\r\n");
        refuse(&Config::default(), &[("9110 8.6", request.as_bytes(), "ContentLength", 400)]);
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n");
        refuse_response(&Config::default(), &[("9110 8.6", response.as_bytes(), "ContentLength")]);
    }
    // A thousand digits, and a number in which 2^64 has been subtracted from 2^64 + 5.
    let thousand = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n", "9".repeat(1000));
    let wrapped = b"POST / HTTP/1.1\r\nContent-Length: 18446744073709551621\r\n";
    refuse(&Config::default(), &[("9110 8.6", thousand.as_bytes(), "ContentLength", 400)]);
    refuse(&Config::default(), &[("9110 8.6", wrapped, "ContentLength", 400)]);
}

#[test]
fn repeated() {
    refuse(
        &Config::default(),
        &[
            ("9112 6.3 (5)", b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n", "ContentLength", 400),
            (
                "9112 6.3 (5)",
                b"POST / HTTP/1.1\r\nContent-Length: 5\r\nX: y\r\ncontent-length: 5\r\n",
                "ContentLength",
                400,
            ),
            ("9112 6.3 (5)", b"POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n", "ContentLength", 400),
            ("9112 6.3 (5)", b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 05\r\n", "ContentLength", 400),
            (
                "9112 6.3 (5), in 1.0 too",
                b"POST / HTTP/1.0\r\nContent-Length: 5\r\nContent-Length: 5\r\n",
                "ContentLength",
                400,
            ),
        ],
    );
    refuse_response(
        &Config::default(),
        &[
            ("9112 6.3 (5)", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 20\r\n", "ContentLength"),
            ("9112 6.3 (5)", b"HTTP/1.1 200 OK\r\nContent-Length: 10, 20\r\n", "ContentLength"),
            ("9112 6.3 (5)", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nContent-Length: 10\r\n", "ContentLength"),
        ],
    );
}

/// The greatest lengths are valid: a server refuses them by its limit, and a client begins to read.
#[test]
fn great_lengths() {
    let great = ["18446744073709551615", "9223372036854775808", "9223372036854775807", "16777217"];
    for length in great {
        let input = post(&format!("Content-Length: {length}"), "hello");
        serve(&Config::default(), OPEN, &[("9110 8.6", input.as_bytes(), "POST / !BodyTooLong 413/close linger")]);
        let unlimited = Config::default().with_max_body(u64::MAX);
        serve(&unlimited, OPEN, &[("9110 8.6", input.as_bytes(), "POST / {hello} read")]);
        let input = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello");
        receive(&Config::default(), &["GET"], OPEN, &[("9110 8.6", input.as_bytes(), "200 {hello} read")]);
    }
}

#[test]
fn responses_by_length() {
    let rows: &[Row<'_>] = &[
        ("9112 6.2", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 {ok} . reusable read"),
        ("9112 6.2", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "200 {ok} read"),
        ("9112 6.2", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 . reusable read"),
        (
            "9110 15.3.6, 205 by its length",
            b"HTTP/1.1 205 R\r\nContent-Length: 2\r\n\r\nok",
            "205 {ok} . reusable read",
        ),
        ("9112 9.3, in 1.0", b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", "200 {ok} . close"),
    ];
    receive(&Config::default(), &["GET"], OPEN, rows);
}
