//! The input picks leniencies, limits, what was asked for, the blocks, and what a server sends. Held:
//!
//! * cut and whole agree: events, what is sent, error, what `next_io` says, what is unread, before and after a shutdown;
//! * no panic, and receive memory within a few times the limits;
//! * no more responses than requests, in order; and reusable means that all is answered.
#![no_main]

use arbitrary::Arbitrary;
use bytewise::{
    SendBuf,
    http1::{BodyLength, Client, ClientEvent, NO_FIELDS},
};
use bytewise_fuzz::http1::{Case, note_fields};
use libfuzzer_sys::fuzz_target;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    case: Case,
    wire: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let Input { case, wire } = input;
    let [requests, limit] = case.does;
    let new = || {
        let (mut http, mut tx) = (Client::new(&case.config()), SendBuf::new());
        // Two bits each, three at most.
        let mut picks = requests;
        for _ in 0..requests % 4 {
            picks >>= 2;
            let host = ("host", "a");
            let asked = match picks & 3 {
                0 => http.request("GET", "/", [host], "", &mut tx),
                1 => http.request("HEAD", "/", [host], "", &mut tx),
                2 => http.request("GET", "/", [host, ("upgrade", "x")], "", &mut tx),
                _ => http.request("CONNECT", "a:1", [host], "", &mut tx),
            };
            if asked.is_err() {
                break; // Behind what may switch.
            }
        }
        if requests & 1 << 7 != 0 {
            // One whose body is not sent to its end.
            let _ = http.send_request("PUT", "/", [("host", "a")], BodyLength::Length(5), &mut tx);
        }
        http
    };
    case.hold(wire, new, |event, http, tx, log| match event {
        ClientEvent::Informational(head) => {
            assert!(matches!(head.status(), 100 | 102..200) && http.outstanding() > 0);
            log.extend(format!("\ninterim {head:?}").bytes());
        }
        ClientEvent::Response(head) => {
            assert!(head.status() >= 200 && !http.is_reusable());
            log.extend(format!("\n{head:?} {:?} {}", head.body_length(), head.reason().escape_ascii()).bytes());
            note_fields(head.fields(), log);
            assert_eq!(head.into_owned().head().as_bytes(), head.as_bytes());
            if limit != 0 {
                http.limit_body(limit.into());
            }
        }
        ClientEvent::Data(data) => {
            assert!(!data.is_empty());
            log.extend(data);
        }
        ClientEvent::End(trailers) => {
            log.extend(b"\nend ");
            note_fields(trailers, log);
            if http.is_reusable() {
                assert_eq!(http.outstanding(), 0);
                log.extend(b"reusable");
                // On with the next one, as long as it goes.
                http.request("GET", "/next", [("host", "a")], "", tx).unwrap();
            } else if http.is_sending() {
                http.send_data("hello", tx).unwrap();
                http.send_end(NO_FIELDS, tx).unwrap();
            }
        }
        ClientEvent::Switched(head) => {
            assert!(matches!(head.status(), 101 | 200..300));
            assert!(http.request("GET", "/", [("host", "a")], "", tx).is_err());
            log.extend(format!("\nswitched {head:?}").bytes());
        }
        _ => unreachable!(),
    });
});
