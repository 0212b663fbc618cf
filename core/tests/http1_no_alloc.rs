//! In steady state HTTP/1 allocates nothing: per request, on either side, however the bytes come. Counted per thread.
#![cfg(feature = "http1")]

use allocation_counter::measure;
use bytes::Bytes;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{BodyLength, Client, ClientEvent, Config, NO_FIELDS, Server, ServerEvent},
};

/// How bytes come.
#[derive(Debug, Clone, Copy)]
enum Feed {
    Push,
    Space,
}

impl Feed {
    /// Appends the block, or as much as there is space for: the rest.
    fn hand_over<'b>(self, rx: &mut RecvBuf, block: &'b [u8]) -> &'b [u8] {
        match self {
            Self::Push => {
                rx.push(block);
                &[]
            }
            Self::Space => {
                let space = rx.space();
                let n = block.len().min(space.len());
                space[..n].copy_from_slice(&block[..n]);
                rx.filled(n);
                &block[n..]
            }
        }
    }
}

/// How requests are answered.
#[derive(Debug, Clone, Copy)]
enum Answer {
    /// At the end, with all of it.
    Whole,
    /// As the request comes: its body goes back in chunks, and its trailers.
    Echo,
    /// At the end, with bytes that are not copied.
    Owned,
}

/// Serves `wire` so many times, in blocks of `block` bytes.
fn serve(
    (http, rx, tx): (&mut Server, &mut RecvBuf, &mut SendBuf),
    wire: &[u8],
    feed: (Feed, usize),
    answer: (Answer, &Bytes),
    rounds: usize,
) {
    for _ in 0..rounds {
        for block in wire.chunks(feed.1) {
            let mut left = block;
            while !left.is_empty() {
                left = feed.0.hand_over(rx, left);
                while let Some(event) = http.next_event(rx, tx).unwrap() {
                    match (answer.0, event) {
                        (Answer::Whole, ServerEvent::End(_)) => {
                            http.respond(200, [("server", "x")], "hello", tx).unwrap();
                        }
                        (Answer::Owned, ServerEvent::End(_)) => {
                            http.respond(200, NO_FIELDS, answer.1.clone(), tx).unwrap();
                        }
                        (Answer::Echo, ServerEvent::Request(head)) => {
                            http.send_response(200, head.fields().end_to_end(), BodyLength::Chunked, tx).unwrap();
                        }
                        (Answer::Echo, ServerEvent::Data(data)) => http.send_data(data, tx).unwrap(),
                        (Answer::Echo, ServerEvent::End(trailers)) => http.send_end(trailers.iter(), tx).unwrap(),
                        _ => {}
                    }
                }
            }
            while !tx.is_empty() {
                let n = tx.pending().len();
                tx.consume(n);
            }
        }
    }
}

const GET: &str = "GET /a?b HTTP/1.1\r\nHost: a\r\nAccept: text/html, */*\r\n\r\n";
const LENGTH: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\nhello world";
const CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 7\r\n\r\n";
const ASKS: &str = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello";
const HEAD: &str = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
const OLD: &str = "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";

#[test]
fn a_server() {
    let many: String = (0..90).map(|n| format!("field-{n}: value\r\n")).collect();
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n");
    let large = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n{}", "x".repeat(20_000));
    let pipelined = [GET, LENGTH, CHUNKED, HEAD].concat().repeat(8);
    let body = Bytes::from(vec![b'x'; 10_000]);
    for wire in [GET, LENGTH, CHUNKED, ASKS, HEAD, OLD, &long, &large, &pipelined] {
        for feed in [Feed::Push, Feed::Space] {
            for block in [64 * 1024, 64, 1] {
                for answer in [Answer::Whole, Answer::Echo, Answer::Owned] {
                    if matches!(answer, Answer::Echo) && [OLD, ASKS].contains(&wire) {
                        continue; // It closes: what has no length to HTTP/1.0, what comes before the body was asked for.
                    }
                    let (mut http, mut rx, mut tx) = (Server::new(&Config::default()), RecvBuf::new(), SendBuf::new());
                    let rounds = (40_000 / wire.len()).clamp(2, 200);
                    serve((&mut http, &mut rx, &mut tx), wire.as_bytes(), (feed, block), (answer, &body), 12);
                    let info = measure(|| {
                        serve((&mut http, &mut rx, &mut tx), wire.as_bytes(), (feed, block), (answer, &body), rounds);
                    });
                    let case = &wire[..wire.len().min(80)];
                    assert_eq!(info.count_total, 0, "{case:?}, {feed:?}, blocks of {block}, {answer:?}");
                    assert!(!http.is_in_exchange() && rx.unread().is_empty());
                }
            }
        }
    }
}

