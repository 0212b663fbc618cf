//! HTTP/1 in the words of a log.
//!
//! ```text
//! POST / {hello} . GET /x .(sum=7) !Field   events; at the end of a message its trailers
//! 200 400/close                             responses sent, with their connection options
//! linger +rest                              what is to be done, and what is unread
//! ```

use super::{Input, Log};
use bytewise::{
    SendBuf,
    http1::{Client, ClientEvent, Config, Fields, NO_FIELDS, RequestHead, ResponseHead, Server, ServerEvent},
};
use std::fmt::Write;

/// What a server makes of an input whose requests are answered `200` at their end, CONNECT and upgrades by switching.
#[track_caller]
pub fn serve(config: &Config, input: Input<'_>) -> String {
    input.output(statuses).any_split(|| Server::new(config), answer_at_end)
}

/// What a client makes of an input after it sent requests of these methods; `UPGRADE` is a GET that asks for one.
///
/// `reusable` follows the end of a response after which the connection is.
#[track_caller]
pub fn receive(config: &Config, methods: &[&str], input: Input<'_>) -> String {
    input.any_split(|| asking(config, methods), note_response)
}

/// A client that sent those requests.
pub fn asking(config: &Config, methods: &[&str]) -> Client {
    let mut tx = SendBuf::new();
    let mut http = Client::new(&config.clone().with_max_outstanding(methods.len().max(1)));
    for &method in methods {
        let host = ("host", "a");
        match method {
            "UPGRADE" => http.request("GET", "/", [host, ("upgrade", "x")], "", &mut tx),
            "CONNECT" => http.request("CONNECT", "a:1", [host], "", &mut tx),
            _ => http.request(method, "/", [host], "", &mut tx),
        }
        .unwrap();
    }
    http
}

/// Writes events down, and answers at the end of each request.
pub fn answer_at_end(event: ServerEvent<'_>, http: &mut Server, tx: &mut SendBuf, log: &mut Log) {
    let ends = matches!(event, ServerEvent::End(_));
    note_request(event, log);
    if ends {
        let switched = http.switch(101, [("upgrade", "x")], tx).or_else(|_| http.switch(200, NO_FIELDS, tx));
        switched.or_else(|_| http.respond(200, NO_FIELDS, "", tx)).unwrap();
    }
}

/// Writes an event of a server down.
pub fn note_request(event: ServerEvent<'_>, log: &mut Log) {
    match event {
        ServerEvent::Request(head) => {
            log.item(format_args!("{} {}", head.method(), head.target()));
            assert!(is_same_request(head, head.into_owned().head()));
        }
        ServerEvent::Data(data) => {
            assert!(!data.is_empty());
            log.piece(data);
        }
        ServerEvent::End(trailers) => note_end(trailers, log),
        other => unreachable!("{other:?}"),
    }
}

/// Writes an event of a client down.
pub fn note_response(event: ClientEvent<'_>, http: &mut Client, _: &mut SendBuf, log: &mut Log) {
    match event {
        ClientEvent::Informational(head) => log.item(format_args!("({})", head.status())),
        ClientEvent::Response(head) => {
            log.item(format_args!("{}", head.status()));
            assert!(is_same_response(head, head.into_owned().head()));
        }
        ClientEvent::Switched(head) => log.item(format_args!("switched {}", head.status())),
        ClientEvent::Data(data) => {
            assert!(!data.is_empty());
            log.piece(data);
        }
        ClientEvent::End(trailers) => {
            note_end(trailers, log);
            if http.is_reusable() {
                log.item(format_args!("reusable"));
            }
        }
        other => unreachable!("{other:?}"),
    }
}

fn note_end(trailers: Fields<'_>, log: &mut Log) {
    match trailers.is_empty() {
        true => log.item(format_args!(".")),
        false => log.item(format_args!(".({})", listed(trailers))),
    }
}

/// `name=value, name=value`.
pub fn listed(fields: Fields<'_>) -> String {
    let mut list = String::new();
    for (name, value) in fields.iter() {
        let comma = if list.is_empty() { "" } else { ", " };
        write!(list, "{comma}{name}={}", super::log::shortened(value)).unwrap();
    }
    list
}

fn is_same_request(a: RequestHead<'_>, b: RequestHead<'_>) -> bool {
    format!("{a:?}") == format!("{b:?}") && (a.as_bytes(), a.body_length()) == (b.as_bytes(), b.body_length())
}

fn is_same_response(a: ResponseHead<'_>, b: ResponseHead<'_>) -> bool {
    format!("{a:?}") == format!("{b:?}") && (a.as_bytes(), a.body_length()) == (b.as_bytes(), b.body_length())
}

/// The responses in what was sent: `200 400/close 101/upgrade`. Bodies have to be such that they are not mistaken for one.
pub fn statuses(sent: &[u8]) -> String {
    let text = String::from_utf8_lossy(sent);
    let mut list = Vec::new();
    for head in text.split("HTTP/1.1 ").skip(1) {
        let (head, _) = head.split_once("\r\n\r\n").expect("a whole head");
        let connection = head.split_once("\r\nconnection: ").map(|(_, rest)| rest.lines().next().unwrap());
        list.push(match connection {
            Some(option) => format!("{}/{option}", &head[..3]),
            None => head[..3].to_owned(),
        });
    }
    assert_eq!(text.split("HTTP/1.1 ").next(), Some(""), "something before the first response: {text}");
    list.join(" ")
}
