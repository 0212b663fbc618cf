//! Memory follows what was received, not what was announced; receive buffers with a bound.

use crate::common::{
    Input,
    ws::{SIDES, Side, connection, f, raw, receive, wire},
};
use allocation_counter::measure;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Connection, Error, MaskKeys, handshake::Negotiated},
};

/// Announced lengths allocate nothing, within the limit or above it.
#[test]
fn announced() {
    for side in SIDES {
        for len in [
            [127, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF],
            [127, 0, 0, 0, 1, 0, 0, 0, 0],
            [127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        ] {
            for b0 in [0x82, 0x81, 2, 1] {
                let header = wire(side, &[raw(b0, &len, "abc")]);
                let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
                let mut ws = connection(side, &Config::default());
                ws.send_binary(b"warm", &mut tx).unwrap();
                rx.push(&header);
                let info = measure(|| {
                    let _ = ws.poll(&mut rx, &mut tx);
                });
                assert!(info.bytes_total <= 64, "{} bytes", info.bytes_total);
            }
        }
    }
}

/// 10,000 connections that announced nearly the limit and fell silent.
#[test]
fn silent_connections() {
    let config = Config::default();
    let header = wire(Side::Server, &[raw(0x82, &[127, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF], "abc")]);
    let info = measure(|| {
        let all: Vec<_> = (0..100)
            .map(|_| {
                let (mut rx, mut tx) = (RecvBuf::with_limits(64, 4096, 1 << 25), SendBuf::new());
                let mut ws = Connection::server(&config, Negotiated::default());
                rx.push(&header);
                assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
                (ws, rx, tx)
            })
            .collect();
        drop(all);
    });
    assert!(info.bytes_max < 100 * 1024, "{} bytes for 100", info.bytes_max);
}

/// A connection without traffic holds no memory, but for the keys of a client.
#[test]
fn idle() {
    let config = Config::default();
    let info = measure(|| {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        assert_eq!(Connection::server(&config, Negotiated::default()).poll(&mut rx, &mut tx), Ok(false));
    });
    assert_eq!(info.count_total, 0);
    let info = measure(|| {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let masks = MaskKeys::from_seed([0; 32]);
        assert_eq!(Connection::client(&config, Negotiated::default(), masks).poll(&mut rx, &mut tx), Ok(false));
    });
    assert_eq!(info.count_total, 1);
}

/// A message that was assembled gives its memory back when it was large.
#[test]
fn memory_of_assembled_messages() {
    for (size, kept) in [(100_000, true), (2_000_000, false)] {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut ws = connection(Side::Client, &Config::default());
        let mut seen = false;
        for frame in [f(2, vec![0; size / 2]), f(0x80, vec![0; size / 2])] {
            for block in wire(Side::Client, &[frame]).chunks(10_000) {
                rx.push(block);
                seen |= ws.next_event(&mut rx, &mut tx).unwrap().is_some();
            }
        }
        assert!(seen);
        assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(None));
        assert!(rx.is_idle());
        assert_eq!(rx.parts().1.capacity() >= size, kept);
    }
}

/// Through a receive buffer with a bound: a frame that does not fit is an error, at its header when it has to lie whole.
#[test]
fn bounded_buffers() {
    let config = Config::default();
    for side in SIDES {
        let header = if side == Side::Server { 6 } else { 2 };
        let log = |frames: &[_], max| receive(side, &config, Input::new(&wire(side, frames)).through(16, 16, max));
        let fits = 100 - header;
        assert_eq!(log(&[f(0x82, "x".repeat(fits))], 100), format!("[x*{fits}] read"));
        assert_eq!(log(&[f(0x81, "x".repeat(fits))], 100), format!("(x*{fits}) read"));
        for b0 in [0x81, 0x82, 0x89] {
            assert_eq!(log(&[f(b0, "x".repeat(fits + 1))], 100), "!TooBig >close(1009) linger", "{b0:02x}");
        }
        // Not even a header, for one behind what was assembled.
        for max in 2..header + 4 {
            let expected = if max < header { "!TooBig >close(1009) linger" } else { "ping[] >pong[] read" };
            let log = receive(side, &config, Input::new(&wire(side, &[f(0x89, "")])).through(1, 1, max));
            assert_eq!(log, expected, "{side:?} {max}");
        }
        let behind = [f(2, "x".repeat(100 - header + 1)), f(0x80, "")];
        assert_eq!(log(&behind, 100), "!TooBig >close(1009) linger");
        // What is assembled counts, too.
        assert_eq!(log(&[f(2, "x".repeat(45)), f(0x80, "x".repeat(45))], 100), "[x*90] read");
        assert_eq!(log(&[f(2, "x".repeat(60)), f(0x80, "x".repeat(60))], 100), "!TooBig >close(1009) linger");
        assert_eq!(log(&[f(2, "x".repeat(60)), f(0x89, "x".repeat(60))], 100), "!TooBig >close(1009) linger");
    }
}

/// Errors are small, can be sent to other threads, and name their close code.
#[test]
fn errors() {
    const fn is_plain<T: std::error::Error + Clone + Send + Sync + 'static>() {}
    is_plain::<Error>();
    is_plain::<bytewise::ws::Misuse>();
    is_plain::<bytewise::ws::handshake::Rejected>();
    is_plain::<bytewise::ws::handshake::Refusal>();
    for (error, code) in [
        (Error::ReservedBits, 1002),
        (Error::Opcode, 1002),
        (Error::Masking, 1002),
        (Error::Length, 1002),
        (Error::Fragmentation, 1002),
        (Error::ControlFrame, 1002),
        (Error::CloseFrame, 1002),
        (Error::Utf8, 1007),
        (Error::Deflate, 1007),
        (Error::TooManyFragments, 1008),
        (Error::TooBig, 1009),
    ] {
        assert_eq!(error.close_code().unwrap().get(), code);
        assert!(!error.to_string().is_empty());
    }
}
