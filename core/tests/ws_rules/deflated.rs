//! permessage-deflate: RFC 7692. Bytes on the wire, and what comes of them.

use crate::common::{
    Input, OPEN,
    ws::{SIDES, Side, both, connection, drain, events, f, raw, receive, sent, split_frames, wire},
};
use bytewise::{
    Machine, RecvBuf, SendBuf,
    ws::{Config, Deflate, Delivery, Error, Event, Kind},
};

/// RFC 7692, section 7.2.3.1.
const HELLO: &[u8] = &[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00];
/// Section 7.2.3.2: refers to the one before.
const HELLO_AGAIN: &[u8] = &[0xF2, 0x00, 0x11, 0x00, 0x00];
/// Section 7.2.3.3.
const STORED: &[u8] = &[0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00];
/// Section 7.2.3.4.
const FINAL: &[u8] = &[0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00];
/// Section 7.2.3.5.
const TWO_BLOCKS: &[u8] = &[0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00];

fn config() -> Config {
    Config::default().with_deflate(Deflate::default())
}

fn no_takeover() -> Config {
    Config::default().with_deflate(Deflate::default().without_context_takeover().without_peer_context_takeover())
}

/// A message as a peer would compress it, without the tail.
pub(crate) fn deflate(text: &[u8]) -> Vec<u8> {
    let (mut ws, mut tx) = (connection(Side::Server, &config()), SendBuf::new());
    ws.begin(Kind::Binary).unwrap();
    ws.chunk(text, &mut tx).unwrap();
    ws.finish(&mut tx).unwrap();
    split_frames(&drain(&mut tx), Side::Server).into_iter().flat_map(|(_, payload)| payload).collect()
}

/// As one stored block: every byte of it is in the stream as it is.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u16;
    [&[0][..], &len.to_le_bytes(), &(!len).to_le_bytes(), bytes, &[0]].concat()
}

#[test]
fn examples() {
    let rows: [(&str, Vec<_>, &str); 11] = [
        ("7.2.3.1", vec![f(0xC1, HELLO)], "(Hello)"),
        ("7.2.3.1", vec![f(0x41, &HELLO[..3]), f(0x80, &HELLO[3..])], "(Hello)"),
        ("7.2.3.2", vec![f(0xC1, HELLO), f(0xC1, HELLO)], "(Hello) (Hello)"),
        ("7.2.3.3", vec![f(0xC1, STORED)], "(Hello)"),
        ("7.2.3.4", vec![f(0xC1, FINAL), f(0xC2, HELLO), f(0xC1, FINAL)], "(Hello) [Hello] (Hello)"),
        ("7.2.3.5", vec![f(0xC1, TWO_BLOCKS)], "(Hello)"),
        ("7.2.3.6", vec![f(0xC1, [0]), f(0xC2, [0]), f(0xC1, HELLO), f(0xC2, [0])], "() [] (Hello) []"),
        // Nothing at all is nothing.
        ("7.2.2", vec![f(0xC1, ""), f(0xC2, ""), f(0xC1, HELLO)], "() [] (Hello)"),
        ("6.1", vec![f(0x41, ""), f(0, HELLO), f(0, ""), f(0x80, "")], "(Hello)"),
        ("6", vec![f(0x81, "a"), f(0xC1, HELLO), f(0x82, "b"), f(0x01, "c"), f(0x80, "d")], "(a) (Hello) [b] (cd)"),
        ("6", vec![f(0x41, &HELLO[..3]), f(0x89, "p"), f(0x80, &HELLO[3..])], "ping[p] (Hello) >pong[p]"),
    ];
    for (section, frames, expected) in rows {
        for config in [config(), no_takeover()] {
            both(&config, OPEN, section, &frames, expected);
            let chunks = expected
                .replace("ping[p] (Hello)", "{He} ping[p] {llo} .text")
                .replace("(Hello)", "{Hello} .text")
                .replace("[Hello]", "{Hello} .binary")
                .replace("(a)", "{a} .text")
                .replace("[b]", "{b} .binary")
                .replace("(cd)", "{cd} .text")
                .replace("()", ".text")
                .replace("[] ", ".binary ");
            let chunks = chunks.strip_suffix("[]").map_or(chunks.clone(), |chunks| format!("{chunks}.binary"));
            both(&config.with_delivery(Delivery::Chunks), OPEN, section, &frames, &chunks);
        }
    }
}

