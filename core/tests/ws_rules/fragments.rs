//! Fragmentation: RFC 6455, section 5.4.

use crate::common::{
    OPEN,
    ws::{both, f},
};
use bytewise::ws::Config;

#[test]
fn fragments() {
    let config = Config::default();
    let out_of_order = "!Fragmentation >close(1002)";
    let rows = [
        (vec![f(1, "Hel"), f(0x80, "lo")], "(Hello)"),
        (vec![f(2, "Hel"), f(0x80, "lo")], "[Hello]"),
        (vec![f(2, ""), f(0, ""), f(0x80, "")], "[]"),
        (vec![f(1, ""), f(0, ""), f(0x80, "")], "()"),
        (vec![f(1, ""), f(0, "a"), f(0, ""), f(0, "b"), f(0x80, "")], "(ab)"),
        (vec![f(1, "a"), f(0x80, "b"), f(2, "c"), f(0x80, "d"), f(0x82, "e")], "(ab) [cd] [e]"),
        (vec![f(2, "x".repeat(300)), f(0, "x".repeat(200)), f(0x80, "x")], "[x*501]"),
        // Control frames between.
        (vec![f(1, "a"), f(0x89, "p"), f(0, "b"), f(0x8A, "q"), f(0x80, "c")], "ping[p] pong[q] (abc) >pong[p]"),
        (vec![f(2, ""), f(0x89, ""), f(0x80, "c"), f(0x89, "x")], "ping[] [c] ping[x] >pong[] >pong[x]"),
        (vec![f(1, "a"), f(0x88, b"\x03\xE8"), f(0x80, "b")], "close(1000) >close(1000)"),
        // A continuation of nothing.
        (vec![f(0, "a")], out_of_order),
        (vec![f(0x80, "a")], out_of_order),
        (vec![f(0x82, "a"), f(0x80, "b")], "[a] !Fragmentation >close(1002)"),
        (vec![f(2, "a"), f(0x80, "b"), f(0, "c")], "[ab] !Fragmentation >close(1002)"),
        (vec![f(0x89, "a"), f(0x80, "b")], "ping[a] !Fragmentation >pong[a] >close(1002)"),
        // A message inside another.
        (vec![f(1, "a"), f(0x81, "b")], out_of_order),
        (vec![f(1, "a"), f(1, "b")], out_of_order),
        (vec![f(1, "a"), f(0x82, "b")], out_of_order),
        (vec![f(2, "a"), f(0, "b"), f(2, "c")], out_of_order),
    ];
    for (frames, expected) in rows {
        both(&config, OPEN, "6455 5.4", &frames, expected);
    }
}

/// Frames per message, the first included; control frames are none of them, and each message has its own.
#[test]
fn too_many() {
    let config = Config::default().with_max_fragments(3);
    let two = [f(1, "a"), f(0, "b")];
    both(&config, OPEN, "limit", &[&two[..], &[f(0x80, "c")]].concat(), "(abc)");
    both(&config, OPEN, "limit", &[&two[..], &[f(0, "c")]].concat(), "");
    for b0 in [0, 0x80] {
        let frames = [&two[..], &[f(0, "c"), f(b0, "d")]].concat();
        both(&config, OPEN, "limit", &frames, "!TooManyFragments >close(1008)");
    }
    let pinged = [f(1, "a"), f(0x8A, ""), f(0, "b"), f(0x8A, ""), f(0x8A, ""), f(0x80, "c")];
    both(
        &config,
        OPEN,
        "limit",
        &[&pinged[..], &pinged].concat(),
        "pong[] pong[] pong[] (abc) pong[] pong[] pong[] (abc)",
    );
    let one = Config::default().with_max_fragments(1);
    both(&one, OPEN, "limit", &[f(0x81, "a"), f(1, "b"), f(0x80, "c")], "(a) !TooManyFragments >close(1008)");
}

/// Bytes of a message: decided by the header of the frame that goes above it.
#[test]
fn too_big() {
    let config = Config::default().with_max_message(10);
    let ten = "x".repeat(10);
    both(&config, OPEN, "6455 10.4", &[f(0x82, &ten), f(0x81, &ten)], "[xxxxxxxxxx] (xxxxxxxxxx)");
    both(&config, OPEN, "6455 10.4", &[f(2, "xxxxx"), f(0, "xxxxx"), f(0x80, "")], "[xxxxxxxxxx]");
    for frames in [
        vec![f(0x82, "x".repeat(11))],
        vec![f(0x81, "x".repeat(11))],
        vec![f(2, "x".repeat(11))],
        vec![f(2, &ten), f(0x80, "x")],
        vec![f(1, "xxxxx"), f(0, "xxxxx"), f(0, "x")],
        vec![f(2, "xxxxx"), f(0x80, "xxxxxx")],
    ] {
        both(&config, OPEN, "6455 10.4", &frames, "!TooBig >close(1009)");
        let headers =
            [&frames[..frames.len() - 1], &[crate::common::ws::raw(2 - u8::from(frames.len() > 1) * 2, &[11], "")]];
        both(&config, OPEN, "6455 10.4", &headers.concat(), "!TooBig >close(1009)");
    }
    // Control frames do not count.
    let frames = [f(2, &ten), f(0x89, "p".repeat(15)), f(0x80, "")];
    both(&config, OPEN, "6455 10.4", &frames, "ping[ppppppppppppppp] [xxxxxxxxxx] >pong[ppppppppppppppp]");
    both(
        &Config::default().with_max_message(0),
        OPEN,
        "6455 10.4",
        &[f(0x82, ""), f(0x81, ""), f(0x82, "x")],
        "[] () !TooBig >close(1009)",
    );
}
