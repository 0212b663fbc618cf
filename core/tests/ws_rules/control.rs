//! Control frames: RFC 6455, section 5.5.

use crate::common::{
    Input, OPEN,
    ws::{SIDES, Side, both, f, raw, receive},
};
use bytewise::ws::Config;

/// At most 125 bytes, and never in fragments: said with the header's second byte.
#[test]
fn lengths() {
    let config = Config::default();
    let long = "x".repeat(125);
    both(&config, OPEN, "6455 5.5", &[f(0x89, &long)], "ping[x*125] >pong[x*125]");
    both(&config, OPEN, "6455 5.5", &[f(0x8A, &long)], "pong[x*125]");
    for b0 in [0x88, 0x89, 0x8A] {
        for seven in [126, 127] {
            for side in SIDES {
                let b1 = if side == Side::Server { seven | 0x80 } else { seven };
                for input in [&[b0, b1][..], &[b0, b1, 0, 200], &[b0, b1, 0, 5, 1, 2, 3, 4, 5]] {
                    let log = receive(side, &config, Input::new(input));
                    assert_eq!(log, "!ControlFrame >close(1002) linger", "6455 5.5");
                }
            }
        }
        both(&config, OPEN, "6455 5.5", &[f(b0 & 0x0F, "a"), f(0x80, "b")], "!ControlFrame >close(1002)");
    }
}

/// A pong says what the ping said; a pong that nobody asked for is nothing but an event.
#[test]
fn pings() {
    let config = Config::default();
    let rows = [
        (vec![f(0x89, "")], "ping[] >pong[]"),
        (vec![f(0x89, "a"), f(0x89, "b")], "ping[a] ping[b] >pong[a] >pong[b]"),
        (vec![f(0x89, b"\0\xFF")], r"ping[\x00\xff] >pong[\x00\xff]"),
        (vec![f(0x8A, "x"), f(0x82, "y")], "pong[x] [y]"),
        (vec![f(0x89, "a"), raw(0x89, &[0], ""), f(0x81, "t")], "ping[a] ping[] (t) >pong[a] >pong[]"),
    ];
    for (frames, expected) in rows {
        both(&config, OPEN, "6455 5.5.2", &frames, expected);
        both(
            &config.clone().with_delivery(bytewise::ws::Delivery::Chunks),
            OPEN,
            "6455 5.5.2",
            &frames,
            &expected.replace("[y]", "{y} .binary").replace("(t)", "{t} .text"),
        );
    }
    both(&config.with_manual_pong(), OPEN, "6455 5.5.2", &[f(0x89, "a"), f(0x8A, "b")], "ping[a] pong[b]");
}

/// Close codes, section 7.4, and reasons: UTF-8, at most 123 bytes.
#[test]
fn close_payloads() {
    let config = Config::default();
    both(&config, OPEN, "6455 5.5.1", &[f(0x88, "")], "close >close");
    for byte in 0..=255_u8 {
        both(&config, OPEN, "6455 5.5.1", &[f(0x88, [byte])], "!CloseFrame >close(1002)");
    }
    for code in (0..=10_u16).chain(990..1030).chain([1099, 1100, 2000, 2999, 3000, 3999, 4000, 4999, 5000, 9999, 65535])
    {
        let payload = code.to_be_bytes();
        let expected = match code {
            1000..=1003 | 1007..=1014 | 3000..=4999 => format!("close({code}) >close({code})"),
            _ => "!CloseFrame >close(1002)".to_owned(),
        };
        both(&config, OPEN, "6455 7.4", &[f(0x88, payload)], &expected);
    }
    let reason = |reason: &[u8]| f(0x88, [&1000_u16.to_be_bytes()[..], reason].concat());
    let rows: [(&[u8], &str); 9] = [
        (b"bye", "close(1000 bye) >close(1000)"),
        ("\u{20AC}".as_bytes(), r"close(1000 €) >close(1000)"),
        (&[b'x'; 123], "close(1000 LONG) >close(1000)"),
        (b"\xFF", "!Utf8 >close(1007)"),
        (b"\xE2\x82", "!Utf8 >close(1007)"),
        (b"a\x80", "!Utf8 >close(1007)"),
        (b"\xED\xA0\x80", "!Utf8 >close(1007)"),
        (b"\xC0\x80", "!Utf8 >close(1007)"),
        (b"\xF4\x90\x80\x80", "!Utf8 >close(1007)"),
    ];
    for (text, expected) in rows {
        both(&config, OPEN, "6455 5.5.1", &[reason(text)], &expected.replace("LONG", &"x".repeat(123)));
    }
    // A wrong code is worse than a wrong reason.
    both(&config, OPEN, "6455 7.4", &[f(0x88, b"\x03\xED\xFF")], "!CloseFrame >close(1002)");
    // One byte is known to be wrong from the header.
    for (side, b1) in [(Side::Server, 0x81), (Side::Client, 0x01)] {
        assert_eq!(receive(side, &config, Input::new(&[0x88, b1])), "!CloseFrame >close(1002) linger");
    }
}
