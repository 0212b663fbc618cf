//! Shutting down, giving up and time-outs, wherever a connection is.

use crate::{chunked, http1, post};
use bytewise::{
    Eof, Machine, NextIo, Phase, RecvBuf, SendBuf,
    http1::{BodyLength, Client, Config, Error, Misuse, NO_FIELDS, Server, ServerEvent},
};

/// Takes events and answers each request at its end: `GET / . POST / {hi} .`, each piece of a body by itself.
fn serve(http: &mut Server, rx: &mut RecvBuf, tx: &mut SendBuf) -> String {
    let mut log = crate::common::Log::default();
    while let Ok(Some(event)) = http.next_event(rx, tx) {
        http1::answer_at_end(event, http, tx, &mut log);
    }
    log.into_text()
}

/// Feeds `before`, shuts down, feeds `after` in blocks of `step`: what was sent, and what is to be done.
fn drain(before: &str, after: &str, step: usize) -> String {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(before.as_bytes());
    let mut events = serve(&mut http, &mut rx, &mut tx);
    http.shut_down(&mut tx);
    http.shut_down(&mut tx);
    for block in after.as_bytes().chunks(step) {
        if http.next_io() != NextIo::Read {
            break;
        }
        rx.push(block);
        events += &serve(&mut http, &mut rx, &mut tx);
    }
    if http.next_io() == NextIo::Linger {
        assert_eq!((http.phase().0, http.respond(200, NO_FIELDS, "", &mut tx)), (Phase::Closing, Err(Misuse::State)));
    }
    let sent = if tx.is_empty() { String::new() } else { http1::statuses(tx.pending()) + " " };
    format!("{}{sent}{:?}", events.replace("} {", ""), http.next_io()).to_lowercase()
}

/// What had begun is finished and says that it is the last; nothing is begun that had not.
#[test]
fn a_server_shuts_down() {
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = &post("Content-Length: 5", "");
    let rows = [
        ("", get, "linger"),
        (get, get, "get / . 200 linger"),
        (&get.repeat(2), get, "get / . get / . 200 200 linger"),
        ("G", &get[1..], "get / . 200/close linger"),
        (&get[..get.len() - 1], &[&get[get.len() - 1..], get].concat(), "get / . 200/close linger"),
        (length, "hello", "post / {hello} . 200/close linger"),
        (&format!("{length}hel"), &format!("lo{get}"), "post / {hello} . 200/close linger"),
        (&chunked("5\r\nhel"), "lo\r\n0\r\n\r\n", "post / {hello} . 200/close linger"),
        (&chunked("5\r\nhello\r\n0\r\nX: y\r\n"), "\r\nGET", "post / {hello} .(x=y) 200/close linger"),
        // An empty line is no request (RFC 9112, section 2.2).
        ("\r", &format!("\n{get}"), "linger"),
        ("\r\n", get, "linger"),
        (&format!("\r\n{get}\r"), &format!("\n{get}"), "get / . 200 linger"),
        // What comes is held to the rules until it is complete.
        ("G", "\0", "!startline 400/close linger"),
        (&format!("{get}{length}hel"), "", "get / . post / {hel} 200 read"),
    ];
    for (before, after, expected) in rows {
        for step in 1..=after.len().max(1) {
            let expected = expected.replace("!startline ", "");
            assert_eq!(drain(before, after, step), expected, "{before:?} | {after:?}, blocks of {step}");
        }
    }
}

/// At every byte of three requests: those of which a byte has come are answered.
#[test]
fn at_every_byte() {
    let requests = [
        "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        post("Content-Length: 2", "hi"),
        chunked("1\r\na\r\n0\r\n\r\n"),
    ];
    let wire = requests.concat();
    for cut in 0..=wire.len() {
        let begins = requests.iter().scan(0, |at, request| Some(std::mem::replace(at, *at + request.len())));
        let count = begins.take_while(|begin| *begin < cut).count();
        for step in [1, 7, 1000] {
            let log = drain(&wire[..cut], &wire[cut..], step);
            assert_eq!((log.matches("200").count(), log.ends_with("linger")), (count, true), "cut at {cut}: {log}");
        }
    }
}

/// A response that is due or under way is finished; one whose head is to come says that it is the last.
#[test]
fn a_server_shuts_down_while_it_answers() {
    let run = |begun: bool| {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        if begun {
            http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
        }
        http.shut_down(&mut tx);
        assert_eq!(http.next_io(), NextIo::Paused);
        if !begun {
            http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
        }
        http.send_data("all", &mut tx).unwrap();
        http.send_end(NO_FIELDS, &mut tx).unwrap();
        assert!(http.next_event(&mut rx, &mut tx).unwrap().is_none());
        (http1::statuses(tx.pending()), http.next_io())
    };
    assert_eq!(run(false), ("200/close".to_owned(), NextIo::Linger));
    assert_eq!(run(true), ("200".to_owned(), NextIo::Linger));
}

