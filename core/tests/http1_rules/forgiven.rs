//! What can be forgiven, and that nothing else is: each leniency on and off.

use crate::{Input, chunked, http1, note_difference, post};
use bytewise::http1::{ClientEvent, Config, Leniency, NO_FIELDS, Server, ServerEvent};

/// Section, what a client sends, what a server makes of it by default, and what with the leniency.
type Row<'a> = (&'a str, &'a str, &'a str, &'a str);

#[track_caller]
fn serve(leniency: Leniency, rows: &[Row<'_>]) {
    hold(leniency, rows, |config, input| http1::serve(config, Input::new(input)));
}

#[track_caller]
fn receive(leniency: Leniency, rows: &[Row<'_>]) {
    hold(leniency, rows, |config, input| http1::receive(config, &["GET"], Input::new(input)));
}

#[track_caller]
fn hold(leniency: Leniency, rows: &[Row<'_>], outcome: impl Fn(&Config, &[u8]) -> String) {
    let (strict, lenient) = (Config::default(), Config::default().allow(leniency));
    let mut wrong = String::new();
    for (section, input, off, on) in rows {
        note_difference(&mut wrong, section, input.as_bytes(), &outcome(&strict, input.as_bytes()), off);
        note_difference(&mut wrong, section, input.as_bytes(), &outcome(&lenient, input.as_bytes()), on);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

const LF: &str = "!BareLf 400/close linger";
const FIELD: &str = "!Field 400/close linger";
const CHUNK: &str = "!Chunk 400/close linger";
const LENGTH: &str = "!ContentLength 400/close linger";
const CODING: &str = "!TransferEncoding 400/close linger";
const HOST: &str = "!Host 400/close linger";
const LINE: &str = "!StartLine 400/close linger";

#[test]
fn bare_line_feeds() {
    let chunk = format!("POST / {CHUNK}");
    serve(
        Leniency::BareLf,
        &[
            ("9112 2.2", "GET / HTTP/1.1\nHost: a\n\n", LF, "GET / . 200 read"),
            ("9112 2.2, mixed", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\n", LF, "GET / . 200 read"),
            ("9112 2.2, mixed", "GET / HTTP/1.1\nHost: a\r\n\r\n", LF, "GET / . 200 read"),
            ("9112 2.2, an empty line", "\nGET / HTTP/1.1\nHost: a\n\n", LF, "GET / . 200 read"),
            ("9112 2.2, two of them", "\n\nGET / HTTP/1.1\nHost: a\n\n", LF, LINE),
            (
                "9112 2.2, twice",
                "GET /1 HTTP/1.1\nHost: a\n\nGET /2 HTTP/1.1\nHost: a\n\n",
                LF,
                "GET /1 . GET /2 . 200 200 read",
            ),
            ("9112 2.2, bare carriage return", "GET / HTTP/1.1\nHost: a\rb\n\n", LF, FIELD),
            ("9112 2.2, bare carriage return", "GET / HTTP/1.1\nHost: a\r\r\n\n", LF, FIELD),
            ("9112 5.2, folded", "GET / HTTP/1.1\nHost: a\n b\n\n", LF, FIELD),
            ("9112 5.1, space", "GET / HTTP/1.1\nHost : a\n\n", LF, FIELD),
            ("9112 7.1, chunks keep theirs", &chunked("2\naa"), &chunk, &chunk),
            ("9112 7.1, chunks keep theirs", &chunked("0\n\n"), &chunk, &chunk),
            (
                "9112 7.1, chunks keep theirs",
                &chunked("2\r\naa\n"),
                &format!("POST / {{aa}} {CHUNK}"),
                &format!("POST / {{aa}} {CHUNK}"),
            ),
            (
                "9112 7.1.2, trailers do not",
                &chunked("0\r\nX: y\nZ: \n\n"),
                &format!("POST / {LF}"),
                "POST / .(X=y, Z=) 200 read",
            ),
        ],
    );
    receive(
        Leniency::BareLf,
        &[
            ("9112 2.2", "HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "!BareLf close", "200 {ok} . reusable read"),
            ("9112 2.2", "HTTP/1.1 200\nContent-Length: 2\r\n\nok", "!BareLf close", "200 {ok} . reusable read"),
            ("9112 2.2", "\nHTTP/1.1 200 OK\nContent-Length: 2\n\nok", "!BareLf close", "!StartLine close"),
        ],
    );
    // What is shown of such heads.
    let lenient = Config::default().allow(Leniency::BareLf);
    let log = Input::new(b"GET / HTTP/1.1\nHost: a\nX:y \nZ:\r\n\n").output(http1::statuses).any_split(
        || Server::new(&lenient),
        |event, http, tx, log| {
            if let ServerEvent::Request(head) = event {
                log.item(format_args!("{}", http1::listed(head.fields())));
                http.respond(200, NO_FIELDS, "", tx).unwrap();
            }
        },
    );
    assert_eq!(log, "Host=a, X=y, Z= 200 read");
    for (line, reason) in [("HTTP/1.1 404 Not there\n", "Not there"), ("HTTP/1.1 404 \n", ""), ("HTTP/1.1 404\n", "")] {
        let input = format!("{line}Content-Length: 0\r\nX: y\n\n");
        let log = Input::new(input.as_bytes()).any_split(
            || http1::asking(&lenient, &["GET"]),
            |event, _, _, log| {
                if let ClientEvent::Response(head) = event {
                    log.item(format_args!("<{}> {}", head.reason().escape_ascii(), http1::listed(head.fields())));
                }
            },
        );
        assert_eq!(log, format!("<{reason}> Content-Length=0, X=y read"));
    }
}

#[test]
fn folded_lines() {
    let field = format!("POST / {FIELD}");
    serve(
        Leniency::ObsFold,
        &[
            ("9112 5.2", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\tc\r\n\r\n", FIELD, "GET / . 200 read"),
            ("9112 5.2, of host", "GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", FIELD, "GET / . 200 read"),
            ("9112 5.2, which is judged whole", "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", FIELD, HOST),
            ("9112 5.2, only space", "GET / HTTP/1.1\r\nHost: a\r\n \r\n\t\t\r\n\r\n", FIELD, "GET / . 200 read"),
            ("9112 2.2, before the first", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", FIELD, FIELD),
            ("9112 5.2, vertical tab", "GET / HTTP/1.1\r\nHost: a\r\n\x0Bb: c\r\n\r\n", FIELD, FIELD),
            ("9110 5.5, NUL", "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n \0\r\n", FIELD, FIELD),
            ("9112 2.2, bare line feed", "GET / HTTP/1.1\r\nHost: a\r\nX: y\n z\r\n", LF, LF),
            ("9112 5.1, space", "GET / HTTP/1.1\r\nHost : a\r\n", FIELD, FIELD),
            (
                "9112 6.3, lengths",
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n 2\r\n\r\nhi",
                LENGTH,
                "POST / {hi} . 200 read",
            ),
            ("9112 6.3, lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n 3\r\n\r\nhi", FIELD, LENGTH),
            ("9112 6.3, lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n ,2\r\n\r\nhi", FIELD, LENGTH),
            (
                "9112 6.1, codings",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n\tchunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
                CODING,
                "POST / {hi} . 200 read",
            ),
            (
                "9112 6.3 (4), chunked not last",
                "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n , identity\r\n\r\n0\r\n\r\n",
                FIELD,
                CODING,
            ),
            (
                "9112 5.2, a length hidden in a value",
                "POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n Content-Length: 2\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
                FIELD,
                "POST / . GET / . 200 200 read",
            ),
            (
                "9112 9.6, options",
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: x,\r\n close\r\n\r\n",
                FIELD,
                "GET / . 200/close linger",
            ),
            ("9112 7.1.2, trailers", &chunked("0\r\nX: y\r\n z\r\n\r\n"), &field, "POST / .(X=y   z) 200 read"),
            ("9112 7.1.2, before the first trailer", &chunked("0\r\n z\r\n\r\n"), &field, &field),
        ],
    );
    receive(
        Leniency::ObsFold,
        &[(
            "9112 5.2",
            "HTTP/1.1 200 OK\r\nContent-Length:\r\n 2\r\nX: y\r\n z\r\n\r\nok",
            "!ContentLength close",
            "200 {ok} . reusable read",
        )],
    );
    // Spaces stand where the line ends were, in the value and in what was received.
    let log = Input::new(b"GET / HTTP/1.1\r\nHost: a\r\nX: a \r\n b\r\n\tc\r\nY:\r\n d\r\n\r\n")
        .output(http1::statuses)
        .any_split(
            || Server::new(&Config::default().allow(Leniency::ObsFold).with_max_fields(3)),
            |event, http, tx, log| {
                if let ServerEvent::Request(head) = event {
                    log.item(format_args!("{}", http1::listed(head.fields())));
                    assert_eq!(head.as_bytes(), b"GET / HTTP/1.1\r\nHost: a\r\nX: a    b  \tc\r\nY:   d\r\n\r\n");
                    http.respond(200, NO_FIELDS, "", tx).unwrap();
                }
            },
        );
    assert_eq!(log, r"Host=a, X=a    b  \tc, Y=d 200 read");
}

/// Both at once.
#[test]
fn folded_lines_with_bare_line_feeds() {
    let config = Config::default().allow(Leniency::ObsFold).allow(Leniency::BareLf);
    let log = Input::new(b"GET / HTTP/1.1\nHost: a\nX: a\n b\r\n c\nY: d\n\n").output(http1::statuses).any_split(
        || Server::new(&config),
        |event, http, tx, log| {
            if let ServerEvent::Request(head) = event {
                log.item(format_args!("{}", http1::listed(head.fields())));
                http.respond(200, NO_FIELDS, "", tx).unwrap();
            }
        },
    );
    assert_eq!(log, "Host=a, X=a  b   c, Y=d 200 read");
}

#[test]
fn repeated_lengths() {
    let rows: Vec<(&str, String, &str, &str)> = [
        ("9112 6.3 (5)", "Content-Length: 5\r\nContent-Length: 5", "POST / {hello} . 200 read"),
        ("9112 6.3 (5)", "Content-Length: 5, 5", "POST / {hello} . 200 read"),
        ("9112 6.3 (5)", "Content-Length: 5,5 ,\t5\r\nX: y\r\ncontent-length:5", "POST / {hello} . 200 read"),
        ("9112 6.3 (5), to the letter", "Content-Length: 5, 05", LENGTH),
        ("9112 6.3 (5), to the letter", "Content-Length: 05\r\nContent-Length: 5", LENGTH),
        ("9112 6.3 (5), differing", "Content-Length: 5, 6", LENGTH),
        ("9112 6.3 (5), differing", "Content-Length: 5\r\nContent-Length: 6", LENGTH),
        ("9112 6.3 (5), differing", "Content-Length: 5\r\nContent-Length: 5, 6", LENGTH),
        ("9110 5.6.1, empty elements", "Content-Length: 5,", LENGTH),
        ("9110 5.6.1, empty elements", "Content-Length: ,5", LENGTH),
        ("9110 8.6, no number", "Content-Length: 5, +5", LENGTH),
        ("9110 8.6, no number", "Content-Length: \"5\"", LENGTH),
        ("9110 8.6, no number", "Content-Length: \"5, 5\"", LENGTH),
        ("9110 8.6, no number", "Content-Length:", LENGTH),
        ("9112 6.3 (3), with chunks", "Content-Length: 5, 5\r\nTransfer-Encoding: chunked", LENGTH),
    ]
    .map(|(section, lines, on)| (section, post(lines, "hello"), LENGTH, on))
    .into();
    let rows: Vec<Row<'_>> =
        rows.iter().map(|(section, input, off, on)| (*section, input.as_str(), *off, *on)).collect();
    serve(Leniency::RepeatedContentLength, &rows);
    receive(
        Leniency::RepeatedContentLength,
        &[
            (
                "9112 6.3 (5)",
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
                "!ContentLength close",
                "200 {ok} . reusable read",
            ),
            (
                "9112 6.3 (5)",
                "HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nok",
                "!ContentLength close",
                "!ContentLength close",
            ),
        ],
    );
}

#[test]
fn a_length_with_chunks() {
    let body = "0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    let rest = r"POST / . 200/close linger +GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    serve(
        Leniency::LengthWithChunked,
        &[
            // What follows is never taken for a request: it may be part of a body that is longer (RFC 9112, section 6.1).
            ("9112 6.1", &post("Content-Length: 5\r\nTransfer-Encoding: chunked", body), LENGTH, rest),
            ("9112 6.1", &post("Transfer-Encoding: chunked\r\nContent-Length: 5", body), LENGTH, rest),
            (
                "9112 6.1, though it is asked to",
                &post("Connection: keep-alive\r\nContent-Length: 0\r\nTransfer-Encoding: chunked", body),
                LENGTH,
                rest,
            ),
            (
                "9112 6.1, above the limit of bodies",
                &post("Content-Length: 99999999999\r\nTransfer-Encoding: chunked", "2\r\nhi\r\n0\r\n\r\n"),
                LENGTH,
                "POST / {hi} . 200/close linger",
            ),
            ("9110 8.6, no number", &post("Transfer-Encoding: chunked\r\nContent-Length: x", body), LENGTH, LENGTH),
            (
                "9112 6.3 (5), two lengths",
                &post("Content-Length: 5, 5\r\nTransfer-Encoding: chunked", body),
                LENGTH,
                LENGTH,
            ),
            ("9112 6.3 (4)", &post("Content-Length: 5\r\nTransfer-Encoding: gzip", "hello"), LENGTH, CODING),
            (
                "9112 6.1, in 1.0",
                "POST / HTTP/1.0\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                CODING,
                CODING,
            ),
        ],
    );
    receive(
        Leniency::LengthWithChunked,
        &[(
            "9112 6.3 (3)",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "!ContentLength close",
            "200 {ok} . close",
        )],
    );
    // The length is not shown, so that it is not passed on or believed.
    let input = post("Content-Length: 5\r\nX: y\r\nTransfer-Encoding: chunked\r\nCONTENT-LENGTH: 5", "0\r\n\r\n");
    let config = Config::default().allow(Leniency::LengthWithChunked).allow(Leniency::RepeatedContentLength);
    let log = Input::new(input.as_bytes()).output(http1::statuses).any_split(
        || Server::new(&config),
        |event, http, tx, log| match event {
            ServerEvent::Request(head) => {
                assert_eq!(
                    (head.fields().get("content-length"), head.fields().list("content-length").count()),
                    (None, 0)
                );
                log.item(format_args!("{}", http1::listed(head.fields())));
            }
            ServerEvent::End(_) => http.respond(200, NO_FIELDS, "", tx).unwrap(),
            _ => {}
        },
    );
    assert_eq!(log, "Host=a, X=y, Transfer-Encoding=chunked 200/close linger");
}

#[test]
fn space_before_the_colon() {
    receive(
        Leniency::SpaceBeforeColon,
        &[
            (
                "9112 5.1",
                "HTTP/1.1 200 OK\r\nContent-Length \t: 2\r\n\r\nok",
                "!Field close",
                "200 {ok} . reusable read",
            ),
            (
                "9112 5.1, trailers",
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX : y\r\nHost : b\r\n\r\n",
                "200 !Field close",
                "200 .(X=y) reusable read",
            ),
            ("9112 5, no name", "HTTP/1.1 200 OK\r\n : 2\r\n\r\nok", "!Field close", "!Field close"),
            ("9112 5, two words", "HTTP/1.1 200 OK\r\nX y: 2\r\n\r\nok", "!Field close", "!Field close"),
            ("9112 5.2, folded", "HTTP/1.1 200 OK\r\nX: y\r\n Z : 2\r\n\r\nok", "!Field close", "!Field close"),
        ],
    );
    // Of a request it is refused whatever is allowed (RFC 9112, section 5.1: a server MUST).
    serve(
        Leniency::SpaceBeforeColon,
        &[
            ("9112 5.1", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", FIELD, FIELD),
            ("9112 5.1", &chunked("0\r\nX : y\r\n\r\n"), &format!("POST / {FIELD}"), &format!("POST / {FIELD}")),
        ],
    );
    let config = Config::default().allow(Leniency::SpaceBeforeColon);
    let log = Input::new(b"HTTP/1.1 200 OK\r\nX \t : y\r\nContent-Length : 0\r\n\r\n").any_split(
        || http1::asking(&config, &["GET"]),
        |event, _, _, log| {
            if let ClientEvent::Response(head) = event {
                assert_eq!(head.fields().get("x"), Some(&b"y"[..]));
                log.item(format_args!("{}", http1::listed(head.fields())));
            }
        },
    );
    assert_eq!(log, "X=y, Content-Length=0 read");
}

#[test]
fn a_missing_host() {
    serve(
        Leniency::MissingHost,
        &[
            ("9112 3.2", "GET / HTTP/1.1\r\n\r\n", HOST, "GET / . 200 read"),
            ("9112 3.2, in the target", "GET http://a/ HTTP/1.1\r\n\r\n", HOST, "GET http://a/ . 200 read"),
            ("9112 3.2, repeated", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", HOST, HOST),
            ("9112 3.2, malformed", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", HOST, HOST),
        ],
    );
}

/// One leniency forgives one thing, and a configuration keeps what it had when another is made of it.
#[test]
fn leniencies_are_apart() {
    let faults = [
        (Leniency::BareLf, "GET / HTTP/1.1\nHost: a\r\n\r\n".to_owned()),
        (Leniency::ObsFold, "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n".to_owned()),
        (Leniency::RepeatedContentLength, post("Content-Length: 0\r\nContent-Length: 0", "")),
        (Leniency::LengthWithChunked, post("Content-Length: 0\r\nTransfer-Encoding: chunked", "0\r\n\r\n")),
        (Leniency::MissingHost, "GET / HTTP/1.1\r\n\r\n".to_owned()),
        (Leniency::SpaceBeforeColon, "HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 0\r\n\r\n".to_owned()),
    ];
    let strict = Config::default();
    for (leniency, _) in &faults {
        let config = strict.clone().allow(*leniency);
        for (needed, input) in &faults {
            let log = match needed {
                Leniency::SpaceBeforeColon => http1::receive(&config, &["GET"], Input::new(input.as_bytes())),
                _ => http1::serve(&config, Input::new(input.as_bytes())),
            };
            assert_eq!(!log.contains('!'), needed == leniency, "{leniency:?}: {log}");
        }
    }
    assert!(http1::serve(&strict, Input::new(faults[4].1.as_bytes())).contains("!Host"));
}
