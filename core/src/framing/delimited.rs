use super::{
    Error, Framing, Located, Misuse, Unterminated,
    terminated::{Found, Terminated, Terminator},
};
use crate::{Eof, Payload, SendBuf};
use alloc::{borrow::Cow, sync::Arc, vec, vec::Vec};

/// Frames that end in a byte string, chosen at run time.
///
/// A frame that is too long is one [`Frame::Oversize`](super::Frame) and the stream goes on behind it. A last frame
/// without delimiter is an error, unless [`with_unterminated`](Self::with_unterminated) delivers it. Clones share the
/// delimiter: make one, and clone it for each connection.
///
/// The search is linear whatever the delimiter and the blocks: each byte is looked at once or twice.
///
/// ```
/// use bytewise::{Machine, RecvBuf, SendBuf};
/// use bytewise::framing::{Delimited, Frame, Framed};
///
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
/// let mut mails = Framed::new(Delimited::new(&b"\r\n.\r\n"[..], 1 << 20));
/// rx.push(b"Subject: hi\r\n\r\nhello\r\n.\r");
/// assert_eq!(mails.next_event(&mut rx, &mut tx)?, None);
/// rx.push(b"\n");
/// let Some(Frame::Data(mail)) = mails.next_event(&mut rx, &mut tx)? else { unreachable!() };
/// assert_eq!(mail, b"Subject: hi\r\n\r\nhello");
/// # Ok::<(), bytewise::framing::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Delimited(Terminated<Search>);

impl Delimited {
    /// Frames of at most `max_len` bytes that end in `delimiter`, which is dropped and not counted.
    ///
    /// # Panics
    ///
    /// If `delimiter` is empty.
    pub fn new(delimiter: impl Into<Cow<'static, [u8]>>, max_len: usize) -> Self {
        let pattern = Arc::new(Pattern::new(delimiter.into()));
        let search = Search { pattern, searched: 0, matched: 0 };
        Self(Terminated::new(search, max_len, Unterminated::Refuse))
    }

    /// Leaves the delimiter at the end of each frame, received and sent: a frame to send has to end in it.
    #[must_use]
    pub const fn keep_delimiter(mut self) -> Self {
        self.0.keep_delimiter = true;
        self
    }

    /// What a last frame without delimiter is; [`Unterminated::Refuse`] unless set.
    #[must_use]
    pub const fn with_unterminated(mut self, unterminated: Unterminated) -> Self {
        self.0.unterminated = unterminated;
        self
    }
}

impl Framing for Delimited {
    #[inline]
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        self.0.locate(unread, eof)
    }

    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
        let pattern = &self.0.terminator.pattern;
        let delimiter = &pattern.bytes[..];
        let body = match frame.as_bytes() {
            kept if self.0.keep_delimiter => kept.strip_suffix(delimiter).ok_or(Misuse::Delimiter)?,
            bytes => bytes,
        };
        if body.len() > self.0.max_len {
            return Err(Misuse::TooLong);
        }
        if pattern.ends_early(body) {
            return Err(Misuse::Delimiter);
        }
        tx.put(frame);
        if !self.0.keep_delimiter {
            tx.put(delimiter);
        }
        Ok(())
    }
}

/// Knuth, Morris and Pratt's automaton, with memchr where nothing is matched.
#[derive(Debug, Clone)]
struct Search {
    pattern: Arc<Pattern>,
    /// Unread bytes in which no delimiter ends.
    searched: usize,
    /// Bytes at the end of those that begin a delimiter.
    matched: usize,
}

impl Terminator for Search {
    #[inline]
    fn find(&mut self, unread: &[u8]) -> Found {
        let delimiter = self.pattern.bytes.len();
        (self.searched, self.matched) = self.pattern.scan(unread, self.searched, self.matched);
        if self.matched == delimiter {
            self.matched = 0;
            return Found::End { len: self.searched - delimiter, end: self.searched };
        }
        Found::NotYet { content: self.searched - self.matched }
    }

    #[inline]
    fn dropped(&mut self, n: usize) {
        self.searched -= n;
        self.matched = self.matched.min(self.searched);
    }
}

#[derive(Debug)]
struct Pattern {
    /// Never empty.
    bytes: Cow<'static, [u8]>,
    /// Of each beginning of the pattern, the longest part that both begins and ends it, itself apart.
    borders: Vec<usize>,
}

impl Pattern {
    fn new(bytes: Cow<'static, [u8]>) -> Self {
        assert!(!bytes.is_empty(), "a delimiter needs a byte");
        let mut pattern = Self { borders: vec![0; bytes.len()], bytes };
        for at in 1..pattern.bytes.len() {
            pattern.borders[at] = pattern.step(pattern.borders[at - 1], pattern.bytes[at]);
        }
        pattern
    }

    /// How much is matched with one more byte.
    #[inline]
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        while matched > 0 && self.bytes[matched] != byte {
            matched = self.borders[matched - 1];
        }
        matched + usize::from(self.bytes[matched] == byte)
    }

    /// Goes on `from` there with so much `matched`, until all of the pattern is: how far it looked, and what is matched.
    #[inline]
    fn scan(&self, bytes: &[u8], from: usize, mut matched: usize) -> (usize, usize) {
        let mut at = from;
        while at < bytes.len() && matched < self.bytes.len() {
            if matched == 0 {
                let Some(next) = memchr::memchr(self.bytes[0], &bytes[at..]) else { return (bytes.len(), 0) };
                at += next;
            }
            matched = self.step(matched, bytes[at]);
            at += 1;
        }
        (at, matched)
    }

    /// Whether the first pattern in `body` and a pattern behind it is not that one.
    fn ends_early(&self, body: &[u8]) -> bool {
        let (_, matched) = self.scan(body, 0, 0);
        let (_, matched) = self.scan(&self.bytes[..self.bytes.len() - 1], 0, matched);
        matched == self.bytes.len()
    }
}
