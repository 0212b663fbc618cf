//! The input picks a framing, its limits and options, the blocks, and what the peer sends. Held:
//!
//! * cut and whole agree: events, error, what `next_io` says, what is unread, before and after a shutdown;
//! * no panic, and receive memory within a few times the limit;
//! * what can be sent comes out again, and what is refused leaves nothing behind.
#![no_main]

use arbitrary::Arbitrary;
use bytes::Bytes;
use bytewise::{
    Eof, Machine, RecvBuf, SendBuf,
    framing::{
        ByteOrder, Counts, Crc32, DatagramPrefix, Delimited, FixedSize, Frame, Framed, Framing, LengthPrefix, Lines,
        Magic, ProxyHeader, Unterminated, VarintPrefix, Width,
    },
};
use bytewise_fuzz::{Feed, Plan};
use libfuzzer_sys::fuzz_target;
use std::num::NonZeroUsize;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    case: Case,
    wire: &'a [u8],
}

#[derive(Debug, Arbitrary)]
struct Case {
    kind: Kind,
    max_len: u16,
    end: End,
    blocks: [u8; 4],
    feed: u8,
    /// First allocation, read-ahead and, above the first allocation, bound of the receive buffer.
    limits: (u8, u8, u16),
    shut_down: Option<u16>,
}

#[derive(Debug, Arbitrary)]
enum Kind {
    Length { width: u8, order: Order, before: u8, after: u8, counts: u8, keep_header: bool, checks: u8 },
    Varint { long_forms: bool },
    Datagram { long_forms: bool },
    Delimited { delimiter: [u8; 5], keep: bool, unterminated: Last },
    Lines { crlf: bool, unterminated: Last },
    Fixed,
    Proxy,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Order {
    Big,
    Little,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Last {
    Deliver,
    Refuse,
}

#[derive(Debug, Clone, Copy, Arbitrary)]
enum End {
    Open,
    Clean,
    Truncated,
}

impl From<Last> for Unterminated {
    fn from(last: Last) -> Self {
        match last {
            Last::Deliver => Self::Deliver,
            Last::Refuse => Self::Refuse,
        }
    }
}

impl From<Order> for ByteOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Big => Self::Big,
            Order::Little => Self::Little,
        }
    }
}

fuzz_target!(|input: Input<'_>| {
    let Input { case, wire } = input;
    let max_len = usize::from(case.max_len);
    match case.kind {
        Kind::Length { width, order, before, after, counts, keep_header, checks } => {
            let width = [Width::U8, Width::U16, Width::U32, Width::U64][usize::from(width % 4)];
            let counts =
                [Counts::Payload, Counts::AfterLength, Counts::FromLength, Counts::Frame][usize::from(counts % 4)];
            let (before, after) = (usize::from(before % 9), usize::from(after % 9));
            let mut framing =
                LengthPrefix::new(width, order.into(), max_len).with_header(before, after).counting(counts);
            if keep_header {
                framing = framing.keep_header();
            }
            // Before the length, or behind it.
            let room = if before >= 6 { Some(0) } else { (after >= 6).then(|| before + width as usize) };
            let magic = |at| Magic::new(at, &b"BW"[..]);
            match (checks % 4, room) {
                (1, Some(at)) => hold(&case, &framing.with_check(magic(at)), wire, true),
                (2, Some(at)) => hold(&case, &framing.with_check(Crc32::new(at, order.into())), wire, true),
                (3, Some(at)) => {
                    hold(&case, &framing.with_check((magic(at + 4), Crc32::new(at, order.into()))), wire, true)
                }
                _ => hold(&case, &framing, wire, true),
            }
        }
        Kind::Varint { long_forms: false } => hold(&case, &VarintPrefix::new(max_len), wire, true),
        Kind::Varint { .. } => hold(&case, &VarintPrefix::new(max_len).allow_long_forms(), wire, true),
        Kind::Datagram { long_forms: false } => hold(&case, &DatagramPrefix::new(max_len), wire, true),
        Kind::Datagram { .. } => hold(&case, &DatagramPrefix::new(max_len).allow_long_forms(), wire, true),
        Kind::Delimited { delimiter, keep, unterminated } => {
            // One to four bytes, mostly of few letters: those overlap themselves.
            let letters = delimiter.map(|byte| if byte < 192 { b"ab\r\n"[usize::from(byte % 4)] } else { byte });
            let delimiter = letters[..1 + usize::from(delimiter[4] % 4)].to_vec();
            let framing = Delimited::new(delimiter, max_len).with_unterminated(unterminated.into());
            hold(&case, &if keep { framing.keep_delimiter() } else { framing }, wire, false);
        }
        Kind::Lines { crlf, unterminated } => {
            let framing = Lines::new(max_len).with_unterminated(unterminated.into());
            hold(&case, &if crlf { framing.with_crlf() } else { framing }, wire, false);
        }
        Kind::Fixed => {
            hold(&case, &FixedSize::new(NonZeroUsize::new(max_len).unwrap_or(NonZeroUsize::MIN)), wire, true)
        }
        Kind::Proxy => proxy(wire),
    }
});

