//! In steady state WebSocket allocates nothing: per message, either role, however the bytes come. Counted per thread.
//! Compression is another matter: `ws_sending::deflated::memory`.
#![cfg(feature = "ws")]

use allocation_counter::measure;
use bytes::Bytes;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Delivery, Event, Kind, MaskKeys, Prepared, handshake::Negotiated},
};

fn pair(config: &Config) -> (Connection, Connection) {
    let client = Connection::client(config, Negotiated::default(), MaskKeys::from_seed([3; 32]));
    (Connection::server(config, Negotiated::default()), client)
}

/// What the peer sends again and again.
fn wires(peer: &mut Connection) -> Vec<(&'static str, Vec<u8>)> {
    let mut tx = SendBuf::new();
    let mut wire = |send: &dyn Fn(&mut Connection, &mut SendBuf)| {
        send(peer, &mut tx);
        let all: Vec<u8> = tx.chunks().flatten().copied().collect();
        tx = SendBuf::new();
        all
    };
    let mixed = "gr\u{FC}\u{DF}e \u{20AC}\u{1F600} ".repeat(20);
    vec![
        ("small binary", wire(&|ws, tx| ws.send_binary(b"hello", tx).unwrap())),
        ("empty", wire(&|ws, tx| ws.send_binary(b"", tx).unwrap())),
        ("large binary", wire(&|ws, tx| ws.send_binary(vec![7; 70_000], tx).unwrap())),
        ("text", wire(&|ws, tx| ws.send_text("hello", tx).unwrap())),
        ("mixed text", wire(&|ws, tx| ws.send_text(&mixed, tx).unwrap())),
        ("many", wire(&|ws, tx| (0..64).for_each(|_| ws.send_text("hello, hello", tx).unwrap()))),
        (
            "fragments",
            wire(&|ws, tx| {
                ws.begin(Kind::Text).unwrap();
                for piece in mixed.as_bytes().chunks(17) {
                    ws.chunk(piece, tx).unwrap();
                    ws.ping(b"between", tx).unwrap();
                }
                ws.finish(tx).unwrap();
            }),
        ),
        ("pings", wire(&|ws, tx| (0..10).for_each(|_| ws.ping(&[1; 125], tx).unwrap()))),
        ("pongs", wire(&|ws, tx| ws.pong(b"x", tx).unwrap())),
    ]
}

/// How messages are answered.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Echo,
    Owned,
    Prepared,
    Pieces,
    Nothing,
}

fn serve(
    (ws, rx, tx): (&mut Connection, &mut RecvBuf, &mut SendBuf),
    wire: &[u8],
    block: usize,
    answer: (Answer, &Bytes, &Prepared),
    rounds: usize,
) {
    for _ in 0..rounds {
        for block in wire.chunks(block) {
            let mut left = block;
            while !left.is_empty() {
                let space = rx.space();
                let n = space.len().min(left.len());
                space[..n].copy_from_slice(&left[..n]);
                rx.filled(n);
                left = &left[n..];
                while let Some(event) = ws.next_event(rx, tx).unwrap() {
                    match (event, answer.0) {
                        (Event::Text(text), Answer::Echo) => ws.send_text(text, tx).unwrap(),
                        (Event::Binary(data), Answer::Echo) => ws.send_binary(data, tx).unwrap(),
                        (Event::Text(_) | Event::Binary(_), Answer::Owned) => {
                            ws.send_binary(answer.1.clone(), tx).unwrap();
                        }
                        (Event::Text(_) | Event::Binary(_), Answer::Prepared) => {
                            ws.send_prepared(answer.2, tx).unwrap();
                        }
                        (Event::Text(text), Answer::Pieces) => {
                            ws.begin(Kind::Text).unwrap();
                            ws.chunk(text, tx).unwrap();
                            ws.finish(tx).unwrap();
                        }
                        (Event::Chunk { last: true, .. }, Answer::Pieces) => ws.ping(b"p", tx).unwrap(),
                        _ => {}
                    }
                }
            }
            while !tx.is_empty() {
                tx.consume(tx.pending().len());
            }
        }
    }
}

#[test]
fn messages() {
    for delivery in [Delivery::Messages, Delivery::Chunks] {
        let config = Config::default().with_delivery(delivery);
        let owned = Bytes::from(vec![1; 5000]);
        let prepared = Prepared::new(Kind::Binary, vec![2; 5000]).unwrap();
        for client in [false, true] {
            let (mut server, mut other) = pair(&config);
            for (name, wire) in wires(if client { &mut server } else { &mut other }) {
                for block in [64 * 1024, 64, 1] {
                    for answer in [Answer::Echo, Answer::Owned, Answer::Prepared, Answer::Pieces, Answer::Nothing] {
                        let (server, other) = pair(&config);
                        let mut ws = if client { other } else { server };
                        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
                        let rounds = (20_000 / wire.len()).clamp(2, 100);
                        let answer = (answer, &owned, &prepared);
                        serve((&mut ws, &mut rx, &mut tx), &wire, block, answer, 12);
                        let info = measure(|| serve((&mut ws, &mut rx, &mut tx), &wire, block, answer, rounds));
                        let case = format!("{name}, {delivery:?}, client: {client}, blocks of {block}, {:?}", answer.0);
                        assert_eq!(info.count_total, 0, "{case}");
                        assert!(rx.is_idle(), "{case}");
                    }
                }
            }
        }
    }
}

/// While much waits to be sent a ping costs one allocation, once.
#[test]
fn pings_that_wait() {
    let (mut ws, _) = pair(&Config::default());
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    ws.send_binary(vec![0; 20_000], &mut tx).unwrap();
    let mut round = || {
        rx.push(b"\x89\x81\0\0\0\0p");
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Ping(b"p"))));
    };
    round();
    assert_eq!(measure(|| (0..100).for_each(|_| round())).count_total, 0);
}

/// What is refused and what is misused allocates nothing.
#[test]
fn what_goes_wrong() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let config = Config::default();
    let mut round = || {
        for wire in [
            &b"\x83"[..],
            b"\x81\x05",
            b"\x89\xFE",
            b"\x81\x81\0\0\0\0\xFF",
            b"\x82\xFF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
        ] {
            let mut ws = Connection::server(&config, Negotiated::default());
            rx.push(wire);
            assert!(ws.send_text(b"\xFF", &mut tx).is_err());
            assert!(ws.next_event(&mut rx, &mut tx).is_err());
            assert!(ws.ping(b"", &mut tx).is_err());
            tx.consume(tx.pending().len());
            let n = rx.unread().len();
            rx.take(n);
        }
    };
    round();
    assert_eq!(measure(|| (0..100).for_each(|_| round())).count_total, 0);
}
