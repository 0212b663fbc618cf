//! The input picks leniencies, limits, what the application does, the blocks, and what clients send. Held:
//!
//! * cut and whole agree: events, what is sent, error, what `next_io` says, what is unread, before and after a shutdown;
//! * no panic, and receive memory within a few times the limits;
//! * what is sent a client can read: one response to each request, in order, and nothing else.
#![no_main]

use arbitrary::Arbitrary;
use bytewise::{
    Eof, Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Client, Config, Error, NO_FIELDS, Server, ServerEvent},
};
use bytewise_fuzz::{
    Outcome,
    http1::{Case, note_fields},
};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    case: Case,
    wire: &'a [u8],
}

/// What a client has to know to read a response.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    Head,
    Connect,
    Upgrade,
    Other,
}

fuzz_target!(|input: Input<'_>| {
    let Input { case, wire } = input;
    let config = case.config();
    let mut asked = Vec::new();
    let outcome = case.whole().drive(&mut Server::new(&config), wire, |event, http, tx, log| {
        answer(&case, event, http, tx, log, &mut asked);
    });
    can_be_read(&outcome, &asked);
    let new = || Server::new(&config);
    case.hold(wire, new, |event, http, tx, log| answer(&case, event, http, tx, log, &mut asked));
});

fn answer(
    case: &Case,
    event: ServerEvent<'_>,
    http: &mut Server,
    tx: &mut SendBuf,
    log: &mut Vec<u8>,
    asked: &mut Vec<Asked>,
) {
    let [does, limit] = case.does;
    match event {
        ServerEvent::Request(head) => {
            log.extend(format!("\n{head:?} {:?} {:?} {:?}", head.body_length(), head.path(), head.query()).bytes());
            note_fields(head.fields(), log);
            assert_eq!(head.into_owned().head().as_bytes(), head.as_bytes());
            asked.push(match head.method() {
                "HEAD" => Asked::Head,
                "CONNECT" => Asked::Connect,
                _ => Asked::Other,
            });
            if limit != 0 {
                http.limit_body(limit.into());
            }
            let status = if head.method() == "CONNECT" { 403 } else { 200 };
            match does % 8 {
                1 => http.respond(status, NO_FIELDS, head.target(), tx).unwrap(),
                2 => {
                    http.discard_body();
                    http.respond(status, NO_FIELDS, head.target(), tx).unwrap();
                }
                3 => {
                    http.respond(status, NO_FIELDS, head.target(), tx).unwrap();
                    http.discard_body();
                }
                // Streamed: it ends with the request, or at once.
                4 => http.send_response(status, head.fields().end_to_end(), BodyLength::Chunked, tx).unwrap(),
                5 => {
                    http.send_informational(103, head.fields().end_to_end(), tx).unwrap();
                    let length = BodyLength::Length(head.target().len() as u64);
                    http.send_response(status, NO_FIELDS, length, tx).unwrap();
                    http.send_data(head.target(), tx).unwrap();
                    http.send_end(NO_FIELDS, tx).unwrap();
                }
                6 => http.discard_body(),
                _ => {}
            }
        }
        ServerEvent::Data(data) => {
            assert!(!data.is_empty());
            log.extend(data);
        }
        ServerEvent::End(trailers) => {
            log.extend(b"\nend ");
            note_fields(trailers, log);
            match does % 8 {
                0 | 7 => {
                    if http.switch(101, [("upgrade", "x")], tx).is_ok() {
                        *asked.last_mut().unwrap() = Asked::Upgrade;
                    } else if http.switch(200, NO_FIELDS, tx).is_err() {
                        let status = if asked.last() == Some(&Asked::Connect) { 403 } else { 200 };
                        http.respond(status, NO_FIELDS, "", tx).unwrap();
                    }
                }
                4 => {
                    http.send_data("x", tx).unwrap();
                    http.send_end(trailers.iter(), tx).unwrap();
                }
                _ => {}
            }
        }
        _ => unreachable!(),
    }
}

/// Reads what was sent as the client that asked for it.
fn can_be_read(outcome: &Outcome, asked: &[Asked]) {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut http = Client::new(&Config::default().with_max_outstanding(asked.len() + 1).with_max_head(1 << 20));
    // What is refused may be a head that was not shown.
    for asked in asked.iter().chain(outcome.error.as_ref().map(|_| &Asked::Other)) {
        let (method, target) = match asked {
            Asked::Head => ("HEAD", "/"),
            Asked::Connect => ("CONNECT", "a:1"),
            Asked::Upgrade | Asked::Other => ("GET", "/"),
        };
        let upgrade = (*asked == Asked::Upgrade).then_some(("upgrade", "x"));
        if http.request(method, target, [("host", "a")].into_iter().chain(upgrade), "", &mut tx).is_err() {
            break; // Behind a switch nothing is asked for.
        }
    }
    rx.push(&outcome.sent);
    rx.set_eof(Eof::Clean);
    let failed = loop {
        match http.next_event(&mut rx, &mut tx) {
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    // Of the last response the end may be missing, or all of it.
    assert!(matches!(failed, None | Some(Error::UnexpectedEof { .. })), "{failed:?}: {}", outcome.sent.escape_ascii());
    assert!(rx.unread().is_empty() || failed.is_some(), "{}", outcome.sent.escape_ascii());
}