/// Messages refer to those before them, if that was agreed on; an empty or plain one between changes nothing.
#[test]
fn context() {
    let again = [f(0xC1, HELLO), f(0x82, "p"), f(0xC1, [0]), f(0xC2, HELLO_AGAIN), f(0xC1, HELLO_AGAIN)];
    both(&config(), OPEN, "7692 7.2.3.2", &again, "(Hello) [p] () [Hello] (Hello)");
    both(&no_takeover(), OPEN, "7692 7.1.1", &again, "(Hello) [p] () !Deflate >close(1007)");
    // Each direction by itself.
    let theirs = Config::default().with_deflate(Deflate::default().without_peer_context_takeover());
    both(&theirs, OPEN, "7692 7.1.1", &again[..4], "(Hello) [p] () !Deflate >close(1007)");
    let ours = Config::default().with_deflate(Deflate::default().without_context_takeover());
    both(&ours, OPEN, "7692 7.1.1", &again[..4], "(Hello) [p] () [Hello]");
}

/// The first reserved bit, only, on a message's first frame, only; the others never (section 6, 6.1).
#[test]
fn reserved_bits() {
    for b0 in 0..=255_u8 {
        let opcode = b0 & 0x0F;
        if b0 & 0x70 == 0 || (b0 & 0x70 == 0x40 && matches!(opcode, 1 | 2)) {
            continue;
        }
        both(&config(), OPEN, "7692 6", &[f(b0, "")], "!ReservedBits >close(1002)");
        both(&config(), OPEN, "7692 6", &[f(0x41, HELLO), f(b0, "")], "!ReservedBits >close(1002)");
    }
    for b0 in [0x41, 0xC1, 0x42, 0xC2] {
        both(&config(), OPEN, "6455 5.4", &[f(0x41, HELLO), f(b0, HELLO)], "!Fragmentation >close(1002)");
        both(&config(), OPEN, "6455 5.4", &[f(1, "a"), f(b0, HELLO)], "!Fragmentation >close(1002)");
        both(&Config::default(), OPEN, "7692 6", &[f(b0, HELLO)], "!ReservedBits >close(1002)");
    }
}

/// What cannot be inflated fails where it is, also in the tail; what came before it is handed over, in pieces.
#[test]
fn broken() {
    let chunks = config().with_delivery(Delivery::Chunks);
    let rows: [(&[u8], &str); 6] = [
        (&[0x07], ""),                          // A block of type 3.
        (&[0x00, 0x05, 0x00, 0x00, 0x00], ""),  // A stored block whose length is not its length.
        (&[0xF2, 0x00, 0x11, 0x00, 0x00], "H"), // Farther back than there is anything.
        (&[0xFF; 20], ""),
        (&[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x06], "Hello"), // A good block, and one of type 3.
        (&[0x00, 0x02, 0x00, 0xFD, 0xFF, b'a', b'b', 0x06], "ab"),
    ];
    for (payload, before) in rows {
        for b0 in [0xC1, 0xC2] {
            let frames = [f(b0, [payload, b"more"].concat())];
            both(&config(), OPEN, "7692 7.2.2", &frames, "!Deflate >close(1007)");
            let before = if before.is_empty() { String::new() } else { format!("{{{before}}} ") };
            both(&chunks, OPEN, "7692 7.2.2", &frames, &format!("{before}!Deflate >close(1007)"));
        }
    }
}

