//! Responses before the request has ended: RFC 9112, sections 9.3 and 9.6; RFC 9110, section 10.1.1. No request begins
//! inside the body of another.

use crate::{Input, http1, post};
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    http1::{BodyLength, Config, NO_FIELDS, Server, ServerEvent},
};

/// What an application does when it has a head.
#[derive(Debug, Clone, Copy)]
enum Does {
    Respond,
    RespondAndDiscard,
    DiscardAndRespond,
    /// It responds when the rest is dropped, or known not to come: at the end of what is read.
    Discard,
    /// It streams: the head of the response at once, its end with that of the request.
    Stream,
    /// It streams, and ends at once.
    StreamAndEnd,
}
use Does::{Discard, DiscardAndRespond, Respond, RespondAndDiscard, Stream, StreamAndEnd};

#[track_caller]
fn run(config: &Config, does: Does, input: &str) -> String {
    Input::new(input.as_bytes()).output(http1::statuses).any_split(
        || Server::new(config),
        |event, http, tx, log| {
            let is_end = matches!(event, ServerEvent::End(_));
            let is_head = matches!(event, ServerEvent::Request(_));
            http1::note_request(event, log);
            match does {
                Respond if is_head => http.respond(401, NO_FIELDS, "", tx).unwrap(),
                RespondAndDiscard if is_head => {
                    http.respond(401, NO_FIELDS, "", tx).unwrap();
                    http.discard_body();
                }
                DiscardAndRespond if is_head => {
                    http.discard_body();
                    http.respond(401, NO_FIELDS, "", tx).unwrap();
                }
                Discard if is_head => http.discard_body(),
                Stream | StreamAndEnd if is_head => {
                    http.send_response(200, NO_FIELDS, BodyLength::Chunked, tx).unwrap();
                    if matches!(does, StreamAndEnd) {
                        http.send_end(NO_FIELDS, tx).unwrap();
                    }
                }
                Stream if is_end => http.send_end(NO_FIELDS, tx).unwrap(),
                _ => {}
            }
        },
    )
}

const SMUGGLED: &str = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
const SHOWN: &str = r"GET /x HTTP/1.1\r\nHost: a\r\n\r\n";

/// A rest within the bound is read, and the connection goes on behind it.
#[test]
fn a_rest_that_is_worth_reading() {
    let length = "Content-Length: 28";
    let body = post(length, SMUGGLED) + &post("Content-Length: 0", "");
    for config in [Config::default(), Config::default().with_drain(28)] {
        assert_eq!(run(&config, Respond, &body), format!("POST / {{{SHOWN}}} . POST / . 401 401 read"));
        // Without an end, whether or not there was something to drop.
        assert_eq!(run(&config, RespondAndDiscard, &body), "POST / POST / 401 401 read");
        assert_eq!(run(&config, DiscardAndRespond, &body), "POST / POST / 401 401 read");
    }
    // Not all of it has come.
    let part = post(length, "GET /x");
    assert_eq!(run(&Config::default(), Respond, &part), "POST / {GET /x} 401 read");
    assert_eq!(run(&Config::default(), RespondAndDiscard, &part), "POST / 401 read");
    assert_eq!(run(&Config::default(), DiscardAndRespond, &part), "POST / 401 read");
}

/// Above the bound, or of unknown length, it is not: the response says so, and nothing more is read.
#[test]
fn a_rest_that_is_not() {
    let small = Config::default().with_drain(27);
    let long = post("Content-Length: 28", SMUGGLED);
    let chunks = post("Transfer-Encoding: chunked", "1c\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n\r\n0\r\n\r\n");
    for (config, input) in [(&small, &long), (&Config::default(), &chunks)] {
        let unread = input.split_once("\r\n\r\n").unwrap().1.escape_debug();
        for does in [Respond, RespondAndDiscard, DiscardAndRespond] {
            assert_eq!(run(config, does, input), format!("POST / 401/close linger +{unread}"), "{does:?}");
        }
    }
}

