//! Responses: RFC 9112, sections 4, 6 and 9.3; RFC 9110, sections 6.4.1, 7.8, 8.6 and 15.

use crate::{GET, asked, drained, http1};
use bytewise::{
    Machine, NextIo, RecvBuf, SendBuf,
    http1::{BodyLength, ClientEvent, Config, Misuse, NO_FIELDS, Server},
};

/// What is sent in answer to a request, and whether the connection goes on.
#[track_caller]
fn sends(
    request: &str,
    expected: &str,
    then: NextIo,
    answer: impl FnOnce(&mut Server, &mut SendBuf) -> Result<(), Misuse>,
) {
    let (mut http, mut rx, mut tx) = asked(request);
    answer(&mut http, &mut tx).unwrap();
    assert_eq!(drained(&mut tx), expected);
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert_eq!(http.next_io(), then);
}

const HEAD: &str = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
const KEEP_ALIVE: &str = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
const OLD: &str = "GET / HTTP/1.0\r\n\r\n";
const LAST: &str = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

/// Sends three pieces, the second of them empty, and the end.
fn pieces(http: &mut Server, tx: &mut SendBuf) -> Result<(), Misuse> {
    http.send_data("0123456789", tx)?;
    http.send_data("", tx)?;
    http.send_data("abcdef", tx)?;
    http.send_end(NO_FIELDS, tx)
}

#[test]
fn whole() {
    sends(GET, "HTTP/1.1 200 OK\r\na: b\r\nC: \tD \r\ncontent-length: 2\r\n\r\nok", NextIo::Read, |h, tx| {
        h.respond(200, [("a", "b"), ("C", "\tD ")], "ok", tx)
    });
    sends(GET, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(404, NO_FIELDS, "", tx)
    });
    // The space behind the code stays where no reason is known (RFC 9112, section 4).
    sends(GET, "HTTP/1.1 299 \r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| h.respond(299, NO_FIELDS, "", tx));
    sends(GET, "HTTP/1.1 999 \r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| h.respond(999, NO_FIELDS, "", tx));
    // Names and values as they are given, in bytes.
    sends(GET, "HTTP/1.1 200 OK\r\nx: \u{fc}\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(200, [(b"x".to_vec(), "\u{fc}".as_bytes().to_vec())], vec![], tx)
    });
}

/// RFC 9110, sections 6.4.1 and 8.6.
#[test]
fn without_a_body() {
    sends(GET, "HTTP/1.1 204 No Content\r\n\r\n", NextIo::Read, |h, tx| h.respond(204, NO_FIELDS, "", tx));
    sends(GET, "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(205, NO_FIELDS, "", tx)
    });
    sends(GET, "HTTP/1.1 304 Not Modified\r\n\r\n", NextIo::Read, |h, tx| h.respond(304, NO_FIELDS, "", tx));
    sends(GET, "HTTP/1.1 304 Not Modified\r\ncontent-length: 4\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(304, NO_FIELDS, "body", tx)
    });
    sends(HEAD, "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(200, NO_FIELDS, "body", tx)
    });
    sends(HEAD, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(200, NO_FIELDS, "", tx)
    });
    for length in [BodyLength::None, BodyLength::Length(0)] {
        sends(GET, "HTTP/1.1 204 No Content\r\n\r\n", NextIo::Read, |h, tx| {
            h.send_response(204, NO_FIELDS, length, tx)
        });
        sends(GET, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
            h.send_response(200, NO_FIELDS, length, tx)?;
            // So that a relay needs no case of its own.
            h.send_end(NO_FIELDS, tx)
        });
    }
    sends(HEAD, "HTTP/1.1 200 OK\r\n\r\n", NextIo::Read, |h, tx| h.send_response(200, NO_FIELDS, BodyLength::None, tx));
    sends(HEAD, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Length(0), tx)
    });
    sends(GET, "HTTP/1.1 304 Not Modified\r\n\r\n", NextIo::Read, |h, tx| {
        h.send_response(304, NO_FIELDS, BodyLength::None, tx)
    });
}