/// Text that is compressed has to be UTF-8, and fails with the first byte that cannot be, whatever is wrong behind it.
#[test]
fn utf8() {
    let chunks = config().with_delivery(Delivery::Chunks);
    let bad = stored(b"ab\xE2\x82\xFFcd");
    let broken = [&stored(b"ab\xE2\x82\xFFcd")[..], &[0x07]].concat();
    for payload in [&bad, &broken, &[&bad[..], &[0; 300]].concat()] {
        both(&config(), OPEN, "6455 8.1", &[f(0xC1, payload)], "!Utf8 >close(1007)");
        both(&chunks, OPEN, "6455 8.1", &[f(0xC1, payload)], r"{ab\xe2\x82} !Utf8 >close(1007)");
        let fragments = [f(0x41, &payload[..8]), f(0x89, ""), f(0, &payload[8..])];
        both(&config(), OPEN, "6455 8.1", &fragments, "ping[] !Utf8 >pong[] >close(1007)");
    }
    // Cut off by the end of the message.
    let cut = stored(b"ab\xE2\x82");
    both(&config(), OPEN, "6455 8.1", &[f(0xC1, &cut)], "!Utf8 >close(1007)");
    both(&config(), OPEN, "6455 8.1", &[f(0x41, &cut), f(0x80, "")], "!Utf8 >close(1007)");
    both(&chunks, OPEN, "6455 8.1", &[f(0x41, &cut), f(0x80, "")], r"{ab\xe2\x82} !Utf8 >close(1007)");
    both(&config(), OPEN, "6455 8.1", &[f(0x41, &cut[..9]), f(0x80, stored(b"\xAC"))], r"(ab\xe2\x82\xac)");
    // In front of the limit, or at it.
    let small = config().with_max_message(5);
    both(&small, OPEN, "6455 8.1", &[f(0xC1, stored(b"ab\xFFdefgh"))], "!Utf8 >close(1007)");
    both(&small, OPEN, "6455 8.1", &[f(0xC1, stored(b"abcd\xFF"))], "!Utf8 >close(1007)");
    both(&small, OPEN, "6455 10.4", &[f(0xC1, stored(b"abcde\xFF"))], "!TooBig >close(1009)");
    both(&small, OPEN, "6455 10.4", &[f(0xC1, stored(b"abc\xE2\x82\xFF"))], "!TooBig >close(1009)");
    both(&small, OPEN, "6455 8.1", &[f(0xC1, stored(b"abc\xE2\x82"))], "!Utf8 >close(1007)");
}

/// Exactly the limit, and one more: while inflating, with no more memory than that.
#[test]
fn limits() {
    for (size, limit) in [(4096, 128), (100_000, 1000), (70_000, 65_536), (1_000_000, 999_999)] {
        let bomb = deflate(&vec![b'A'; size]);
        assert!(bomb.len() < size / 20);
        let frames = [f(0xC1, &bomb)];
        if size < 100_000 {
            both(&config().with_max_message(limit), OPEN, "6455 10.4", &frames, "!TooBig >close(1009)");
            both(&config().with_max_message(size - 1), OPEN, "6455 10.4", &frames, "!TooBig >close(1009)");
            both(&config().with_max_message(size), OPEN, "6455 10.4", &frames, &format!("(A*{size})"));
        }
        for side in SIDES {
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            let mut ws = connection(side, &config().with_max_message(limit));
            rx.push(&wire(side, &frames));
            assert_eq!(ws.next_event(&mut rx, &mut tx), Err(Error::TooBig));
            let scratch = rx.parts().1;
            assert!(scratch.len() <= limit + 1 && scratch.capacity() <= 2 * limit + 1024, "{}", scratch.capacity());
        }
    }
    // What is wrong behind the byte that is too much does not matter.
    let broken = [&stored(b"abcdef")[..11], &[0x07]].concat();
    both(&config().with_max_message(5), OPEN, "6455 10.4", &[f(0xC2, &broken)], "!TooBig >close(1009)");
    both(&config().with_max_message(6), OPEN, "7692 7.2.2", &[f(0xC2, &broken)], "!Deflate >close(1007)");
    // Of all fragments together.
    let halves = deflate(&[b'A'; 200]);
    let (one, two) = halves.split_at(3);
    both(&config().with_max_message(200), OPEN, "6455 10.4", &[f(0x41, one), f(0x80, two)], "(A*200)");
    both(&config().with_max_message(199), OPEN, "6455 10.4", &[f(0x41, one), f(0x80, two)], "!TooBig >close(1009)");
    // The length on the wire is no limit, that of what comes out is.
    let nothing = [0, 0, 0, 0xFF, 0xFF].repeat(100);
    let frames = [f(0x42, &nothing), f(0, &nothing), f(0x80, HELLO)];
    both(&config().with_max_message(5), OPEN, "7692 7.2.3.6", &frames, "[Hello]");
    both(&config().with_max_message(0), OPEN, "7692 7.2.3.6", &[f(0xC2, [0]), f(0xC1, "")], "[] ()");
    // Fragments are counted.
    let few = config().with_max_fragments(2);
    both(&few, OPEN, "limit", &[f(0x41, one), f(0, two), f(0x80, "")], "!TooManyFragments >close(1008)");
}

