//! What exceeds a limit: RFC 9110, sections 5.4, 15.5.14 and 15.5.15; RFC 6585, section 5; RFC 9112, sections 3 and 7.1. At the
//! limit all is well, one byte above it fails, and so does what would have to be longer.

use crate::{Input, OPEN, chunked, common::CLEAN, http1, post, receive, refuse, serve};
use bytewise::http1::{Client, ClientEvent, Config};

/// `begin`, then a field that makes a head of `len` bytes of it.
fn head(begin: &str, len: usize) -> String {
    let fill = len - begin.len() - "X: \r\n\r\n".len();
    format!("{begin}X: {}\r\n\r\n", "x".repeat(fill))
}

const REQUEST: &str = "GET / HTTP/1.1\r\nHost: a\r\n";
const RESPONSE: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n";

#[test]
fn heads() {
    for (config, max) in [(Config::default().with_max_head(64), 64), (Config::default(), 16 * 1024)] {
        let server = |section, input: &str, expected| serve(&config, OPEN, &[(section, input.as_bytes(), expected)]);
        server("9110 5.4, at the limit", &head(REQUEST, max), "GET / . 200 read");
        server("9110 5.4, at it, twice", &head(REQUEST, max).repeat(2), "GET / . GET / . 200 200 read");
        server("9110 5.4, an empty line does not count", &format!("\r\n{}", head(REQUEST, max)), "GET / . 200 read");
        server("9110 5.4, one more", &head(REQUEST, max + 1), "!HeadTooLong 431/close linger");
        server("9110 5.4, as many without an end", &head(REQUEST, max + 1)[..max], "!HeadTooLong 431/close linger");
        // What is wrong within the limit is told first, what is wrong above it is not seen.
        let faulty = |len: usize| head(REQUEST, len - 4).replace("\r\n\r\n", "\r\n\0\r\n\r\n");
        server("9110 5.4, a fault before it", &faulty(max), "!Field 400/close linger");
        server("9110 5.4, a fault behind it", &faulty(max + 4), "!HeadTooLong 431/close linger");

        let client =
            |section, input: &str, expected| receive(&config, &["GET"], OPEN, &[(section, input.as_bytes(), expected)]);
        client("9110 5.4, at the limit", &head(RESPONSE, max), "200 . reusable read");
        client("9110 5.4, one more", &head(RESPONSE, max + 1), "!HeadTooLong close");
        client("9110 5.4, as many without an end", &head(RESPONSE, max + 1)[..max], "!HeadTooLong close");
    }
    // A byte before the limit it may still end.
    let input = &head(REQUEST, 65)[..63];
    let log = http1::serve(&Config::default().with_max_head(64), Input::new(input.as_bytes()));
    assert_eq!(log, format!("read +{}", input.replace("\r\n", r"\r\n").replace(&"x".repeat(33), "x*33")));
}

#[test]
fn targets() {
    for (config, max) in [(Config::default().with_max_target(40), 40), (Config::default(), 8000)] {
        let line = |len: usize| format!("GET /{} HTTP/1.1\r\n", "x".repeat(len - 1));
        let log = http1::serve(&config, Input::new(format!("{}Host: a\r\n\r\n", line(max)).as_bytes()));
        assert_eq!(log, format!("GET /{} . 200 read", "x".repeat(max - 1)));
        refuse(
            &config,
            &[
                ("9112 3, one more", line(max + 1).as_bytes(), "TargetTooLong", 414),
                ("9112 3, whatever its form", line(max + 1).replace('/', "x").as_bytes(), "TargetTooLong", 414),
                ("9112 3, without an end", &line(max + 100).as_bytes()[..max + 32], "TargetTooLong", 414),
                ("9112 3, a fault before", b"GET /\0", "StartLine", 400),
                (
                    "9112 3, a fault behind",
                    &[&line(max + 100).as_bytes()[..max + 32], b"\0"].concat(),
                    "TargetTooLong",
                    414,
                ),
                // It is not the target's fault.
                ("9112 3, a method of any length", "M".repeat(max + 32).as_bytes(), "StartLine", 400),
                ("9112 3, a method of any length", format!("{} /", "M".repeat(max + 30)).as_bytes(), "StartLine", 400),
            ],
        );
    }
    // In a head that may be no longer it is the head that is too long.
    let config = Config::default().with_max_head(30);
    refuse(&config, &[("9110 5.4", b"GET /23456789012345678901234567890", "HeadTooLong", 431)]);
}

