//! What is sent is what a peer reads; what does not fit is refused, and what is queued stays as it was.

use crate::encoded;
use bytes::Bytes;
use bytewise::{
    Payload, SendBuf,
    framing::{ByteOrder, Counts, DatagramPrefix, FixedSize, Framed, LengthPrefix, Misuse, VarintPrefix, Width},
};
use std::num::NonZeroUsize;

const BIG: ByteOrder = ByteOrder::Big;
const LITTLE: ByteOrder = ByteOrder::Little;

/// `prefix`, then as many `x` as there are bytes in the frame.
fn wire(prefix: &[u8], len: usize) -> Result<Vec<u8>, Misuse> {
    Ok([prefix, &vec![b'x'; len]].concat())
}

#[test]
fn widths_and_orders() {
    let rows: [(Width, ByteOrder, usize, &[u8]); 12] = [
        (Width::U8, BIG, 0, &[0]),
        (Width::U8, LITTLE, 255, &[255]),
        (Width::U16, BIG, 0x102, &[1, 2]),
        (Width::U16, LITTLE, 0x102, &[2, 1]),
        (Width::U16, BIG, 0xFFFF, &[255, 255]),
        (Width::U16, LITTLE, 0xFFFF, &[255, 255]),
        (Width::U32, BIG, 0x1_0203, &[0, 1, 2, 3]),
        (Width::U32, LITTLE, 0x1_0203, &[3, 2, 1, 0]),
        (Width::U32, BIG, 1, &[0, 0, 0, 1]),
        (Width::U64, BIG, 0x102, &[0, 0, 0, 0, 0, 0, 1, 2]),
        (Width::U64, LITTLE, 0x102, &[2, 1, 0, 0, 0, 0, 0, 0]),
        (Width::U64, LITTLE, 0, &[0; 8]),
    ];
    for (width, order, len, prefix) in rows {
        let framing = LengthPrefix::new(width, order, usize::MAX);
        assert_eq!(encoded(&framing, &vec![b'x'; len]), wire(prefix, len), "{width:?} {order:?} {len}");
    }
}

#[test]
fn more_than_the_width_can_say() {
    let most = |width| LengthPrefix::new(width, BIG, usize::MAX);
    assert_eq!(encoded(&most(Width::U8), &[0; 256]), Err(Misuse::TooLong));
    assert_eq!(encoded(&most(Width::U16), &[0; 65_536]), Err(Misuse::TooLong));
    // The header counts too, where the length counts it.
    let whole = most(Width::U8).with_header(1, 2).counting(Counts::Frame);
    assert_eq!(encoded(&whole, &[b'x'; 251]), wire(&[0, 255, 0, 0], 251));
    assert_eq!(encoded(&whole, &[b'x'; 252]), Err(Misuse::TooLong));
}

#[test]
fn above_the_limit() {
    for width in [Width::U8, Width::U16, Width::U32, Width::U64] {
        for order in [BIG, LITTLE] {
            let framing = LengthPrefix::new(width, order, 3);
            assert!(encoded(&framing, b"abc").is_ok());
            assert_eq!(encoded(&framing, b"abcd"), Err(Misuse::TooLong));
            assert_eq!(encoded(&framing, &[0; 10_000]), Err(Misuse::TooLong));
        }
    }
    assert!(encoded(&VarintPrefix::new(3), b"abc").is_ok());
    assert_eq!(encoded(&VarintPrefix::new(3), b"abcd"), Err(Misuse::TooLong));
    assert!(encoded(&DatagramPrefix::new(3), b"abc").is_ok());
    assert_eq!(encoded(&DatagramPrefix::new(3), b"abcd"), Err(Misuse::TooLong));
    assert_eq!(encoded(&DatagramPrefix::new(3), &[0; 70_000]), Err(Misuse::TooLong));
    let three = FixedSize::new(NonZeroUsize::new(3).unwrap());
    assert!(encoded(&three, b"abc").is_ok());
    for wrong in [&b""[..], b"ab", b"abcd"] {
        assert_eq!(encoded(&three, wrong), Err(Misuse::Size));
    }
}