/// The body is given as for GET, and not sent: pieces of any size are ignored.
#[test]
fn bodies_that_are_not_sent() {
    for (request, status, line) in [(HEAD, 200, "200 OK"), (GET, 304, "304 Not Modified")] {
        for (length, framing) in [
            (BodyLength::Length(16), "content-length: 16\r\n"),
            (BodyLength::Length(99), "content-length: 99\r\n"),
            (BodyLength::Chunked, "transfer-encoding: chunked\r\n"),
            // It closes nothing, since nothing is to be ended.
            (BodyLength::UntilClose, ""),
        ] {
            sends(request, &format!("HTTP/1.1 {line}\r\n{framing}\r\n"), NextIo::Read, |h, tx| {
                h.send_response(status, NO_FIELDS, length, tx)?;
                h.announce_data(5, tx)?;
                pieces(h, tx)
            });
        }
    }
    let old = HEAD.replace("1.1\r\n", "1.0\r\nConnection: keep-alive\r\n");
    sends(&old, "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n\r\n", NextIo::Read, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
        pieces(h, tx)
    });
}

#[test]
fn in_pieces() {
    sends(GET, "HTTP/1.1 200 OK\r\ncontent-length: 16\r\n\r\n0123456789abcdef", NextIo::Read, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Length(16), tx)?;
        pieces(h, tx)
    });
    // An empty piece would be the last chunk (RFC 9112, section 7.1).
    sends(
        GET,
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\na\r\n0123456789\r\n6\r\nabcdef\r\n0\r\n\r\n",
        NextIo::Read,
        |h, tx| {
            h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
            pieces(h, tx)
        },
    );
    sends(GET, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789abcdef", NextIo::Linger, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::UntilClose, tx)?;
        pieces(h, tx)
    });
    for (len, size) in
        [(1, "1"), (15, "f"), (16, "10"), (255, "ff"), (256, "100"), (4095, "fff"), (4096, "1000"), (70_000, "11170")]
    {
        let data = "x".repeat(len);
        let expected = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{size}\r\n{data}\r\n0\r\n\r\n");
        for owned in [false, true] {
            sends(GET, &expected, NextIo::Read, |h, tx| {
                h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
                match owned {
                    true => h.send_data(data.clone(), tx)?,
                    false => h.send_data(&data, tx)?,
                }
                h.send_end(NO_FIELDS, tx)
            });
        }
    }
}

#[test]
fn trailers() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    sends(GET, &format!("{head}0\r\nx: y\r\nX-Sum: 7\r\n\r\n"), NextIo::Read, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
        h.send_end([("x", "y"), ("X-Sum", "7")], tx)
    });
    // To nobody who gets no chunks, and so without a word.
    sends(HEAD, head, NextIo::Read, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
        h.send_end([("x", "y")], tx)
    });
    sends(OLD, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nall", NextIo::Linger, |h, tx| {
        h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
        h.send_data("all", tx)?;
        h.send_end([("x", "y")], tx)
    });
}

/// RFC 9112, sections 6.1 and 9.3: no chunks for HTTP/1.0, and its keep-alive is told.
#[test]
fn to_http10() {
    sends(OLD, "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", NextIo::Linger, |h, tx| {
        h.respond(200, NO_FIELDS, "ok", tx)
    });
    sends(
        KEEP_ALIVE,
        "HTTP/1.1 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok",
        NextIo::Read,
        |h, tx| h.respond(200, NO_FIELDS, "ok", tx),
    );
    sends(KEEP_ALIVE, "HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(204, NO_FIELDS, "", tx)
    });
    for request in [OLD, KEEP_ALIVE] {
        for length in [BodyLength::Chunked, BodyLength::UntilClose] {
            sends(request, "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n0123456789abcdef", NextIo::Linger, |h, tx| {
                h.send_response(200, NO_FIELDS, length, tx)?;
                pieces(h, tx)
            });
        }
        // Nothing before the response (RFC 9110, section 15.2).
        let (mut http, _, mut tx) = asked(request);
        tx.put("before");
        http.send_informational(103, [("link", "x")], &mut tx).unwrap();
        assert_eq!(drained(&mut tx), "before");
        assert_eq!(http.send_informational(103, [("link", "\n")], &mut tx), Err(Misuse::Field));
    }
}

#[test]
fn interim() {
    sends(
        GET,
        "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        NextIo::Read,
        |h, tx| {
            h.send_informational(103, [("link", "x")], tx)?;
            h.respond(200, NO_FIELDS, "", tx)
        },
    );
    sends(
        GET,
        "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 199 \r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
        NextIo::Read,
        |h, tx| {
            h.send_informational(102, NO_FIELDS, tx)?;
            h.send_informational(199, NO_FIELDS, tx)?;
            h.respond(204, NO_FIELDS, "", tx)
        },
    );
    // It does not say that the connection closes: that is for the final one.
    sends(
        LAST,
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n",
        NextIo::Linger,
        |h, tx| {
            h.send_informational(100, NO_FIELDS, tx)?;
            h.respond(204, NO_FIELDS, "", tx)
        },
    );
}

