//! Faults of the field, by their numbers in the project's collection of cases. Each row is one with its whole kind; those that
//! are about what is sent are in `http1_sending`.

use crate::{
    GET, Input, OPEN, Row, chunked,
    common::{BROKEN, CLEAN},
    http1, post, receive, refuse, refuse_response, serve,
};
use bytewise::http1::{Config, NO_FIELDS, Server, ServerEvent};

const SMUGGLED: &str = "0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";

/// H01: a length and chunks, a request hidden behind the last chunk.
#[test]
fn h01_length_and_chunks() {
    let refused = "!ContentLength 400/close linger";
    let rows = [
        post("Content-Length: 5\r\nTransfer-Encoding: chunked", SMUGGLED),
        post("Transfer-Encoding: chunked\r\nContent-Length: 5", SMUGGLED),
    ];
    for input in rows {
        serve(&Config::default(), OPEN, &[("9112 6.1", input.as_bytes(), refused)]);
    }
}

/// H02: space before the colon; H04: before the first field.
#[test]
fn h02_h04_whitespace() {
    let tail = "\r\n\r\n0\r\n\r\nX";
    for space in [" ", "\t", " \t "] {
        let input =
            format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\nTransfer-Encoding{space}: chunked{tail}");
        serve(&Config::default(), OPEN, &[("9112 5.1", input.as_bytes(), "!Field 400/close linger")]);
        let input = format!("POST / HTTP/1.1\r\n{space}Content-Length: 5\r\nHost: a\r\n\r\nhello");
        serve(&Config::default(), OPEN, &[("9112 2.2", input.as_bytes(), "!Field 400/close linger")]);
    }
}

/// H03: a fold that hides the last coding, and bytes that are never a fold.
#[test]
fn h03_folds() {
    for byte in [b' ', b'\t', b'\x0B', b'\x0C', b'\x85', b'\xA0'] {
        let head = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n";
        let input = [&head[..], &[byte], b", identity\r\n\r\n0\r\n\r\n"].concat();
        serve(&Config::default(), OPEN, &[("9112 5.2", &input, "!Field 400/close linger")]);
        let folding = Config::default().allow(bytewise::http1::Leniency::ObsFold);
        let expected = if b" \t".contains(&byte) { "!TransferEncoding" } else { "!Field" };
        serve(&folding, OPEN, &[("9112 6.3 (4)", &input, &format!("{expected} 400/close linger"))]);
    }
}

/// H07: NUL, and a bare carriage return, in a value.
#[test]
fn h07_nul() {
    for byte in ["\0", "\r"] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\ntest: te{byte}st\r\n");
        refuse(&Config::default(), &[("9110 5.5", request.as_bytes(), "Field", 400)]);
        let response = format!("HTTP/1.1 200 OK\r\ntest: te{byte}st\r\n");
        refuse_response(&Config::default(), &[("9110 5.5", response.as_bytes(), "Field")]);
    }
}

/// H08: an empty name.
#[test]
fn h08_empty_name() {
    refuse(&Config::default(), &[("9110 5.1", b"GET / HTTP/1.1\r\nHost: a\r\n: x\r\n", "Field", 400)]);
}

/// H09: lengths that differ; H10: that are equal; H11: with a sign; H13: above what a number holds.
#[test]
fn h09_h10_h11_h13_lengths() {
    let thousand = "7".repeat(1000);
    let values = [
        "10\r\nContent-Length: 20",
        "10, 20",
        "5\r\nContent-Length: 5",
        "5, 5",
        "5, 05",
        "+5",
        "-5",
        "18446744073709551616",
        &thousand,
    ];
    for value in values {
        let request = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {value}\r\n");
        refuse(&Config::default(), &[("9110 8.6", request.as_bytes(), "ContentLength", 400)]);
        let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n");
        refuse_response(&Config::default(), &[("9110 8.6", response.as_bytes(), "ContentLength")]);
    }
    // Valid, and above the limit.
    for value in ["18446744073709551615", "9223372036854775808"] {
        let input = post(&format!("Content-Length: {value}"), "");
        serve(&Config::default(), OPEN, &[("9110 8.6", input.as_bytes(), "POST / !BodyTooLong 413/close linger")]);
    }
}