/// Inflated pieces are bounded; all that comes out of a small input is handed over before more is needed.
#[test]
fn bounded_pieces() {
    let chunks = config().with_delivery(Delivery::Chunks).with_max_message(10);
    for size in [65_535, 65_536, 65_537, 131_072, 131_073, 300_000] {
        let bomb = deflate(&vec![b'A'; size]);
        for side in SIDES {
            for frames in [vec![f(0xC1, &bomb)], vec![f(0x41, &bomb[..9]), f(0, &bomb[9..]), f(0x80, "")]] {
                let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
                let mut ws = connection(side, &chunks);
                rx.push(&wire(side, &frames));
                let (mut total, mut ended) = (0, false);
                while let Some(event) = ws.next_event(&mut rx, &mut tx).unwrap() {
                    let Event::Chunk { kind: Kind::Text, data, last } = event else { panic!() };
                    assert!(data.len() <= 64 * 1024 && (last || !data.is_empty()) && !ended);
                    (total, ended) = (total + data.len(), last);
                }
                assert_eq!((total, ended), (size, true));
                assert!(rx.parts().1.capacity() <= 128 * 1024 && rx.is_idle());
            }
        }
    }
    let bomb = deflate(&vec![b'A'; 70_000]);
    both(&chunks, OPEN, "6455 10.4", &[f(0xC1, &bomb), f(0xC1, &bomb)], "{A*70000} .text {A*70000} .text");
}

/// Through a receive buffer with a bound, what is inflated has to fit too.
#[test]
fn bounded_buffers() {
    let bomb = deflate(&[b'A'; 3000]);
    assert!(bomb.len() < 80);
    for side in SIDES {
        let input = wire(side, &[f(0xC1, &bomb)]);
        let log = receive(side, &config(), Input::new(&input).through(16, 64, 1000));
        assert_eq!(log, "!TooBig >close(1009) linger");
        let log = receive(side, &config(), Input::new(&input).through(16, 64, 4000));
        assert_eq!(log, "(A*3000) read");
    }
}

/// A peer ends a block with the final bit: later messages can still be inflated, its window is forgotten.
#[test]
fn final_blocks() {
    let final_twice = [&FINAL[..7], FINAL].concat();
    both(&config(), OPEN, "7692 7.2.3.4", &[f(0xC1, &final_twice)], "(HelloHello)");
    both(&config(), OPEN, "7692 7.2.3.4", &[f(0xC1, [&FINAL[..7], HELLO].concat())], "(HelloHello)");
    let fragments = [f(0x41, &FINAL[..7]), f(0, &FINAL[..4]), f(0, &FINAL[4..7]), f(0x80, [0])];
    both(&config(), OPEN, "7692 7.2.3.4", &fragments, "(HelloHello)");
    // Many of them.
    let empty = [0x03, 0x00].repeat(6_000);
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut ws = connection(Side::Client, &config());
    rx.push(&wire(Side::Client, &[f(0x42, &empty), f(0x80, [0])]));
    assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Binary(b""))));
}

/// Input ends inside a compressed message.
#[test]
fn input_ends() {
    use crate::common::{BROKEN, CLEAN};
    for eof in [CLEAN, BROKEN] {
        for side in SIDES {
            let header = if side == Side::Server { 6 } else { 2 };
            let whole = wire(side, &[f(0xC1, HELLO)]);
            for cut in 0..whole.len() {
                let expected = (cut >= header).then_some(whole.len() as u64);
                let error = Error::UnexpectedEof { seen: cut as u64, expected };
                let log = receive(side, &config(), Input::new(&whole[..cut]).ending(eof));
                assert_eq!(log, format!("!{error:?} close"));
            }
        }
        both(&config(), eof, "6455 7.1.5", &[f(0x41, HELLO)], "!UnexpectedEof { seen: 0, expected: None }");
        both(&config(), eof, "6455 7.1.5", &[f(0xC1, HELLO), f(0x88, "")], "(Hello) close >close");
    }
}

