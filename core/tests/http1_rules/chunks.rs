//! Bodies in chunks, their extensions and trailers: RFC 9112, section 7.1; RFC 9110, section 6.5.

use crate::{Input, OPEN, chunked, http1, receive, serve};
use bytewise::http1::Config;

/// Section, the body of a request and of a response, and what both sides make of it.
#[track_caller]
fn both(rows: &[(&str, &str, &str)]) {
    for (section, body, expected) in rows {
        let (request, failed) = (chunked(body), expected.contains('!'));
        let status = if expected.contains("TooLong") || expected.contains("TooMany") { 431 } else { 400 };
        let server = match failed {
            true => format!("POST / {expected} {status}/close linger"),
            false => format!("POST / {expected} 200 read"),
        };
        serve(&Config::default(), OPEN, &[(section, request.as_bytes(), &server)]);
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let client = match failed {
            true => format!("200 {expected} close"),
            false => format!("200 {expected} reusable read"),
        };
        receive(&Config::default(), &["GET"], OPEN, &[(section, response.as_bytes(), &client)]);
    }
}

#[test]
fn sizes() {
    both(&[
        ("9112 7.1, none", "0\r\n\r\n", "."),
        ("9112 7.1", "5\r\nhello\r\nA\r\n0123456789\r\n0\r\n\r\n", "{hello0123456789} ."),
        ("9112 7.1, either case", "a\r\n0123456789\r\nB\r\n0123456789a\r\n0\r\n\r\n", "{01234567890123456789a} ."),
        ("9112 7.1, leading zeros", "0002\r\naa\r\n000\r\n\r\n", "{aa} ."),
        ("9112 7.1, more digits than a number has", "00000000000000000000000000000002\r\naa\r\n0\r\n\r\n", "{aa} ."),
        ("9112 7.1, data that looks like chunks", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", r"{0\r\n\r\n} ."),
        ("9112 7.1, any byte", "3\r\n\0\u{7f}\n\r\n0\r\n\r\n", r"{\x00\x7f\n} ."),
    ]);
    both(&[
        ("9112 7.1", "0x2\r\n", "!Chunk"),
        ("9112 7.1", "+2\r\n", "!Chunk"),
        ("9112 7.1", "-1\r\n", "!Chunk"),
        ("9112 7.1", "2_0\r\n", "!Chunk"),
        ("9112 7.1, space before", " 2\r\n", "!Chunk"),
        ("9112 7.1, space behind", "2 \r\n", "!Chunk"),
        ("9112 7.1, tab behind", "2\t\r\n", "!Chunk"),
        ("9112 7.1, none", "\r\n", "!Chunk"),
        ("9112 7.1, no hexadecimal digit", "g\r\n", "!Chunk"),
        ("9112 7.1, no hexadecimal digit", "2.0\r\n", "!Chunk"),
        ("9112 7.1, no hexadecimal digit", "\u{661}\r\n", "!Chunk"),
        ("9112 7.1, NUL", "2\0\r\n", "!Chunk"),
        ("9112 7.1, bare line feed", "2\n", "!Chunk"),
        ("9112 7.1, bare line feed", "0\n", "!Chunk"),
        ("9112 7.1, bare carriage return", "2\raa\r\n", "!Chunk"),
        ("9112 7.1, bare carriage return", "2\r\r\n", "!Chunk"),
        ("9112 7.1, 2^64", "10000000000000000\r\n", "!Chunk"),
        ("9112 7.1, 2^64 + 2", "10000000000000002\r\naa\r\n0\r\n\r\n", "!Chunk"),
        ("9112 7.1, 2^68", "F0000000000000000\r\n", "!Chunk"),
    ]);
}

#[test]
fn line_end_behind_the_data() {
    both(&[
        ("9112 7.1, longer than it said", "2\r\naaa", "{aa} !Chunk"),
        ("9112 7.1, no line end", "5\r\nhelloXX0\r\n\r\n", "{hello} !Chunk"),
        ("9112 7.1, no line end", "2\r\naa0\r\n\r\n", "{aa} !Chunk"),
        ("9112 7.1, bare line feed", "2\r\naa\n", "{aa} !Chunk"),
        ("9112 7.1, bare carriage return", "2\r\naa\r0", "{aa} !Chunk"),
        ("9112 7.1, two carriage returns", "2\r\naa\r\r", "{aa} !Chunk"),
        ("9112 7.1, an empty line more", "2\r\naa\r\n\r\n", "{aa} !Chunk"),
    ]);
}

/// The sum of all chunks is a number too.
#[test]
fn overflow() {
    let limit = "!BodyTooLong 413/close linger";
    let server = Config::default().with_max_body(u64::MAX);
    for (config, body, expected) in [
        (&Config::default(), "FFFFFFFFFFFFFFFF\r\n", format!("POST / {limit}")),
        (&Config::default(), "1\r\na\r\nFFFFFFFFFFFFFFFF\r\n", format!("POST / {{a}} {limit}")),
        (&server, "FFFFFFFFFFFFFFFF\r\nab", "POST / {ab} read".to_owned()),
        (&server, "1\r\na\r\nFFFFFFFFFFFFFFFF\r\n", format!("POST / {{a}} {limit}")),
        (&server, "1\r\na\r\nFFFFFFFFFFFFFFFE\r\nab", "POST / {aab} read".to_owned()),
    ] {
        serve(config, OPEN, &[("9112 7.1", chunked(body).as_bytes(), &expected)]);
    }
    let response = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\nFFFFFFFFFFFFFFFF\r\n";
    receive(&Config::default(), &["GET"], OPEN, &[("9112 7.1", response, "200 {a} !BodyTooLong close")]);
}

#[test]
fn extensions() {
    both(&[
        ("9112 7.1.1", "2;a\r\naa\r\n0;b\r\n\r\n", "{aa} ."),
        ("9112 7.1.1", "2;a=b;c=d\r\naa\r\n0\r\n\r\n", "{aa} ."),
        ("9112 7.1.1, BWS", "2 ; a = b\t;\tc \r\naa\r\n0\r\n\r\n", "{aa} ."),
        ("9112 7.1.1, quoted", "2;a=\"b;c=\\\"d\\\\\"\r\naa\r\n0\r\n\r\n", "{aa} ."),
        ("9112 7.1.1, quoted, empty", "2;a=\"\"\r\naa\r\n0\r\n\r\n", "{aa} ."),
        ("9112 7.1.1, quoted, obs-text and tab", "2;a=\"\u{fc}\t\"\r\naa\r\n0\r\n\r\n", "{aa} ."),
    ]);
    both(&[
        ("9112 7.1.1, no name", "2;\r\n", "!Chunk"),
        ("9112 7.1.1, no name", "2;=b\r\n", "!Chunk"),
        ("9112 7.1.1, no name", "2;;a\r\n", "!Chunk"),
        ("9112 7.1.1, no name", "2;a;\r\n", "!Chunk"),
        ("9112 7.1.1, no value", "2;a=\r\n", "!Chunk"),
        ("9112 7.1.1, no value", "2;a=;b\r\n", "!Chunk"),
        ("9112 7.1.1, no token", "2;a(b\r\n", "!Chunk"),
        ("9112 7.1.1, no token", "2;a=b=c\r\n", "!Chunk"),
        ("9112 7.1.1, no token", "2;a b\r\n", "!Chunk"),
        ("9112 7.1.1, no semicolon", "2 a\r\n", "!Chunk"),
        ("9112 7.1.1, no semicolon", "2,a\r\n", "!Chunk"),
        ("9112 7.1.1, obs-text", "2;\u{fc}\r\n", "!Chunk"),
        ("9110 5.6.4, not closed", "2;a=\"b\r\n", "!Chunk"),
        ("9110 5.6.4, not closed", "2;a=\"b\\\"\r\n", "!Chunk"),
        ("9110 5.6.4, a line end in it", "2;a=\"\r\n\"\r\n", "!Chunk"),
        ("9110 5.6.4, more behind it", "2;a=\"b\"c\r\n", "!Chunk"),
        ("9110 5.6.4, control character", "2;a=\"\u{1}\"\r\n", "!Chunk"),
        ("9110 5.6.4, control character", "2;a=\"\\\0\"\r\n", "!Chunk"),
        ("9112 7.1.1, bare carriage return", "2;a\rb\r\n", "!Chunk"),
        ("9112 7.1.1, bare line feed", "2;a\naa\r\n0\r\n\r\n", "!Chunk"),
        ("9112 7.1.1, bare line feed of the last one", "0;a\n", "!Chunk"),
        ("9112 7.1, no size", ";a\r\n", "!Chunk"),
        ("9112 7.1, no size", " ;a\r\n", "!Chunk"),
    ]);
}

#[test]
fn trailers() {
    both(&[
        ("9112 7.1.2", "0\r\nX: y\r\n\r\n", ".(X=y)"),
        ("9112 7.1.2, in order, not merged", "0\r\nX: 1\r\nY:\r\nx: \t2 \r\n\r\n", ".(X=1, Y=, x=2)"),
        ("9112 7.1.2, after data", "2\r\naa\r\n0\r\nX: y\r\n\r\n", "{aa} .(X=y)"),
        (
            "9110 6.5.1, those that must not be here are not shown",
            "0\r\nHost: b\r\nContent-Length: 3\r\nX: y\r\nTransfer-Encoding: chunked\r\nAuthorization: c\r\nconnection: close\r\n\r\n",
            ".(X=y)",
        ),
        (
            "9110 6.5.1, none is left",
            "0\r\nTrailer: X\r\nContent-Type: a\r\nSet-Cookie: b\r\nCACHE-CONTROL: c\r\n\r\n",
            ".",
        ),
    ]);
    both(&[
        ("9112 5.1", "0\r\nX : y\r\n", "!Field"),
        ("9112 5, no name", "0\r\n: y\r\n", "!Field"),
        ("9112 5, no colon", "0\r\nGET / HTTP/1.1\r\n", "!Field"),
        ("9112 5.2", "0\r\nX: y\r\n z\r\n", "!Field"),
        ("9112 2.2", "0\r\n X: y\r\n", "!Field"),
        ("9110 5.5", "0\r\nX: \0\r\n", "!Field"),
        ("9110 5.5, of what is not shown too", "0\r\nHost: \u{1}\r\n", "!Field"),
        ("9112 2.2", "0\r\nX: y\rz\r\n", "!Field"),
        ("9112 2.2", "0\r\nX: y\n", "!BareLf"),
        ("9112 2.2", "0\r\n\n", "!BareLf"),
        ("9112 2.2", "0\r\nX: y\r\n\n", "!BareLf"),
        ("9112 2.2", "0\r\n\r\r\n", "!Field"),
    ]);
}

/// Trailers say nothing of the connection, and nothing of the next message.
#[test]
fn behind_the_trailers() {
    let twice = chunked("0\r\nConnection: close\r\nContent-Length: 9\r\n\r\n") + &chunked("1\r\na\r\n0\r\n\r\n");
    serve(&Config::default(), OPEN, &[("9112 7.1.2", twice.as_bytes(), "POST / . POST / {a} . 200 200 read")]);
    let chunks = "Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nConnection: close\r\n\r\n";
    let input = format!("HTTP/1.1 200 OK\r\n{chunks}HTTP/1.1 201 OK\r\n{chunks}");
    receive(
        &Config::default(),
        &["GET", "GET"],
        OPEN,
        &[("9112 7.1.2", input.as_bytes(), "200 {a} . 201 {a} . reusable read")],
    );
}

/// A body of many pieces is the same at every cut; this one is longer than what is cut everywhere.
#[test]
fn many_chunks() {
    let mut body = String::new();
    for size in 1..60 {
        let digit = char::from_digit(size % 10, 10).unwrap();
        body += &format!("{size:x};n={size}\r\n{}\r\n", digit.to_string().repeat(size as usize));
    }
    body += "0\r\nSum: 1770\r\n\r\n";
    let log = http1::serve(&Config::default(), Input::new(chunked(&body).as_bytes()));
    assert!(log.starts_with("POST / {122333") && log.ends_with("} .(Sum=1770) 200 read"), "{log}");
}
