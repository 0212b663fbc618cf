//! A framing as a machine: echo, switching, phases, the bound of the receive buffer, the work it does.

use crate::{
    any_split,
    common::{CLEAN, Input, OPEN, Rng},
};
use bytewise::{
    Eof, Machine, NextIo, Payload, RecvBuf, SendBuf,
    framing::{
        ByteOrder, DatagramPrefix, Delimited, Error, FixedSize, Frame, Framed, Framing, LengthPrefix, Lines, Located,
        Misuse, VarintPrefix, Width,
    },
};
use std::{cell::Cell, num::NonZeroUsize, rc::Rc};

fn u8_prefix() -> LengthPrefix {
    LengthPrefix::new(Width::U8, ByteOrder::Big, 255)
}

/// A frame can be changed in place, and sent while it still borrows the receive buffer.
#[test]
fn echo() {
    let log = Input::new(b"one\r\ntwo\n\ntoo long\nthree").ending(CLEAN).any_split(
        || Framed::new(Lines::new(5).with_crlf()),
        |frame, lines, tx, log| match frame {
            Frame::Data(line) => {
                line.make_ascii_uppercase();
                lines.send(&*line, tx).unwrap();
                log.bytes(line);
            }
            _ => lines.send("what?", tx).unwrap(),
        },
    );
    assert_eq!(log, r"[ONE] [TWO] [] [THREE] sent ONE\r\nTWO\r\n\r\nwhat?\r\nTHREE\r\n close");
}

/// After a handshake in lines the frames have a prefix, and those that came with it are not lost.
#[test]
fn switching_keeps_what_is_unread() {
    let input = b"HELLO\r\n\x02hi\0\0\0\x03all";
    for cut in 0..=input.len() {
        for polled in [false, true] {
            let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
            let mut lines = Framed::new(Lines::new(80));
            let (a, b) = input.split_at(cut);
            rx.push(a);
            if lines.next_event(&mut rx, &mut tx).unwrap().is_none() {
                rx.push(b);
                assert_eq!(lines.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"HELLO".to_owned()))));
            } else {
                rx.push(b);
            }
            if polled {
                // It has not found a line, and looked through all there is.
                assert_eq!(lines.poll(&mut rx, &mut tx), Ok(false));
            }
            let mut narrow = lines.switch(u8_prefix());
            if polled {
                assert_eq!(narrow.poll(&mut rx, &mut tx), Ok(true));
            }
            assert_eq!(narrow.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"hi".to_owned()))));
            let mut wide = narrow.switch(LengthPrefix::new(Width::U32, ByteOrder::Big, 9));
            assert_eq!(wide.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"all".to_owned()))));
            assert_eq!(rx.unread(), b"");
        }
    }
}

/// A frame that was found and not taken is still unread, and belongs to the next framing.
#[test]
fn switching_before_a_frame_is_taken() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut lines = Framed::new(Lines::new(80));
    rx.push(b"ab\ncd");
    assert_eq!(lines.poll(&mut rx, &mut tx), Ok(true));
    let mut pairs = lines.switch(FixedSize::new(NonZeroUsize::new(2).unwrap()));
    assert_eq!(pairs.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"ab".to_owned()))));
    assert_eq!(pairs.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"\nc".to_owned()))));
}

/// A wait for a long frame is forgotten with the framing, or the limit, that it was for.
#[test]
fn a_wait_is_forgotten() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut frames = Framed::new(LengthPrefix::new(Width::U16, ByteOrder::Big, 9999));
    rx.push(b"\x01\0ab");
    assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
    frames.framing_mut().set_max_len(255);
    assert_eq!(frames.poll(&mut rx, &mut tx), Err(Error::TooLong { len: 256, max: 255 }));
    assert_eq!(frames.next_io(), NextIo::Linger);

    let mut frames = Framed::new(LengthPrefix::new(Width::U16, ByteOrder::Big, 9999));
    assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
    let mut bytes = frames.switch(FixedSize::new(NonZeroUsize::MIN));
    assert_eq!(bytes.poll(&mut rx, &mut tx), Ok(true));
}

