//! A framing and a machine out of public items only.

use crate::{
    check,
    common::{CLEAN, Input, Log, OPEN},
    encoded,
};
use bytewise::{
    Eof, Machine, NextIo, Payload, Phase, RecvBuf, SendBuf,
    framing::{Error, Framing, Located, Misuse},
};

/// Netstrings: `5:hello,`.
#[derive(Debug, Clone)]
struct Netstring {
    max_len: usize,
}

impl Framing for Netstring {
    fn locate(&mut self, unread: &[u8], _: Option<Eof>) -> Result<Located, Error> {
        let mut len = 0usize;
        for (at, byte) in unread.iter().enumerate() {
            match byte {
                b'0'..=b'9' if at < 7 => len = len * 10 + usize::from(byte - b'0'),
                b':' if at > 0 && len > self.max_len => {
                    return Err(Error::TooLong { len: len as u64, max: self.max_len });
                }
                b':' if at > 0 => {
                    let body = at + 1..at + 1 + len;
                    return match unread.get(body.end) {
                        None => Ok(Located::Need(body.end + 1)),
                        Some(b',') => Ok(Located::Frame { body, trailer: 1 }),
                        Some(_) => Err(Error::Malformed("no comma")),
                    };
                }
                _ => return Err(Error::Length),
            }
        }
        Ok(Located::Need(unread.len() + 1))
    }

    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        if frame.len() > self.max_len {
            return Err(Misuse::TooLong);
        }
        tx.put(format!("{}:", frame.len()));
        tx.put(frame);
        tx.put(",");
        Ok(())
    }
}

#[test]
fn a_framing() {
    let netstring = Netstring { max_len: 12 };
    check(
        &netstring,
        &[
            (b"5:hello,0:,12:hello world!,", CLEAN, "[hello] [] [hello world!] close"),
            (b"5:hello,1", OPEN, "[hello] read +1"),
            (b"5:hello;", OPEN, "!Malformed(\"no comma\") linger"),
            (b"13:", OPEN, "!TooLong { len: 13, max: 12 } linger"),
            (b":", OPEN, "!Length linger"),
            (b"5:hello", CLEAN, "!UnexpectedEof { seen: 7, expected: None } close"),
        ],
    );
    assert_eq!(encoded(&netstring, b"hello"), Ok(b"5:hello,".to_vec()));
    assert_eq!(encoded(&netstring, b"hello, world!"), Err(Misuse::TooLong));
}

/// A framing that drops padding between its frames, each a capital letter and what follows up to the next dot.
#[derive(Debug, Clone)]
struct Sentences;

impl Framing for Sentences {
    fn locate(&mut self, unread: &[u8], _: Option<Eof>) -> Result<Located, Error> {
        match (unread.first(), unread.iter().position(|byte| *byte == b'.')) {
            (Some(b' '), _) => Ok(Located::Skip(1)),
            (_, Some(dot)) => Ok(Located::Frame { body: 0..dot, trailer: 1 }),
            (_, None) => Ok(Located::Need(unread.len() + 1)),
        }
    }

    fn encode(&self, _: Payload<'_>, _: &mut SendBuf) -> Result<(), Misuse> {
        Err(Misuse::Refused("listens only"))
    }
}

#[test]
fn a_framing_that_skips() {
    check(
        &Sentences,
        &[
            (b"One.  Two.   ", CLEAN, "[One] [Two] close"),
            (b"   ", OPEN, "read"),
            (b"   Thr", CLEAN, "!UnexpectedEof { seen: 3, expected: None } close"),
        ],
    );
    assert_eq!(encoded(&Sentences, b""), Err(Misuse::Refused("listens only")));
}

/// A machine whose events are pieces: a length of one byte, then a body that is delivered as it comes and answered with
/// its length; an upper-case `Q` instead of a length ends the connection with another protocol.
#[derive(Debug)]
enum Streaming {
    Length,
    Body { len: u8, left: usize },
    Quit,
    Failed(Refused),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Refused(u8);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a length of {}", self.0)
    }
}

impl std::error::Error for Refused {}

enum Piece<'b> {
    Data(&'b [u8]),
    End,
}

impl Machine for Streaming {
    type Event<'b> = Piece<'b>;
    type Error = Refused;

    fn poll(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) -> Result<bool, Refused> {
        loop {
            match *self {
                Self::Length => match rx.unread() {
                    [] => return Ok(false),
                    [b'Q', ..] => {
                        rx.take(1);
                        *self = Self::Quit;
                    }
                    [len @ 200..=255, ..] => {
                        tx.put("no");
                        *self = Self::Failed(Refused(*len));
                    }
                    [len, ..] => {
                        *self = Self::Body { len: *len, left: usize::from(*len) };
                        rx.take(1);
                    }
                },
                Self::Body { left, .. } => return Ok(left == 0 || !rx.unread().is_empty()),
                Self::Quit => return Ok(false),
                Self::Failed(error) => return Err(error),
            }
        }
    }

    fn next_event<'b>(&mut self, rx: &'b mut RecvBuf, tx: &mut SendBuf) -> Result<Option<Piece<'b>>, Refused> {
        if !self.poll(rx, tx)? {
            return Ok(None);
        }
        let Self::Body { len, left } = self else { return Ok(None) };
        if *left == 0 {
            tx.put(&[*len]);
            *self = Self::Length;
            return Ok(Some(Piece::End));
        }
        let n = rx.unread().len().min(*left);
        *left -= n;
        Ok(Some(Piece::Data(rx.take(n))))
    }

    fn shut_down(&mut self, _: &mut SendBuf) {}

    fn next_io(&self) -> NextIo {
        match self {
            Self::Length | Self::Body { .. } => NextIo::Read,
            Self::Quit => NextIo::Switched,
            Self::Failed(_) => NextIo::Close,
        }
    }
}

#[test]
fn a_machine() {
    let rows: [(&[u8], &str); 4] = [
        (b"\x05hello\0\x01xQrest", r"{hello} . . {x} . sent \x05\x00\x01 switched +rest"),
        (b"\x05hel", "{hel} read"),
        (b"\x01x\xc8more", r"{x} . !Refused(200) sent \x01no close"),
        (b"Q", "switched"),
    ];
    for (input, expected) in rows {
        let log = Input::new(input).any_split(
            || Streaming::Length,
            |piece, _, _, log: &mut Log| match piece {
                Piece::Data(data) => log.piece(data),
                Piece::End => log.item(format_args!(".")),
            },
        );
        assert_eq!(log, expected);
    }
    assert_eq!(Streaming::Length.phase(), (Phase::Idle, 0));
}