/// RFC 9110, section 10.1.1: a client that was not sent `100` may send the body or not, so the connection ends.
#[test]
fn a_client_that_waits_to_be_asked() {
    for body in ["", SMUGGLED] {
        let input = post("Expect: 100-continue\r\nContent-Length: 28", body);
        let rest = if body.is_empty() { String::new() } else { format!(" +{SHOWN}") };
        for does in [Respond, RespondAndDiscard, DiscardAndRespond] {
            assert_eq!(run(&Config::default(), does, &input), format!("POST / 401/close linger{rest}"), "{does:?}");
        }
        // A success that is streamed asks for it.
        let read = if body.is_empty() { String::new() } else { format!("{{{SHOWN}}} . ") };
        assert_eq!(run(&Config::default(), StreamAndEnd, &input), format!("POST / {read}100 200 read"));
        // Nothing is read of it, and the response is still due.
        assert_eq!(run(&Config::default(), Discard, &input), format!("POST / paused{rest}"));
    }
}

/// A refusal that is streamed has said that it closes: when it ends, a body that has not begun is not waited for, and one that
/// has is read.
#[test]
fn a_client_that_waits_while_the_response_is_streamed() {
    for (body, then) in [("", NextIo::Linger), ("GET /x", NextIo::Read)] {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(post("Expect: 100-continue\r\nContent-Length: 28", "").as_bytes());
        assert!(http.next_event(&mut rx, &mut tx).unwrap().is_some());
        http.send_response(401, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
        rx.push(body.as_bytes());
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        assert_eq!(http.next_io(), NextIo::Read);
        http.send_end(NO_FIELDS, &mut tx).unwrap();
        assert_eq!((http.next_io(), http1::statuses(tx.pending())), (then, "401/close".to_owned()), "{body:?}");
    }
}

/// What nobody wants is dropped, and its faults are still found.
#[test]
fn a_body_is_dropped() {
    let end = |input: &str| run(&Config::default(), Discard, input);
    assert_eq!(end(&post("Content-Length: 5", "helloGET")), "POST / paused +GET");
    assert_eq!(end(&post("Content-Length: 5", "hel")), "POST / read");
    let chunked = |body| post("Transfer-Encoding: chunked", body);
    assert_eq!(end(&chunked("5\r\nhello\r\n0\r\nX: y\r\n\r\nGET")), "POST / paused +GET");
    assert_eq!(end(&chunked("5\r\nhelloXX")), "POST / !Chunk 400/close linger");
    assert_eq!(end(&chunked("5\r\nhello\r\n0\r\nX: \0\r\n")), "POST / !Field 400/close linger");
    let config = Config::default().with_max_body(5);
    assert_eq!(run(&config, Discard, &chunked("5\r\nhello\r\n1\r\n")), "POST / !BodyTooLong 413/close linger");
    // More than is worth reading: the response will close.
    assert_eq!(
        run(&Config::default().with_drain(4), Discard, &post("Content-Length: 5", "hello")),
        "POST / paused +hello"
    );
}

/// What has come of a body before is no reason not to drop the rest.
#[test]
fn the_rest_of_a_body_is_dropped() {
    for (framing, begun, rest) in
        [("Content-Length: 5", "hel", "lo"), ("Transfer-Encoding: chunked", "5\r\nhel", "lo\r\n0\r\nX: y\r\n\r\n")]
    {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(post(framing, begun).as_bytes());
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        http.discard_body();
        http.discard_body();
        rx.push(rest.as_bytes());
        assert!(http.next_event(&mut rx, &mut tx).unwrap().is_none());
        assert_eq!((http.next_io(), rx.unread()), (NextIo::Paused, &b""[..]));
        // There is nothing left to be dropped.
        http.discard_body();
        http.respond(200, NO_FIELDS, "", &mut tx).unwrap();
        assert_eq!((http.next_io(), http1::statuses(tx.pending())), (NextIo::Read, "200".to_owned()));
    }
}

/// A body that is too long to be dropped is not read while the response is streamed either.
#[test]
fn a_response_is_streamed_after_a_body_was_given_up() {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default().with_drain(4)));
    rx.push(post("Content-Length: 5", "hello").as_bytes());
    assert!(http.next_event(&mut rx, &mut tx).unwrap().is_some());
    http.discard_body();
    http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
    assert!(http.next_event(&mut rx, &mut tx).unwrap().is_none());
    assert_eq!(http.next_io(), NextIo::Paused);
    http.send_end(NO_FIELDS, &mut tx).unwrap();
    assert_eq!((http.next_io(), http1::statuses(tx.pending())), (NextIo::Linger, "200/close".to_owned()));
}

