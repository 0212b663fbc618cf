//! What is sent: heads and bodies to the byte, segments that are not copied, and misuse, which changes nothing.
#![cfg(feature = "http1")]

#[path = "../common/mod.rs"]
mod common;

#[cfg(feature = "date")]
mod clock;
mod misuse;
mod requests;
mod responses;
mod segments;

use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{Config, Server},
};
use common::http1;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// A server that was sent this, and its events taken until there are none: the request is not answered.
fn asked(input: &str) -> (Server, RecvBuf, SendBuf) {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(input.as_bytes());
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    (http, rx, tx)
}

/// All that is queued, in order: `text` for bytes, `<5>` for those that the caller writes itself.
fn drained(tx: &mut SendBuf) -> String {
    let mut text = String::new();
    while !tx.is_empty() {
        match tx.external() {
            Some(len) => {
                text += &format!("<{len}>");
                tx.external_written(len);
            }
            None => {
                let chunk = tx.pending();
                assert!(!chunk.is_empty());
                text += std::str::from_utf8(chunk).unwrap();
                tx.consume(chunk.len());
            }
        }
    }
    assert_eq!(tx.queued(), 0);
    text
}
