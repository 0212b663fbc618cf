//! Whatever is sent comes out again, by any framing, in any blocks.

use bytes::Bytes;
use bytewise::{
    Eof, Machine, NextIo, RecvBuf, SendBuf,
    framing::{
        ByteOrder, Counts, DatagramPrefix, Delimited, FixedSize, Frame, Framed, Framing, LengthPrefix, Lines, Magic,
        Misuse, VarintPrefix, Width,
    },
};
use proptest::{collection::vec, prelude::*, sample::select};
use std::num::NonZeroUsize;

/// Sends all frames, copied and not, and reads them back in blocks of those sizes: the frames that were not refused.
fn there_and_back<F: Framing + Clone>(framing: &F, frames: &[Vec<u8>], blocks: &[usize]) -> Result<(), TestCaseError> {
    let (mut sender, mut tx) = (Framed::new(framing.clone()), SendBuf::new());
    let mut sent = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let queued = tx.queued();
        let result = match at % 2 {
            0 => sender.send(frame, &mut tx),
            _ => sender.send(Bytes::copy_from_slice(frame), &mut tx),
        };
        match result {
            Ok(()) => sent.push(frame.clone()),
            Err(Misuse::Delimiter) => prop_assert_eq!(tx.queued(), queued),
            Err(misuse) => return Err(TestCaseError::fail(misuse.to_string())),
        }
    }

    let wire: Vec<u8> = tx.chunks().flatten().copied().collect();
    let (mut receiver, mut rx) = (Framed::new(framing.clone()), RecvBuf::new());
    let (mut received, mut rest, mut sizes) = (Vec::new(), &wire[..], blocks.iter().cycle());
    loop {
        while let Some(frame) = receiver.next_event(&mut rx, &mut tx)? {
            let Frame::Data(frame) = frame else { return Err(TestCaseError::fail("a frame that was not sent")) };
            received.push(frame.to_vec());
        }
        if receiver.next_io() != NextIo::Read {
            break;
        }
        let space = rx.space();
        match rest.len().min(space.len()).min(*sizes.next().unwrap()) {
            0 => rx.set_eof(Eof::Clean),
            n => {
                space[..n].copy_from_slice(&rest[..n]);
                rx.filled(n);
                rest = &rest[n..];
            }
        }
    }
    prop_assert_eq!(received, sent);
    prop_assert_eq!(receiver.next_io(), NextIo::Close);
    Ok(())
}

/// Short frames, for the most part, and some above the size from which owned ones are not copied.
fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let len = prop_oneof![8 => 0usize..40, 2 => 250usize..260, 1 => 4000usize..10_000, 1 => 65_530usize..65_540];
    let payload = (len, any::<u8>())
        .prop_map(|(len, seed)| (0..len).map(|at| (at as u8).wrapping_mul(31).wrapping_add(seed)).collect());
    vec(payload, 0..8)
}

/// Of few letters, so that there is a lot to confuse.
fn words(max_len: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    vec(vec(select(&b"ab\r\n"[..]), 0..max_len), 0..12)
}

fn blocks() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![Just(vec![usize::MAX]), Just(vec![1, 4096]), vec(1usize..5000, 1..8)]
}

fn order() -> impl Strategy<Value = ByteOrder> {
    select(&[ByteOrder::Big, ByteOrder::Little][..])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn length_prefix(
        frames in payloads(),
        blocks in blocks(),
        width in select(&[Width::U32, Width::U64][..]),
        order in order(),
        (before, after) in (0usize..9, 0usize..9),
        counts in select(&[Counts::Payload, Counts::AfterLength, Counts::FromLength, Counts::Frame][..]),
    ) {
        let framing = LengthPrefix::new(width, order, 1 << 17).with_header(before, after).counting(counts);
        let magic = Magic::new(before + width as usize, vec![7; after]);
        there_and_back(&framing, &frames, &blocks)?;
        there_and_back(&framing.with_check(magic), &frames, &blocks)?;
    }

    #[test]
    fn narrow_length_prefix(frames in words(255), blocks in blocks(), order in order()) {
        there_and_back(&LengthPrefix::new(Width::U8, order, 255), &frames, &blocks)?;
        there_and_back(&LengthPrefix::new(Width::U16, order, 255), &frames, &blocks)?;
    }

    /// A header that is kept comes back with its length filled in.
    #[test]
    fn kept_header(mut frames in payloads(), blocks in blocks(), order in order(), before in 0usize..5) {
        for frame in &mut frames {
            let mut header = vec![b'h'; before + 4];
            let len = frame.len() as u32;
            header[before..].copy_from_slice(&match order {
                ByteOrder::Big => len.to_be_bytes(),
                ByteOrder::Little => len.to_le_bytes(),
            });
            frame.splice(..0, header);
        }
        let framing = LengthPrefix::new(Width::U32, order, 1 << 17).with_header(before, 0).keep_header();
        there_and_back(&framing, &frames, &blocks)?;
    }

    #[test]
    fn varint_prefix(frames in payloads(), blocks in blocks()) {
        there_and_back(&VarintPrefix::new(1 << 17), &frames, &blocks)?;
    }

    #[test]
    fn datagram_prefix(frames in payloads(), blocks in blocks()) {
        there_and_back(&DatagramPrefix::new(1 << 17), &frames, &blocks)?;
    }

    #[test]
    fn fixed_size(mut frames in payloads(), blocks in blocks(), size in 1usize..9000) {
        frames.iter_mut().for_each(|frame| frame.resize(size, 7));
        there_and_back(&FixedSize::new(NonZeroUsize::new(size).unwrap()), &frames, &blocks)?;
    }

    /// A frame is refused if it would not come back, and only then.
    #[test]
    fn delimited(frames in words(12), blocks in blocks(), delimiter in vec(select(&b"ab"[..]), 1..6)) {
        let framing = Delimited::new(delimiter.clone(), 64);
        there_and_back(&framing, &frames, &blocks)?;
        for frame in &frames {
            let wire = [&frame[..], &delimiter].concat();
            let ends = wire.windows(delimiter.len()).position(|window| window == delimiter) == Some(frame.len());
            let sent = Framed::new(framing.clone()).send(frame, &mut SendBuf::new());
            prop_assert_eq!(sent, if ends { Ok(()) } else { Err(Misuse::Delimiter) });
        }
        let kept: Vec<_> = frames.iter().map(|frame| [&frame[..], &delimiter].concat()).collect();
        there_and_back(&framing.keep_delimiter(), &kept, &blocks)?;
    }

    #[test]
    fn large_delimited(frames in payloads(), blocks in blocks()) {
        there_and_back(&Delimited::new(&b"\x01\x01\x02"[..], 1 << 17), &frames, &blocks)?;
    }

    #[test]
    fn lines(frames in words(12), blocks in blocks()) {
        there_and_back(&Lines::new(64), &frames, &blocks)?;
        there_and_back(&Lines::new(64).with_crlf(), &frames, &blocks)?;
    }
}