/// RFC 9110, sections 7.6.1 and 7.8: what the fields ask for is named among the connection's options.
#[test]
fn connection_options() {
    let offer = "HTTP/1.1 426 Upgrade Required\r\nUpgrade: x\r\n";
    sends(GET, &format!("{offer}connection: upgrade\r\ncontent-length: 0\r\n\r\n"), NextIo::Read, |h, tx| {
        h.respond(426, [("Upgrade", "x")], "", tx)
    });
    sends(LAST, &format!("{offer}connection: close, upgrade\r\ncontent-length: 0\r\n\r\n"), NextIo::Linger, |h, tx| {
        h.respond(426, [("Upgrade", "x")], "", tx)
    });
    // HTTP/1.0 has no upgrade.
    sends(KEEP_ALIVE, &format!("{offer}connection: keep-alive\r\ncontent-length: 0\r\n\r\n"), NextIo::Read, |h, tx| {
        h.respond(426, [("Upgrade", "x")], "", tx)
    });
    sends(
        LAST,
        "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        NextIo::Linger,
        |h, tx| {
            h.send_response(200, NO_FIELDS, BodyLength::Chunked, tx)?;
            h.send_end(NO_FIELDS, tx)
        },
    );
}

/// RFC 9110, sections 9.3.6 and 15.2.2.
#[test]
fn switching() {
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
    sends(
        upgrade,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nconnection: upgrade\r\n\r\n",
        NextIo::Switched,
        |h, tx| {
            // `connection` is the core's, here too; one that is given is left out.
            h.switch(101, [("Upgrade", "x"), ("Connection", "Upgrade")], tx)
        },
    );
    let connect = "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n";
    sends(connect, "HTTP/1.1 200 OK\r\nvia: b\r\n\r\n", NextIo::Switched, |h, tx| h.switch(200, [("via", "b")], tx));
    sends(connect, "HTTP/1.1 299 \r\n\r\n", NextIo::Switched, |h, tx| h.switch(299, NO_FIELDS, tx));
    // Refused, the client may have sent what is no HTTP.
    sends(
        connect,
        "HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        NextIo::Linger,
        |h, tx| h.respond(403, NO_FIELDS, "", tx),
    );
    sends(upgrade, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", NextIo::Read, |h, tx| {
        h.respond(200, NO_FIELDS, "", tx)
    });
}

/// What the core answers to faults by itself.
#[test]
fn refusals() {
    let post = |line: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n");
    let long = |n| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(n));
    for (input, line) in [
        ("G\0".to_owned(), "400 Bad Request"),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "400 Bad Request"),
        (post("Content-Length: 99999999"), "413 Content Too Large"),
        (format!("GET /{}", "x".repeat(9000)), "414 URI Too Long"),
        (long(17_000), "431 Request Header Fields Too Large"),
        (post("Transfer-Encoding: gzip, chunked"), "501 Not Implemented"),
        ("GET / HTTP/2.0\r\n".to_owned(), "505 HTTP Version Not Supported"),
    ] {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(input.as_bytes());
        while let Ok(Some(_)) = http.next_event(&mut rx, &mut tx) {}
        assert_eq!(drained(&mut tx), format!("HTTP/1.1 {line}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"));
        assert_eq!(http.next_io(), NextIo::Linger);
    }
    let (mut http, _, mut tx) = asked(&post("Content-Length: 5"));
    http.time_out(&mut tx);
    assert_eq!(drained(&mut tx), "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
}

/// Every status is sent so that it is read.
#[test]
fn every_status() {
    for status in 100..1000 {
        let (mut http, _, mut tx) = asked(GET);
        match status {
            101 => continue,
            100..200 => {
                http.send_informational(status, NO_FIELDS, &mut tx).unwrap();
                http.respond(200, NO_FIELDS, "", &mut tx).unwrap();
            }
            _ => http.respond(status, NO_FIELDS, "", &mut tx).unwrap(),
        }
        let (mut rx, mut read) = (RecvBuf::new(), Vec::new());
        rx.push(tx.pending());
        let mut client = http1::asking(&Config::default(), &["GET"]);
        while let Some(event) = client.next_event(&mut rx, &mut SendBuf::new()).unwrap() {
            if let ClientEvent::Informational(head) | ClientEvent::Response(head) = event {
                read.push(head.status());
                assert!(head.reason().is_ascii() && tx.pending().starts_with(b"HTTP/1.1 "));
            }
        }
        assert!(client.is_reusable(), "{status}");
        assert_eq!(read, if status < 200 { vec![status, 200] } else { vec![status] });
    }
}
