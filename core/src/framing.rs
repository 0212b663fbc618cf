//! Frames of bytes on a stream: prefixes, delimiters, fixed sizes, or a [`Framing`] of your own.
//!
//! | framing | on the wire | known from |
//! | --- | --- | --- |
//! | [`LengthPrefix`] | a length of 1, 2, 4 or 8 bytes, either byte order, in a header of fixed size | Netty, gRPC, Kafka, PostgreSQL, SMPP, DNS over TCP |
//! | [`VarintPrefix`] | a LEB128 length | protobuf's delimited messages |
//! | [`DatagramPrefix`] | one byte, three or nine, by the length | datagrams over a stream |
//! | [`Lines`] | LF or CRLF at the end | line protocols, JSON Lines |
//! | [`Delimited`] | any byte string at the end | NUL-terminated messages, `\r\n.\r\n` |
//! | [`FixedSize`] | nothing | records |
//!
//! A framing says where frames lie; [`Framed`] makes a [`Machine`](crate::Machine) of it, and sends too:
//!
//! ```
//! use bytewise::{Machine, RecvBuf, SendBuf};
//! use bytewise::framing::{Frame, Framed, Lines};
//!
//! let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
//! let mut lines = Framed::new(Lines::new(10));
//! rx.push(b"hello\r\nmuch too long\nworld\nrest");
//!
//! assert_eq!(lines.next_event(&mut rx, &mut tx)?, Some(Frame::Data(&mut b"hello".to_owned())));
//! assert_eq!(lines.next_event(&mut rx, &mut tx)?, Some(Frame::Oversize { len: 13 }));
//! assert_eq!(lines.next_event(&mut rx, &mut tx)?, Some(Frame::Data(&mut b"world".to_owned())));
//! assert_eq!(lines.next_event(&mut rx, &mut tx)?, None);
//! assert_eq!(rx.unread(), b"rest");
//! # Ok::<(), bytewise::framing::Error>(())
//! ```
//!
//! Limits are of the payload, without prefix or delimiter, and are decided before memory is sized by anything that the
//! peer said. What a connection begins with when a load balancer stands before it is a [`ProxyHeader`].
//!
//! # A framing of your own
//!
//! ```
//! use bytewise::{Eof, Payload, SendBuf};
//! use bytewise::framing::{Error, Framing, Located, Misuse};
//!
//! /// A tag, a length of one byte, the frame.
//! struct Tagged(u8);
//!
//! impl Framing for Tagged {
//!     fn locate(&mut self, unread: &[u8], _: Option<Eof>) -> Result<Located, Error> {
//!         match unread {
//!             [tag, ..] if *tag != self.0 => Err(Error::Malformed("tag")),
//!             [_, len, rest @ ..] if rest.len() >= usize::from(*len) => {
//!                 Ok(Located::Frame { body: 2..2 + usize::from(*len), trailer: 0 })
//!             }
//!             [_, len, ..] => Ok(Located::Need(2 + usize::from(*len))),
//!             _ => Ok(Located::Need(2)),
//!         }
//!     }
//!
//!     fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse> {
//!         let len = u8::try_from(frame.len()).map_err(|_| Misuse::TooLong)?;
//!         tx.put(&[self.0, len]);
//!         tx.put(frame);
//!         Ok(())
//!     }
//! }
//! ```

mod datagram_prefix;
mod delimited;
mod error;
mod fixed_size;
mod framed;
mod header_check;
mod length_prefix;
mod lines;
mod proxy;
mod terminated;
mod varint_prefix;

pub use datagram_prefix::DatagramPrefix;
pub use delimited::Delimited;
pub use error::{Error, Misuse};
pub use fixed_size::FixedSize;
pub use framed::{Frame, Framed};
#[cfg(feature = "crc32")]
pub use header_check::Crc32;
pub use header_check::{HeaderCheck, Magic};
pub use length_prefix::{ByteOrder, Counts, LengthPrefix, Width};
pub use lines::Lines;
pub use proxy::{ProxyError, ProxyHeader};
pub use terminated::Unterminated;
pub use varint_prefix::VarintPrefix;

use crate::{Eof, Payload, SendBuf};
use core::ops::Range;

/// How frames are told apart. Indices in, indices out, so that [`Framed`] may borrow last.
pub trait Framing {
    /// Finds the next frame in what is unread.
    ///
    /// It may remember how far it searched: `unread` only grows until something is located, and then what was located is
    /// consumed. At the end of input (`eof`) it is called until it needs more, with nothing unread too.
    ///
    /// # Errors
    ///
    /// The peer broke the framing; it is not called again.
    fn locate(&mut self, unread: &[u8], eof: Option<Eof>) -> Result<Located, Error>;

    /// Appends `frame` with its prefix or delimiter.
    ///
    /// # Errors
    ///
    /// The frame cannot be sent; then nothing is appended.
    fn encode(&self, frame: Payload<'_>, tx: &mut SendBuf) -> Result<(), Misuse>;
}

/// Where the next frame lies in the unread bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Located {
    /// At least so many bytes in total, more than there are, are needed to say more.
    ///
    /// At the end of input: if nothing is unread it is the end, else the last frame was cut off.
    Need(usize),
    /// A frame.
    Frame {
        /// The frame itself; what lies before it is its prefix.
        body: Range<usize>,
        /// Bytes of delimiter after it.
        trailer: usize,
    },
    /// Drop so many bytes, at least one: part of a frame that is too long.
    Skip(usize),
    /// Drop so many bytes, the last of a frame that was too long: the stream goes on behind it.
    Oversize {
        /// Bytes to drop now, delimiter included.
        skip: usize,
        /// Length of the whole frame, without the delimiter.
        len: u64,
    },
}

/// What a framing with a length in front finds once the length is known: the frame, or how much is missing.
#[inline]
fn announced(unread: &[u8], eof: Option<Eof>, body: Range<usize>) -> Result<Located, Error> {
    if unread.len() >= body.end { Ok(Located::Frame { body, trailer: 0 }) } else { cut_off(unread, eof, body.end) }
}

/// A frame of which `total` bytes are announced and fewer are there.
#[cold]
fn cut_off(unread: &[u8], eof: Option<Eof>, total: usize) -> Result<Located, Error> {
    match eof {
        None => Ok(Located::Need(total)),
        Some(_) => Err(Error::UnexpectedEof { seen: unread.len() as u64, expected: Some(total as u64) }),
    }
}