#[test]
fn fields() {
    for (config, max) in [
        (Config::default().with_max_fields(3), 3),
        (Config::default(), 100),
        (Config::default().with_max_fields(130), 130),
    ] {
        let lines = |count: usize| (0..count).map(|n| format!("h{n}:v\r\n")).collect::<String>();
        let request = |count| format!("{REQUEST}{}", lines(count - 1));
        let response = |count| format!("{RESPONSE}{}", lines(count - 1));
        let trailers = |count| chunked(&format!("0\r\n{}", lines(count)));
        serve(
            &config,
            OPEN,
            &[("6585 5, at the limit", format!("{}\r\n", request(max)).as_bytes(), "GET / . 200 read")],
        );
        refuse(&config, &[("6585 5, one more", request(max + 1).as_bytes(), "TooManyFields", 431)]);
        receive(
            &config,
            &["GET"],
            OPEN,
            &[
                ("6585 5, at the limit", format!("{}\r\n", response(max)).as_bytes(), "200 . reusable read"),
                ("6585 5, one more", response(max + 1).as_bytes(), "!TooManyFields close"),
            ],
        );
        // A trailer section has a count of its own.
        let shown: Vec<_> = (0..max).map(|n| format!("h{n}=v")).collect();
        let at_limit = format!("POST / .({}) 200 read", shown.join(", "));
        serve(
            &config,
            OPEN,
            &[
                ("9112 7.1.2, at the limit", format!("{}\r\n", trailers(max)).as_bytes(), &at_limit),
                ("9112 7.1.2, one more", trailers(max + 1).as_bytes(), "POST / !TooManyFields 431/close linger"),
            ],
        );
    }
    let none = Config::default().with_max_fields(0);
    serve(&none, OPEN, &[("6585 5, none at all", b"GET / HTTP/1.0\r\n\r\n", "GET / . 200/close linger")]);
    refuse(&none.with_max_fields(1), &[("6585 5", b"GET / HTTP/1.0\r\nA: b\r\nC: d\r\n", "TooManyFields", 431)]);
}

#[test]
fn bodies() {
    let config = Config::default().with_max_body(4);
    let too_long = "!BodyTooLong 413/close linger";
    for (section, input, expected) in [
        ("9110 15.5.14, at the limit", post("Content-Length: 4", "body"), "POST / {body} . 200 read".to_owned()),
        ("9110 15.5.14, at the head", post("Content-Length: 5", ""), format!("POST / {too_long}")),
        (
            "9110 15.5.14, chunks at the limit",
            chunked("3\r\nbod\r\n1\r\ny\r\n0\r\n\r\n"),
            "POST / {body} . 200 read".to_owned(),
        ),
        ("9110 15.5.14, at the size line", chunked("5\r\n"), format!("POST / {too_long}")),
        ("9110 15.5.14, at the size line", chunked("3\r\nbod\r\n2\r\n"), format!("POST / {{bod}} {too_long}")),
    ] {
        serve(&config, OPEN, &[(section, input.as_bytes(), &expected)]);
    }
    let response = |framing: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{framing}\r\n{body}");
    let chunks = "Transfer-Encoding: chunked\r\n";
    for (section, input, eof, expected) in [
        ("at the limit", response("Content-Length: 4\r\n", "body"), OPEN, "200 {body} . reusable read"),
        ("at the head", response("Content-Length: 5\r\n", ""), OPEN, "200 !BodyTooLong close"),
        ("chunks at the limit", response(chunks, "4\r\nbody\r\n0\r\n\r\n"), OPEN, "200 {body} . reusable read"),
        ("at the size line", response(chunks, "4\r\nbody\r\n1\r\n"), OPEN, "200 {body} !BodyTooLong close"),
        ("until close, at the limit", response("", "body"), CLEAN, "200 {body} . close"),
        ("until close, one more", response("", "body!"), OPEN, "200 {body} !BodyTooLong close"),
    ] {
        receive(&config, &["GET"], eof, &[(section, input.as_bytes(), expected)]);
    }
    // What is announced and not sent is no body.
    receive(
        &config,
        &["HEAD"],
        OPEN,
        &[("9112 6.3 (1)", response("Content-Length: 5\r\n", "").as_bytes(), "200 . reusable read")],
    );
    // A server has a limit unless set, a client has none.
    let default = Config::default();
    let (at_limit, above) = (post("Content-Length: 16777216", "x"), post("Content-Length: 16777217", "x"));
    serve(&default, OPEN, &[("9110 15.5.14", at_limit.as_bytes(), "POST / {x} read")]);
    serve(&default, OPEN, &[("9110 15.5.14", above.as_bytes(), &format!("POST / {too_long}"))]);
}

/// A client's limit for one response, up or down.
#[test]
fn a_limit_of_its_own() {
    let run = |limit, framing: &str, body: &str| {
        let input = format!("HTTP/1.1 200 OK\r\n{framing}\r\n\r\n{body}");
        Input::new(input.as_bytes()).any_split(
            || http1::asking(&Config::default().with_max_body(4), &["GET"]),
            |event, http: &mut Client, tx, log| {
                if matches!(event, ClientEvent::Response(_)) {
                    http.limit_body(limit);
                }
                http1::note_response(event, http, tx, log);
            },
        )
    };
    let chunks = "Transfer-Encoding: chunked";
    assert_eq!(run(5, "Content-Length: 5", "hello"), "200 {hello} . reusable read");
    assert_eq!(run(3, "Content-Length: 4", "body"), "200 !BodyTooLong close");
    assert_eq!(run(0, "Content-Length: 1", "a"), "200 !BodyTooLong close");
    assert_eq!(run(5, chunks, "5\r\nhello\r\n0\r\n\r\n"), "200 {hello} . reusable read");
    assert_eq!(run(3, chunks, "4\r\n"), "200 !BodyTooLong close");
    assert_eq!(run(5, "X: y", "hello!"), "200 {hello} !BodyTooLong close");
}