/// `resends` says whether every frame that comes can go out again: not so where a delimiter could be a part of it.
fn hold<F: Framing + Clone>(case: &Case, framing: &F, wire: &[u8], resends: bool) {
    let on = |frame: Frame<'_>, _: &mut Framed<F>, _: &mut SendBuf, log: &mut Vec<u8>| match frame {
        Frame::Data(frame) => {
            log.extend((frame.len() as u32).to_be_bytes());
            log.extend(&*frame);
        }
        Frame::Oversize { len } => {
            assert!(len > u64::from(case.max_len), "not too long at all");
            log.extend(b"oversize");
            log.extend(len.to_be_bytes());
        }
        _ => unreachable!(),
    };
    let eof = match case.end {
        End::Open => None,
        End::Clean => Some(Eof::Clean),
        End::Truncated => Some(Eof::Truncated),
    };
    let blocks = case.blocks.map(usize::from).to_vec();
    let shut_down = case.shut_down.map(|at| usize::from(at) % (wire.len() + 1));
    let (initial, read_ahead) = (usize::from(case.limits.0) + 1, usize::from(case.limits.1) + 1);
    let feed = [Feed::Push, Feed::Space, Feed::Lend][usize::from(case.feed % 3)];
    let poll = case.feed >= 128;

    let unbounded = (initial, read_ahead, usize::MAX);
    let whole = Plan { blocks: Vec::new(), eof, shut_down, limits: unbounded, feed: Feed::Push, poll: !poll };
    let cut = Plan { blocks: blocks.clone(), feed, poll, ..whole.clone() };
    let bytes = Plan { blocks: vec![1], feed: Feed::Space, ..cut.clone() };
    let expected = whole.drive(&mut Framed::new(framing.clone()), wire, |mut frame, frames, tx, log| {
        if let Frame::Data(frame) = &mut frame {
            round_trip(framing, frame, resends);
        }
        on(frame, frames, tx, log);
    });
    for plan in [cut, bytes] {
        let outcome = plan.drive(&mut Framed::new(framing.clone()), wire, on);
        expected.assert_agrees(&outcome, &plan);
        // A frame, its prefix or delimiter, and what is read beyond it.
        let held = usize::from(case.max_len) + 64 + read_ahead.max(255);
        assert!(outcome.capacity <= 4 * held.max(initial), "{} bytes for {held}, {plan:?}", outcome.capacity);
    }

    // With a bound, by reads, which alone heed it.
    let limits = (initial, read_ahead, initial + usize::from(case.limits.2));
    let whole = Plan { feed: Feed::Space, limits, ..whole };
    let cut = Plan { blocks, ..whole.clone() };
    let expected = whole.drive(&mut Framed::new(framing.clone()), wire, on);
    let outcome = cut.drive(&mut Framed::new(framing.clone()), wire, on);
    expected.assert_agrees(&outcome, &cut);
    assert!(outcome.capacity.max(expected.capacity) <= 2 * limits.2, "{} bytes for {limits:?}", outcome.capacity);

    // Anything may be sent.
    let (first, second) = wire.split_at(wire.len() / 2);
    for frame in [wire, first, second] {
        round_trip(framing, frame, false);
    }
}

/// What can be sent comes out again, and alone; what is refused leaves nothing behind.
fn round_trip<F: Framing + Clone>(framing: &F, frame: &[u8], must: bool) {
    let mut rx = RecvBuf::with_limits(64, 64, usize::MAX);
    let (mut tx, mut frames) = (SendBuf::new(), Framed::new(framing.clone()));
    tx.put("before");
    if let Err(misuse) = frames.send(Bytes::copy_from_slice(frame), &mut tx) {
        assert!(!must, "a frame that came in cannot go out: {misuse}");
        assert_eq!(tx.chunks().flatten().copied().collect::<Vec<_>>(), b"before");
        return;
    }
    tx.consume(6);
    tx.chunks().for_each(|chunk| rx.push(chunk));
    rx.set_eof(Eof::Clean);
    let received = match frames.next_event(&mut rx, &mut tx) {
        Ok(Some(Frame::Data(received))) => received.to_vec(),
        other => panic!("{other:?} instead of a frame"),
    };
    if must {
        assert_eq!(received, frame);
    } else if received != frame {
        // A header is kept, and its length was written over.
        assert_eq!(received.len(), frame.len());
        let (mut again, mut other) = (SendBuf::new(), SendBuf::new());
        frames.send(&received, &mut again).unwrap();
        frames.send(frame, &mut other).unwrap();
        assert_eq!(again.pending(), other.pending());
    }
    assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(None));
    assert!(rx.unread().is_empty());
}

/// A header is a header with its last byte, and what is decoded can be sent.
fn proxy(wire: &[u8]) {
    let whole = ProxyHeader::decode(wire);
    let mut begun = true;
    for cut in 0..wire.len().min(300) {
        match ProxyHeader::decode(&wire[..cut]) {
            Ok(None) => assert!(begun, "cut off again after a verdict"),
            verdict => {
                begun = false;
                assert_eq!(verdict, whole);
            }
        }
    }
    let Ok(Some((header, len))) = whole else { return };
    assert_eq!(ProxyHeader::decode(&wire[..len]), whole);
    assert_eq!(ProxyHeader::decode(&wire[..len - 1]), Ok(None));
    let mut tx = SendBuf::new();
    header.encode_v1(&mut tx).unwrap();
    let (again, _) = ProxyHeader::decode(tx.pending()).unwrap().unwrap();
    assert_eq!(again.addresses, header.addresses);
    let mut tx = SendBuf::new();
    header.encode_v2(&mut tx).unwrap();
    let (again, _) = ProxyHeader::decode(tx.pending()).unwrap().unwrap();
    assert_eq!(again.addresses, header.addresses);
    assert!(header.addresses.is_none() || again.extensions == header.extensions);
}
