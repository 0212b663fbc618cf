//! The frame level (RFC 6455, section 5.2), for proxies, tests and fuzzers.
//!
//! ```
//! use bytewise::ws::frame::{Header, Opcode};
//!
//! let header = Header { fin: true, rsv: 0, opcode: Opcode::Binary, mask: None, len: 1 << 32 };
//! assert_eq!(*header.encode(), [0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0]);
//! assert_eq!(Header::decode(&header.encode())?, Some((header, 10)));
//! assert_eq!(Header::decode(&header.encode()[..9])?, None);
//! # Ok::<(), bytewise::ws::Error>(())
//! ```

use super::Error;
use core::ops::Deref;

pub use super::mask::apply_mask;

/// A frame header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// Whether it ends its message.
    pub fin: bool,
    /// The reserved bits, 0 to 7: RSV1 is 4.
    pub rsv: u8,
    /// What it is.
    pub opcode: Opcode,
    /// Masking key.
    pub mask: Option<[u8; 4]>,
    /// Length of the payload.
    pub len: u64,
}

/// Opcodes in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opcode {
    /// Goes on with a message.
    Continuation,
    /// Begins a text message.
    Text,
    /// Begins a binary message.
    Binary,
    /// Closes.
    Close,
    /// Asks for a pong.
    Ping,
    /// Answers a ping.
    Pong,
}

impl Opcode {
    pub(super) const fn new(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::Continuation,
            1 => Self::Text,
            2 => Self::Binary,
            8 => Self::Close,
            9 => Self::Ping,
            10 => Self::Pong,
            _ => return None,
        })
    }

    /// Its four bits.
    pub(super) const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0,
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    /// Whether it is of a control frame.
    pub const fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl Header {
    /// The header and its length, or `None` when it is cut off. It is judged by itself: whether its bits, its mask and its
    /// place in a message are right is not known here.
    ///
    /// # Errors
    ///
    /// [`Error::Opcode`], [`Error::Length`]; [`Error::ControlFrame`] for one that is fragmented or too long.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let [b0, b1, rest @ ..] = bytes else { return Ok(None) };
        let opcode = Opcode::new(b0 & 0x0F).ok_or(Error::Opcode)?;
        let (fin, rsv) = (b0 & 0x80 != 0, b0 >> 4 & 7);
        if opcode.is_control() && (!fin || b1 & 0x7F > MAX_CONTROL as u8) {
            return Err(Error::ControlFrame);
        }
        let Some((len, rest)) = extended_length(b1 & 0x7F, rest)? else { return Ok(None) };
        let (mask, rest) = match rest.split_first_chunk() {
            _ if b1 & 0x80 == 0 => (None, rest),
            Some((mask, rest)) => (Some(*mask), rest),
            None => return Ok(None),
        };
        Ok(Some((Self { fin, rsv, opcode, mask, len }, bytes.len() - rest.len())))
    }

    /// Its bytes, the length in its shortest form.
    pub fn encode(&self) -> HeaderBytes {
        let b0 = if self.fin { 0x80 } else { 0 } | (self.rsv & 7) << 4 | self.opcode.bits();
        let mut header = HeaderBytes::new(b0, self.len);
        if let Some(mask) = self.mask {
            header.put_mask(mask);
        }
        header
    }
}

/// Longest payload of a control frame (RFC 6455, section 5.5).
pub(super) const MAX_CONTROL: usize = 125;

/// A length, and what follows it.
type Length<'b> = Option<(u64, &'b [u8])>;

/// The length of a payload, of which seven bits are known; `None` if it is cut off (RFC 6455, section 5.2).
#[inline]
pub(super) fn extended_length(seven: u8, rest: &[u8]) -> Result<Length<'_>, Error> {
    let (len, least, rest) = match seven {
        126 => match rest.split_first_chunk() {
            Some((len, rest)) => (u64::from(u16::from_be_bytes(*len)), 126, rest),
            None => return Ok(None),
        },
        127 => match rest.split_first_chunk() {
            Some((len, rest)) => (u64::from_be_bytes(*len), 1 << 16, rest),
            None => return Ok(None),
        },
        len => (u64::from(len), 0, rest),
    };
    if len < least || len >> 63 != 0 { Err(Error::Length) } else { Ok(Some((len, rest))) }
}

/// An encoded header, at most 14 bytes, on the stack.
#[derive(Debug, Clone, Copy)]
pub struct HeaderBytes {
    bytes: [u8; 14],
    len: u8,
}

impl HeaderBytes {
    /// Without a mask.
    #[inline]
    pub(super) fn new(b0: u8, payload: u64) -> Self {
        let mut bytes = [0; 14];
        bytes[0] = b0;
        let len = match payload {
            0..126 => {
                bytes[1] = payload as u8;
                2
            }
            126..65536 => {
                bytes[1] = 126;
                bytes[2..4].copy_from_slice(&(payload as u16).to_be_bytes());
                4
            }
            _ => {
                bytes[1] = 127;
                bytes[2..10].copy_from_slice(&payload.to_be_bytes());
                10
            }
        };
        Self { bytes, len }
    }

    #[inline]
    pub(super) fn put_mask(&mut self, mask: [u8; 4]) {
        self.bytes[1] |= 0x80;
        let at = usize::from(self.len);
        self.bytes[at..at + 4].copy_from_slice(&mask);
        self.len += 4;
    }
}

impl Deref for HeaderBytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}
