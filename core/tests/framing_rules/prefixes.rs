//! A length in front: of fixed width, in a header or not, LEB128, by size; and no length at all.

use crate::{
    any_split, check,
    common::{BROKEN, CLEAN, Input, OPEN},
};
use bytewise::framing::{ByteOrder, Counts, DatagramPrefix, FixedSize, LengthPrefix, VarintPrefix, Width};
use std::num::NonZeroUsize;

fn u32_be(max_len: usize) -> LengthPrefix {
    LengthPrefix::new(Width::U32, ByteOrder::Big, max_len)
}

#[test]
fn three_frames() {
    check(
        &u32_be(5),
        &[
            (b"", OPEN, "read"),
            (b"", CLEAN, "close"),
            (b"", BROKEN, "close"),
            (b"\0\0\0\x05hello\0\0\0\0\0\0\0\x01x", OPEN, "[hello] [] [x] read"),
            (b"\0\0\0\x05hello\0\0\0\0\0\0\0\x01x", CLEAN, "[hello] [] [x] close"),
            (b"\0\0\0\x05hello\0\0\0\0\0\0\0\x01x", BROKEN, "[hello] [] [x] close"),
            (b"\0\0\0\x01a\0\0\0\x04bcd", OPEN, r"[a] read +\x00\x00\x00\x04bcd"),
            (b"\0\0\0\x01a\0\0\0", OPEN, r"[a] read +\x00\x00\x00"),
        ],
    );
}

/// Every width and order, with each of a few lengths up to the limit.
#[test]
fn every_width_and_order() {
    for (width, size) in [(Width::U8, 1), (Width::U16, 2), (Width::U32, 4), (Width::U64, 8)] {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let framing = LengthPrefix::new(width, order, 300);
            let (mut wire, mut expected) = (Vec::new(), String::new());
            for len in [0u64, 1, 2, 127, 128, 255, 256, 257, 300] {
                if size == 1 && len > 255 {
                    continue;
                }
                match order {
                    ByteOrder::Big => wire.extend(&len.to_be_bytes()[8 - size..]),
                    ByteOrder::Little => wire.extend(&len.to_le_bytes()[..size]),
                }
                wire.extend(std::iter::repeat_n(b'x', len as usize));
                expected += &match len {
                    20.. => format!("[x*{len}] "),
                    _ => format!("[{}] ", "x".repeat(len as usize)),
                };
            }
            assert_eq!(any_split(&framing, Input::new(&wire).ending(CLEAN)), expected + "close", "{width:?} {order:?}");
        }
    }
}

/// The limit is of the payload, and is decided with the last byte of the header.
#[test]
fn limits() {
    let sixteen_mib = 16 << 20;
    check(
        &u32_be(3),
        &[
            (b"\0\0\0\x03abc", OPEN, "[abc] read"),
            (b"\0\0\0\x04", OPEN, "!TooLong { len: 4, max: 3 } linger"),
            (b"\0\0\0\x04abcd", OPEN, "!TooLong { len: 4, max: 3 } linger"),
            (b"\0\0\0\x01a\0\0\0\x04abcd", CLEAN, "[a] !TooLong { len: 4, max: 3 } linger"),
        ],
    );
    check(
        &u32_be(sixteen_mib),
        &[
            (b"\xff\xff\xff\xff", OPEN, "!TooLong { len: 4294967295, max: 16777216 } linger"),
            (b"\x01\0\0\0", OPEN, r"read +\x01\x00\x00\x00"),
            (b"\x01\0\0\x01", OPEN, "!TooLong { len: 16777217, max: 16777216 } linger"),
        ],
    );
    check(&u32_be(0), &[(b"\0\0\0\0", OPEN, "[] read"), (b"\0\0\0\x01", OPEN, "!TooLong { len: 1, max: 0 } linger")]);
    let u64_le = LengthPrefix::new(Width::U64, ByteOrder::Little, usize::MAX);
    check(
        &u64_le,
        &[
            (b"\x02\0\0\0\0\0\0\0ab", OPEN, "[ab] read"),
            (
                b"\xff\xff\xff\xff\xff\xff\xff\xff",
                OPEN,
                "!TooLong { len: 18446744073709551615, max: 18446744073709551551 } linger",
            ),
        ],
    );
}

/// How much came and how much was announced.
#[test]
fn end_of_input() {
    check(
        &u32_be(9),
        &[
            (b"\0", CLEAN, "!UnexpectedEof { seen: 1, expected: None } close"),
            (b"\0\0\0", BROKEN, "!UnexpectedEof { seen: 3, expected: None } close"),
            (b"\0\0\0\x01", CLEAN, "!UnexpectedEof { seen: 4, expected: Some(5) } close"),
            (b"\0\0\0\x05hell", BROKEN, "!UnexpectedEof { seen: 8, expected: Some(9) } close"),
            (b"\0\0\0\0\0\0\0\x05hell", CLEAN, "[] !UnexpectedEof { seen: 8, expected: Some(9) } close"),
            // What is wrong with the length is worse than that it is cut off.
            (b"\0\0\0\x0a", CLEAN, "!TooLong { len: 10, max: 9 } linger"),
        ],
    );
}