#[test]
fn a_server_is_shut_down_too_late() {
    for (input, eof, io) in [
        ("", true, NextIo::Close),
        ("\0", false, NextIo::Linger),
        ("CONNECT a:1 HTTP/1.0\r\n\r\n", false, NextIo::Switched),
    ] {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(input.as_bytes());
        if eof {
            rx.set_eof(Eof::Clean);
        }
        serve(&mut http, &mut rx, &mut tx);
        let sent = tx.queued();
        http.shut_down(&mut tx);
        assert_eq!((http.next_io(), tx.queued()), (io, sent), "{input:?}");
    }
}

/// What was asked for is still received, the request under way is sent to its end, and no other.
#[test]
fn a_client_shuts_down() {
    let host = [("host", "a")];
    let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let client = || (RecvBuf::new(), SendBuf::new(), Client::new(&Config::default().with_max_outstanding(2)));

    let (_, mut tx, mut http) = client();
    http.shut_down(&mut tx);
    assert_eq!((http.next_io(), http.is_reusable()), (NextIo::Close, false));
    assert_eq!(http.request("GET", "/", host, "", &mut tx), Err(Misuse::State));

    let (mut rx, mut tx, mut http) = client();
    http.request("GET", "/", host, "", &mut tx).unwrap();
    http.send_request("POST", "/", host, BodyLength::Length(2), &mut tx).unwrap();
    http.shut_down(&mut tx);
    assert_eq!(http.next_io(), NextIo::Read);
    http.send_data("hi", &mut tx).unwrap();
    assert_eq!(http.send_end([("x", "y")], &mut tx), Err(Misuse::BodyForbidden));
    http.send_end(NO_FIELDS, &mut tx).unwrap();
    assert_eq!(http.request("GET", "/", host, "", &mut tx), Err(Misuse::State));
    for (count, io) in [(1, NextIo::Read), (0, NextIo::Close)] {
        rx.push(ok);
        let mut events = 0;
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {
            events += 1;
        }
        assert_eq!((events, http.outstanding(), http.next_io(), http.is_reusable()), (3, count, io, false));
    }
}

/// The last request says so, and nothing follows it.
#[test]
fn a_client_closes_after_the_next() {
    let (mut rx, mut tx, mut http) =
        (RecvBuf::new(), SendBuf::new(), Client::new(&Config::default().with_max_outstanding(2)));
    http.close_after_next();
    assert!(http.is_reusable());
    http.request("GET", "/", [("host", "a")], "", &mut tx).unwrap();
    assert_eq!(tx.pending(), b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    assert_eq!(http.request("GET", "/", [("host", "a")], "", &mut tx), Err(Misuse::State));
    rx.push(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert_eq!((http.is_reusable(), http.next_io()), (false, NextIo::Close));
}

/// RFC 9110, section 15.5.9: a request that has begun and does not end is answered `408`, unless a response is under way.
#[test]
fn time_outs() {
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let rows = [
        ("between requests", "".to_owned(), "", ""),
        ("between requests", get.to_owned(), "GET / . ", "200"),
        ("in a head", "G".to_owned(), "", "408/close"),
        ("in the second head", format!("{get}GET"), "GET / . ", "200 408/close"),
        ("in a body", post("Content-Length: 5", "hel"), "POST / {hel} ", "408/close"),
        (
            "in a body that was asked for",
            post("Expect: 100-continue\r\nContent-Length: 5", ""),
            "POST / ",
            "100 408/close",
        ),
        ("in a chunk", chunked("5"), "POST / ", "408/close"),
        ("in the trailers", chunked("0\r\nX"), "POST / ", "408/close"),
        ("after an error", "\0".to_owned(), "", "400/close"),
        ("after the last response", "GET / HTTP/1.0\r\n\r\n".to_owned(), "GET / . ", "200/close"),
    ];
    for (section, input, events, sent) in rows {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(input.as_bytes());
        assert_eq!(serve(&mut http, &mut rx, &mut tx), events, "{section}");
        let failed = http.poll(&mut rx, &mut tx).is_err();
        http.time_out(&mut tx);
        let text = if tx.is_empty() { String::new() } else { http1::statuses(tx.pending()) };
        assert_eq!(text, sent, "{section}");
        assert_eq!(http.next_io(), if failed { NextIo::Linger } else { NextIo::Close }, "{section}");
        // It says nothing more, whatever comes.
        rx.push(get.as_bytes());
        let queued = tx.queued();
        assert_eq!(serve(&mut http, &mut rx, &mut tx), "", "{section}");
        http.time_out(&mut tx);
        assert_eq!((http.respond(200, NO_FIELDS, "", &mut tx), tx.queued()), (Err(Misuse::State), queued), "{section}");
    }
}

/// While it is the application that is waited for, or a response under way, there is nothing to say.
#[test]
fn time_outs_without_words() {
    for begun in [false, true] {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(if begun { b"POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhel" } else { b"GET / HTTP/1.0\r\n\r\n" });
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        if begun {
            http.send_response(200, NO_FIELDS, BodyLength::Length(9), &mut tx).unwrap();
        }
        let queued = tx.queued();
        http.time_out(&mut tx);
        assert_eq!((tx.queued(), http.next_io(), http.phase().0), (queued, NextIo::Close, Phase::Closing));
        assert_eq!(http.send_data("x", &mut tx), Err(Misuse::State));
    }
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), http1::asking(&Config::default(), &["GET"]));
    http.time_out(&mut tx);
    assert!(tx.is_empty() && http.poll(&mut rx, &mut tx) == Ok(false));
}

