//! In steady state nothing is allocated, and nothing is copied that need not be. Counted per thread.

use allocation_counter::measure;
use bytes::Bytes;
use bytewise::{
    Machine, RecvBuf, SendBuf,
    framing::{
        ByteOrder, Counts, DatagramPrefix, Delimited, FixedSize, Frame, Framed, Framing, LengthPrefix, Lines, Magic,
        VarintPrefix, Width,
    },
};
use std::num::NonZeroUsize;

/// How bytes come.
#[derive(Debug, Clone, Copy)]
enum Feed {
    Push,
    Space,
    Lend,
}

/// Echoes `wire` again and again in blocks of `block` bytes until `rounds` frames have come back; then `tx` is consumed.
fn echo<F: Framing>(
    (frames, rx, tx): (&mut Framed<F>, &mut RecvBuf, &mut SendBuf),
    wire: &[u8],
    (feed, block): (Feed, usize),
    rounds: usize,
) {
    let mut count = 0;
    while count < rounds {
        let (mut left, mut due) = (wire, wire);
        while !left.is_empty() {
            let mut n = block.min(left.len());
            match feed {
                Feed::Push => rx.push(&left[..n]),
                Feed::Space => {
                    let space = rx.space();
                    n = n.min(space.len());
                    space[..n].copy_from_slice(&left[..n]);
                    rx.filled(n);
                }
                Feed::Lend => {
                    let mut storage = rx.lend();
                    n = n.min(storage.len());
                    storage[..n].copy_from_slice(&left[..n]);
                    rx.restore(storage, n);
                }
            }
            left = &left[n..];
            loop {
                let storage = rx.unread().as_ptr_range();
                let Some(frame) = frames.next_event(rx, tx).unwrap() else { break };
                let Frame::Data(frame) = frame else { panic!("{frame:?}") };
                let range = frame.as_ptr_range();
                assert!(storage.start <= range.start && range.end <= storage.end, "a frame that is a copy");
                frames.send(frame, tx).unwrap();
                count += 1;
            }
            let (echoed, rest) = due.split_at(tx.queued());
            assert_eq!(tx.pending(), echoed);
            tx.consume(echoed.len());
            due = rest;
        }
    }
}

fn check<F: Framing + Clone>(name: &str, framing: &F, payloads: &[&[u8]]) {
    let mut tx = SendBuf::new();
    for payload in payloads {
        framing.encode((*payload).into(), &mut tx).unwrap();
    }
    let wire = tx.pending().to_vec();
    for feed in [Feed::Push, Feed::Space, Feed::Lend] {
        for block in [64 * 1024, 64, 1] {
            if matches!(feed, Feed::Lend) && block < wire.len() {
                continue; // What is lent while something is unread is new memory, as documented.
            }
            let (mut frames, mut rx, mut tx) = (Framed::new(framing.clone()), RecvBuf::new(), SendBuf::new());
            echo((&mut frames, &mut rx, &mut tx), &wire, (feed, block), 100);
            let info = measure(|| echo((&mut frames, &mut rx, &mut tx), &wire, (feed, block), 10_000));
            assert_eq!(info.count_total, 0, "{name}, {feed:?}, blocks of {block}");
        }
    }
}

#[test]
fn echo_allocates_nothing() {
    let (small, medium) = ([b'x'; 7], [b'y'; 200]);
    let payloads: &[&[u8]] = &[&small, b"", &medium, &small];
    let prefix = |width| LengthPrefix::new(width, ByteOrder::Big, 1000);
    check("u8", &prefix(Width::U8), payloads);
    check("u32", &prefix(Width::U32), payloads);
    check("header", &prefix(Width::U16).with_header(2, 3).counting(Counts::Frame), payloads);
    check("magic", &prefix(Width::U32).with_header(2, 0).with_check(Magic::new(0, &b"BW"[..])), payloads);
    #[cfg(feature = "crc32")]
    check(
        "crc",
        &prefix(Width::U32).with_header(4, 0).with_check(bytewise::framing::Crc32::new(0, ByteOrder::Big)),
        payloads,
    );
    check("varint", &VarintPrefix::new(1000), payloads);
    check("datagram", &DatagramPrefix::new(1000), payloads);
    check("lines", &Lines::new(1000), payloads);
    check("crlf", &Lines::new(1000).with_crlf(), payloads);
    check("delimited", &Delimited::new(&b"\r\n.\r\n"[..], 1000), payloads);
    check("fixed", &FixedSize::new(NonZeroUsize::new(7).unwrap()), &[&small]);
}