/// The same frame of 3 bytes with a header of 2 + 2 + 1 bytes, for each thing that a length counts.
#[test]
fn what_the_length_counts() {
    let in_header = |counts| LengthPrefix::new(Width::U16, ByteOrder::Big, 3).with_header(2, 1).counting(counts);
    for (counts, least) in [(Counts::Payload, 0), (Counts::AfterLength, 1), (Counts::FromLength, 3), (Counts::Frame, 5)]
    {
        let frame = |len: u8, body: &str| [b"AB\0", &[len][..], b"C", body.as_bytes()].concat();
        let rows = [
            (frame(least, ""), "[] read", r"[AB\x00<len>C] read"),
            (frame(least + 3, "xyz"), "[xyz] read", r"[AB\x00<len>Cxyz] read"),
            (frame(least + 4, "xyz?"), "!TooLong { len: 4, max: 3 } linger", "!TooLong { len: 4, max: 3 } linger"),
        ];
        for (input, stripped, kept) in &rows {
            check(&in_header(counts), &[(input, OPEN, stripped)]);
            let len = [input[3]].escape_ascii().to_string();
            check(&in_header(counts).keep_header(), &[(input, OPEN, &kept.replace("<len>", &len))]);
        }
        // A length that does not even count what it should.
        if let Some(short) = least.checked_sub(1) {
            check(&in_header(counts), &[(&frame(short, "xyz"), OPEN, "!Length linger")]);
            check(&in_header(counts).keep_header(), &[(&frame(0, "xyz"), CLEAN, "!Length linger")]);
        }
        // The order of the calls makes no difference.
        let other_order = LengthPrefix::new(Width::U16, ByteOrder::Big, 3).counting(counts).with_header(2, 1);
        check(&other_order, &[(&frame(least + 3, "xyz"), OPEN, "[xyz] read")]);
    }
}

/// Headers of protocols in use.
#[test]
fn headers() {
    let postgres = u32_be(100).with_header(1, 0).counting(Counts::FromLength).keep_header();
    check(
        &postgres,
        &[
            (b"Q\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I", CLEAN, r"[Q\x00\x00\x00\rSELECT 1\x00] [Z\x00\x00\x00\x05I] close"),
            (b"Q\0\0\0\x03", OPEN, "!Length linger"),
            (b"Q\0\0\0\x69", OPEN, "!TooLong { len: 101, max: 100 } linger"),
            (b"Q\0\0\0\x05", CLEAN, "!UnexpectedEof { seen: 5, expected: Some(6) } close"),
        ],
    );
    let grpc = u32_be(100).with_header(1, 0);
    check(&grpc, &[(b"\0\0\0\0\x02hi\x01\0\0\0\0", CLEAN, "[hi] [] close")]);
    let smpp = u32_be(100).with_header(0, 12).counting(Counts::Frame).keep_header();
    let enquire_link = b"\0\0\0\x10\0\0\0\x15\0\0\0\0\0\0\0\x01";
    check(&smpp, &[(enquire_link, CLEAN, r"[\x00\x00\x00\x10\x00\x00\x00\x15\x00\x00\x00\x00\x00\x00\x00\x01] close")]);
    let largest = LengthPrefix::new(Width::U64, ByteOrder::Little, 2).with_header(56, 0);
    let frame = [&[b'-'; 56][..], b"\x02\0\0\0\0\0\0\0ok"].concat();
    check(&largest, &[(&frame, CLEAN, "[ok] close")]);
}

/// `read` says where the payload begins and how long it is, for payloads streamed by hand.
#[test]
fn streamed_by_hand() {
    let framing = u32_be(1000).with_header(1, 2).counting(Counts::AfterLength);
    assert_eq!(framing.read(b"t\0\0\0\x09e"), Ok(None));
    assert_eq!(framing.read(b"t\0\0\0\x09en"), Ok(Some((7, 7))));
    assert_eq!(framing.read(b"t\0\0\0\x01en"), Err(bytewise::framing::Error::Length));
    assert_eq!(framing.max_len(), 1000);
}

#[test]
#[should_panic(expected = "a header of more than 64 bytes")]
fn a_header_has_at_most_64_bytes() {
    let _ = u32_be(1).with_header(32, 29);
}

/// In a release build, too, where an overflow goes unnoticed.
#[test]
#[should_panic(expected = "a header of more than 64 bytes")]
fn what_stands_before_the_length_counts_too() {
    let _ = u32_be(1).with_header(61, 0);
}

