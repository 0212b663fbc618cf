//! What exchanges ask of their transport, call by call.

use crate::{
    http_peer::{CONTINUE, OK_CHUNKED, chunk, get, ok, ok_and_close, post, post_expecting, refusal},
    script::{Call, Call::*, Input, Output, Script, now, once, waits},
};
use bytes::Bytes;
use bytewise::http1::{BodyLength, Client, Config, Error as HttpError, NO_FIELDS, Server};
use bytewise_net::{Driver, Error};
use std::{io::ErrorKind, iter, task::Poll};

type Conn = Driver<Script, Server>;

const HIGH_WATER: usize = 64 * 1024;

fn conn(input: impl IntoIterator<Item = Input>) -> Conn {
    Driver::new(Script::new(input), Server::new(&Config::default()))
}

fn bytes(text: impl AsRef<[u8]>) -> Input {
    Input::Bytes(text.as_ref().to_vec())
}

fn calls(conn: &mut Conn) -> Vec<Call> {
    conn.outbox().io().unwrap().take_calls()
}

/// Answers the next request with its target and its body; whether there was one.
async fn answer(conn: &mut Conn) -> Result<bool, Error<HttpError>> {
    let Some(mut exchange) = conn.exchange().await? else { return Ok(false) };
    let mut text = exchange.head().target().as_bytes().to_vec();
    text.extend(exchange.body(1000).await?);
    exchange.respond(200, NO_FIELDS, text).unwrap();
    Ok(true)
}

#[test]
fn sixteen_requests_in_one_read_are_answered_by_one_write() {
    let gets: String = (0..16).map(|i| get(&format!("/{i}"))).collect();
    let posts: String = (0..16).map(|i| post(&format!("/{i}"), "hello")).collect();
    let mut conn = conn([bytes(&gets), Input::Pending, bytes(&posts), Input::Pending]);
    let answers = |body: &str| (0..16).map(|i| ok(&format!("/{i}{body}"))).collect::<String>();
    for (requests, answers) in [(gets, answers("")), (posts, answers("hello"))] {
        for _ in 0..16 {
            assert!(now(answer(&mut conn)).unwrap());
        }
        assert!(waits(conn.exchange()));
        assert_eq!(calls(&mut conn), [Read(requests.len()), Write(answers.len(), 1), Flush, ReadPending]);
        assert_eq!(std::mem::take(&mut conn.outbox().io().unwrap().written), answers.as_bytes());
    }
}

/// Also when what the handlers leave is settled in between.
#[test]
fn sixteen_requests_that_are_left_are_answered_by_one_write() {
    let mut conn = conn([bytes(post("/", "hello").repeat(16)), Input::Pending]);
    let answer = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n";
    for _ in 0..16 {
        assert!(now(conn.exchange()).unwrap().is_some());
    }
    assert!(waits(conn.exchange()));
    let written = 16 * answer.len();
    assert_eq!(calls(&mut conn), [Read(post("/", "hello").len() * 16), Write(written, 1), Flush, ReadPending]);
    assert_eq!(conn.io().written, answer.repeat(16).as_bytes());
}

/// What is asked for has to be written before it can come.
#[test]
fn a_body_is_asked_for_before_it_is_waited_for() {
    let mut conn = conn([bytes([get("/one"), post_expecting("/two", 5)].concat()), Input::Pending, bytes("hello")]);
    assert!(now(answer(&mut conn)).unwrap());
    let asked = ok("/one").len() + CONTINUE.len();
    let mut exchange = now(conn.exchange()).unwrap().unwrap();
    assert!(waits(exchange.data()));
    assert_eq!(exchange.outbox().io().unwrap().take_calls()[1..], [Write(asked, 1), Flush, ReadPending]);
    assert_eq!(now(exchange.body(9)).unwrap(), "hello");
    exchange.respond(200, NO_FIELDS, "").unwrap();
    assert!(waits(conn.exchange()));
    assert_eq!(calls(&mut conn), [Read(5), Write(ok("").len(), 1), Flush, ReadPending]);
}

