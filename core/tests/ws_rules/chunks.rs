//! Messages handed over in pieces.

use crate::common::{
    OPEN,
    ws::{SIDES, both, connection, f, raw, wire},
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Delivery, Event},
};

fn config() -> Config {
    Config::default().with_delivery(Delivery::Chunks)
}

#[test]
fn pieces() {
    let rows = [
        (vec![f(0x81, "Hello")], "{Hello} .text"),
        (vec![f(0x82, "")], ".binary"),
        (vec![f(0x81, "")], ".text"),
        (vec![f(0x82, "a"), f(0x82, "b")], "{a} .binary {b} .binary"),
        (vec![f(2, "a"), f(0, "b"), f(0, ""), f(0x80, "")], "{ab} .binary"),
        (vec![f(1, ""), f(0, ""), f(0x80, "")], ".text"),
        (vec![f(1, "a"), f(0x89, "p"), f(0x80, "b")], "{a} ping[p] {b} .text >pong[p]"),
        (vec![f(1, "a"), f(0x88, "")], "{a} close >close"),
        (vec![f(1, "a"), f(0x81, "b")], "{a} !Fragmentation >close(1002)"),
        (vec![f(0x81, "a"), f(0x80, "b")], "{a} .text !Fragmentation >close(1002)"),
        (vec![f(1, b"\xE2\x82"), f(0x80, b"\xAC")], r"{\xe2\x82\xac} .text"),
        (vec![f(0x82, "x".repeat(70_000))], "{x*70000} .binary"),
    ];
    for (frames, expected) in rows {
        both(&config(), OPEN, "6455 5.4", &frames, expected);
    }
}

/// No limit of messages applies, lengths of 63 bits are fine; that of frames does.
#[test]
fn limits() {
    let small = config().with_max_message(2).with_max_fragments(2);
    both(&small, OPEN, "limit", &[f(2, "abc"), f(0x80, "def")], "{abcdef} .binary");
    both(&small, OPEN, "limit", &[f(2, "abc"), f(0, "d"), f(0, "")], "{abcd} !TooManyFragments >close(1008)");
    let longest = [127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    both(&small, OPEN, "6455 5.2", &[raw(0x82, &longest, "abc")], "{abc}");
    both(&small, OPEN, "6455 5.2", &[f(2, "a"), raw(0, &longest, "abc")], "{aabc}");
}

/// Whatever is there is handed over, and nothing of it is held.
#[test]
fn as_they_come() {
    for side in SIDES {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut ws = connection(side, &config());
        let whole = wire(side, &[f(0x82, b"abcdef")]);
        let header = whole.len() - 6;
        rx.push(&whole[..header + 2]);
        let chunk = |data, last| Ok(Some(Event::Chunk { kind: bytewise::ws::Kind::Binary, data, last }));
        assert_eq!(ws.next_event(&mut rx, &mut tx), chunk(b"ab", false));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(None));
        rx.push(&whole[header + 2..]);
        assert_eq!(ws.next_event(&mut rx, &mut tx), chunk(b"cdef", true));
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(None));
        assert!(rx.is_idle());
    }
}
