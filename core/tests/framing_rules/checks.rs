//! What a header carries beside the length: a magic, a checksum, both, one's own.

use crate::{
    Row, check,
    common::{CLEAN, OPEN},
    encoded,
};
use bytewise::framing::{ByteOrder, Error, HeaderCheck, LengthPrefix, Magic, Misuse, Width};
use std::ops::Range;

fn u16_be() -> LengthPrefix {
    LengthPrefix::new(Width::U16, ByteOrder::Big, 10)
}

#[test]
fn magic() {
    let before = u16_be().with_header(2, 0).with_check(Magic::new(0, &b"BW"[..]));
    check(
        &before,
        &[
            (b"BW\0\x02hiBW\0\0", CLEAN, "[hi] [] close"),
            (b"BX\0\x02hi", OPEN, "!Magic linger"),
            (b"BW\0\0bw\0\0", OPEN, "[] !Magic linger"),
            // It is looked at before the length is believed.
            (b"GET / HTTP/1.1\r\n", OPEN, "!Magic linger"),
            (b"BW\0\x0b", OPEN, "!TooLong { len: 11, max: 10 } linger"),
            (b"BX\0", OPEN, r"read +BX\x00"),
            (b"BX\0", CLEAN, "!UnexpectedEof { seen: 3, expected: None } close"),
        ],
    );
    let after = u16_be().with_header(1, 3).with_check(Magic::new(4, b"!!".to_vec()));
    check(
        &after,
        &[
            (b"-\0\x02-!!hi", CLEAN, "[hi] close"),
            (b"-\0\x02-!?hi", OPEN, "!Magic linger"),
            (b"-\0\x02!!-hi", OPEN, "!Magic linger"),
        ],
    );
    assert_eq!(encoded(&before, b"hi"), Ok(b"BW\0\x02hi".to_vec()));
    assert_eq!(encoded(&after, b"hi"), Ok(b"\0\0\x02\0!!hi".to_vec()));
    assert_eq!(encoded(&after, b"more than ten"), Err(Misuse::TooLong));
}

/// A header that is kept is the application's, apart from what the framing writes over.
#[test]
fn magic_in_a_kept_header() {
    let kept = u16_be().with_header(3, 0).keep_header().with_check(Magic::new(1, &b"BW"[..]));
    check(&kept, &[(b"tBW\0\x02hi", CLEAN, r"[tBW\x00\x02hi] close"), (b"tBX\0\x02hi", CLEAN, "!Magic linger")]);
    assert_eq!(encoded(&kept, b"t????hi"), Ok(b"tBW\0\x02hi".to_vec()));
    assert_eq!(encoded(&kept, b"t????"), Ok(b"tBW\0\0".to_vec()));
    assert_eq!(encoded(&kept, b"t???"), Err(Misuse::Size));
}

/// Where a magic of two bytes has room in a header of 2 + 2 + 3 bytes.
#[test]
fn room_for_a_check() {
    let rows = [(0, true), (1, false), (2, false), (3, false), (4, true), (5, true), (6, false), (usize::MAX, false)];
    for (at, fits) in rows {
        assert_eq!(Magic::new(at, &b"BW"[..]).fits(7, 2..4), fits, "at {at}");
        assert_eq!((Magic::new(0, &b"B"[..]), Magic::new(at, &b"BW"[..])).fits(7, 2..4), fits, "at {at}");
        assert_eq!((Magic::new(at, &b"BW"[..]), ()).fits(7, 2..4), fits, "at {at}");
    }
}

#[test]
#[should_panic(expected = "the header has no room for the check")]
fn no_room_for_a_check() {
    let _ = u16_be().with_header(1, 1).with_check(Magic::new(0, &b"BW"[..]));
}

/// A check written elsewhere: the parity of the body stands before the length.
#[derive(Debug, Clone)]
struct Parity;

impl HeaderCheck for Parity {
    fn fits(&self, _: usize, length: Range<usize>) -> bool {
        length.start > 0
    }

    fn check_body(&self, header: &[u8], body: &[u8]) -> Result<(), Error> {
        match header[0] == body.iter().fold(0, |parity, byte| parity ^ byte) {
            true => Ok(()),
            false => Err(Error::Malformed("parity")),
        }
    }

    fn write(&self, header: &mut [u8], body: &[u8]) {
        header[0] = body.iter().fold(0, |parity, byte| parity ^ byte);
    }
}

