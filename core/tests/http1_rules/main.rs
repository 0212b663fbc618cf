//! One row per rule of RFC 9112 and RFC 9110: its section, what the peer sends, and what comes of it, at every cut.
#![cfg(feature = "http1")]

#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod cases;
mod chunks;
mod content_length;
mod early;
mod endings;
mod fields;
mod forgiven;
mod host;
mod input_ends;
mod limits;
mod lines;
mod persistence;
mod phases;
mod responses;
mod start_line;
mod switching;
mod targets;
mod transfer_encoding;

use bytewise::{Eof, http1::Config};
use common::{Input, OPEN, http1};

/// Section, what a client sends, and what a server makes of it, which answers `200` at the end of each request:
/// `GET / . 200 read`.
type Row<'a> = (&'a str, &'a [u8], &'a str);

/// Section, a head up to the end of the line that is at fault, the error, and the status that answers it.
type Refusal<'a> = (&'a str, &'a [u8], &'a str, u16);

/// A request that asks for nothing special.
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The rest of a head, and a request that must never be seen.
const REST: &[u8] = b"Host: a\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";

/// Holds rows against a server.
#[track_caller]
fn serve(config: &Config, eof: Option<Eof>, rows: &[Row<'_>]) {
    hold(rows, |input| http1::serve(config, Input::new(input).ending(eof)));
}

/// Holds refusals of heads against a server: they come with the last byte of the line, whatever follows is not looked at,
/// and what came before is answered first.
#[track_caller]
fn refuse(config: &Config, rows: &[Refusal<'_>]) {
    let mut wrong = String::new();
    for (section, input, error, status) in rows {
        let alone = format!("!{error} {status}/close linger");
        let behind = format!("GET / . !{error} 200 {status}/close linger");
        for (input, expected) in
            [(input.to_vec(), &alone), ([input, REST].concat(), &alone), ([GET.as_bytes(), input].concat(), &behind)]
        {
            let log = http1::serve(config, Input::new(&input));
            note_difference(&mut wrong, section, &input, &log, expected);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Holds rows against a client that sent requests of these methods: `200 {body} . reusable read`.
#[track_caller]
fn receive(config: &Config, methods: &[&str], eof: Option<Eof>, rows: &[Row<'_>]) {
    hold(rows, |input| http1::receive(config, methods, Input::new(input).ending(eof)));
}

/// Holds refusals of heads against a client: section, a head up to the end of the line that is at fault, and the error.
#[track_caller]
fn refuse_response(config: &Config, rows: &[(&str, &[u8], &str)]) {
    const REST: &[u8] = b"Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let mut wrong = String::new();
    for (section, input, error) in rows {
        for input in [input.to_vec(), [input, REST].concat()] {
            let log = http1::receive(config, &["GET", "GET"], Input::new(&input));
            note_difference(&mut wrong, section, &input, &log, &format!("!{error} close"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[track_caller]
fn hold(rows: &[Row<'_>], outcome: impl Fn(&[u8]) -> String) {
    let mut wrong = String::new();
    for (section, input, expected) in rows {
        note_difference(&mut wrong, section, input, &outcome(input), expected);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn note_difference(wrong: &mut String, section: &str, input: &[u8], log: &str, expected: &str) {
    if log != expected {
        *wrong += &format!("\n{section}: {}\n  expected {expected}\n  got      {log}", input.escape_ascii());
    }
}

/// A request with these further lines, and a body or whatever else follows the head.
fn post(lines: &str, body: &str) -> String {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n{body}")
}

/// A request whose body comes in these chunks.
fn chunked(body: &str) -> String {
    post("Transfer-Encoding: chunked", body)
}