/// What `poll` found stays found, though a limit changes.
#[test]
fn a_frame_found_stays_found() {
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut frames = Framed::new(u8_prefix());
    rx.push(b"\x02ab\x01c");
    assert_eq!(frames.poll(&mut rx, &mut tx), Ok(true));
    frames.framing_mut().set_max_len(0);
    assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(Some(Frame::Data(&mut b"ab".to_owned()))));
    assert_eq!(frames.next_event(&mut rx, &mut tx), Err(Error::TooLong { len: 1, max: 0 }));
}

/// What the connection waits for after each block, and for the how-manieth time.
#[test]
fn phases() {
    let phases = |framing: Lines, blocks: &[&[u8]]| {
        let (mut rx, mut tx, mut frames) = (RecvBuf::new(), SendBuf::new(), Framed::new(framing));
        let mut log = format!("{:?}", frames.phase());
        for block in blocks {
            rx.push(block);
            while let Ok(Some(_)) = frames.next_event(&mut rx, &mut tx) {}
            log += &format!(" {:?}", frames.phase());
        }
        rx.set_eof(Eof::Truncated);
        while let Ok(Some(_)) = frames.next_event(&mut rx, &mut tx) {}
        format!("{log} {:?}", frames.phase())
    };
    let rows: [(&[&[u8]], &str); 5] = [
        (&[], "(Idle, 0) (Closing, 0)"),
        (&[b"a", b"b", b"\n"], "(Idle, 0) (Body, 0) (Body, 0) (Idle, 1) (Closing, 1)"),
        (&[b"a\nb\n", b"c\nd"], "(Idle, 0) (Idle, 2) (Body, 3) (Closing, 3)"),
        (&[b"a\n", b"b\n"], "(Idle, 0) (Idle, 1) (Idle, 2) (Closing, 2)"),
        // A line that is too long is under way though nothing of it is kept: else trickling one would never time out.
        (
            &[b"much too long", b" still", b"\r", b"\nb", b"\n"],
            "(Idle, 0) (Body, 0) (Body, 0) (Body, 0) (Body, 1) (Idle, 2) (Closing, 2)",
        ),
    ];
    for (blocks, expected) in rows {
        assert_eq!(phases(Lines::new(5), blocks), expected);
    }
}

/// A frame that cannot fit the receive buffer fails as soon as that is known, and is not mistaken for the end.
#[test]
fn bound_of_the_receive_buffer() {
    let rows: [(&[u8], usize, &str); 4] = [
        (b"\x05hello\x05world", 6, "[hello] [world] read"),
        (b"\x05hello\x06", 6, "[hello] !BufferFull { max: 6 } linger"),
        (b"\xff", 6, "!BufferFull { max: 6 } linger"),
        (b"\0\0\0\0\0\0\0", 1, "[] [] [] [] [] [] [] read"),
    ];
    for (input, max, expected) in rows {
        for read_ahead in [1, 3, 4096] {
            let input = Input::new(input).through(1, read_ahead, max);
            assert_eq!(any_split(&u8_prefix(), input), expected);
        }
    }
    let rows: [(&[u8], &str); 3] = [
        (b"12345\n1234\r\n123456", "[12345] [1234] !BufferFull { max: 6 } linger"),
        (b"123456\n", "!BufferFull { max: 6 } linger"),
        (b"12345\r\n", "!BufferFull { max: 6 } linger"),
    ];
    for (input, expected) in rows {
        assert_eq!(any_split(&Lines::new(80), Input::new(input).through(1, 4096, 6)), expected);
    }
    // Below the bound a line that is too long needs no room.
    let input = Input::new(b"12345678901234567890\nhi\n").through(1, 4096, 6);
    assert_eq!(any_split(&Lines::new(4), input), "oversize(20) [hi] read");
}

/// The error is the same however many bytes were there when it was found.
#[test]
fn bound_of_the_receive_buffer_and_a_long_delimiter() {
    let framing = Delimited::new(&b"\r\n.\r\n"[..], 80);
    let log = any_split(&framing, Input::new(b"ab\r\n.\r\n01234567890123456789").through(1, 4096, 10));
    assert_eq!(log, "[ab] !BufferFull { max: 10 } linger");
}

