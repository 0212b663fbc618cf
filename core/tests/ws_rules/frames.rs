//! Frame headers: RFC 6455, section 5.2, and masks, section 5.1.

use crate::common::{
    Input, OPEN,
    ws::{SIDES, Side, both, f, one, raw, receive, wire},
};
use bytewise::ws::Config;

/// Every first byte there is: bits that are reserved, opcodes that are, and what may begin.
#[test]
fn first_bytes() {
    for b0 in 0..=255 {
        let expected = match b0 {
            _ if b0 & 0x70 != 0 => "!ReservedBits >close(1002)",
            _ if matches!(b0 & 0x0F, 3..=7 | 11..=15) => "!Opcode >close(1002)",
            0x00 | 0x80 => "!Fragmentation >close(1002)",
            0x08..=0x0A => "!ControlFrame >close(1002)",
            0x01 | 0x02 => "",
            0x81 => "()",
            0x82 => "[]",
            0x88 => "close >close",
            0x89 => "ping[] >pong[]",
            0x8A => "pong[]",
            _ => unreachable!(),
        };
        both(&Config::default(), OPEN, "6455 5.2", &[f(b0, "")], expected);
        // It is said with that byte.
        if expected.starts_with('!') {
            for side in SIDES {
                let log = receive(side, &Config::default(), Input::new(&[b0]));
                assert_eq!(log, format!("{expected} linger"), "{b0:02x}");
            }
        }
    }
}

/// The same inside a message.
#[test]
fn first_bytes_inside_a_message() {
    for b0 in 0..=255 {
        let expected = match b0 {
            _ if b0 & 0x70 != 0 => "!ReservedBits >close(1002)",
            _ if matches!(b0 & 0x0F, 3..=7 | 11..=15) => "!Opcode >close(1002)",
            0x01 | 0x02 | 0x81 | 0x82 => "!Fragmentation >close(1002)",
            0x08..=0x0A => "!ControlFrame >close(1002)",
            0x00 => "",
            0x80 => "(ab)",
            0x88 => "close >close",
            0x89 => "ping[] >pong[]",
            0x8A => "pong[]",
            _ => unreachable!(),
        };
        both(&Config::default(), OPEN, "6455 5.4", &[f(1, "ab"), f(b0, "")], expected);
    }
}

/// A client masks every frame, a server none; it is said with the second byte, whatever its length.
#[test]
fn masks() {
    for b0 in [0x01, 0x02, 0x81, 0x82, 0x88, 0x89, 0x8A] {
        for seven in [0, 1, 5, 125, 126, 127] {
            for side in SIDES {
                let wrong = if side == Side::Server { seven } else { seven | 0x80 };
                let log = receive(side, &Config::default(), Input::new(&[b0, wrong]));
                assert_eq!(log, "!Masking >close(1002) linger", "6455 5.1, {b0:02x} {wrong:02x}");
            }
        }
    }
    // A mask of zeros is one.
    let log = receive(Side::Server, &Config::default(), Input::new(b"\x82\x83\0\0\0\0abc\x81\x80\0\0\0\0"));
    assert_eq!(log, "[abc] () read");
    // Every key byte and offset counts, in every block.
    for len in [1, 2, 3, 4, 5, 7, 31, 32, 33, 63, 67, 100] {
        let payload: Vec<u8> = (0..len).collect();
        let expected = format!("[{}] [{}]", payload.escape_ascii(), payload.escape_ascii());
        both(&Config::default(), OPEN, "6455 5.3", &[f(0x82, &payload), f(0x82, &payload)], &expected);
    }
}

/// The shortest form has to be used; the highest bit of 64 is zero.
#[test]
fn lengths() {
    let config = Config::default();
    for (n, len) in [
        (125, &[125][..]),
        (126, &[126, 0, 126]),
        (127, &[126, 0, 127]),
        (65535, &[126, 0xFF, 0xFF]),
        (65536, &[127, 0, 0, 0, 0, 0, 1, 0, 0]),
    ] {
        let payload = vec![b'x'; n];
        assert_eq!(wire(Side::Client, &[f(0x82, &payload)]), [&[0x82][..], len, &payload].concat());
        // Long ones of one kind by each side: they take long.
        for side in SIDES.into_iter().filter(|side| n < 1000 || *side == Side::Server) {
            one(side, &config, OPEN, "6455 5.2", &[f(0x82, &payload)], &format!("[x*{n}]"));
        }
        for side in SIDES.into_iter().filter(|side| n < 1000 || *side == Side::Client) {
            one(side, &config, OPEN, "6455 5.2", &[f(0x81, &payload), f(0x82, "")], &format!("(x*{n}) []"));
        }
    }
    let too_long: [(&[u8], &str); 12] = [
        (&[126, 0, 0], "Length >close(1002)"),
        (&[126, 0, 5], "Length >close(1002)"),
        (&[126, 0, 125], "Length >close(1002)"),
        (&[127, 0, 0, 0, 0, 0, 0, 0, 0], "Length >close(1002)"),
        (&[127, 0, 0, 0, 0, 0, 0, 0, 5], "Length >close(1002)"),
        (&[127, 0, 0, 0, 0, 0, 0, 0, 126], "Length >close(1002)"),
        (&[127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], "Length >close(1002)"),
        (&[127, 0x80, 0, 0, 0, 0, 0, 0, 0], "Length >close(1002)"),
        (&[127, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], "Length >close(1002)"),
        (&[127, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], "TooBig >close(1009)"),
        (&[127, 0, 0, 0, 1, 0, 0, 0, 0], "TooBig >close(1009)"),
        (&[127, 0, 0, 0, 0, 1, 0, 0, 1], "TooBig >close(1009)"),
    ];
    for b0 in [0x81, 0x82, 0x01, 0x02] {
        for (len, error) in too_long {
            both(&config, OPEN, "6455 5.2", &[raw(b0, len, "Hello")], &format!("!{error}"));
            // With the length, before mask and payload.
            for side in SIDES {
                let header = [&[b0, len[0] | if side == Side::Server { 0x80 } else { 0 }], &len[1..]].concat();
                let log = receive(side, &config, Input::new(&header));
                assert_eq!(log, format!("!{error} linger"));
            }
        }
    }
    // Exactly the limit is fine, and nothing is said before it is over.
    both(&config, OPEN, "6455 10.4", &[raw(0x82, &[127, 0, 0, 0, 0, 1, 0, 0, 0], "Hello")], "");
}

/// The examples of RFC 6455, section 5.7.
#[test]
fn examples() {
    let config = Config::default();
    let rows: [(Side, &[u8], &str); 5] = [
        (Side::Client, b"\x81\x05\x48\x65\x6c\x6c\x6f", "(Hello) read"),
        (Side::Server, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "(Hello) read"),
        (Side::Client, b"\x01\x03\x48\x65\x6c\x80\x02\x6c\x6f", "(Hello) read"),
        (Side::Client, b"\x89\x05\x48\x65\x6c\x6c\x6f", "ping[Hello] >pong[Hello] read"),
        (Side::Server, b"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "pong[Hello] read"),
    ];
    for (side, input, expected) in rows {
        assert_eq!(receive(side, &config, Input::new(input)), expected);
    }
    let long: Vec<u8> = (0..=255).collect();
    one(Side::Client, &config, OPEN, "6455 5.7", &[f(0x82, &long)], &format!("[{}]", long.escape_ascii()));
}
