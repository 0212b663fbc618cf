//! Text is UTF-8 (RFC 6455, sections 5.6 and 8.1), and fails with the first byte that cannot be.

use crate::common::{
    OPEN,
    ws::{both, f, raw},
};
use bytewise::ws::{Config, Delivery};

/// Bytes, of which the last is the one that cannot be.
const BAD: [&[u8]; 20] = [
    b"\x80",
    b"\xBF",
    b"\xC0",
    b"\xC1",
    b"\xF5",
    b"\xFF",
    b"\xFE",
    b"a\x80",
    b"\xC2a",
    b"\xC2\xC2",
    b"\xE0\x80",
    b"\xE0\x9F",
    b"\xE2\x82a",
    b"\xE2\xE2",
    b"\xED\xA0",
    b"\xF0\x80",
    b"\xF0\x8F",
    b"\xF0\x9F\x98a",
    b"\xF4\x90",
    b"\xCE\xBA\xE1\xBD\xB9\xCF\x83\xCE\xBC\xCE\xB5\xED\xA0",
];

/// With the bad byte, though the frame and the message are far from their ends; not before.
#[test]
fn bad_bytes() {
    let config = Config::default();
    for bad in BAD {
        let (good, _) = bad.split_at(bad.len() - 1);
        for before in ["", "\u{20AC}b"] {
            let bytes = [before.as_bytes(), bad].concat();
            let begun = [before.as_bytes(), good].concat();
            for b0 in [1, 0x81] {
                both(&config, OPEN, "6455 8.1", &[raw(b0, &[126, 3, 0], &begun)], "");
                both(&config, OPEN, "6455 8.1", &[raw(b0, &[126, 3, 0], &bytes)], "!Utf8 >close(1007)");
                let rest = [&bytes[..], b"and more"].concat();
                both(&config, OPEN, "6455 8.1", &[raw(b0, &[126, 3, 0], rest)], "!Utf8 >close(1007)");
            }
            both(&config, OPEN, "6455 8.1", &[f(1, before), raw(0x80, &[126, 3, 0], bad)], "!Utf8 >close(1007)");
            both(&config, OPEN, "6455 8.1", &[f(1, &begun), f(0, &bytes[begun.len()..])], "!Utf8 >close(1007)");
            both(&config, OPEN, "6455 8.1", &[f(0x81, &bytes)], "!Utf8 >close(1007)");
        }
    }
}

/// A code point that is cut off by the end of the message.
#[test]
fn cut_off() {
    for text in
        ["\u{80}", "\u{7FF}", "\u{800}", "\u{20AC}", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "\u{10000}", "\u{10FFFF}"]
    {
        for cut in 1..text.len() {
            let begun = &text.as_bytes()[..cut];
            let config = Config::default();
            let bad = "!Utf8 >close(1007)";
            both(&config, OPEN, "6455 8.1", &[f(0x81, begun)], bad);
            both(&config, OPEN, "6455 8.1", &[f(1, begun), f(0x80, "")], bad);
            both(&config, OPEN, "6455 8.1", &[f(1, begun), f(0, "")], "");
            // Between fragments it may be, with anything between.
            let whole = [f(1, begun), f(0x8A, "p"), f(0, ""), f(0x80, &text.as_bytes()[cut..])];
            both(&config, OPEN, "6455 5.6", &whole, &format!("pong[p] ({})", text.as_bytes().escape_ascii()));
        }
        let each: Vec<_> = text.as_bytes().iter().map(|byte| f(0, [*byte])).collect();
        let frames = [&[f(1, "")], &each[..], &[f(0x80, "")]].concat();
        both(&Config::default(), OPEN, "6455 5.6", &frames, &format!("({})", text.as_bytes().escape_ascii()));
    }
}

/// In chunks, what came before the byte that cannot be is handed over, and nothing else.
#[test]
fn in_chunks() {
    let config = Config::default().with_delivery(Delivery::Chunks);
    for bad in BAD {
        for before in ["", "\u{20AC}b"] {
            let begun = [before.as_bytes(), &bad[..bad.len() - 1]].concat();
            let rest = [before.as_bytes(), bad, b"and more"].concat();
            let shown = if begun.is_empty() { String::new() } else { format!("{{{}}} ", begun.escape_ascii()) };
            let expected = format!("{shown}!Utf8 >close(1007)");
            both(&config, OPEN, "6455 8.1", &[raw(0x81, &[126, 3, 0], &rest)], &expected);
            both(&config, OPEN, "6455 8.1", &[f(1, &begun), f(0x80, &rest[begun.len()..])], &expected);
        }
    }
    // Cut off by the end of the message: nobody can know that it is the last byte that is at fault.
    for (frames, before) in [
        (vec![f(0x81, b"a\xE2\x82")], r"{a\xe2\x82} "),
        (vec![f(0x81, b"\xE2")], r"{\xe2} "),
        (vec![f(1, b"a\xE2"), f(0x80, b"\x82")], r"{a\xe2\x82} "),
        (vec![f(1, b"a\xE2"), f(0x80, b"")], r"{a\xe2} "),
    ] {
        both(&config, OPEN, "6455 8.1", &frames, &format!("{before}!Utf8 >close(1007)"));
    }
}

/// Long text, of every width, in blocks of all sizes.
#[test]
fn long() {
    let text = "a\u{E9}\u{20AC}\u{1F600} plain ascii for a while, then \u{3B1}\u{3B2}\u{3B3}. ".repeat(60);
    let shown = crate::common::ws::shown(text.as_bytes());
    let bytes = text.as_bytes();
    both(&Config::default(), OPEN, "6455 5.6", &[f(0x81, bytes)], &format!("({shown})"));
    let parts: Vec<_> = bytes.chunks(97).map(|part| f(0, part)).collect();
    let frames = [&[f(1, "")], &parts[..], &[f(0x80, "")]].concat();
    both(&Config::default(), OPEN, "6455 5.6", &frames, &format!("({shown})"));
    let chunks = Config::default().with_delivery(Delivery::Chunks);
    both(&chunks, OPEN, "6455 5.6", &frames, &format!("{{{shown}}} .text"));
}
