use super::CloseCode;
use core::fmt;

/// The peer broke the protocol; the close frame is in `tx`, if none was sent before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// A reserved bit without an extension for it (RFC 6455, section 5.2).
    ReservedBits,
    /// A reserved opcode (RFC 6455, section 5.2).
    Opcode,
    /// A client's frame unmasked, or a server's masked (RFC 6455, section 5.1).
    Masking,
    /// A length not in its shortest form, or with the highest bit set (RFC 6455, section 5.2).
    Length,
    /// A continuation of nothing, or a message inside another (RFC 6455, section 5.4).
    Fragmentation,
    /// Frames per message above the limit.
    TooManyFragments,
    /// A control frame fragmented or above 125 bytes (RFC 6455, section 5.5).
    ControlFrame,
    /// A close frame of one byte, or with a code that must not be sent (RFC 6455, sections 5.5.1 and 7.4).
    CloseFrame,
    /// Text or a close reason that is not UTF-8 (RFC 6455, section 8.1).
    Utf8,
    /// Compressed data that cannot be inflated (RFC 7692).
    Deflate,
    /// A message above the limit, or above what the receive buffer may hold.
    TooBig,
    /// Input ended without a close frame (RFC 6455, section 7.1.5: what others call 1006).
    UnexpectedEof {
        /// Bytes of the frame under way that came, its header included; 0 between frames.
        seen: u64,
        /// Bytes it has, if the header was there.
        expected: Option<u64>,
    },
}

impl Error {
    /// Code it is answered with: 1002, 1007, 1008, 1009; none at the end of input.
    pub const fn close_code(self) -> Option<CloseCode> {
        Some(match self {
            Self::Utf8 | Self::Deflate => CloseCode::INVALID_PAYLOAD,
            Self::TooManyFragments => CloseCode::POLICY_VIOLATION,
            Self::TooBig => CloseCode::MESSAGE_TOO_BIG,
            Self::UnexpectedEof { .. } => return None,
            _ => CloseCode::PROTOCOL_ERROR,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReservedBits => "reserved bit without an extension",
            Self::Opcode => "reserved opcode",
            Self::Masking => "frame wrongly masked or not masked",
            Self::Length => "malformed frame length",
            Self::Fragmentation => "fragments out of order",
            Self::TooManyFragments => "too many fragments",
            Self::ControlFrame => "control frame fragmented or too long",
            Self::CloseFrame => "malformed close frame",
            Self::Utf8 => "text that is not UTF-8",
            Self::Deflate => "compressed message that cannot be inflated",
            Self::TooBig => "message too big",
            Self::UnexpectedEof { seen: 0, .. } => "input ended without a close frame",
            Self::UnexpectedEof { seen, expected: Some(expected) } => {
                return write!(f, "input ended after {seen} of {expected} bytes of a frame");
            }
            Self::UnexpectedEof { seen, expected: None } => {
                return write!(f, "input ended inside a frame header, after {seen} bytes");
            }
        })
    }
}

impl core::error::Error for Error {}

/// The caller used a connection wrongly; the connection and `tx` are as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// A close frame was sent, or the connection failed.
    Closed,
    /// A message is begun and not finished.
    MessageOpen,
    /// No message is begun.
    NoMessage,
    /// Text that is not UTF-8.
    NotUtf8,
    /// A ping or pong above 125 bytes, or a close reason above 123.
    TooLong,
    /// Only a server can: a client has to mask, so it cannot announce.
    Role,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "the connection is closed or closing",
            Self::MessageOpen => "a message is begun and not finished",
            Self::NoMessage => "no message is begun",
            Self::NotUtf8 => "text that is not UTF-8",
            Self::TooLong => "control payload too long",
            Self::Role => "only a server can",
        })
    }
}

impl core::error::Error for Misuse {}