/// Of chunks so much is dropped, wherever they are cut: then no more is read, and the response closes.
#[test]
fn chunks_are_dropped_up_to_the_bound() {
    let input = post("Transfer-Encoding: chunked", "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    for (drain, unread) in [
        (8, ""),
        (7, ""),
        (6, r" +g\r\n0\r\n\r\n"),
        (3, r" +defg\r\n0\r\n\r\n"),
        (2, r" +c\r\n4\r\ndefg\r\n0\r\n\r\n"),
        (0, r" +abc\r\n4\r\ndefg\r\n0\r\n\r\n"),
    ] {
        assert_eq!(
            run(&Config::default().with_drain(drain), Discard, &input),
            format!("POST / paused{unread}"),
            "{drain}"
        );
    }
}

/// A response that is streamed meanwhile lets the body be read to its end, however long it is.
#[test]
fn streaming_both_ways() {
    let config = Config::default().with_drain(0);
    let twice = post("Content-Length: 5", "hello").repeat(2);
    assert_eq!(run(&config, Stream, &twice), "POST / {hello} . POST / {hello} . 200 200 read");
    let twice = post("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n").repeat(2);
    assert_eq!(run(&config, Stream, &twice), "POST / {hello} . POST / {hello} . 200 200 read");
    // A response that ends before is no reason to stop.
    assert_eq!(run(&config, StreamAndEnd, &twice), "POST / {hello} . POST / {hello} . 200 200 read");
    // A fault in it ends the connection without a second response.
    let faulty = post("Transfer-Encoding: chunked", "5\r\nhello!");
    assert_eq!(run(&config, Stream, &faulty), "POST / {hello} !Chunk 200 linger");
    // One that waits to be asked is, before the head.
    let waits = post("Expect: 100-continue\r\nContent-Length: 5", "hello");
    assert_eq!(run(&config, Stream, &waits), "POST / {hello} . 100 200 read");
}

/// A limit for one request, up or down, between its head and the next poll.
#[test]
fn a_limit_of_its_own() {
    let run = |limit, input: String| {
        Input::new(input.as_bytes()).output(http1::statuses).any_split(
            || Server::new(&Config::default().with_max_body(4)),
            |event, http, tx, log| {
                let event = match event {
                    ServerEvent::Request(head) => {
                        if head.target() == "/" {
                            http.limit_body(limit);
                        }
                        ServerEvent::Request(head)
                    }
                    event => event,
                };
                http1::answer_at_end(event, http, tx, log);
            },
        )
    };
    let chunked = |body| post("Transfer-Encoding: chunked", body);
    assert_eq!(run(5, post("Content-Length: 5", "hello")), "POST / {hello} . 200 read");
    assert_eq!(run(4, post("Content-Length: 5", "hello")), "POST / !BodyTooLong 413/close linger");
    assert_eq!(run(2, post("Content-Length: 3", "abc")), "POST / !BodyTooLong 413/close linger");
    assert_eq!(run(0, post("Content-Length: 1", "a")), "POST / !BodyTooLong 413/close linger");
    assert_eq!(run(0, post("Content-Length: 0", "")), "POST / . 200 read");
    assert_eq!(run(5, chunked("5\r\nhello\r\n0\r\n\r\n")), "POST / {hello} . 200 read");
    assert_eq!(run(5, chunked("5\r\nhello\r\n1\r\n")), "POST / {hello} !BodyTooLong 413/close linger");
    assert_eq!(run(2, chunked("3\r\n")), "POST / !BodyTooLong 413/close linger");
    // And not for the next one.
    let second = post("Content-Length: 5", "hello").replace("POST /", "POST /2");
    assert_eq!(
        run(5, post("Content-Length: 5", "hello") + &second),
        "POST / {hello} . POST /2 !BodyTooLong 200 413/close linger"
    );
    // `100` is not sent for a body that is too long.
    let asks = post("Expect: 100-continue\r\nContent-Length: 5", "");
    assert_eq!(run(4, asks), "POST / !BodyTooLong 413/close linger");
}

/// The same answer to a fault in a body, whether or not a response is due.
#[test]
fn faults_behind_a_response() {
    let chunked = post("Transfer-Encoding: chunked", "5\r\nhello!");
    // The whole response says that it closes, and nothing more is read.
    assert_eq!(run(&Config::default(), Respond, &chunked), r"POST / 401/close linger +5\r\nhello!");
    let limited = Config::default().with_max_body(4);
    let long = post("Content-Length: 5", "hello");
    assert_eq!(run(&limited, Respond, &long), "POST / !BodyTooLong 401 linger");
}