/// More can be pushed than the bound allows; the limit that is told of is the bound all the same.
#[test]
fn the_limit_told_of_is_the_bound() {
    let (mut rx, mut tx) = (RecvBuf::with_limits(1, 4096, 6), SendBuf::new());
    rx.push(b"\xff12345678901234567890");
    assert_eq!(Framed::new(u8_prefix()).poll(&mut rx, &mut tx), Err(Error::BufferFull { max: 6 }));
}

/// Nothing is allocated for a length that is announced, within the limit though it is.
#[test]
fn an_announced_length_allocates_nothing() {
    const LIMIT: usize = 16 << 20;
    let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
    let mut frames = Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, LIMIT));
    let space = rx.space();
    space[..4].copy_from_slice(&(LIMIT as u32).to_be_bytes());
    rx.filled(4);
    for _ in 0..100 {
        assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
        rx.space()[0] = 7;
        rx.filled(1);
    }
    assert_eq!(rx.capacity(), RecvBuf::INITIAL);
    // Memory follows the bytes: at no time more than four times what came.
    for _ in 0..10_000 {
        let n = rx.space().len();
        rx.filled(n.min(1000));
        assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
        assert!(
            rx.capacity() <= (4 * rx.unread().len()).max(RecvBuf::INITIAL),
            "{} for {}",
            rx.capacity(),
            rx.unread().len()
        );
    }
}

/// What is dropped of a line that is too long needs no memory either.
#[test]
fn a_line_without_end_is_bounded() {
    for framing in [Delimited::new(&b"\r\n"[..], 1000), Delimited::new(&b"xxy"[..], 1000)] {
        let (mut rx, mut tx, mut frames) = (RecvBuf::new(), SendBuf::new(), Framed::new(framing));
        for _ in 0..2000 {
            let space = rx.space();
            let n = space.len().min(1000);
            space[..n].fill(b'x');
            rx.filled(n);
            assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
        }
        assert_eq!(rx.capacity(), RecvBuf::INITIAL);
    }
}

/// Counts the bytes shown to a framing that it had not been shown, and how often it was asked.
#[derive(Clone)]
struct Counting<F> {
    framing: F,
    asked: Rc<Cell<u64>>,
}

impl<F: Framing> Framing for Counting<F> {
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        self.asked.set(self.asked.get() + 1);
        self.framing.locate(unread, eof)
    }

    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        self.framing.encode(frame, tx)
    }
}

/// Feeds it in one-byte blocks: frames, their bytes, and how often the framing was asked.
fn byte_by_byte(framing: impl Framing, input: impl Iterator<Item = u8>) -> (usize, u64, u64) {
    let asked = Rc::new(Cell::new(0));
    let mut frames = Framed::new(Counting { framing, asked: asked.clone() });
    let (mut rx, mut tx, mut count, mut total) = (RecvBuf::new(), SendBuf::new(), 0, 0);
    for byte in input {
        rx.space()[0] = byte;
        rx.filled(1);
        while let Some(frame) = frames.next_event(&mut rx, &mut tx).unwrap() {
            count += 1;
            total += match frame {
                Frame::Data(frame) => frame.len() as u64,
                Frame::Oversize { len } => len,
                other => unreachable!("{other:?}"),
            };
        }
    }
    (count, total, asked.get())
}

/// A search that began again with each byte would look at 2^39 bytes, and this test would not end.
#[test]
fn a_megabyte_byte_by_byte() {
    const N: u64 = 1 << 20;
    let line = |byte, end: &'static [u8]| std::iter::repeat_n(byte, N as usize).chain(end.iter().copied());
    for max_len in [2 << 20, 1000] {
        assert_eq!(byte_by_byte(Lines::new(max_len), line(b'x', b"\n")).1, N);
        assert_eq!(byte_by_byte(Lines::new(max_len), line(b'\r', b"\r\n")).1, N);
        let crlf = Delimited::new(&b"\r\n"[..], max_len);
        assert_eq!(byte_by_byte(crlf.clone(), line(b'x', b"\r\n")).1, N);
        assert_eq!(byte_by_byte(crlf, line(b'\r', b"\r\n")).1, N);
        // Nearly a delimiter all the way.
        let long = Delimited::new([&[b'a'; 100][..], b"b"].concat(), max_len);
        assert_eq!(byte_by_byte(long, line(b'a', b"b")).1, N - 100);
    }
}