/// Memory given back between messages: what refers to earlier messages can still be inflated, and ours begin anew.
#[test]
fn release_memory() {
    for config in [config(), no_takeover()] {
        let takes_over = config_takes_over(&config);
        for side in SIDES {
            let mut ws = connection(side, &config);
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            let text = "Hello, hello, hello, and so on, until it is long enough to be compressed at all";
            ws.send_text(text, &mut tx).unwrap();
            let first = split_frames(&drain(&mut tx), side);
            ws.send_text(text, &mut tx).unwrap();
            let second = split_frames(&drain(&mut tx), side);
            assert_eq!(first == second, !takes_over);
            ws.release_memory();
            ws.send_text(text, &mut tx).unwrap();
            assert_eq!(split_frames(&drain(&mut tx), side), first);

            rx.push(&wire(side, &[f(0xC1, HELLO)]));
            assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Text("Hello"))));
            ws.release_memory();
            rx.push(&wire(side, &[f(0xC1, if takes_over { HELLO_AGAIN } else { HELLO })]));
            assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Text("Hello"))));

            // Inside a message nothing is given back.
            ws.begin(Kind::Text).unwrap();
            ws.chunk(&text[..40], &mut tx).unwrap();
            rx.push(&wire(side, &[f(0x41, &HELLO[..4])]));
            assert_eq!(ws.poll(&mut rx, &mut tx), Ok(false));
            ws.release_memory();
            ws.chunk(&text[40..], &mut tx).unwrap();
            ws.finish(&mut tx).unwrap();
            rx.push(&wire(side, &[f(0x80, &HELLO[4..])]));
            assert_eq!(ws.next_event(&mut rx, &mut tx), Ok(Some(Event::Text("Hello"))));
        }
    }
}

fn config_takes_over(config: &Config) -> bool {
    !connection(Side::Server, config).negotiated().extensions().unwrap().contains("no_context")
}

/// Answers are compressed, and what is answered is what came: echo at every cut.
#[test]
fn echo() {
    let text = "It was the best of times, it was the worst of times, it was the age of wisdom. ".repeat(3);
    let text = text.as_bytes();
    let one = deflate(text);
    let (a, b) = one.split_at(one.len() / 2);
    let frames = [f(0xC1, &one), f(0x41, a), f(0x89, "p"), f(0x80, b), f(0x81, text)];
    for config in [config(), no_takeover()] {
        // The second refers to nothing before it, which is allowed.
        for side in SIDES {
            let log = Input::new(&wire(side, &frames)).output(sent(side)).whatever_is_unread().any_split(
                || connection(side, &config),
                |event, ws, tx, log| {
                    if let Event::Text(text) = event {
                        ws.send_text(text, tx).unwrap();
                        assert!(text.len() == 237);
                    }
                    crate::common::ws::note(event, ws, tx, log);
                },
            );
            assert_eq!(log.matches(">c1[").count(), 3, "{log}");
        }
    }
    // A frame that does not belong there.
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut ws = connection(Side::Client, &config());
    rx.push(&wire(Side::Client, &[raw(0xC1, &[3], "abc")]));
    let (_, error) = events(&mut ws, &mut rx, &mut tx);
    assert!(error.is_some() || tx.is_empty());
}

/// The tail that a message leaves out is never taken for data (section 7.2.2).
#[test]
fn cut_inside_a_block() {
    // A stored block of ten bytes, of which six are there.
    let payload = b"\x00\x0A\x00\xF5\xFFabcdef";
    both(&config(), OPEN, "7692 7.2.2", &[f(0xC2, payload)], "!Deflate >close(1007)");
    let chunks = config().with_delivery(Delivery::Chunks);
    both(&chunks, OPEN, "7692 7.2.2", &[f(0xC2, payload)], "{abcdef} !Deflate >close(1007)");
    both(&config(), OPEN, "7692 7.2.2", &[f(0x42, payload), f(0x80, b"ghij\0")], "[abcdefghij]");
}
