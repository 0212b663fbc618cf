//! `date`, from a server that was given a clock: RFC 9110, section 6.6.1.

use crate::{GET, drained};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Config, Misuse, NO_FIELDS, Server},
};
use std::{
    cell::Cell,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

thread_local! {
    /// Seconds since the epoch, as this test's clock has it.
    static NOW: Cell<u64> = const { Cell::new(784_111_777) };
}

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(NOW.get())
}

const DATE: &str = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";

/// What is sent in answer to that, by a server with a clock.
fn sends(input: &str, mut answer: impl FnMut(&mut Server, &mut SendBuf)) -> String {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default().with_clock(now)));
    rx.push(input.as_bytes());
    while let Ok(Some(event)) = http.next_event(&mut rx, &mut tx) {
        if matches!(event, bytewise::http1::ServerEvent::End(_)) {
            answer(&mut http, &mut tx);
        }
    }
    drained(&mut tx)
}

#[test]
fn in_final_responses() {
    let whole = sends(GET, |http, tx| http.respond(200, [("x", "y")], "ok", tx).unwrap());
    assert_eq!(whole, format!("HTTP/1.1 200 OK\r\nx: y\r\n{DATE}content-length: 2\r\n\r\nok"));
    let empty = sends(GET, |http, tx| http.respond(204, NO_FIELDS, "", tx).unwrap());
    assert_eq!(empty, format!("HTTP/1.1 204 No Content\r\n{DATE}\r\n"));
    let streamed = sends(GET, |http, tx| {
        http.send_response(200, NO_FIELDS, BodyLength::Chunked, tx).unwrap();
        http.send_end(NO_FIELDS, tx).unwrap();
    });
    assert_eq!(streamed, format!("HTTP/1.1 200 OK\r\n{DATE}transfer-encoding: chunked\r\n\r\n0\r\n\r\n"));
    let refusal = sends("G\0", |_, _| unreachable!());
    assert_eq!(refusal, format!("HTTP/1.1 400 Bad Request\r\n{DATE}connection: close\r\ncontent-length: 0\r\n\r\n"));
}

/// Not in interim ones, nor twice.
#[test]
fn not_in_others() {
    let interim = sends(GET, |http, tx| {
        http.send_informational(103, NO_FIELDS, tx).unwrap();
        http.respond(204, [("Date", "once")], "", tx).unwrap();
    });
    assert_eq!(interim, "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nDate: once\r\n\r\n");
}

/// Anew in each second, and taken back with a response that is refused.
#[test]
fn as_time_goes_by() {
    let sent = sends(&GET.repeat(3), |http, tx| {
        assert_eq!(http.respond(200, [("x", "\n")], "", tx), Err(Misuse::Field));
        http.respond(204, NO_FIELDS, "", tx).unwrap();
        NOW.set(NOW.get() + 1);
    });
    let expected: Vec<_> = (37..40).map(|second| DATE.replace("37", &second.to_string())).collect();
    let expected: String = expected.iter().map(|date| format!("HTTP/1.1 204 No Content\r\n{date}\r\n")).collect();
    assert_eq!(sent, expected);
}
