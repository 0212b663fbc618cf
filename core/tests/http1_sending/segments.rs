//! Bodies that are not copied: owned bytes, and those that the caller writes itself.

use crate::{GET, asked, drained};
use bytes::Bytes;
use bytewise::{
    Payload, SendBuf,
    http1::{BodyLength, Client, Config, Misuse, NO_FIELDS},
};

/// What is queued before, with a hole in it, stands before it afterwards.
fn queue_some(tx: &mut SendBuf) {
    tx.put("before ");
    tx.put_external(3);
}

/// RFC 9112, sections 6.2, 6.3 and 7.1: the frame of a piece stands around the hole that the caller fills.
#[test]
fn announced_pieces() {
    let rows = [
        (BodyLength::Length(12), "content-length: 12\r\n\r\nab<5><3>cd"),
        (
            BodyLength::Chunked,
            "transfer-encoding: chunked\r\n\r\n2\r\nab\r\n5\r\n<5>\r\n3\r\n<3>\r\n2\r\ncd\r\n0\r\n\r\n",
        ),
        (BodyLength::UntilClose, "connection: close\r\n\r\nab<5><3>cd"),
    ];
    for (length, body) in rows {
        let (mut http, _, mut tx) = asked(GET);
        queue_some(&mut tx);
        http.send_response(200, NO_FIELDS, length, &mut tx).unwrap();
        http.send_data("ab", &mut tx).unwrap();
        http.announce_data(5, &mut tx).unwrap();
        http.announce_data(0, &mut tx).unwrap();
        http.announce_data(3, &mut tx).unwrap();
        http.send_data("cd", &mut tx).unwrap();
        http.send_end(NO_FIELDS, &mut tx).unwrap();
        assert_eq!(drained(&mut tx), format!("before <3>HTTP/1.1 200 OK\r\n{body}"));
    }
    // A client's, above what 32 bits hold.
    let (mut http, mut tx) = (Client::new(&Config::default()), SendBuf::new());
    http.send_request("PUT", "/", [("host", "a")], BodyLength::Chunked, &mut tx).unwrap();
    http.announce_data(1 << 40, &mut tx).unwrap();
    http.send_end([("x", "y")], &mut tx).unwrap();
    let head = "PUT / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
    assert_eq!(drained(&mut tx), format!("{head}10000000000\r\n<{}>\r\n0\r\nx: y\r\n\r\n", 1u64 << 40));
}

/// They count as what is sent does.
#[test]
fn announced_pieces_are_counted() {
    let (mut http, _, mut tx) = asked(GET);
    http.send_response(200, NO_FIELDS, BodyLength::Length(u64::MAX), &mut tx).unwrap();
    http.announce_data(u64::MAX - 1, &mut tx).unwrap();
    assert_eq!(http.announce_data(2, &mut tx), Err(Misuse::BodyTooLong));
    assert_eq!(http.announce_data(u64::MAX, &mut tx), Err(Misuse::BodyTooLong));
    assert_eq!(http.send_end(NO_FIELDS, &mut tx), Err(Misuse::BodyTooShort));
    http.send_data("x", &mut tx).unwrap();
    http.send_end(NO_FIELDS, &mut tx).unwrap();
    assert!(drained(&mut tx).ends_with(&format!("\r\n\r\n<{}>x", u64::MAX - 1)));
}

/// Where the body of a message lies among what is queued: `at` its bytes, and nothing of them elsewhere.
#[track_caller]
fn lies_where_it_was(tx: &SendBuf, body: &Bytes, before: &str, after: &str) {
    let chunks: Vec<&[u8]> = tx.chunks().collect();
    let at = chunks.iter().position(|chunk| chunk.as_ptr() == body.as_ptr()).expect("the bytes themselves");
    assert_eq!(chunks[at].len(), body.len());
    assert_eq!(String::from_utf8_lossy(&chunks[..at].concat()), before);
    assert_eq!(String::from_utf8_lossy(&chunks[at + 1..].concat()), after);
}

#[test]
fn owned_bytes_are_not_copied() {
    for len in [SendBuf::UNCOPIED_FROM, 100_000] {
        let body = Bytes::from(vec![b'x'; len]);

        let (mut http, _, mut tx) = asked(GET);
        http.respond(200, NO_FIELDS, body.clone(), &mut tx).unwrap();
        lies_where_it_was(&tx, &body, &format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\n\r\n"), "");

        let (mut http, _, mut tx) = asked(GET);
        http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
        http.send_data(body.clone(), &mut tx).unwrap();
        http.send_end(NO_FIELDS, &mut tx).unwrap();
        let head = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{len:x}\r\n");
        lies_where_it_was(&tx, &body, &head, "\r\n0\r\n\r\n");

        let (mut http, _, mut tx) = asked(GET);
        http.send_response(200, NO_FIELDS, BodyLength::Length(len as u64), &mut tx).unwrap();
        http.send_data(body.clone(), &mut tx).unwrap();
        lies_where_it_was(&tx, &body, &format!("HTTP/1.1 200 OK\r\ncontent-length: {len}\r\n\r\n"), "");

        let (mut http, mut tx) = (Client::new(&Config::default()), SendBuf::new());
        http.request("POST", "/", [("host", "a")], body.clone(), &mut tx).unwrap();
        lies_where_it_was(&tx, &body, &format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: {len}\r\n\r\n"), "");
    }
}

/// Below the size, and borrowed ones of any, are one with the head.
#[test]
fn others_are_one_with_the_head() {
    let long = vec![b'x'; 100_000];
    let short = Bytes::from(vec![b'x'; SendBuf::UNCOPIED_FROM - 1]);
    for body in [Payload::from(&long), Payload::from(short)] {
        let (mut http, _, mut tx) = asked(GET);
        http.respond(200, NO_FIELDS, body, &mut tx).unwrap();
        assert_eq!(tx.chunks().count(), 1);
    }
    // What is not sent is not queued either.
    let (mut http, _, mut tx) = asked("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    http.respond(200, NO_FIELDS, long, &mut tx).unwrap();
    assert_eq!(drained(&mut tx), "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
}
