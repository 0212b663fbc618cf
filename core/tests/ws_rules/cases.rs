//! Faults of the field, by their numbers in the project's collection of cases: each row is one with its whole kind. Those that
//! are about handshakes are in `ws_handshake`, about what is sent in `ws_sending`.

use crate::common::{
    Input, OPEN,
    ws::{KEY, SIDES, Side, both, connection, f, one, raw, receive, wire},
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Event},
};

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Holds the exact bytes of a case against a server.
#[track_caller]
fn server(id: &str, config: &Config, bytes: &str, expected: &str) {
    assert_eq!(receive(Side::Server, config, Input::new(&hex(bytes))), expected, "{id}");
}

/// Against a client.
#[track_caller]
fn client(id: &str, config: &Config, bytes: &str, expected: &str) {
    assert_eq!(receive(Side::Client, config, Input::new(&hex(bytes))), expected, "{id}");
}

const PROTOCOL: &str = "!Masking >close(1002) linger";

/// F01: a client that does not mask; F02: a server that does, control frames too.
#[test]
fn f01_f02_masks() {
    let config = Config::default();
    server("F01", &config, "81024869", PROTOCOL);
    client("F02", &config, "888237fa213d3412", PROTOCOL);
    for b0 in [0x81, 0x82, 0x01, 0x02, 0x88, 0x89, 0x8A] {
        let frame = [f(b0, if b0 == 0x88 { "" } else { "Hi" })];
        assert_eq!(receive(Side::Server, &config, Input::new(&wire(Side::Client, &frame))), PROTOCOL);
        assert_eq!(receive(Side::Client, &config, Input::new(&wire(Side::Server, &frame))), PROTOCOL);
    }
}

/// F03: reserved bits, with and without an extension.
#[cfg(feature = "deflate")]
#[test]
fn f03_reserved_bits() {
    let agreed = deflating();
    let refused = "!ReservedBits >close(1002) linger";
    server("F03", &agreed, "c98037fa213d828237fa213d36f8", refused);
    for b0 in [0xC8, 0xC9, 0xCA, 0xA9, 0x99, 0xA1, 0x91, 0xA2, 0x92, 0xE1, 0xC0, 0x40] {
        for config in [&agreed, &Config::default()] {
            both(config, OPEN, "F03", &[f(b0, ""), f(0x82, "Hi")], "!ReservedBits >close(1002)");
        }
    }
    both(&Config::default(), OPEN, "F03", &[f(0xC1, ""), f(0x82, "Hi")], "!ReservedBits >close(1002)");
}

#[cfg(feature = "deflate")]
fn deflating() -> Config {
    Config::default().with_deflate(bytewise::ws::Deflate::default())
}

/// F05: a ping between the fragments of a compressed message.
#[cfg(feature = "deflate")]
#[test]
fn f05_ping_inside_a_compressed_message() {
    let bytes = "418337fa213dc5b2ec898137fa213d47808437fa213dfe33263d";
    server("F05", &deflating(), bytes, "ping[p] (Hello) >pong[p] read");
}

/// F06: control frames that are too long, said at the header; F07: in fragments.
#[test]
fn f06_f07_control_frames() {
    let config = Config::default();
    let refused = "!ControlFrame >close(1002) linger";
    server("F06", &config, "89fe00c837fa213d", refused);
    server("F07", &config, "098037fa213d", refused);
    for b0 in [0x88, 0x89, 0x8A] {
        both(&config, OPEN, "F06", &[raw(b0, &[126, 0, 200], "")], "!ControlFrame >close(1002)");
        both(&config, OPEN, "F07", &[f(b0 & 0x0F, "")], "!ControlFrame >close(1002)");
    }
}

/// F08: a close frame of one byte; F09: codes that must not be on the wire.
#[test]
fn f08_f09_close_frames() {
    let config = Config::default();
    let refused = "!CloseFrame >close(1002) linger";
    server("F08", &config, "888137fa213d37", refused);
    client("F08", &config, "880100", refused);
    server("F09", &config, "888237fa213d3417", refused);
    client("F09", &config, "880203ed", refused);
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65535_u16] {
        both(&config, OPEN, "F09", &[f(0x88, code.to_be_bytes())], "!CloseFrame >close(1002)");
        assert_eq!(bytewise::ws::CloseCode::new(code), None, "nobody can send it");
    }
    for code in (1000..=1003).chain(1007..=1014).chain([3000, 3999, 4000, 4999_u16]) {
        both(&config, OPEN, "F09", &[f(0x88, code.to_be_bytes())], &format!("close({code}) >close({code})"));
    }
}

/// F11: a code point over fragments, and over reads.
#[test]
fn f11_code_points() {
    let config = Config::default();
    let euro = r"(\xe2\x82\xac) read";
    server("F11", &config, "018237fa213dd578808137fa213d9b", euro);
    client("F11", &config, "0102e2828001ac", euro);
    both(&config, OPEN, "F11", &[f(0x81, "\u{20AC}")], r"(\xe2\x82\xac)");
}