/// While a length is waited for, the framing is not asked.
#[test]
fn a_frame_byte_by_byte_is_located_once() {
    let frame = |prefix: &'static [u8], len| prefix.iter().copied().chain(std::iter::repeat_n(b'x', len));
    let (frames, total, asked) =
        byte_by_byte(LengthPrefix::new(Width::U32, ByteOrder::Big, 1 << 20), frame(b"\0\x10\0\0", 1 << 20));
    assert_eq!((frames, total), (1, 1 << 20));
    assert!(asked <= 6, "asked {asked} times");
    let (.., asked) = byte_by_byte(VarintPrefix::new(1 << 20), frame(b"\x80\x80\x40", 1 << 20));
    assert!(asked <= 8, "asked {asked} times");
    let (.., asked) = byte_by_byte(DatagramPrefix::new(1 << 20), frame(b"\xff\0\0\x10\0\0\0\0\0", 1 << 20));
    assert!(asked <= 6, "asked {asked} times");
    let (.., asked) = byte_by_byte(FixedSize::new(NonZeroUsize::new(1 << 20).unwrap()), frame(b"", 1 << 20));
    assert!(asked <= 4, "asked {asked} times");
}

/// Between frames of all sizes in random blocks nothing is lost, and every frame is there with its last byte.
#[test]
fn a_frame_comes_with_its_last_byte() {
    let mut rng = Rng::new(7);
    let (mut rx, mut tx, mut frames) = (RecvBuf::new(), SendBuf::new(), Framed::new(VarintPrefix::new(100_000)));
    for round in 0..300 {
        let len = if round % 20 == 0 { rng.below(100_000) } else { rng.below(300) };
        frames.send(vec![round as u8; len], &mut tx).unwrap();
        let wire: Vec<u8> = tx.chunks().flatten().copied().collect();
        tx.consume(wire.len());
        let (last, rest) = wire.split_last().unwrap();
        for block in rng.blocks(rest, 5000) {
            rx.push(block);
            assert_eq!(frames.poll(&mut rx, &mut tx), Ok(false));
        }
        rx.push(&[*last]);
        let frame = frames.next_event(&mut rx, &mut tx).unwrap();
        assert_eq!(frame, Some(Frame::Data(&mut vec![round as u8; len])));
        assert_eq!(frames.phase().1, round + 1);
    }
}

/// Every error says what it is, and is the same when cloned.
#[test]
fn errors_in_words() {
    let rows = [
        (Error::TooLong { len: 9, max: 8 }, "a frame of 9 bytes, above the limit of 8"),
        (Error::BufferFull { max: 8 }, "a frame does not fit the receive buffer of 8 bytes"),
        (Error::Length, "the length of a frame is malformed"),
        (Error::Magic, "a frame does not begin as it should"),
        (
            Error::Checksum { expected: 1, computed: 0xABC },
            "the checksum of a frame is 00000abc, its header says 00000001",
        ),
        (Error::Malformed("tag"), "malformed frame: tag"),
        (Error::UnexpectedEof { seen: 1, expected: Some(2) }, "input ended after 1 of the 2 bytes of a frame"),
        (Error::UnexpectedEof { seen: 1, expected: None }, "input ended inside a frame, of which 1 bytes had come"),
    ];
    for (error, text) in rows {
        let boxed: Box<dyn std::error::Error + Send + Sync + 'static> = Box::new(error);
        assert_eq!(boxed.to_string(), text);
    }
}

/// Nothing at all.
#[test]
fn an_idle_connection() {
    assert_eq!(any_split(&Lines::new(1), Input::new(b"").ending(OPEN)), "read");
    let (mut rx, mut tx, mut frames) = (RecvBuf::new(), SendBuf::new(), Framed::new(Lines::new(1)));
    assert_eq!(frames.next_event(&mut rx, &mut tx), Ok(None));
    assert_eq!((rx.capacity(), tx.capacity()), (0, 0));
}