#[test]
fn large_frames_allocate_nothing() {
    let payload = vec![b'x'; 20_000];
    let framing = LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20);
    let wire = [&20_000u32.to_be_bytes()[..], &payload].concat();
    for feed in [Feed::Push, Feed::Space] {
        for block in [64 * 1024, 3000, 64] {
            let (mut frames, mut rx, mut tx) = (Framed::new(framing.clone()), RecvBuf::new(), SendBuf::new());
            echo((&mut frames, &mut rx, &mut tx), &wire, (feed, block), 20);
            let info = measure(|| echo((&mut frames, &mut rx, &mut tx), &wire, (feed, block), 200));
            assert_eq!(info.count_total, 0, "{feed:?}, blocks of {block}");
        }
    }
}

/// What is dropped of frames that are too long takes no memory, nor do errors and refusals.
#[test]
fn what_goes_wrong_allocates_nothing() {
    let (mut lines, mut rx, mut tx) = (Framed::new(Lines::new(10)), RecvBuf::new(), SendBuf::new());
    let too_long = [&[b'x'; 3000][..], b"\n"].concat();
    rx.push(&too_long);
    assert_eq!(lines.next_event(&mut rx, &mut tx), Ok(Some(Frame::Oversize { len: 3000 })));
    let info = measure(|| {
        for _ in 0..1000 {
            for block in too_long.chunks(700) {
                rx.push(block);
                while lines.next_event(&mut rx, &mut tx).unwrap().is_some() {}
            }
            assert!(lines.send(&too_long, &mut tx).is_err());
        }
    });
    assert_eq!(info.count_total, 0);

    let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 10));
    rx.push(b"\xff\xff\xff\xff");
    let info =
        measure(|| assert!(frames.poll(&mut rx, &mut tx).is_err() && frames.next_event(&mut rx, &mut tx).is_err()));
    assert_eq!(info.count_total, 0);
}

/// An owned payload goes out from where it lies.
#[test]
fn large_owned_payloads_are_not_copied() {
    let payload = Bytes::from(vec![b'x'; 100_000]);
    let mut tx = SendBuf::new();
    let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20));
    let mut round = |tx: &mut SendBuf| {
        frames.send(payload.clone(), tx).unwrap();
        assert_eq!(tx.pending(), 100_000u32.to_be_bytes());
        tx.consume(4);
        assert_eq!((tx.pending().as_ptr(), tx.pending().len()), (payload.as_ptr(), payload.len()));
        tx.consume(100_000);
    };
    round(&mut tx);
    let info = measure(|| (0..1000).for_each(|_| round(&mut tx)));
    assert_eq!((info.count_total, tx.capacity()), (0, 4096));
}

/// Connections that have not received or sent anything hold no memory.
#[test]
fn a_connection_that_is_idle_holds_nothing() {
    let info = measure(|| {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20));
        assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
        assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(None));
    });
    assert_eq!(info.count_total, 0);
}

/// Storage from a pool goes in for a read and comes back when nothing is left.
#[test]
fn pooled_storage() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut frames = Framed::new(LengthPrefix::new(Width::U8, ByteOrder::Big, 255));
    let mut pool = Some(vec![0; 65_536]);
    let info = measure(|| {
        for _ in 0..10_000 {
            rx.restore(pool.take().unwrap(), 0);
            let space = rx.space();
            space[..3].copy_from_slice(b"\x02hi");
            rx.filled(3);
            assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut [b'h', b'i']))));
            assert!(rx.is_idle());
            pool = Some(rx.lend());
            assert_eq!((rx.capacity(), pool.as_ref().unwrap().len()), (0, 65_536));
        }
    });
    assert_eq!(info.count_total, 0);
}