/// H15: sizes of chunks that are none; H17: no line end behind the data.
#[test]
fn h15_h17_chunks() {
    for size in ["0x2", "+2", "-1", "2_0", " 2", ""] {
        let body = format!("{size}\r\naa\r\n0\r\n\r\n");
        both_fail(&body, "");
    }
    both_fail("5\r\nhelloXX0\r\n\r\n", "{hello} ");
    for size in ["0002", "2"] {
        let input = chunked(&format!("{size}\r\naa\r\n0\r\n\r\n"));
        serve(&Config::default(), OPEN, &[("9112 7.1", input.as_bytes(), "POST / {aa} . 200 read")]);
    }
    for size in ["A", "a", "0a"] {
        let input = chunked(&format!("{size}\r\n0123456789\r\n0\r\n\r\n"));
        serve(&Config::default(), OPEN, &[("9112 7.1", input.as_bytes(), "POST / {0123456789} . 200 read")]);
    }

    #[track_caller]
    fn both_fail(body: &str, events: &str) {
        let expected = format!("POST / {events}!Chunk 400/close linger");
        serve(&Config::default(), OPEN, &[("9112 7.1", chunked(body).as_bytes(), &expected)]);
        let response = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        receive(
            &Config::default(),
            &["GET"],
            OPEN,
            &[("9112 7.1", response.as_bytes(), &format!("200 {events}!Chunk close"))],
        );
    }
}

/// H19: extensions without end; H29: trailers without end. Each alone fails at its limit, with what is held bounded: `bounds`.
#[test]
fn h19_h29_floods() {
    let rows = [
        (chunked(&format!("1;{}", "a".repeat(300))), "POST / !Chunk 400/close linger"),
        (chunked(&format!("1;{}\r\na\r\n", "a".repeat(64)).repeat(253)), "POST / {a*252} !Chunk 400/close linger"),
        (chunked(&format!("0\r\n{}", "X: y\r\n".repeat(101))), "POST / !TooManyFields 431/close linger"),
        (chunked(&format!("0\r\nX: {}", "y".repeat(9000))), "POST / !TrailersTooLong 431/close linger"),
    ];
    for (input, expected) in rows {
        serve(&Config::default(), OPEN, &[("9112 7.1", input.as_bytes(), expected)]);
    }
}

/// H20: codings that nobody decodes; H22: any at all in HTTP/1.0.
#[test]
fn h20_h22_codings() {
    let body = "5\r\nhello\r\n0\r\n\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    for (codings, expected) in [
        ("JUNK, chunked", "!UnsupportedCoding 501/close linger"),
        ("gzip, chunked", "!UnsupportedCoding 501/close linger"),
        ("chunked, chunked", "!TransferEncoding 400/close linger"),
    ] {
        let input = post(&format!("Transfer-Encoding: {codings}"), body);
        serve(&Config::default(), OPEN, &[("9112 6.1", input.as_bytes(), expected)]);
    }
    for lines in [
        "Transfer-Encoding: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ] {
        let request = format!("POST / HTTP/1.0\r\nHost: a\r\n{lines}\r\n\r\n{body}");
        serve(&Config::default(), OPEN, &[("9112 6.1", request.as_bytes(), "!TransferEncoding 400/close linger")]);
        let response = format!("HTTP/1.0 200 OK\r\n{lines}\r\n\r\n{body}");
        receive(&Config::default(), &["GET"], OPEN, &[("9112 6.1", response.as_bytes(), "!TransferEncoding close")]);
    }
}

