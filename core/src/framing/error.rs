use core::fmt;

/// A peer broke the framing. The connection is of no further use: where its next frame would begin is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A length above the limit.
    TooLong {
        /// Length announced.
        len: u64,
        /// Limit in force.
        max: usize,
    },
    /// A frame that is within the limit, but does not fit the receive buffer with its prefix or delimiter.
    BufferFull {
        /// The most that the buffer may hold, [`RecvBuf::with_limits`](crate::RecvBuf::with_limits).
        max: usize,
    },
    /// A length that is not in its shortest form, is out of range, or does not count what it should.
    Length,
    /// A header without the bytes that [`Magic`](super::Magic) expects.
    Magic,
    /// A body that does not match the checksum in its header.
    Checksum {
        /// The one in the header.
        expected: u32,
        /// The one of the body.
        computed: u32,
    },
    /// Not what a framing of your own expects, in its words.
    Malformed(&'static str),
    /// Input ended inside a frame.
    UnexpectedEof {
        /// Bytes of it that came, its prefix included.
        seen: u64,
        /// Bytes it has, prefix included, if they were announced.
        expected: Option<u64>,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { len, max } => write!(f, "a frame of {len} bytes, above the limit of {max}"),
            Self::BufferFull { max } => write!(f, "a frame does not fit the receive buffer of {max} bytes"),
            Self::Length => f.write_str("the length of a frame is malformed"),
            Self::Magic => f.write_str("a frame does not begin as it should"),
            Self::Checksum { expected, computed } => {
                write!(f, "the checksum of a frame is {computed:08x}, its header says {expected:08x}")
            }
            Self::Malformed(what) => write!(f, "malformed frame: {what}"),
            Self::UnexpectedEof { seen, expected: Some(expected) } => {
                write!(f, "input ended after {seen} of the {expected} bytes of a frame")
            }
            Self::UnexpectedEof { seen, expected: None } => {
                write!(f, "input ended inside a frame, of which {seen} bytes had come")
            }
        }
    }
}

impl core::error::Error for Error {}

/// The caller's frame cannot be sent. The machine and the send buffer are as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Misuse {
    /// Above the limit, or more than the prefix can say.
    TooLong,
    /// Not of the fixed size, or shorter than the header that it should begin with.
    Size,
    /// It contains the delimiter, or, where the delimiter is kept, does not end in it.
    Delimiter,
    /// Not what a framing of your own can send, in its words.
    Refused(&'static str),
    /// After [`Machine::shut_down`](crate::Machine::shut_down) was carried out.
    Closed,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => f.write_str("the frame is too long to be sent"),
            Self::Size => f.write_str("the frame has not the size that it should have"),
            Self::Delimiter => f.write_str("the frame is at odds with its delimiter"),
            Self::Refused(what) => write!(f, "the frame cannot be sent: {what}"),
            Self::Closed => f.write_str("nothing is sent after shutting down"),
        }
    }
}

impl core::error::Error for Misuse {}
