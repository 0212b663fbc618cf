//! Requests: RFC 9112, sections 3, 6 and 9.6; RFC 9110, sections 7.6.1, 7.8, 8.6 and 10.1.4.

use crate::{asked, common::Input, drained, http1};
use bytewise::{
    SendBuf,
    http1::{BodyLength, Client, Config, Misuse, NO_FIELDS},
};

const HOST: [(&str, &str); 1] = [("host", "a")];

#[track_caller]
fn sends(expected: &str, ask: impl FnOnce(&mut Client, &mut SendBuf) -> Result<(), Misuse>) {
    let (mut http, mut tx) = (Client::new(&Config::default()), SendBuf::new());
    ask(&mut http, &mut tx).unwrap();
    let sent = drained(&mut tx);
    assert_eq!(sent, expected);
    // What is sent can be read.
    let log = http1::serve(&Config::default(), Input::new(sent.as_bytes()));
    assert!(!log.contains('!') && (log.contains(" 200") || log.contains("switched")), "{log}");
}

#[test]
fn whole() {
    sends("GET / HTTP/1.1\r\nhost: a\r\n\r\n", |h, tx| h.request("GET", "/", HOST, "", tx));
    sends("GET /a?b HTTP/1.1\r\nX: y\r\nHOST: a:80\r\n\r\n", |h, tx| {
        h.request("GET", "/a?b", [("X", "y"), ("HOST", "a:80")], "", tx)
    });
    sends("GET http://b/ HTTP/1.1\r\nhost: b\r\n\r\n", |h, tx| h.request("GET", "http://b/", [("host", "b")], "", tx));
    sends("OPTIONS * HTTP/1.1\r\nhost: \r\n\r\n", |h, tx| h.request("OPTIONS", "*", [("host", "")], "", tx));
    sends("PUT / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi", |h, tx| h.request("PUT", "/", HOST, "hi", tx));
    sends("GET / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi", |h, tx| h.request("GET", "/", HOST, "hi", tx));
    // RFC 9110, section 8.6: an empty body is announced where a body means something.
    for method in ["POST", "PUT", "PATCH"] {
        sends(&format!("{method} / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"), |h, tx| {
            h.request(method, "/", HOST, "", tx)
        });
    }
    for method in ["GET", "HEAD", "DELETE", "OPTIONS", "post", "BREW"] {
        sends(&format!("{method} / HTTP/1.1\r\nhost: a\r\n\r\n"), |h, tx| h.request(method, "/", HOST, "", tx));
    }
    sends("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", |h, tx| h.request("CONNECT", "a:1", [("host", "a:1")], "", tx));
    sends("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n", |h, tx| {
        h.send_request("CONNECT", "a:1", [("host", "a:1")], BodyLength::Length(0), tx)
    });
}

#[test]
fn in_pieces() {
    sends("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\n\r\nabcd", |h, tx| {
        h.send_request("POST", "/", HOST, BodyLength::Length(4), tx)?;
        h.send_data("ab", tx)?;
        h.send_data("", tx)?;
        h.send_data("cd", tx)?;
        h.send_end(NO_FIELDS, tx)
    });
    sends(
        "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n2\r\ncd\r\n0\r\nx: y\r\n\r\n",
        |h, tx| {
            h.send_request("POST", "/", HOST, BodyLength::Chunked, tx)?;
            h.send_data("ab", tx)?;
            h.send_data("", tx)?;
            h.send_data("cd", tx)?;
            h.send_end([("x", "y")], tx)
        },
    );
    for (length, framing) in [(BodyLength::None, ""), (BodyLength::Length(0), "content-length: 0\r\n")] {
        sends(&format!("GET / HTTP/1.1\r\nhost: a\r\n{framing}\r\n"), |h, tx| {
            h.send_request("GET", "/", HOST, length, tx)?;
            assert!(!h.is_sending());
            h.send_end(NO_FIELDS, tx)
        });
    }
}

/// RFC 9110, sections 7.6.1, 7.8 and 10.1.4: fields that are for one hop are named among the connection's options.
#[test]
fn connection_options() {
    let (te, upgrade) = (("TE", "trailers"), ("Upgrade", "x"));
    let rows = [
        (false, vec![te], "connection: te\r\n"),
        (false, vec![upgrade], "connection: upgrade\r\n"),
        (false, vec![te, upgrade], "connection: upgrade, te\r\n"),
        (true, vec![], "connection: close\r\n"),
        (true, vec![te], "connection: close, te\r\n"),
        (true, vec![upgrade], "connection: close, upgrade\r\n"),
        (true, vec![upgrade, te], "connection: close, upgrade, te\r\n"),
    ];
    for (closes, fields, expected) in rows {
        let lines: String = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        sends(&format!("GET / HTTP/1.1\r\nhost: a\r\n{lines}{expected}\r\n"), |h, tx| {
            if closes {
                h.close_after_next();
            }
            h.request("GET", "/", HOST.into_iter().chain(fields), "", tx)
        });
    }
}

/// Requests before the first answer: pipelining, up to the number that is set.
#[test]
fn outstanding() {
    for max in [1, 2, 5] {
        let (mut http, mut tx) = (Client::new(&Config::default().with_max_outstanding(max)), SendBuf::new());
        for sent in 0..max {
            assert_eq!(http.outstanding(), sent);
            http.request("GET", "/", HOST, "", &mut tx).unwrap();
        }
        assert_eq!(http.request("GET", "/", HOST, "", &mut tx), Err(Misuse::Outstanding));
        assert_eq!(drained(&mut tx), "GET / HTTP/1.1\r\nhost: a\r\n\r\n".repeat(max));
    }
}

/// A request relayed: read from a head, its fields passed on.
#[test]
fn passed_on() {
    let (mut server, mut rx, mut tx) = asked("");
    rx.push(b"GET /x HTTP/1.1\r\nHost: a\r\nVia: 1\r\nConnection: x-hop\r\nX-Hop: 2\r\nTE: trailers\r\n\r\n");
    let event = bytewise::Machine::next_event(&mut server, &mut rx, &mut tx).unwrap();
    let Some(bytewise::http1::ServerEvent::Request(head)) = event else { panic!("{event:?}") };
    sends("GET /x HTTP/1.1\r\nHost: a\r\nVia: 1\r\n\r\n", |h, tx| {
        h.request(head.method(), head.target(), head.fields().end_to_end(), "", tx)
    });
}