/// H23: `host` twice, not at all, malformed.
#[test]
fn h23_host() {
    let refused = "!Host 400/close linger";
    let rows: &[Row<'_>] = &[
        ("9112 3.2", b"GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", refused),
        ("9112 3.2", b"GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", refused),
        ("9112 3.2", b"GET / HTTP/1.1\r\n\r\n", refused),
        ("9112 3.2", b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", refused),
        ("9112 3.2", b"GET / HTTP/1.0\r\n\r\n", "GET / . 200/close linger"),
    ];
    serve(&Config::default(), OPEN, rows);
}

/// H25: the answer comes first, and the body looks like a request.
#[test]
fn h25_an_answer_before_the_body() {
    let body = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    let input = post("Content-Length: 28", body);
    let answered = |config: Config| {
        Input::new(input.as_bytes()).output(http1::statuses).any_split(
            || Server::new(&config),
            |event, http, tx, log| {
                if let ServerEvent::Request(_) = event {
                    http.respond(401, NO_FIELDS, "", tx).unwrap();
                }
                http1::note_request(event, log);
            },
        )
    };
    let shown = body.escape_debug();
    assert_eq!(answered(Config::default()), format!("POST / {{{shown}}} . 401 read"));
    assert_eq!(answered(Config::default().with_drain(10)), format!("POST / 401/close linger +{shown}"));
}

/// H26: two requests in one read, or one and a half.
#[test]
fn h26_pipelining() {
    let second = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    let input = [GET, second].concat();
    serve(&Config::default(), OPEN, &[("9112 9.3.2", input.as_bytes(), "GET / . GET /x . 200 200 read")]);
    // The second one is kept while the first is handled, for whoever takes the connection back.
    let log = Input::new(input.as_bytes())
        .any_split(|| Server::new(&Config::default()), |event, _, _, log| http1::note_request(event, log));
    assert_eq!(log, format!("GET / . paused +{}", second.escape_debug()));
}

/// H30: many fields, at the limits of number and size and above; H31: one that is long, `bounds::a_long_head_byte_by_byte`.
#[test]
fn h30_h31_fields() {
    let with = |count: usize| {
        let lines: String = (1..=count).map(|n| format!("H{n}: v\r\n")).collect();
        format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n")
    };
    let expected = "GET / . 200 read";
    let above = "!TooManyFields 431/close linger";
    for (count, expected) in [(16, expected), (98, expected), (99, expected), (100, above)] {
        serve(&Config::default(), OPEN, &[("6585 5", with(count).as_bytes(), expected)]);
    }
    let too_long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(20_000));
    serve(&Config::default(), OPEN, &[("9110 5.4", too_long.as_bytes(), "!HeadTooLong 431/close linger")]);
}

/// H32: a head that trickles in. The core has no clock: what its watchdog is told is in `phases`, what it answers in `endings`.
#[test]
fn h32_a_slow_head() {
    serve(&Config::default(), OPEN, &[("9112 9.5", b"GET / HTTP/1.1\r\nA", r"read +GET / HTTP/1.1\r\nA")]);
}

/// H34: HTTP/1.0 that keeps alive, by a length and without one.
#[test]
fn h34_http10() {
    let input = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let run = |length| {
        Input::new(input).any_split(
            || Server::new(&Config::default()),
            |event, http, tx, _| {
                if let ServerEvent::End(_) = event {
                    http.send_response(200, NO_FIELDS, length, tx).unwrap();
                    http.send_data("ok", tx).unwrap();
                    http.send_end(NO_FIELDS, tx).unwrap();
                }
            },
        )
    };
    use bytewise::http1::BodyLength::{Chunked, Length};
    assert_eq!(run(Chunked), r"sent HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nok linger");
    assert_eq!(run(Length(2)), r"sent HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok read");
}

/// C01: a response to HEAD; C03: interim ones; C08: one that offers an upgrade.
#[test]
fn c01_c03_c08_responses() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n";
    receive(&Config::default(), &["HEAD"], OPEN, &[("9112 6.3 (1)", head, "200 . reusable read")]);
    let interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    receive(&Config::default(), &["GET"], OPEN, &[("9110 15.2", interim, "(100) (103) 200 {ok} . reusable read")]);
    let switch = b"HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
    receive(&Config::default(), &["GET"], OPEN, &[("9110 15.2.2", switch, "!Unsolicited close")]);
    let offer =
        b"HTTP/1.1 426 Upgrade Required\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 4\r\n\r\nbody";
    for method in ["GET", "UPGRADE"] {
        receive(&Config::default(), &[method], OPEN, &[("9110 7.8", offer, "426 {body} . reusable read")]);
    }
}

/// C05: responses that are cut off, told apart from faulty ones, with what came of them.
#[test]
fn c05_truncation() {
    let rows: &[Row<'_>] = &[
        (
            "9112 8",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
            "200 {hello} !UnexpectedEof { seen: 5, expected: None } close",
        ),
        (
            "9112 8",
            b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
            "200 {hello} !UnexpectedEof { seen: 5, expected: Some(100) } close",
        ),
        ("9112 8", b"HTTP/1.1 200 OK\r\nContent-Le", "!UnexpectedEof { seen: 27, expected: None } close"),
    ];
    for eof in [CLEAN, BROKEN] {
        receive(&Config::default(), &["GET"], eof, rows);
    }
    receive(
        &Config::default(),
        &["GET"],
        CLEAN,
        &[("9112 6.3 (8)", b"HTTP/1.1 200 OK\r\n\r\nhello", "200 {hello} . close")],
    );
}
