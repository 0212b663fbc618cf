//! What a connection waits for, and for the how-manieth time: what its watchdog is told.

use crate::{chunked, http1, post};
use bytewise::{
    Eof, Machine, NextIo, Phase, RecvBuf, SendBuf,
    http1::{BodyLength, Client, ClientEvent, Config, NO_FIELDS, Server, ServerEvent},
};

/// `Idle 0` after each of the blocks, with the events taken.
fn phases<M: Machine>(
    machine: &mut M,
    blocks: &[&str],
    mut on: impl for<'b> FnMut(M::Event<'b>, &mut M, &mut SendBuf),
) -> String {
    let (mut rx, mut tx, mut log) = (RecvBuf::new(), SendBuf::new(), Vec::new());
    for block in blocks {
        rx.push(block.as_bytes());
        while let Ok(Some(event)) = machine.next_event(&mut rx, &mut tx) {
            on(event, machine, &mut tx);
        }
        let (phase, occurrence) = machine.phase();
        log.push(format!("{phase:?} {occurrence}"));
    }
    log.join(", ")
}

#[test]
fn of_a_server() {
    let serve = |blocks: &[&str]| {
        phases(&mut Server::new(&Config::default()), blocks, |event, http, tx| {
            if matches!(event, ServerEvent::End(_)) {
                http.respond(200, NO_FIELDS, "", tx).unwrap();
            }
        })
    };
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(serve(&["", "G", "ET / HTTP/1.1\r\n", "Host: a\r\n", "\r\n"]), "Idle 0, Head 0, Head 0, Head 0, Idle 1");
    assert_eq!(serve(&[get, get, "\r", "\n", get]), "Idle 1, Idle 2, Head 2, Idle 2, Idle 3");
    // Many requests in one block are so many occurrences, and one that trickles in is one.
    assert_eq!(serve(&[&get.repeat(5), "G", "E"]), "Idle 5, Head 5, Head 5");
    assert_eq!(serve(&[&post("Content-Length: 2", ""), "h", "i"]), "Body 1, Body 1, Idle 1");
    assert_eq!(
        serve(&[&chunked("1"), "\r\na\r\n", "0\r\n", "X: y\r\n", "\r\n"]),
        "Body 1, Body 1, Body 1, Body 1, Idle 1"
    );
    assert_eq!(serve(&["GET / HTTP/1.0\r\n\r\n", "G"]), "Closing 1, Closing 1");
    assert_eq!(serve(&["\0", "G"]), "Closing 0, Closing 0");
}

/// While the response is due, it is the application's turn; while the body of a request is dropped, the peer's.
#[test]
fn of_a_server_that_answers_later() {
    let mut http = Server::new(&Config::default());
    let blocks = [&post("Content-Length: 2", ""), "hi", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"];
    assert_eq!(phases(&mut http, &blocks.map(|block| block as &str), |_, _, _| {}), "Body 1, Local 1, Local 1");
    assert_eq!(http.next_io(), NextIo::Paused);
    let mut http = Server::new(&Config::default());
    let log = phases(&mut http, &[&post("Content-Length: 2", ""), "h", "i"], |_, http, _| http.discard_body());
    assert_eq!(log, "Body 1, Body 1, Local 1");
    let mut http = Server::new(&Config::default());
    let log = phases(&mut http, &[&post("Content-Length: 99999", "")], |_, http, _| http.discard_body());
    assert_eq!((log, http.next_io()), ("Local 1".to_owned(), NextIo::Paused));
}

#[test]
fn of_a_client() {
    let receive = |methods: &[&str], blocks: &[&str]| {
        phases(&mut http1::asking(&Config::default(), methods), blocks, |_: ClientEvent<'_>, _, _| {})
    };
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(receive(&[], &[""]), "Idle 0");
    // A response that is due is waited for, though nothing of it has come.
    assert_eq!(receive(&["GET"], &["", "H", &ok[1..], "o", "k"]), "Head 0, Head 0, Body 1, Body 1, Idle 1");
    assert_eq!(receive(&["GET"], &["HTTP/1.1 100 C\r\n\r\n"]), "Head 0");
    assert_eq!(receive(&["GET", "GET"], &[ok, "ok", ok, "ok"]), "Body 1, Head 1, Body 2, Idle 2");
    assert_eq!(receive(&["GET"], &["HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"]), "Closing 1");
    assert_eq!(receive(&["GET"], &["S"]), "Closing 0");
    assert_eq!(receive(&["CONNECT"], &["HTTP/1.1 200 OK\r\n\r\n"]), "Closing 0");
}

/// Whether an exchange is under way, from the head to the end of both messages.
#[test]
fn exchanges() {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    let state = |http: &Server| (http.is_in_exchange(), http.is_responding(), http.is_response_begun());
    rx.push(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(state(&http), (false, false, false));
    assert!(matches!(http.next_event(&mut rx, &mut tx), Ok(Some(ServerEvent::Request(_)))));
    assert_eq!(state(&http), (true, true, false));
    http.send_informational(103, NO_FIELDS, &mut tx).unwrap();
    assert_eq!(state(&http), (true, true, false));
    http.send_response(200, NO_FIELDS, BodyLength::Chunked, &mut tx).unwrap();
    assert_eq!(state(&http), (true, true, true));
    http.send_end(NO_FIELDS, &mut tx).unwrap();
    assert_eq!(state(&http), (true, false, false));
    rx.push(b"hi");
    assert!(matches!(http.next_event(&mut rx, &mut tx), Ok(Some(ServerEvent::Data(b"hi")))));
    assert_eq!(state(&http), (true, false, false));
    assert!(matches!(http.next_event(&mut rx, &mut tx), Ok(Some(ServerEvent::End(_)))));
    assert_eq!(state(&http), (false, false, false));
}

/// Reusable is a client's connection when all is answered, and neither side closes.
#[test]
fn reuse() {
    let (mut rx, mut tx, mut http) =
        (RecvBuf::new(), SendBuf::new(), Client::new(&Config::default().with_max_outstanding(2)));
    let host = [("host", "a")];
    let ok = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
    assert!(http.is_reusable());
    http.request("GET", "/", host, "", &mut tx).unwrap();
    http.request("GET", "/", host, "", &mut tx).unwrap();
    assert_eq!((http.is_reusable(), http.outstanding()), (false, 2));
    rx.push(&[&ok[..], b"a"].concat());
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert_eq!((http.is_reusable(), http.outstanding()), (false, 1));
    rx.push(ok);
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert_eq!((http.is_reusable(), http.outstanding()), (false, 0));
    rx.push(b"a");
    while http.next_event(&mut rx, &mut tx).unwrap().is_some() {}
    assert!(http.is_reusable());
    // The server may close at any time: the next poll tells.
    rx.set_eof(Eof::Clean);
    assert_eq!(http.poll(&mut rx, &mut tx), Ok(false));
    assert_eq!((http.is_reusable(), http.next_io(), http.phase().0), (false, NextIo::Close, Phase::Closing));
}