#[test]
fn a_large_response_is_not_copied() {
    let mut conn = conn([bytes(get("/")), Input::Pending]);
    let exchange = now(conn.exchange()).unwrap().unwrap();
    exchange.respond(200, NO_FIELDS, Bytes::from(vec![7; 100_000])).unwrap();
    assert!(conn.outbox().tx.capacity() < 100_000, "it was copied");
    assert!(waits(conn.exchange()));
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n".len();
    assert_eq!(calls(&mut conn)[1..], [Write(head + 100_000, 2), Flush, ReadPending]);
}

/// Head, pieces and end of a streamed response, too, go out together if nobody waits in between.
#[test]
fn a_streamed_response_is_one_write() {
    let mut conn = conn([bytes(get("/")), Input::Pending]);
    let mut exchange = now(conn.exchange()).unwrap().unwrap();
    let mut out = exchange.outbox();
    out.machine.send_response(200, NO_FIELDS, BodyLength::Chunked, out.tx).unwrap();
    for piece in ["one", "two", "three"] {
        out.machine.send_data(piece, out.tx).unwrap();
        now(out.ready(1000)).unwrap();
    }
    out.machine.send_end(NO_FIELDS, out.tx).unwrap();
    assert!(waits(conn.exchange()));
    let response = [OK_CHUNKED, &chunk("one"), &chunk("two"), &chunk("three"), "0\r\n\r\n"].concat();
    assert_eq!(calls(&mut conn)[1..], [Write(response.len(), 1), Flush, ReadPending]);
    assert_eq!(conn.io().written, response.as_bytes());
}

/// The peer asks and never reads: no more is answered, and no more is read, than the mark allows.
#[test]
fn it_stops_above_the_mark() {
    let mut conn = conn([Input::Always(get("/").into_bytes())]);
    conn.outbox().io().unwrap().output = Output::Blocked;
    let mut answered = 0;
    let mut turns = 0;
    loop {
        let respond = async {
            let exchange = conn.exchange().await.unwrap().unwrap();
            exchange.respond(200, NO_FIELDS, &[7; 1000]).unwrap();
        };
        match once(respond) {
            (Poll::Ready(()), _) => answered += 1,
            (Poll::Pending, 0) => break,
            // It gave way to others.
            (Poll::Pending, _) => turns += 1,
        }
        assert!(turns < 1000, "it goes on for ever");
    }
    let response = ok("").len() + 3 + 1000;
    assert_eq!(answered, HIGH_WATER.div_ceil(response));
    assert!(conn.outbox().tx.queued() < HIGH_WATER + response);
    assert!(conn.received().unread().len() <= 2 * HIGH_WATER);
    for _ in 0..10 {
        assert!(waits(conn.exchange()));
    }
    // Room makes it go on.
    conn.outbox().io().unwrap().output = Output::Takes(usize::MAX);
    assert!(now(conn.exchange()).unwrap().is_some());
    assert_eq!(conn.io().written.len(), answered * response);
}

/// Neither head nor body stays when the answer is sent.
#[test]
fn it_holds_no_buffer_while_it_waits() {
    let mut conn = conn([bytes(post("/", &"x".repeat(900))), Input::Pending, bytes("GET"), Input::Pending]);
    assert!(now(answer(&mut conn)).unwrap());
    assert!(conn.received().capacity() > 0);
    assert!(waits(conn.exchange()));
    assert_eq!(conn.received().capacity(), 0);
    // Part of a head is kept.
    assert!(waits(conn.exchange()));
    assert_eq!(conn.received().unread(), b"GET");
}

#[test]
fn the_end_after_the_last_response() {
    let last = "GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let mut conn = conn([bytes([last, &get("/never")].concat()), bytes(get("/never")), Input::End]);
    assert!(now(answer(&mut conn)).unwrap());
    for _ in 0..3 {
        assert!(!now(answer(&mut conn)).unwrap(), "the end is the end");
    }
    let written = ok_and_close("/last").len();
    assert_eq!(calls(&mut conn)[1..], [Write(written, 1), Flush, Shutdown, Read(get("/never").len()), Read(0)]);
    now(conn.close()).unwrap();
}

