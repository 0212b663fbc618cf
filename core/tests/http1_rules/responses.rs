//! What only responses have: bodies until close, none by the request or the status, interim ones, order: RFC 9112, sections
//! 6.3 and 9; RFC 9110, section 15.

use crate::{
    Input, OPEN,
    common::{BROKEN, CLEAN},
    http1, receive,
};
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    http1::{BodyLength, ClientEvent, Config, Error},
};

#[test]
fn without_a_body() {
    let next = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let rows: [(&str, &[&str], &[u8], &str); 8] = [
        (
            "9112 6.3 (1), HEAD",
            &["HEAD", "GET"],
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            "200 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), HEAD",
            &["HEAD", "GET"],
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "200 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), HEAD, no framing",
            &["HEAD", "GET"],
            b"HTTP/1.1 200 OK\r\n\r\n",
            "200 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), HEAD, an error",
            &["HEAD", "GET"],
            b"HTTP/1.1 404 No\r\nContent-Length: 9\r\n\r\n",
            "404 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), 204",
            &["GET", "GET"],
            b"HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n",
            "204 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), 204",
            &["GET", "GET"],
            b"HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n",
            "204 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), 304",
            &["GET", "GET"],
            b"HTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n",
            "304 . 200 {ok} . reusable read",
        ),
        (
            "9112 6.3 (1), 304, no framing",
            &["GET", "GET"],
            b"HTTP/1.1 304 No\r\n\r\n",
            "304 . 200 {ok} . reusable read",
        ),
    ];
    for (section, methods, head, expected) in rows {
        receive(&Config::default(), methods, OPEN, &[(section, &[head, next].concat(), expected)]);
    }
    // In any case of letters other than its own it is another method.
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    receive(&Config::default(), &["head"], OPEN, &[("9110 9.1", input, "200 {ok} . reusable read")]);
}

/// How the body would be delimited is shown also where there is none.
#[test]
fn announced_lengths() {
    for (head, expected) in [
        ("Content-Length: 1234", BodyLength::Length(1234)),
        ("Transfer-Encoding: chunked", BodyLength::Chunked),
        ("X: y", BodyLength::UntilClose),
    ] {
        let input = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n");
        let log = Input::new(input.as_bytes()).any_split(
            || http1::asking(&Config::default(), &["HEAD"]),
            |event, _, _, log| match event {
                ClientEvent::Response(head) => log.item(format_args!("{:?}", head.body_length())),
                _ => log.item(format_args!(".")),
            },
        );
        assert_eq!(log, format!("{expected:?} . read"));
    }
}

#[test]
fn until_close() {
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    for (section, body, eof, expected) in [
        ("9112 6.3 (8)", "all of it", CLEAN, "200 {all of it} . close"),
        ("9112 6.3 (8), nothing", "", CLEAN, "200 . close"),
        ("9112 6.3 (8)", "some", OPEN, "200 {some} read"),
        ("9112 8, cut off", "some", BROKEN, "200 {some} !UnexpectedEof { seen: 4, expected: None } close"),
        ("9112 8, cut off", "", BROKEN, "200 !UnexpectedEof { seen: 0, expected: None } close"),
    ] {
        let input = [head, body].concat();
        receive(&Config::default(), &["GET"], eof, &[(section, input.as_bytes(), expected)]);
    }
    receive(
        &Config::default(),
        &["GET"],
        CLEAN,
        &[(
            "9112 9.3, 1.0, though it is asked",
            b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\nall",
            "200 {all} . close",
        )],
    );
    // Nothing is left for the requests behind it.
    receive(
        &Config::default(),
        &["GET", "GET"],
        CLEAN,
        &[(
            "9112 9.3.2",
            b"HTTP/1.1 200 OK\r\n\r\nall",
            "200 {all} . !UnexpectedEof { seen: 0, expected: None } close",
        )],
    );
}