#[test]
fn a_check_of_ones_own() {
    let framing = u16_be().with_header(1, 0).with_check(Parity);
    check(
        &framing,
        &[
            (b"\x03\0\x02ab\0\0\0", CLEAN, "[ab] [] close"),
            (b"\x03\0\x02ac", OPEN, "!Malformed(\"parity\") linger"),
            (b"\x02\0\x02a", OPEN, r"read +\x02\x00\x02a"),
        ],
    );
    assert_eq!(encoded(&framing, b"ab"), Ok(b"\x03\0\x02ab".to_vec()));
}

/// Of two checks both are made and written, whichever comes first.
#[test]
fn two_checks() {
    let header = || u16_be().with_header(1, 1);
    let magic = || Magic::new(3, &b"!"[..]);
    let rows: [Row<'_>; 3] = [
        (b"\x03\0\x02!ab", CLEAN, "[ab] close"),
        (b"\x03\0\x02!ac", OPEN, "!Malformed(\"parity\") linger"),
        (b"\x03\0\x02?ab", OPEN, "!Magic linger"),
    ];
    check(&header().with_check((Parity, magic())), &rows);
    check(&header().with_check((magic(), Parity)), &rows);
    assert_eq!(encoded(&header().with_check((Parity, magic())), b"ab"), Ok(b"\x03\0\x02!ab".to_vec()));
}

#[cfg(feature = "crc32")]
mod crc32 {
    use super::*;
    use bytewise::framing::Crc32;

    /// CRC-32 of `123456789` is cbf43926, of nothing 00000000.
    #[test]
    fn checksum() {
        let big = u16_be().with_header(4, 0).with_check(Crc32::new(0, ByteOrder::Big));
        check(
            &big,
            &[
                (b"\xcb\xf4\x39\x26\0\x09123456789\0\0\0\0\0\0", CLEAN, "[123456789] [] close"),
                (
                    b"\xcb\xf4\x39\x26\0\x09123456780",
                    OPEN,
                    "!Checksum { expected: 3421780262, computed: 2988999042 } linger",
                ),
                (b"\0\0\0\x01\0\0", OPEN, "!Checksum { expected: 1, computed: 0 } linger"),
                (b"\0\0\0\0\0\x0b", OPEN, "!TooLong { len: 11, max: 10 } linger"),
            ],
        );
        let little = u16_be().with_header(0, 4).with_check(Crc32::new(2, ByteOrder::Little));
        check(&little, &[(b"\0\x09\x26\x39\xf4\xcb123456789", CLEAN, "[123456789] close")]);
        assert_eq!(encoded(&big, b"123456789"), Ok(b"\xcb\xf4\x39\x26\0\x09123456789".to_vec()));
        assert_eq!(encoded(&little, b"123456789"), Ok(b"\0\x09\x26\x39\xf4\xcb123456789".to_vec()));
    }

    #[test]
    fn magic_and_checksum() {
        let both = u16_be()
            .with_header(1, 5)
            .keep_header()
            .with_check((Magic::new(0, &b"!"[..]), Crc32::new(4, ByteOrder::Little)));
        check(
            &both,
            &[
                (b"!\0\x01t\xb7\xef\xdc\x83A", OPEN, "!Checksum { expected: 2212294583, computed: 3554254475 } linger"),
                (b"!\0\x01t\x8b\x9e\xd9\xd3A", CLEAN, r"[!\x00\x01t\x8b\x9e\xd9\xd3A] close"),
                (b"?\0\x01t\xb7\xef\xdc\x83A", OPEN, "!Magic linger"),
            ],
        );
        assert_eq!(encoded(&both, b"???t????A"), Ok(b"!\0\x01t\x8b\x9e\xd9\xd3A".to_vec()));
    }

    /// A large owned payload is not copied for its checksum to be taken.
    #[test]
    fn large_payload() {
        let framing = LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20)
            .with_header(4, 0)
            .with_check(Crc32::new(0, ByteOrder::Big));
        let frame = vec![b'x'; 100_000];
        let wire = encoded(&framing, &frame).unwrap();
        check(&framing, &[(&wire, CLEAN, "[x*100000] close")]);
    }

    #[test]
    fn room() {
        for (at, fits) in [(0, true), (1, false), (4, false), (5, false), (6, true), (7, false), (usize::MAX, false)] {
            assert_eq!(Crc32::new(at, ByteOrder::Big).fits(10, 4..6), fits, "at {at}");
        }
    }
}
