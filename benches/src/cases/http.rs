//! HTTP/1.1 requests.

use super::{
    Candidate, FIXED,
    fixed::Fixed,
    workload::{MAX_BODY, Workload},
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{Config, NO_FIELDS, Server, ServerEvent},
};
use std::hint::black_box;

/// A head as a program sends it.
pub const SHORT: &str = "GET /state HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";

/// A head as a browser sends it.
pub const LONG: &str = "GET /articles/2026/11/how-a-request-is-read?ref=front&page=2 HTTP/1.1\r\n\
    Host: www.example.org\r\n\
    User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0\r\n\
    Accept: text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8\r\n\
    Accept-Language: en-GB,en;q=0.7,de;q=0.3\r\n\
    Accept-Encoding: gzip, deflate, br, zstd\r\n\
    Referer: https://www.example.org/articles/2026/11/\r\n\
    Connection: keep-alive\r\n\
    Cookie: session=6f1d2c9be04a4b7f9a5317c2e8d0b641; theme=dark; consent=all; visits=17; language=en-GB; ad=0\r\n\
    Upgrade-Insecure-Requests: 1\r\n\
    Sec-Fetch-Dest: document\r\n\
    Sec-Fetch-Mode: navigate\r\n\
    Sec-Fetch-Site: same-origin\r\n\
    Priority: u=0, i\r\n\
    DNT: 1\r\n\r\n";

/// Bytes of the longest head, for all.
pub const MAX_HEAD: usize = 16_384;

/// As many as `hand` has room for.
const MAX_FIELDS: usize = 32;

/// The head of a request with that body.
#[must_use]
pub fn post(body: &[u8]) -> Vec<u8> {
    format!("POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", body.len()).into_bytes()
}

pub(super) fn config() -> Config {
    Config::default().with_max_head(MAX_HEAD)
}

/// Reads heads. None is answered: each has a machine of its own, as the first one of a connection has.
#[must_use]
pub fn parse(work: &Workload, use_fields: bool) -> Candidate<'_> {
    let (mut rx, mut tx, config) = (RecvBuf::new(), SendBuf::new(), config());
    let mut http = Server::new(&config);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            let event = http.next_event(&mut rx, &mut tx).expect("requests are as they were sent");
            let Some(ServerEvent::Request(head)) = event else { continue };
            black_box((head.method(), head.target(), head.fields(), head.body_length()));
            if use_fields {
                head.fields().iter().for_each(|field| _ = black_box(field));
            }
            rx.take(rx.unread().len());
            http = Server::new(&config);
            messages += 1;
        }
        messages
    };
    Candidate::new("bytewise", pass)
}

/// Sends bodies back while they come.
#[must_use]
pub fn echo(work: &Workload) -> Candidate<'_> {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&config()));
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            while let Some(event) = http.next_event(&mut rx, &mut tx).expect("requests are as they were sent") {
                messages += answer(event, &mut http, &mut tx);
            }
            write(&mut tx);
        }
        messages
    };
    Candidate::new("bytewise", pass)
}

/// How many requests that ends.
#[inline]
pub(super) fn answer(event: ServerEvent<'_>, http: &mut Server, tx: &mut SendBuf) -> u64 {
    let mut ended = 0;
    let sent = match event {
        ServerEvent::Request(head) => http.send_response(200, NO_FIELDS, head.body_length(), tx),
        ServerEvent::Data(data) => http.send_data(data, tx),
        ServerEvent::End(_) => {
            ended = 1;
            http.send_end(NO_FIELDS, tx)
        }
        _ => Ok(()),
    };
    sent.expect("it was asked for");
    ended
}

/// Only looked at.
pub(super) fn write(tx: &mut SendBuf) {
    while !tx.is_empty() {
        let n = black_box(tx.pending()).len();
        tx.consume(n);
    }
}

/// Copies heads, and gives each to bare `httparse` once its end is there.
#[must_use]
pub fn hand_parse(work: &Workload, use_fields: bool) -> Candidate<'_> {
    let mut rx = Fixed::new(FIXED);
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            if !rx.unread().ends_with(b"\r\n\r\n") {
                continue;
            }
            let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
            let mut head = httparse::Request::new(&mut fields);
            let status = head.parse(rx.unread()).expect("requests are as they were sent");
            let httparse::Status::Complete(length) = status else { continue };
            black_box((head.method, head.path, &head.headers));
            if use_fields {
                head.headers.iter().for_each(|field| _ = black_box((field.name, field.value)));
            }
            rx.take(length);
            messages += 1;
        }
        messages
    };
    Candidate::new("hand", pass)
}

/// Echoes requests whose length is a plain number, by bare `httparse` between fixed buffers.
#[must_use]
pub fn hand_echo(work: &Workload) -> Candidate<'_> {
    let (mut rx, mut tx) = (Fixed::new(FIXED), Vec::with_capacity(2 * FIXED));
    let pass = move || {
        let mut messages = 0;
        for block in work.blocks() {
            rx.push(block);
            loop {
                let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
                let mut head = httparse::Request::new(&mut fields);
                let status = head.parse(rx.unread()).expect("requests are as they were sent");
                let httparse::Status::Complete(start) = status else { break };
                let length = head.headers.iter().find(|field| field.name.eq_ignore_ascii_case("content-length"));
                let digits = length.map_or(&b"0"[..], |field| field.value);
                let body = digits.iter().fold(0, |sum, digit| sum * 10 + usize::from(digit - b'0'));
                assert!(body <= MAX_BODY, "above the limit");
                let Some(data) = rx.unread()[start..].get(..body) else { break };
                for piece in [&b"HTTP/1.1 200 OK\r\ncontent-length: "[..], digits, b"\r\n\r\n", data] {
                    tx.extend_from_slice(piece);
                }
                rx.take(start + body);
                messages += 1;
            }
            black_box(&tx);
            tx.clear();
        }
        messages
    };
    Candidate::new("hand", pass)
}