/// Fields above the number that is parsed at once, and every leniency: other ways through the parser.
#[test]
fn a_server_that_forgives() {
    use bytewise::http1::Leniency::{BareLf, LengthWithChunked, ObsFold};
    let many: String = (0..140).map(|n| format!("f{n}: v\r\n")).collect();
    let rows = [
        (Config::default().with_max_fields(150), format!("GET / HTTP/1.1\r\nHost: a\r\n{many}\r\n")),
        (Config::default().allow(BareLf), GET.replace("\r\n", "\n")),
        (Config::default().allow(ObsFold), GET.replace("*/*", "\r\n */*")),
        (Config::default().allow(LengthWithChunked), LENGTH.to_owned()),
        (Config::default(), format!("\r\n{GET}")),
    ];
    for (config, wire) in rows {
        for block in [64 * 1024, 1] {
            let (mut http, mut rx, mut tx) = (Server::new(&config), RecvBuf::new(), SendBuf::new());
            let feed = (Feed::Space, block);
            serve((&mut http, &mut rx, &mut tx), wire.as_bytes(), feed, (Answer::Whole, &Bytes::new()), 3);
            let info = measure(|| {
                serve((&mut http, &mut rx, &mut tx), wire.as_bytes(), feed, (Answer::Whole, &Bytes::new()), 100);
            });
            assert_eq!(info.count_total, 0, "{:?}, blocks of {block}", &wire[..30]);
        }
    }
}

/// A head is kept while its body comes, in memory that was used before.
#[test]
fn a_head_that_is_kept() {
    let (mut http, mut rx, mut tx) = (Server::new(&Config::default()), RecvBuf::new(), SendBuf::new());
    let (mut memory, mut kept) = (Vec::new(), None);
    let mut round = || {
        rx.push(LENGTH.as_bytes());
        while let Some(event) = http.next_event(&mut rx, &mut tx).unwrap() {
            match event {
                ServerEvent::Request(head) => kept = Some(head.into_owned_in(std::mem::take(&mut memory))),
                ServerEvent::End(_) => {
                    let head = kept.take().unwrap();
                    http.respond(200, NO_FIELDS, head.head().target(), &mut tx).unwrap();
                    memory = head.into_memory();
                }
                _ => {}
            }
        }
        tx.consume(tx.pending().len());
    };
    round();
    assert_eq!(measure(|| (0..1000).for_each(|_| round())).count_total, 0);
}

/// Requests by a client, `window` of them at once, and its responses in blocks.
#[test]
fn a_client() {
    let responses = [
        "HTTP/1.1 200 OK\r\nServer: x\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\n",
    ];
    for response in responses {
        for window in [1, 16] {
            for block in [64 * 1024, 64, 1] {
                let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
                let mut http = Client::new(&Config::default().with_max_outstanding(window));
                let wire = response.repeat(window);
                let mut round = |at: usize| {
                    for _ in 0..window {
                        match at % 3 {
                            0 => http.request("GET", "/", [("host", "a")], "", &mut tx).unwrap(),
                            1 => http.request("PUT", "/", [("host", "a")], "hello", &mut tx).unwrap(),
                            _ => {
                                http.send_request("POST", "/", [("host", "a")], BodyLength::Chunked, &mut tx).unwrap();
                                http.send_data("hello", &mut tx).unwrap();
                                http.send_end([("x-sum", "7")], &mut tx).unwrap();
                            }
                        }
                    }
                    tx.consume(tx.pending().len());
                    let mut ends = 0;
                    for block in wire.as_bytes().chunks(block) {
                        rx.push(block);
                        while let Some(event) = http.next_event(&mut rx, &mut tx).unwrap() {
                            ends += usize::from(matches!(event, ClientEvent::End(_)));
                        }
                    }
                    assert!(http.is_reusable() && ends == window);
                };
                (0..12).for_each(&mut round);
                let info = measure(|| (0..100).for_each(&mut round));
                assert_eq!(info.count_total, 0, "{response:?}, {window} at once, blocks of {block}");
            }
        }
    }
}

/// What is refused and what is misused allocates nothing either.
#[test]
fn what_goes_wrong() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let wires =
        ["GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\nHost: a\r\n", "\0", "POST / HTTP/1.1\r\nContent-Length: x\r\n"];
    let mut round = || {
        for wire in wires {
            let mut http = Server::new(&Config::default());
            rx.push(wire.as_bytes());
            assert!(http.next_event(&mut rx, &mut tx).is_err());
            assert!(http.respond(200, [("x", "\n")], "", &mut tx).is_err());
            tx.consume(tx.pending().len());
            let n = rx.unread().len();
            rx.take(n);
        }
    };
    round();
    assert_eq!(measure(|| (0..100).for_each(|_| round())).count_total, 0);
}

/// Connections that have not received or sent anything hold no memory.
#[test]
fn idle_connections() {
    let config = Config::default();
    let info = measure(|| {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        assert_eq!(Server::new(&config).poll(&mut rx, &mut tx), Ok(false));
        assert_eq!(Client::new(&config).poll(&mut rx, &mut tx), Ok(false));
    });
    assert_eq!(info.count_total, 0);
}
