//! Shutting down: frames that had begun are delivered and can be answered, nothing that begins later is.

use crate::common::Rng;
use bytewise::{
    Eof, Machine, NextIo, Phase, RecvBuf, SendBuf,
    framing::{ByteOrder, Delimited, Error, Frame, Framed, Framing, LengthPrefix, Lines, Misuse, Width},
};

fn u8_prefix() -> LengthPrefix {
    LengthPrefix::new(Width::U8, ByteOrder::Big, 255)
}

/// Pushes `before`, shuts down, pushes `after` in blocks of `step`, and answers each frame.
fn drain<F: Framing>(framing: F, before: &[u8], polled: bool, after: &[u8], step: usize) -> String {
    let (mut rx, mut tx, mut log) = (RecvBuf::new(), SendBuf::new(), String::new());
    let mut frames = Framed::new(framing);
    rx.push(before);
    if polled {
        frames.poll(&mut rx, &mut tx).unwrap();
    }
    frames.shut_down(&mut tx);
    frames.shut_down(&mut tx);
    assert_eq!(frames.next_io(), NextIo::Read);

    let mut blocks = after.chunks(step);
    loop {
        match frames.next_event(&mut rx, &mut tx) {
            Ok(Some(Frame::Data(frame))) => {
                log += &format!("[{}] ", frame.escape_ascii());
                frames.send(frame, &mut tx).expect("what is under way is finished");
            }
            Ok(Some(Frame::Oversize { len })) => log += &format!("oversize({len}) "),
            Ok(Some(other)) => unreachable!("{other:?}"),
            Err(error) => {
                log += &format!("!{error:?} ");
                break;
            }
            Ok(None) => match blocks.next() {
                Some(block) if frames.next_io() == NextIo::Read => rx.push(block),
                _ => break,
            },
        }
    }
    if frames.next_io() == NextIo::Linger {
        assert_eq!(frames.phase().0, Phase::Closing);
        let queued = tx.queued();
        assert!(log.contains('!') || frames.send(b"x", &mut tx) == Err(Misuse::Closed));
        assert_eq!((tx.queued(), frames.next_event(&mut rx, &mut tx).is_ok()), (queued, !log.contains('!')));
        rx.set_eof(Eof::Clean);
        assert_eq!((frames.poll(&mut rx, &mut tx).is_ok(), frames.next_io()), (!log.contains('!'), NextIo::Linger));
    }
    format!("{log}{:?}", frames.next_io()).to_lowercase()
}

/// What came before, what comes after, and what is made of it.
type Row<'a> = (&'a [u8], &'a [u8], &'a str);

#[track_caller]
fn check<F: Framing + Clone>(framing: &F, rows: &[Row<'_>]) {
    for (before, after, expected) in rows {
        for polled in [false, true] {
            for step in 1..=after.len().max(1) {
                let log = drain(framing.clone(), before, polled, after, step);
                let case = format!("{} | {}", before.escape_ascii(), after.escape_ascii());
                assert_eq!(log, *expected, "{case}, polled before: {polled}, blocks of {step}");
            }
        }
    }
}

#[test]
fn frames_with_a_prefix() {
    check(
        &u8_prefix(),
        &[
            (b"", b"", "linger"),
            (b"", b"\x01a", "linger"),
            (b"\x01a", b"\x01b", "[a] linger"),
            (b"\x01a\x02bc\0", b"\x01d", "[a] [bc] [] linger"),
            (b"\x01a\x02b", b"", "[a] read"),
            (b"\x01a\x02b", b"c", "[a] [bc] linger"),
            (b"\x01a\x02b", b"c\x01d", "[a] [bc] linger"),
            (b"\x02", b"ab\x01c", "[ab] linger"),
        ],
    );
    let limited = LengthPrefix::new(Width::U16, ByteOrder::Big, 2);
    check(
        &limited,
        &[
            (b"\0\x01a\0", b"\x03", "[a] !toolong { len: 3, max: 2 } linger"),
            (b"\0\x02a", b"b\0\x03", "[ab] linger"), //
        ],
    );
}

#[test]
fn lines() {
    check(
        &Lines::new(5),
        &[
            (b"a\nb\nc", b"d\ne\n", "[a] [b] [cd] linger"),
            (b"a\r", b"\nb\n", "[a] linger"),
            // A line that is too long had begun, whether or not its bytes are dropped already.
            (b"much too long", b"\nb\n", "oversize(13) linger"),
            (b"much too long", b", and longer\nb\n", "oversize(25) linger"),
            (b"much too long\r", b"\nb\n", "oversize(13) linger"),
            (b"a\nmuch too long", b"\nb\n", "[a] oversize(13) linger"),
            (b"m", b"uch too long\nb\n", "oversize(13) linger"),
        ],
    );
}

#[test]
fn delimited() {
    check(
        &Delimited::new(&b"abab"[..], 3),
        &[
            (b"xabab", b"yabab", "[x] linger"),
            (b"xaba", b"byabab", "[x] linger"),
            (b"too long", b"ababyabab", "oversize(8) linger"),
            (b"too longab", b"abyabab", "oversize(8) linger"),
        ],
    );
}

/// The end of input while draining.
#[test]
fn the_peer_closes_first() {
    let end = |before: &[u8]| {
        let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
        let mut frames = Framed::new(u8_prefix());
        rx.push(before);
        frames.shut_down(&mut tx);
        let mut count = 0;
        while let Ok(Some(_)) = frames.next_event(&mut rx, &mut tx) {
            count += 1;
        }
        rx.set_eof(Eof::Clean);
        (count, frames.next_event(&mut rx, &mut tx).err(), frames.next_io())
    };
    assert_eq!(end(b"\x01a"), (1, None, NextIo::Linger));
    let cut_off = Error::UnexpectedEof { seen: 1, expected: Some(3) };
    assert_eq!(end(b"\x01a\x02"), (1, Some(cut_off), NextIo::Close));
}

/// After the end of input, or an error, there is nothing to shut down.
#[test]
fn too_late() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut frames = Framed::new(u8_prefix());
    rx.set_eof(Eof::Clean);
    assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(None));
    frames.shut_down(&mut tx);
    assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(None));
    assert_eq!(frames.next_io(), NextIo::Close);
    // The peer may have closed its direction only.
    assert_eq!(frames.send(b"an answer", &mut tx), Ok(()));
}

/// Wherever the stream is when it shuts down: the frames that had begun, and no other.
#[test]
fn at_every_byte() {
    let frames: Vec<Vec<u8>> = (0..6u8).map(|n| [&[n + 1][..], &vec![b'a' + n; usize::from(n) + 1]].concat()).collect();
    let (wire, mut rng) = (frames.concat(), Rng::new(1));
    for cut in 0..=wire.len() {
        let (before, after) = wire.split_at(cut);
        let begins = frames.iter().scan(0, |at, frame| Some(std::mem::replace(at, *at + frame.len())));
        let count = begins.take_while(|begin| *begin < cut).count();
        for polled in [false, true] {
            let log = drain(u8_prefix(), before, polled, after, 1 + rng.below(9));
            assert_eq!((log.matches('[').count(), log.ends_with("linger")), (count, true), "cut at {cut}: {log}");
        }
    }
}
