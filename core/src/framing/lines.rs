use super::{
    Error, Framing, Located, Misuse, Unterminated,
    terminated::{Found, Terminated, Terminator},
};
use crate::{Eof, Payload, SendBuf};

/// Lines that end in LF or CRLF, which is dropped; a CR elsewhere is part of the line. Sends LF.
///
/// A line that is too long is one [`Frame::Oversize`](super::Frame) and the stream goes on behind it. When input ends
/// cleanly, a last line may lack its end, unless [`with_unterminated`](Self::with_unterminated) refuses it.
///
/// ```
/// use bytewise::{Eof, Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{Error, Frame, Framed, Lines, Unterminated};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// rx.push(b"last");
/// rx.set_eof(Eof::Clean);
/// assert_eq!(Framed::new(Lines::new(80)).next_event(&mut rx, &mut tx)?, Some(Frame::Data(&mut b"last".to_owned())));
///
/// rx.push(b"last");
/// let strict = Lines::new(80).with_unterminated(Unterminated::Refuse);
/// let error = Error::UnexpectedEof { seen: 4, expected: None };
/// assert_eq!(Framed::new(strict).next_event(&mut rx, &mut tx), Err(error));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Lines {
    lines: Terminated<LineEnd>,
    crlf: bool,
}

impl Lines {
    /// Lines of at most `max_len` bytes, without their ends.
    pub const fn new(max_len: usize) -> Self {
        let end = LineEnd { searched: 0 };
        Self { lines: Terminated::new(end, max_len, Unterminated::Deliver), crlf: false }
    }

    /// Sends CRLF.
    #[must_use]
    pub const fn with_crlf(mut self) -> Self {
        self.crlf = true;
        self
    }

    /// What a last line without its end is; [`Unterminated::Deliver`] unless set.
    #[must_use]
    pub const fn with_unterminated(mut self, unterminated: Unterminated) -> Self {
        self.lines.unterminated = unterminated;
        self
    }
}

impl Framing for Lines {
    #[inline]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        self.lines.locate(unread, eof)
    }

    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let line = frame.as_bytes();
        if line.len() > self.lines.max_len {
            return Err(Misuse::TooLong);
        }
        // A CR before LF would be taken for a part of the end.
        if memchr::memchr(b'\n', line).is_some() || (!self.crlf && line.ends_with(b"\r")) {
            return Err(Misuse::Delimiter);
        }
        tx.put(frame);
        tx.put(if self.crlf { "\r\n" } else { "\n" });
        Ok(())
    }
}

#[derive(Debug, Clone)]
struct LineEnd {
    /// Unread bytes in which there is no LF.
    searched: usize,
}

impl Terminator for LineEnd {
    #[inline]
    fn find(&mut self, unread: &[u8]) -> Found {
        match memchr::memchr(b'\n', &unread[self.searched..]) {
            Some(at) => {
                let len = self.searched + at;
                Found::End { len: len - usize::from(unread[..len].ends_with(b"\r")), end: len + 1 }
            }
            None => {
                self.searched = unread.len();
                let content = unread.len() - usize::from(unread.ends_with(b"\r"));
                Found::NotYet { content }
            }
        }
    }

    #[inline]
    fn dropped(&mut self, n: usize) {
        self.searched = self.searched.saturating_sub(n);
    }
}