#[test]
fn size_lines() {
    for (config, max) in [(Config::default().with_max_chunk_line(8), 8), (Config::default(), 256)] {
        // `1;xxx` and the line end.
        let line = |len: usize| format!("1;{}\r\n", "x".repeat(len - 4));
        for (section, body, expected) in [
            ("9112 7.1.1, at the limit", line(max) + "a", "POST / {a} read"),
            ("9112 7.1.1, one more", line(max + 1), "POST / !Chunk 400/close linger"),
            ("9112 7.1.1, as many without an end", line(max + 1)[..max].to_owned(), "POST / !Chunk 400/close linger"),
            ("9112 7.1.1, digits", "0".repeat(max), "POST / !Chunk 400/close linger"),
            ("9112 7.1.1, the second", format!("1\r\na\r\n{}", line(max + 1)), "POST / {a} !Chunk 400/close linger"),
        ] {
            serve(&config, OPEN, &[(section, chunked(&body).as_bytes(), expected)]);
        }
    }
}

/// All extensions of one body count, 16 KiB of them.
#[test]
fn extensions_in_total() {
    // `1;xxx`, of which all but the digit counts.
    let chunk = |extension: usize| format!("1;{}\r\na\r\n", "x".repeat(extension - 1));
    let full = chunk(250).repeat(65);
    let rest = 16 * 1024 - 65 * 250;
    let data = "a".repeat(66);
    for (section, body, expected) in [
        ("9112 7.1.1, at the limit", full.clone() + &chunk(rest), format!("POST / {{{}}} read", "a*66")),
        (
            "9112 7.1.1, one more",
            full.clone() + &chunk(rest + 1),
            format!("POST / {{{}}} !Chunk 400/close linger", "a*65"),
        ),
        (
            "9112 7.1.1, of the last chunk",
            format!("{full}{}0;x\r\n", chunk(rest)),
            "POST / {a*66} !Chunk 400/close linger".into(),
        ),
    ] {
        assert_eq!(data.len(), 66);
        serve(&Config::default(), OPEN, &[(section, chunked(&body).as_bytes(), &expected)]);
    }
}

#[test]
fn trailers() {
    for (config, max) in [(Config::default().with_max_trailers(16), 16), (Config::default(), 8 * 1024)] {
        let section = |len: usize| format!("X: {}\r\n\r\n", "x".repeat(len - "X: \r\n\r\n".len()));
        let value = if max == 16 { "x".repeat(9) } else { format!("x*{}", max - 7) };
        for (rfc, trailers, expected) in [
            ("9112 7.1.2, at the limit", section(max), format!("POST / .(X={value}) 200 read")),
            ("9112 7.1.2, one more", section(max + 1), "POST / !TrailersTooLong 431/close linger".into()),
            (
                "9112 7.1.2, as many without an end",
                section(max + 1)[..max].into(),
                "POST / !TrailersTooLong 431/close linger".into(),
            ),
        ] {
            serve(&config, OPEN, &[(rfc, chunked(&format!("0\r\n{trailers}")).as_bytes(), &expected)]);
        }
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n{}", section(max + 1));
        receive(&config, &["GET"], OPEN, &[("9112 7.1.2", response.as_bytes(), "200 !TrailersTooLong close")]);
    }
}

/// Where the receive buffer holds less than a limit allows, its bound is the limit: it cannot be full and wait for more.
#[test]
fn bound_of_the_receive_buffer() {
    let config = Config::default();
    let request = chunked("5;abcdefgh\r\nhello\r\n0\r\nX: 789\r\n\r\n");
    let head = request.find("5;").unwrap();
    for read_ahead in [1, 7, 4096] {
        let log =
            |bound, input: &str| http1::serve(&config, Input::new(input.as_bytes()).through(1, read_ahead, bound));
        assert_eq!(log(head, &request), "POST / {hello} .(X=789) 200 read");
        assert_eq!(log(head - 1, &request), "!HeadTooLong 431/close linger");
        // Bodies need no room.
        let long = post("Content-Length: 3000", &"x".repeat(3000));
        assert_eq!(log(60, &long), "POST / {x*3000} . 200 read");
        let line = chunked(&format!("5;{}\r\n", "x".repeat(100)));
        assert_eq!(log(80, &line), "POST / !Chunk 400/close linger");
        let trailers = chunked(&format!("0\r\nX: {}\r\n\r\n", "x".repeat(100)));
        assert_eq!(log(80, &trailers), "POST / !TrailersTooLong 431/close linger");
    }
    let response = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(100));
    let log = http1::receive(&config, &["GET"], Input::new(response.as_bytes()).through(1, 4096, 100));
    assert_eq!(log, "!HeadTooLong close");
}