#[test]
fn varint() {
    let two_to_the_62 = b"\x80\x80\x80\x80\x80\x80\x80\x80\x40";
    let u64_max = b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    let frame_300 = [b"\xac\x02", &[b'x'; 300][..]].concat();
    check(
        &VarintPrefix::new(300),
        &[
            (b"", CLEAN, "close"),
            (b"\0\x01a\x02bc", CLEAN, "[] [a] [bc] close"),
            (&frame_300, CLEAN, "[x*300] close"),
            (b"\xad\x02", OPEN, "!TooLong { len: 301, max: 300 } linger"),
            (b"\xac", OPEN, r"read +\xac"),
            (b"\xac", CLEAN, "!UnexpectedEof { seen: 1, expected: None } close"),
            (b"\x03ab", CLEAN, "!UnexpectedEof { seen: 3, expected: Some(4) } close"),
            (b"\xac\x02x", BROKEN, "!UnexpectedEof { seen: 3, expected: Some(302) } close"),
            // Only the shortest form.
            (b"\x80\0", OPEN, "!Length linger"),
            (b"\x81\x80\0a", OPEN, "!Length linger"),
            (two_to_the_62, OPEN, "!TooLong { len: 4611686018427387904, max: 300 } linger"),
            (u64_max, OPEN, "!TooLong { len: 18446744073709551615, max: 300 } linger"),
            // More than 64 bits; more than ten bytes, at the tenth.
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", OPEN, "!Length linger"),
            (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", OPEN, "!Length linger"),
            (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", OPEN, "!Length linger"),
            (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", CLEAN, "!Length linger"),
            (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80", OPEN, r"read +\x80\x80\x80\x80\x80\x80\x80\x80\x80"),
        ],
    );
    check(
        &VarintPrefix::new(2).allow_long_forms(),
        &[
            (b"\x80\0\x82\x80\0ab\x81\x80\x80\x80\x80\x80\x80\x80\x80\0a", CLEAN, "[] [ab] [a] close"),
            (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\0", OPEN, "!Length linger"),
            (b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", OPEN, "!Length linger"),
            (b"\x83\0", OPEN, "!TooLong { len: 3, max: 2 } linger"),
        ],
    );
}

#[test]
fn datagram() {
    let frame = |prefix: &[u8], len: usize| [prefix, &vec![b'x'; len]].concat();
    check(
        &DatagramPrefix::new(1500),
        &[
            (b"", BROKEN, "close"),
            (b"\0\x03abc", CLEAN, "[] [abc] close"),
            (&frame(&[253], 253), CLEAN, "[x*253] close"),
            (&frame(&[254, 254, 0], 254), CLEAN, "[x*254] close"),
            (&frame(&[254, 0xDC, 5], 1500), CLEAN, "[x*1500] close"),
            (&[254, 0xDD, 5], OPEN, "!TooLong { len: 1501, max: 1500 } linger"),
            (&[255, 0, 0, 1, 0, 0, 0, 0, 0], OPEN, "!TooLong { len: 65536, max: 1500 } linger"),
            (&[255; 9], OPEN, "!TooLong { len: 18446744073709551615, max: 1500 } linger"),
            // Only the shortest form.
            (&[254, 253, 0], OPEN, "!Length linger"),
            (&[255, 255, 255, 0, 0, 0, 0, 0, 0], OPEN, "!Length linger"),
            (&[254], CLEAN, "!UnexpectedEof { seen: 1, expected: None } close"),
            (&[255, 0, 0, 1, 0, 0, 0, 0], CLEAN, "!UnexpectedEof { seen: 8, expected: None } close"),
            (&[2, b'a'], CLEAN, "!UnexpectedEof { seen: 2, expected: Some(3) } close"),
            (&[254, 0, 1, b'a'], BROKEN, "!UnexpectedEof { seen: 4, expected: Some(259) } close"),
        ],
    );
    check(
        &DatagramPrefix::new(3).allow_long_forms(),
        &[
            (&[254, 3, 0, b'a', b'b', b'c', 254, 0, 0], CLEAN, "[abc] [] close"),
            (&[255, 1, 0, 0, 0, 0, 0, 0, 0, b'a'], CLEAN, "[a] close"),
            (&[254, 4, 0], OPEN, "!TooLong { len: 4, max: 3 } linger"),
        ],
    );
    let large = frame(&[255, 0, 0, 1, 0, 0, 0, 0, 0], 65_536);
    let log = Input::new(&large).through(4096, 1 << 16, 65_545);
    assert_eq!(any_split(&DatagramPrefix::new(65_536), log), "[x*65536] read");
}

#[test]
fn fixed_size() {
    let three = FixedSize::new(NonZeroUsize::new(3).unwrap());
    check(
        &three,
        &[
            (b"", CLEAN, "close"),
            (b"abcdef", CLEAN, "[abc] [def] close"),
            (b"abcd", OPEN, "[abc] read +d"),
            (b"abcd", CLEAN, "[abc] !UnexpectedEof { seen: 1, expected: Some(3) } close"),
            (b"ab", BROKEN, "!UnexpectedEof { seen: 2, expected: Some(3) } close"),
        ],
    );
    check(&FixedSize::new(NonZeroUsize::MIN), &[(b"abc", CLEAN, "[a] [b] [c] close")]);
    check(&FixedSize::new(NonZeroUsize::MAX), &[(b"abc", OPEN, "read +abc")]);
}