#[test]
fn limit_changed_at_run_time() {
    let (mut frames, mut tx) = (Framed::new(LengthPrefix::new(Width::U16, BIG, 3)), SendBuf::new());
    assert_eq!(frames.send(b"abcd", &mut tx), Err(Misuse::TooLong));
    frames.framing_mut().set_max_len(4);
    assert_eq!(frames.send(b"abcd", &mut tx), Ok(()));
    frames.framing_mut().set_max_len(0);
    assert_eq!(frames.send(b"a", &mut tx), Err(Misuse::TooLong));
    assert_eq!(frames.send(b"", &mut tx), Ok(()));
    // What the width cannot say stays refused, whatever the limit.
    frames.framing_mut().set_max_len(usize::MAX);
    assert_eq!(frames.send(vec![0; 65_536], &mut tx), Err(Misuse::TooLong));
    assert_eq!(tx.pending(), b"\0\x04abcd\0\0");
}

/// The length takes the place of whatever stands there; the rest of a kept header is the application's.
#[test]
fn headers() {
    let stripped = LengthPrefix::new(Width::U16, BIG, 9).with_header(2, 1);
    for (counts, len) in [(Counts::Payload, 2), (Counts::AfterLength, 3), (Counts::FromLength, 5), (Counts::Frame, 7)] {
        assert_eq!(encoded(&stripped.clone().counting(counts), b"hi"), Ok([b"\0\0\0", &[len][..], b"\0hi"].concat()));
        let kept = stripped.clone().counting(counts).keep_header();
        assert_eq!(encoded(&kept, b"AB??Chi"), Ok([b"AB\0", &[len][..], b"Chi"].concat()));
        assert_eq!(encoded(&kept, b"AB??"), Err(Misuse::Size));
        assert_eq!(encoded(&kept, b""), Err(Misuse::Size));
        // The limit stays that of the payload.
        assert!(encoded(&kept, b"AB??C123456789").is_ok());
        assert_eq!(encoded(&kept, b"AB??C1234567890"), Err(Misuse::TooLong));
    }
    let only_the_length = LengthPrefix::new(Width::U32, BIG, 9).counting(Counts::Frame).keep_header();
    assert_eq!(encoded(&only_the_length, b"????hi"), Ok(b"\0\0\0\x06hi".to_vec()));
}

#[test]
fn varint() {
    let rows: [(usize, &[u8]); 7] = [
        (0, &[0]),
        (1, &[1]),
        (127, &[0x7F]),
        (128, &[0x80, 1]),
        (300, &[0xAC, 2]),
        (16_383, &[0xFF, 0x7F]),
        (16_384, &[0x80, 0x80, 1]),
    ];
    for (len, prefix) in rows {
        assert_eq!(encoded(&VarintPrefix::new(usize::MAX), &vec![b'x'; len]), wire(prefix, len));
    }
}

#[test]
fn datagram() {
    let rows: [(usize, &[u8]); 7] = [
        (0, &[0]),
        (253, &[253]),
        (254, &[254, 254, 0]),
        (255, &[254, 255, 0]),
        (1500, &[254, 0xDC, 5]),
        (65_535, &[254, 255, 255]),
        (65_536, &[255, 0, 0, 1, 0, 0, 0, 0, 0]),
    ];
    for (len, prefix) in rows {
        assert_eq!(encoded(&DatagramPrefix::new(usize::MAX), &vec![b'x'; len]), wire(prefix, len));
    }
}

/// A payload comes as whatever holds bytes.
#[test]
fn payloads() {
    let (mut frames, mut tx) = (Framed::new(VarintPrefix::new(9)), SendBuf::new());
    let (text, vec) = (String::from("f"), vec![b'd']);
    frames.send("a", &mut tx).unwrap();
    frames.send(b"b", &mut tx).unwrap();
    frames.send(&b"c"[..], &mut tx).unwrap();
    frames.send(&vec, &mut tx).unwrap();
    frames.send(&mut [b'e'][..], &mut tx).unwrap();
    frames.send(&text, &mut tx).unwrap();
    frames.send(text.replace('f', "g"), &mut tx).unwrap();
    frames.send(vec![b'h'], &mut tx).unwrap();
    frames.send(Bytes::from_static(b"i"), &mut tx).unwrap();
    frames.send(Payload::from("j"), &mut tx).unwrap();
    assert_eq!(tx.pending(), b"\x01a\x01b\x01c\x01d\x01e\x01f\x01g\x01h\x01i\x01j");
    for (payload, text) in [(Payload::from("a"), true), (b"a".into(), false), (String::from("a").into(), true)] {
        assert_eq!((payload.is_text(), payload.len(), payload.is_empty()), (text, 1, false));
        assert_eq!(payload.clone().into_bytes(), payload.as_bytes());
    }
    assert!(!Payload::from(Bytes::from_static(b"a")).is_text() && Payload::from("").is_empty());
}