/// F13: lengths that are not in their shortest form; F14: the highest bit; F15: 4 GiB that never come.
#[test]
fn f13_f14_f15_lengths() {
    let config = Config::default();
    let refused = "!Length >close(1002) linger";
    server("F13", &config, "82fe000537fa213d7f9f4d5158", refused);
    client("F13", &config, "827e000548656c6c6f", refused);
    both(&config, OPEN, "F13", &[raw(0x82, &[127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], "")], "!Length >close(1002)");
    server("F14", &config, "82ff800000000000000037fa213d", refused);
    client("F14", &config, "827f8000000000000000", refused);
    both(
        &config,
        OPEN,
        "F14",
        &[raw(0x82, &[127, 255, 255, 255, 255, 255, 255, 255, 255], "")],
        "!Length >close(1002)",
    );
    let longest = [127, 127, 255, 255, 255, 255, 255, 255, 255];
    both(&config, OPEN, "F14", &[raw(0x82, &longest, "")], "!TooBig >close(1009)");
    let unlimited = config.clone().with_max_message(usize::MAX);
    let header = if cfg!(target_pointer_width = "64") { "" } else { "!TooBig >close(1009)" };
    both(&unlimited, OPEN, "F14", &[raw(0x02, &longest, "a")], header);
    server("F15", &config, "82ff000000010000000037fa213d", "!TooBig >close(1009) linger");
}

/// F18: a continuation of nothing, and a message inside another.
#[test]
fn f18_fragments() {
    let config = Config::default();
    let refused = "!Fragmentation >close(1002) linger";
    server("F18", &config, "808137fa213d4f", refused);
    client("F18", &config, "800178", refused);
    both(&config, OPEN, "F18", &[f(1, "a"), f(0x81, "b")], "!Fragmentation >close(1002)");
}

/// F19: 4,096 bytes out of 22, above the limit.
#[cfg(feature = "deflate")]
#[test]
fn f19_a_bomb() {
    let bytes = "c29637fa213ddb3b203037fa21ff9796ce62fde42f1537fa21ddeafa";
    server("F19", &deflating().with_max_message(128), bytes, "!TooBig >close(1009) linger");
    server("F19", &deflating().with_max_message(4095), bytes, "!TooBig >close(1009) linger");
    server("F19", &deflating().with_max_message(4096), bytes, "[A*4096] read");
}

/// F21: compressed messages that are empty.
#[cfg(feature = "deflate")]
#[test]
fn f21_empty_messages() {
    server("F21", &deflating(), "c18137fa213d37", "() read");
    client("F21", &deflating(), "c10100", "() read");
    both(&deflating(), OPEN, "F21", &[f(0xC1, ""), f(0xC2, ""), f(0xC1, [0])], "() [] ()");
}

/// F23: a message that refers to the one before.
#[cfg(feature = "deflate")]
#[test]
fn f23_context() {
    let bytes = ["c18737fa213dc5b2ecf4fefd21c18537fa213dc5fa303d37", "c107f248cdc9c90700c105f200110000"];
    server("F23", &deflating(), bytes[0], "(Hello) (Hello) read");
    client("F23", &deflating(), bytes[1], "(Hello) (Hello) read");
    let alone = bytewise::ws::Deflate::default().without_peer_context_takeover();
    let alone = Config::default().with_deflate(alone);
    server("F23", &alone, bytes[0], "(Hello) !Deflate >close(1007) linger");
    client("F23", &alone, bytes[1], "(Hello) !Deflate >close(1007) linger");
}

/// A01: one byte per read, and whoever waits for it may give up in between: all state is in the connection.
#[test]
fn a01_one_byte_per_read() {
    let bytes = ["828537fa213d7f9f4d5158828537fa213d6095535153", "820548656c6c6f8205576f726c64"];
    server("A01", &Config::default(), bytes[0], "[Hello] [World] read");
    client("A01", &Config::default(), bytes[1], "[Hello] [World] read");
    for (side, bytes) in SIDES.into_iter().zip(bytes) {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut ws = connection(side, &Config::default());
        let mut seen = Vec::new();
        for byte in hex(bytes) {
            rx.push(&[byte]);
            // Asked many times, once for what was found and given up.
            for _ in 0..3 {
                let _ = ws.poll(&mut rx, &mut tx);
            }
            while let Some(Event::Binary(data)) = ws.next_event(&mut rx, &mut tx).unwrap() {
                seen.push(data.to_vec());
            }
        }
        assert_eq!(seen, [b"Hello", b"World"]);
    }
    assert_eq!(KEY, [0x37, 0xFA, 0x21, 0x3D]);
    one(Side::Server, &Config::default(), OPEN, "A01", &[], "");
}

/// A03: the peer never reads. What waits is known, and neither pings nor close frames make it grow without bound.
#[test]
fn a03_a_peer_that_never_reads() {
    for side in SIDES {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut ws = connection(side, &Config::default());
        let message = vec![0; 1 << 20];
        let bound = 4 << 20;
        let mut sent = 0;
        while tx.queued() < bound {
            ws.send_binary(&message, &mut tx).unwrap();
            sent += 1;
        }
        assert_eq!(sent, 4);
        let waiting = tx.queued();
        for _ in 0..1000 {
            rx.push(&wire(side, &[f(0x89, "ping")]));
            assert!(ws.next_event(&mut rx, &mut tx).is_ok_and(|event| event.is_some()));
        }
        assert_eq!(tx.queued(), waiting);
        ws.close(None, &mut tx).unwrap();
        assert!(tx.queued() - waiting <= 6);
    }
}
