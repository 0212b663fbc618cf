use super::{Error, Located};
use crate::Eof;

/// What a last frame without its delimiter is, when input ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unterminated {
    /// A frame, if input ended cleanly: the last line of a file may lack its end. If it broke off, an error all the same.
    Deliver,
    /// [`Error::UnexpectedEof`]: it may have been cut off.
    Refuse,
}

/// How a delimiter is found; it remembers how far it looked.
pub(super) trait Terminator {
    /// Looks at what it has not looked at yet.
    fn find(&mut self, unread: &[u8]) -> Found;
    /// The first `n` unread bytes are gone; it has looked at them.
    fn dropped(&mut self, n: usize);
}

pub(super) enum Found {
    /// A frame of `len` bytes; with its delimiter it ends at `end`.
    End { len: usize, end: usize },
    /// None yet, and the first `content` bytes can be no part of one.
    NotYet { content: usize },
}

/// Frames that end in something: where they are too long, and what the end of input means.
///
/// A frame that is too long is dropped as it comes, so that memory stays bounded, and told of when it ends.
#[derive(Debug, Clone)]
pub(super) struct Terminated<T> {
    pub(super) terminator: T,
    pub(super) max_len: usize,
    pub(super) keep_delimiter: bool,
    pub(super) unterminated: Unterminated,
    /// Bytes dropped of a frame that is too long.
    overlong: Option<u64>,
}

impl<T> Terminated<T> {
    pub(super) const fn new(terminator: T, max_len: usize, unterminated: Unterminated) -> Self {
        Self { terminator, max_len, keep_delimiter: false, unterminated, overlong: None }
    }
}

impl<T: Terminator> Terminated<T> {
    #[inline]
    pub(super) fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        match self.terminator.find(unread) {
            Found::End { len, end } => {
                self.terminator.dropped(end);
                if self.overlong.is_none() && len <= self.max_len {
                    let body = 0..if self.keep_delimiter { end } else { len };
                    return Ok(Located::Frame { trailer: end - body.end, body });
                }
                Ok(self.oversize(len, end))
            }
            Found::NotYet { .. } if eof.is_some() => self.last(unread, eof),
            Found::NotYet { content } if content > 0 && (self.overlong.is_some() || content > self.max_len) => {
                self.terminator.dropped(content);
                *self.overlong.get_or_insert(0) += content as u64;
                Ok(Located::Skip(content))
            }
            // It may take more, but is then looked at in every cut alike, and over-long ones are dropped as they come.
            Found::NotYet { .. } => Ok(Located::Need(unread.len() + 1)),
        }
    }

    #[cold]
    fn oversize(&mut self, len: usize, skip: usize) -> Located {
        Located::Oversize { skip, len: self.overlong.take().unwrap_or(0) + len as u64 }
    }

    /// The end of input.
    #[cold]
    fn last(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error> {
        let len = unread.len();
        if len == 0 && self.overlong.is_none() {
            return Ok(Located::Need(1));
        }
        if self.unterminated == Unterminated::Refuse || eof != Some(Eof::Clean) {
            let seen = self.overlong.unwrap_or(0) + len as u64;
            return Err(Error::UnexpectedEof { seen, expected: None });
        }
        self.terminator.dropped(len);
        if self.overlong.is_some() || len > self.max_len {
            return Ok(self.oversize(len, len));
        }
        Ok(Located::Frame { body: 0..len, trailer: 0 })
    }
}
