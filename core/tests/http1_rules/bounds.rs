//! Memory and work follow the limits and the bytes that came, not what a peer says or how it cuts.

use crate::{chunked, http1};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    http1::{Client, Config, Error, Server},
};

/// Gives `begin`, then `again` and `again`, in reads of at most `step` bytes, until the machine fails.
fn endless<M: Machine>(mut machine: M, begin: &str, again: &str, step: usize) -> (M::Error, usize, usize) {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut wire = begin.bytes().chain(again.bytes().cycle());
    let mut fed = 0;
    loop {
        match machine.next_event(&mut rx, &mut tx).map(|event| event.is_some()) {
            Ok(true) => {}
            Err(error) => return (error, fed, rx.capacity()),
            Ok(false) => {
                assert!(fed < 1 << 20, "it goes on and on: {begin}{again}");
                let space = rx.space();
                let n = step.min(space.len());
                space[..n].iter_mut().for_each(|byte| *byte = wire.next().unwrap());
                rx.filled(n);
                fed += n;
            }
        }
    }
}

#[test]
fn endless_input_is_bounded() {
    let chunks = &chunked("");
    let rows = [
        ("GET / HTTP/1.1\r\nA: ", "a", Error::HeadTooLong),
        ("GET / HTTP/1.1\r\n", "A: b\r\n", Error::TooManyFields),
        ("GET / HTTP/1.1\r\n", "A", Error::HeadTooLong),
        ("GET /", "a", Error::TargetTooLong),
        ("", "A", Error::StartLine),
        ("", "\r", Error::StartLine),
        (&format!("{chunks}1;"), "a", Error::Chunk),
        (&format!("{chunks}1;a=\""), "a", Error::Chunk),
        (&format!("{chunks}0"), "0", Error::Chunk),
        (chunks, &format!("1;{}\r\na\r\n", "e".repeat(63)), Error::Chunk),
        (&format!("{chunks}0\r\n"), "X: y\r\n", Error::TooManyFields),
        (&format!("{chunks}0\r\nX: "), "y", Error::TrailersTooLong),
    ];
    for (begin, again, error) in rows {
        for step in [1, 100, usize::MAX] {
            let (failed, fed, capacity) = endless(Server::new(&Config::default()), begin, again, step);
            assert_eq!(failed, error, "{begin}{again}");
            assert!(fed <= 96 << 10 && capacity <= 64 << 10, "{begin}{again}: {fed} bytes fed, {capacity} held");
        }
    }
    let rows = [
        ("HTTP/1.1 200 OK\r\nA: ", "a", Error::HeadTooLong),
        ("HTTP/1.1 200 ", "a", Error::HeadTooLong),
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n", Error::TooManyFields),
        ("", "HTTP/1.1 103 E\r\n\r\n", Error::TooManyInterim),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a", Error::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", "y", Error::TrailersTooLong),
    ];
    for (begin, again, error) in rows {
        let (failed, fed, capacity) = endless(http1::asking(&Config::default(), &["GET"]), begin, again, 100);
        assert_eq!(failed, error, "{begin}{again}");
        assert!(fed <= 96 << 10 && capacity <= 64 << 10, "{begin}{again}: {fed} bytes fed, {capacity} held");
    }
}

/// RFC 9112, section 7.1.1: a hundred thousand chunks are as good as one, if they have no extensions.
#[test]
fn many_chunks_are_no_fault() {
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(chunked("").as_bytes());
    let mut pieces = 0;
    for _ in 0..100_000 {
        rx.push(b"1\r\na\r\n");
        while http.next_event(&mut rx, &mut tx).unwrap().is_some() {
            pieces += 1;
        }
    }
    assert_eq!((pieces, rx.capacity()), (100_001, RecvBuf::INITIAL));
}

/// A body of any size that is announced takes no memory before it comes, and none that is kept after.
#[test]
fn announced_sizes_allocate_nothing() {
    let great =
        ["Content-Length: 18446744073709551615\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n"];
    for framing in great {
        let config = Config::default().with_max_body(u64::MAX);
        let mut server = Server::new(&config);
        let mut client = http1::asking(&config, &["GET"]);
        pour(&mut server, &format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}"));
        pour(&mut client, &format!("HTTP/1.1 200 OK\r\n{framing}"));
    }

    /// A megabyte of body behind the head, in reads of 1,000 bytes.
    fn pour<M: Machine>(machine: &mut M, head: &str) {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        rx.push(head.as_bytes());
        let mut events = 0;
        for _ in 0..1000 {
            while machine.next_event(&mut rx, &mut tx).unwrap().is_some() {
                events += 1;
            }
            let n = rx.space().len().min(1000);
            rx.filled(n);
            assert_eq!(rx.capacity(), RecvBuf::INITIAL);
        }
        assert_eq!(events, 1000);
    }
}

/// One value of a megabyte, byte by byte and in pieces. A search that began again with each byte would look at 2^39 bytes, and
/// a parser at as many: this test would not end.
#[test]
fn a_long_head_byte_by_byte() {
    const N: usize = 1 << 20;
    let config = Config::default().with_max_head(2 << 20).with_max_trailers(2 << 20);
    for step in [1, 3, 4096] {
        for begin in ["GET / HTTP/1.0\r\nX: ".to_owned(), chunked("0\r\nX: ")] {
            let wire = [begin.as_bytes(), &[b'x'; N], b"\r\n\r\n"].concat();
            assert_eq!(values(&mut Server::new(&config), &wire, step), N, "blocks of {step}");
        }
    }
    // Many lines, each of which is judged when it is there.
    let many = config.with_max_fields(200_000);
    let wire = [b"GET / HTTP/1.0\r\n", "A: b\r\n".repeat(100_000).as_bytes(), b"\r\n"].concat();
    assert_eq!(values(&mut Server::new(&many), &wire, 1), 100_000);

    /// Bytes of all values of the section that has the most of them.
    fn values(http: &mut Server, wire: &[u8], step: usize) -> usize {
        use bytewise::http1::ServerEvent::{End, Request};
        let (mut rx, mut tx, mut found) = (RecvBuf::new(), SendBuf::new(), 0);
        for block in wire.chunks(step) {
            rx.push(block);
            while let Some(event) = http.next_event(&mut rx, &mut tx).unwrap() {
                let fields = match event {
                    Request(head) => head.fields(),
                    End(trailers) => trailers,
                    _ => continue,
                };
                found = found.max(fields.iter().map(|(_, value)| value.len()).sum());
            }
        }
        found
    }
}

/// Pipelined requests are parsed one by one: not all that is there, again and again.
#[test]
fn many_requests_at_once() {
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let wire = get.repeat(40_000);
    let (mut rx, mut tx, mut http) = (RecvBuf::new(), SendBuf::new(), Server::new(&Config::default()));
    rx.push(wire.as_bytes());
    let mut requests = 0;
    while let Some(event) = http.next_event(&mut rx, &mut tx).unwrap() {
        if matches!(event, bytewise::http1::ServerEvent::End(_)) {
            http.respond(200, bytewise::http1::NO_FIELDS, "", &mut tx).unwrap();
            requests += 1;
        }
    }
    assert_eq!((requests, rx.unread().len()), (40_000, 0));
}

/// What a machine itself takes does not grow with what comes.
#[test]
fn sizes_of_machines() {
    assert!(size_of::<Server>() <= 256, "{}", size_of::<Server>());
    assert!(size_of::<Client>() <= 256, "{}", size_of::<Client>());
}