#[test]
fn interim_responses() {
    let last = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (section, interim, expected) in [
        (
            "9110 15.2",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nLink: </a>\r\n\r\n",
            "(100) (103) 200 {ok} . reusable read",
        ),
        ("9110 15.2, unknown", "HTTP/1.1 199 ?\r\n\r\n", "(199) 200 {ok} . reusable read"),
        ("9112 6.3 (1), no body", "HTTP/1.1 102 P\r\nContent-Length: 9\r\n\r\n", "(102) 200 {ok} . reusable read"),
        ("9112 9.6, of the final one", "HTTP/1.1 102 P\r\nConnection: close\r\n\r\n", "(102) 200 {ok} . reusable read"),
        (
            "9110 15.2.2, no upgrade was asked for",
            "HTTP/1.1 101 S\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
            "!Unsolicited close",
        ),
    ] {
        let input = [interim, last].concat();
        receive(&Config::default(), &["GET"], OPEN, &[(section, input.as_bytes(), expected)]);
    }
    // They are of the request that is due.
    let input = format!("{last}HTTP/1.1 100 C\r\n\r\n{last}");
    let expected = "200 {ok} . (100) 200 {ok} . reusable read";
    receive(
        &Config::default(),
        &["GET", "HEAD"],
        OPEN,
        &[("9110 15.2", &input.as_bytes()[..input.len() - 2], "200 {ok} . (100) 200 . reusable read")],
    );
    receive(&Config::default(), &["GET", "GET"], OPEN, &[("9110 15.2", input.as_bytes(), expected)]);
}

#[test]
fn interim_responses_are_counted() {
    let interim = |count: usize| "HTTP/1.1 103 E\r\n\r\n".repeat(count) + "HTTP/1.1 204 N\r\n\r\n";
    for max in [0, 1, 3] {
        let config = Config::default().with_max_interim(max as u32);
        let at_limit = "(103) ".repeat(max) + "204 . reusable read";
        receive(&config, &["GET"], OPEN, &[("9110 15.2, at the limit", interim(max).as_bytes(), &at_limit)]);
        let above = "(103) ".repeat(max) + "!TooManyInterim close";
        receive(&config, &["GET"], OPEN, &[("9110 15.2, above it", interim(max + 1).as_bytes(), &above)]);
    }
    // Anew for each response; 16 unless set.
    let log = http1::receive(&Config::default(), &["GET", "GET"], Input::new(interim(16).repeat(2).as_bytes()));
    assert_eq!(log, ("(103) ".repeat(16) + "204 . ").repeat(2) + "reusable read");
    let log = http1::receive(&Config::default(), &["GET"], Input::new(interim(17).as_bytes()));
    assert_eq!(log, "(103) ".repeat(16) + "!TooManyInterim close");
}

/// Nothing is an answer that was not asked for: it could be taken for the one to the next request.
#[test]
fn unsolicited() {
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let twice = ok.repeat(2);
    receive(
        &Config::default(),
        &[],
        OPEN,
        &[
            ("9112 9.2", b"", "read"),
            ("9112 9.2", b"H", "!Unsolicited close"),
            ("9112 9.2", b"\r\n", "!Unsolicited close"),
        ],
    );
    receive(
        &Config::default(),
        &[],
        CLEAN,
        &[("9112 9.2", b"", "close"), ("9112 9.2", ok.as_bytes(), "!Unsolicited close")],
    );
    receive(
        &Config::default(),
        &["GET"],
        OPEN,
        &[
            ("9112 9.2, a byte more", &[ok.as_bytes(), b"x"].concat(), "200 {ok} . reusable !Unsolicited close"),
            ("9112 9.2, another response", twice.as_bytes(), "200 {ok} . reusable !Unsolicited close"),
            ("9112 9.2, an empty line", &[ok.as_bytes(), b"\r\n"].concat(), "200 {ok} . reusable !Unsolicited close"),
            (
                "9112 6.3 (1), a body of 204",
                b"HTTP/1.1 204 N\r\nContent-Length: 2\r\n\r\nok",
                "204 . reusable !Unsolicited close",
            ),
            // After a response that closes nothing is looked at.
            (
                "9112 9.6",
                b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokHTTP/1.1",
                "200 {ok} . close +HTTP/1.1",
            ),
        ],
    );
    receive(
        &Config::default(),
        &["HEAD"],
        OPEN,
        &[("9112 6.3 (1), a body of HEAD", ok.as_bytes(), "200 . reusable !Unsolicited close")],
    );
}