#[test]
fn the_end_after_an_error() {
    let mut conn = conn([bytes([&get("/one"), "bad\r\n"].concat()), bytes("more"), Input::End]);
    assert!(now(answer(&mut conn)).unwrap());
    for _ in 0..3 {
        assert!(matches!(now(answer(&mut conn)), Err(Error::Protocol(HttpError::StartLine))));
    }
    let written = [ok("/one"), refusal("400 Bad Request")].concat();
    assert_eq!(calls(&mut conn)[1..], [Write(written.len(), 1), Flush, Shutdown, Read(4), Read(0)]);
    assert_eq!(conn.io().written, written.as_bytes());
    now(conn.close()).unwrap();
}

/// Of a response that cannot be ended, what there is is written; then it closes.
#[test]
fn the_end_inside_a_response() {
    let mut conn = conn([bytes([get("/one"), get("/never")].concat())]);
    let mut exchange = now(conn.exchange()).unwrap().unwrap();
    let out = exchange.outbox();
    out.machine.send_response(200, NO_FIELDS, BodyLength::Length(10), out.tx).unwrap();
    out.machine.send_data("hello", out.tx).unwrap();
    assert!(!now(answer(&mut conn)).unwrap());
    let written = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello";
    assert_eq!(calls(&mut conn)[1..], [Write(written.len(), 1), Flush]);
    assert_eq!(conn.io().written, written.as_bytes());
    now(conn.close()).unwrap();
}

/// The server refuses an upload, and resets the connection: its answer had come before. It may not be there at once, since
/// runtimes look for it only when somebody waits.
#[test]
fn what_has_come_before_a_write_fails_is_not_lost() {
    for resets in [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe] {
        for wait in [0, 1, 3] {
            let answer = bytes(refusal("413 Content Too Large"));
            let input = iter::repeat_n(Input::Pending, wait).chain([answer, Input::Fails(ErrorKind::ConnectionReset)]);
            let script = Script::new(input).with_output(Output::Fails(resets));
            let mut conn = Driver::new(script, Client::new(&Config::default()));
            let out = conn.outbox();
            out.machine.request("POST", "/", [("host", "a")], "hello", out.tx).unwrap();
            assert_eq!(now(conn.outbox().flush()).unwrap_err().kind(), resets);
            for _ in 0..wait {
                assert!(once(conn.exchange()).0.is_pending());
            }
            let exchange = now(conn.exchange()).unwrap().expect("the answer that had come");
            assert_eq!(exchange.head().status(), 413);
            // Then there is nothing more to come.
            assert!(!matches!(now(conn.exchange()), Ok(Some(_))));
        }
    }
    // If there is no answer, that is the error.
    let input = [Input::Pending, Input::Fails(ErrorKind::ConnectionReset)];
    let script = Script::new(input).with_output(Output::Fails(ErrorKind::BrokenPipe));
    let mut conn = Driver::new(script, Client::new(&Config::default()));
    let out = conn.outbox();
    out.machine.request("POST", "/", [("host", "a")], "hello", out.tx).unwrap();
    assert!(once(conn.exchange()).0.is_pending());
    assert!(matches!(now(conn.exchange()), Err(Error::Io(error)) if error.kind() == ErrorKind::BrokenPipe));
}

#[test]
fn sixteen_requests_of_a_client_are_one_write() {
    let answers: String = (0..16).map(|i| ok(&i.to_string())).collect();
    let script = Script::new([bytes(&answers), Input::Pending]);
    let mut conn = Driver::new(script, Client::new(&Config::default().with_max_outstanding(16)));
    let mut requests = String::new();
    for i in 0..16 {
        let target = format!("/{i}");
        requests += &get(&target);
        let out = conn.outbox();
        out.machine.request("GET", &target, [("host", "a")], "", out.tx).unwrap();
    }
    for i in 0..16 {
        let mut exchange = now(conn.exchange()).unwrap().unwrap();
        assert_eq!(now(exchange.body(9)).unwrap(), i.to_string());
    }
    assert!(conn.machine().is_reusable());
    assert!(waits(conn.exchange()));
    let calls = conn.outbox().io().unwrap().take_calls();
    assert_eq!(calls, [Write(requests.len(), 1), Flush, Read(answers.len()), ReadPending]);
    assert_eq!(conn.io().written, requests.as_bytes());
}
