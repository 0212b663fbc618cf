//! Bodies, as they are received (RFC 9112, sections 6 and 7).

use super::{
    BodyLength, Error,
    config::Settings,
    control::Side,
    lines::{FieldLine, FieldLines},
    syntax::{quoted_len, token_len, trim_start},
};
use crate::{Eof, RecvBuf};
use memchr::memchr;

/// Chunk extensions of a whole body that are read over (RFC 9112, section 7.1.1, asks for a limit).
const MAX_EXTENSIONS: usize = 16 * 1024;

/// A body on its way.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    Length { left: u64, total: u64 },
    Chunked(Chunked),
    UntilClose { seen: u64 },
}

/// What can be had now. Asking again gives the same, or more data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Available {
    /// Nothing before more input.
    Nothing,
    /// So many bytes of the body.
    Data(usize),
    /// The end: a trailer section of so many bytes, 0 if there cannot be one.
    End(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Chunked {
    state: Chunk,
    /// Bytes of chunks announced so far.
    total: u64,
    extensions: u32,
}

#[derive(Debug, Clone, Copy)]
enum Chunk {
    /// A size line, of which `searched` bytes hold no line feed.
    Size {
        searched: u32,
    },
    Data {
        left: u64,
    },
    /// The line end after the data.
    DataEnd,
    Trailers(FieldLines),
    /// A trailer section of so many bytes is there.
    TrailersFound(u32),
}

impl Chunk {
    const NEXT: Self = Self::Size { searched: 0 };
}

impl Body {
    #[inline]
    pub(super) const fn new(length: BodyLength) -> Self {
        match length {
            BodyLength::None => Self::Length { left: 0, total: 0 },
            BodyLength::Length(total) => Self::Length { left: total, total },
            BodyLength::Chunked => Self::Chunked(Chunked { state: Chunk::NEXT, total: 0, extensions: 0 }),
            BodyLength::UntilClose => Self::UntilClose { seen: 0 },
        }
    }

    /// Bytes still to come, if they were announced.
    #[inline]
    pub(super) const fn rest(&self) -> Option<u64> {
        match self {
            Self::Length { left, .. } => Some(*left),
            Self::Chunked(_) | Self::UntilClose { .. } => None,
        }
    }

    /// Consumes what frames the body, and says what comes next. A length has been checked against `max` before.
    #[inline]
    pub(super) fn advance(
        &mut self,
        rx: &mut RecvBuf,
        max: u64,
        side: Side,
        settings: &Settings,
    ) -> Result<Available, Error> {
        match self {
            Self::Length { left: 0, .. } => Ok(Available::End(0)),
            Self::Length { left, total } => match at_most(rx.unread().len(), *left) {
                0 => incomplete(rx, *total - *left, Some(*total)),
                n => Ok(Available::Data(n)),
            },
            Self::Chunked(chunked) => chunked.advance(rx, max, side, settings),
            Self::UntilClose { seen } => match at_most(rx.unread().len(), max.saturating_sub(*seen)) {
                0 if !rx.unread().is_empty() => Err(Error::BodyTooLong),
                0 if rx.eof() == Some(Eof::Clean) => Ok(Available::End(0)),
                0 => incomplete(rx, *seen, None),
                n => Ok(Available::Data(n)),
            },
        }
    }

    /// `n` bytes of data were consumed.
    #[inline]
    pub(super) const fn took(&mut self, n: usize) {
        match self {
            Self::Length { left, .. } => *left -= n as u64,
            Self::UntilClose { seen } => *seen += n as u64,
            Self::Chunked(chunked) => {
                if let Chunk::Data { left } = &mut chunked.state {
                    *left -= n as u64;
                    if *left == 0 {
                        chunked.state = Chunk::DataEnd;
                    }
                }
            }
        }
    }
}

impl Chunked {
    fn advance(&mut self, rx: &mut RecvBuf, max: u64, side: Side, settings: &Settings) -> Result<Available, Error> {
        loop {
            let unread = rx.unread();
            match &mut self.state {
                Chunk::Data { left } => match at_most(unread.len(), *left) {
                    0 => return incomplete(rx, self.total - *left, None),
                    n => return Ok(Available::Data(n)),
                },
                Chunk::DataEnd => match unread {
                    [b'\r', b'\n', ..] => {
                        rx.take(2);
                        self.state = Chunk::NEXT;
                    }
                    [] | [b'\r'] => return incomplete(rx, self.total, None),
                    _ => return Err(Error::Chunk),
                },
                Chunk::Size { searched } => {
                    let most = settings.max_chunk_line.min(rx.bound());
                    let window = &unread[..unread.len().min(most)];
                    let Some(found) = memchr(b'\n', &window[*searched as usize..]) else {
                        if window.len() == most {
                            return Err(Error::Chunk);
                        }
                        *searched = window.len() as u32;
                        return incomplete(rx, self.total, None);
                    };
                    let line_feed = *searched as usize + found;
                    let line = window[..line_feed].strip_suffix(b"\r").ok_or(Error::Chunk)?;
                    let (size, extensions) = parse_size_line(line).ok_or(Error::Chunk)?;
                    rx.take(line_feed + 1);
                    self.extensions = self.extensions.saturating_add(extensions as u32);
                    if self.extensions as usize > MAX_EXTENSIONS {
                        return Err(Error::Chunk);
                    }
                    self.total = self.total.checked_add(size).filter(|&n| n <= max).ok_or(Error::BodyTooLong)?;
                    self.state = match size {
                        0 => Chunk::Trailers(FieldLines::new()),
                        left => Chunk::Data { left },
                    };
                }
                Chunk::Trailers(lines) => {
                    let most = settings.max_trailers.min(rx.bound());
                    let window = &mut rx.parts().0;
                    let len = window.len().min(most);
                    match lines.next(&mut window[..len], side, settings)? {
                        FieldLine::Field(..) | FieldLine::Continued => {}
                        FieldLine::Blank(len) => self.state = Chunk::TrailersFound(len as u32),
                        FieldLine::Partial if len == most => return Err(Error::TrailersTooLong),
                        FieldLine::Partial => return incomplete(rx, self.total, None),
                    }
                }
                Chunk::TrailersFound(len) => return Ok(Available::End(*len as usize)),
            }
        }
    }
}

/// How much of what is available belongs to what is left.
#[inline]
pub(super) fn at_most(available: usize, left: u64) -> usize {
    usize::try_from(left).map_or(available, |left| available.min(left))
}

fn incomplete(rx: &RecvBuf, seen: u64, expected: Option<u64>) -> Result<Available, Error> {
    if rx.eof().is_some() { Err(Error::UnexpectedEof { seen, expected }) } else { Ok(Available::Nothing) }
}

/// Size, and bytes of extensions: `1*HEXDIG *( BWS ";" BWS name [ BWS "=" BWS value ] )`, below 2^64 (RFC 9112, section 7.1).
#[inline]
fn parse_size_line(line: &[u8]) -> Option<(u64, usize)> {
    let mut size = 0u64;
    for (at, &byte) in line.iter().enumerate() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b';' | b' ' | b'\t' if at > 0 && are_extensions(&line[at..]) => return Some((size, line.len() - at)),
            _ => return None,
        };
        if size >> 60 != 0 {
            return None;
        }
        size = size << 4 | u64::from(digit);
    }
    (!line.is_empty()).then_some((size, 0))
}

/// RFC 9112, section 7.1.1.
#[cold]
fn are_extensions(mut rest: &[u8]) -> bool {
    loop {
        rest = trim_start(rest);
        let Some(after) = rest.strip_prefix(b";") else { return false };
        let (name, after) = split_token(trim_start(after));
        if name.is_empty() {
            return false;
        }
        rest = trim_start(after);
        if let Some(value) = rest.strip_prefix(b"=") {
            let value = trim_start(value);
            let end = token_len(value).max(quoted_len(value));
            if end == 0 {
                return false;
            }
            rest = trim_start(&value[end..]);
        }
        if rest.is_empty() {
            return true;
        }
    }
}

fn split_token(bytes: &[u8]) -> (&[u8], &[u8]) {
    bytes.split_at(token_len(bytes))
}