/// A body whose source fails is left without its end, so that the client notices.
#[test]
fn giving_up() {
    for length in [BodyLength::Chunked, BodyLength::Length(9)] {
        let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
        rx.push(b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
        http.send_response(200, NO_FIELDS, length, &mut tx).unwrap();
        http.send_data("some", &mut tx).unwrap();
        let queued = tx.queued();
        http.abort();
        assert_eq!((http.next_io(), http.is_responding()), (NextIo::Close, false));
        assert_eq!(http.send_data("more", &mut tx), Err(Misuse::State));
        assert!(http.next_event(&mut rx, &mut tx).unwrap().is_none());
        assert_eq!(tx.queued(), queued);

        let mut client = http1::asking(&Config::default(), &["GET"]);
        let mut back = RecvBuf::new();
        back.push(tx.pending());
        back.set_eof(Eof::Clean);
        let failed = loop {
            match client.next_event(&mut back, &mut SendBuf::new()) {
                Ok(Some(_)) => {}
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let expected = if length == BodyLength::Chunked { None } else { Some(9) };
        assert_eq!(failed, Some(Error::UnexpectedEof { seen: 4, expected }));
    }
}

/// After an error nothing can be sent, and nothing is.
#[test]
fn after_an_error() {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(chunked("5\r\nhelloXX").as_bytes());
    while let Ok(Some(event)) = http.next_event(&mut rx, &mut tx) {
        if let ServerEvent::Request(_) = event {
            assert!(http.is_responding());
        }
    }
    let queued = tx.queued();
    assert_eq!(http.respond(200, NO_FIELDS, "", &mut tx), Err(Misuse::State));
    assert_eq!(http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx), Err(Misuse::State));
    assert_eq!(http.send_informational(103, NO_FIELDS, &mut tx), Err(Misuse::State));
    assert_eq!(http.send_data("x", &mut tx), Err(Misuse::State));
    assert_eq!(http.announce_data(1, &mut tx), Err(Misuse::State));
    assert_eq!(http.switch(101, NO_FIELDS, &mut tx), Err(Misuse::State));
    assert_eq!((tx.queued(), http.next_io()), (queued, NextIo::Linger));

    let mut http = http1::asking(&Config::default().with_max_outstanding(2), &["GET"]);
    let mut rx = RecvBuf::new();
    rx.push(b"SSH");
    assert!(http.poll(&mut rx, &mut tx).is_err());
    assert_eq!(http.request("GET", "/", [("host", "a")], "", &mut tx), Err(Misuse::State));
    assert_eq!((tx.queued(), http.next_io(), http.is_reusable()), (queued, NextIo::Close, false));
}

/// Every error says what it is, and knows its answer: RFC 9110, sections 15.5 and 15.6; RFC 6585, section 5.
#[test]
fn errors_in_words() {
    let rows = [
        (Error::StartLine, Some(400), "malformed start line"),
        (Error::Version, Some(505), "not HTTP/1"),
        (Error::Field, Some(400), "malformed field line"),
        (Error::BareLf, Some(400), "line feed without carriage return"),
        (Error::Host, Some(400), "host missing, repeated or malformed"),
        (Error::ContentLength, Some(400), "faulty content-length"),
        (Error::TransferEncoding, Some(400), "faulty transfer-encoding"),
        (Error::UnsupportedCoding, Some(501), "unknown transfer coding"),
        (Error::Chunk, Some(400), "malformed chunk"),
        (Error::HeadTooLong, Some(431), "head too long"),
        (Error::TargetTooLong, Some(414), "request target too long"),
        (Error::TooManyFields, Some(431), "too many fields"),
        (Error::BodyTooLong, Some(413), "body too long"),
        (Error::TrailersTooLong, Some(431), "trailer section too long"),
        (Error::TooManyInterim, None, "too many interim responses"),
        (Error::Unsolicited, None, "input that no request asked for"),
        (Error::UnexpectedEof { seen: 1, expected: Some(2) }, None, "input ended after 1 of 2 bytes"),
        (Error::UnexpectedEof { seen: 1, expected: None }, None, "input ended inside a message, after 1 bytes"),
    ];
    for (error, status, text) in rows {
        let boxed: Box<dyn std::error::Error + Send + Sync + 'static> = Box::new(error);
        assert_eq!((error.status(), boxed.to_string().as_str()), (status, text));
    }
}