#[test]
fn which_responses_close() {
    for (section, lines, expected) in [
        ("9112 9.3", "HTTP/1.1 200 OK\r\nConnection: close", "200 . close"),
        ("9112 9.3", "HTTP/1.1 200 OK\r\nConnection: keep-alive, CLOSE", "200 . close"),
        ("9112 9.3, over two lines", "HTTP/1.1 200 OK\r\nConnection: x\r\nconnection: Close", "200 . close"),
        ("9112 9.3", "HTTP/1.1 200 OK\r\nConnection: closed", "200 . reusable read"),
        ("9112 9.3", "HTTP/1.1 200 OK\r\nConnection: keep-alive", "200 . reusable read"),
        ("9112 9.3, 1.0", "HTTP/1.0 200 OK", "200 . close"),
        ("9112 9.3, 1.0", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive", "200 . reusable read"),
        ("9112 9.3, 1.0", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive, close", "200 . close"),
    ] {
        let input = format!("{lines}\r\nContent-Length: 0\r\n\r\n");
        receive(&Config::default(), &["GET"], OPEN, &[(section, input.as_bytes(), expected)]);
    }
    // Requests behind the one whose response closes have no answer to wait for (RFC 9112, section 9.6).
    let input = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let expected = "200 {ok} . !UnexpectedEof { seen: 0, expected: None } close";
    receive(&Config::default(), &["GET", "GET"], OPEN, &[("9112 9.6", input, expected)]);
}

/// After the last response that a client wants nothing is looked at either, wherever the blocks end.
#[test]
fn after_the_last_response() {
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP";
    let shut_down = || {
        let mut http = http1::asking(&Config::default(), &["GET"]);
        http.shut_down(&mut SendBuf::new());
        http
    };
    assert_eq!(Input::new(input).any_split(shut_down, http1::note_response), "200 {ok} . close +HTTP");
    let closes = || {
        let mut http = http1::asking(&Config::default(), &[]);
        http.close_after_next();
        http.request("GET", "/", [("host", "a")], "", &mut SendBuf::new()).unwrap();
        http
    };
    assert_eq!(Input::new(input).any_split(closes, http1::note_response), "200 {ok} . close +HTTP");
}

/// Three requests before the first answer, and the answers in order.
#[test]
fn pipelining() {
    let input = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na\
        HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nc\r\n0\r\n\r\n";
    receive(
        &Config::default(),
        &["GET", "HEAD", "POST"],
        OPEN,
        &[("9112 9.3.2", input, "200 {a} . 200 . 200 {c} . reusable read")],
    );
}

/// A response that comes before the request is sent whole (RFC 9112, section 9.3) leaves the connection usable once it is.
#[test]
fn early_responses() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut http = http1::asking(&Config::default(), &[]);
    http.send_request("POST", "/", [("host", "a")], BodyLength::Length(4), &mut tx).unwrap();
    http.send_data("ab", &mut tx).unwrap();
    rx.push(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n");
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert!(http.is_sending() && !http.is_reusable() && http.outstanding() == 0);
    assert_eq!(http.next_io(), NextIo::Read);
    http.send_data("cd", &mut tx).unwrap();
    http.send_end(bytewise::http1::NO_FIELDS, &mut tx).unwrap();
    assert!(http.is_reusable());
    rx.push(b"HTTP");
    assert_eq!(http.poll(&mut rx, &mut tx), Err(Error::Unsolicited));
    assert!(!http.is_reusable());
}
