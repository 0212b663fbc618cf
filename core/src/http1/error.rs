//! What a peer can do wrong, and what a caller can.

use core::fmt;

/// The peer broke the protocol. A server has put the response into `tx`, if none was under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Error {
    /// Request or status line, or a target not of its method's form (RFC 9112, sections 3 and 4).
    StartLine,
    /// Not HTTP/1 (RFC 9110, section 2.5).
    Version,
    /// A field line (RFC 9112, section 5).
    Field,
    /// A line feed without its carriage return (RFC 9112, section 2.2).
    BareLf,
    /// `host` missing, repeated or malformed (RFC 9112, section 3.2).
    Host,
    /// `content-length` malformed, repeated, or with chunks (RFC 9112, section 6.3).
    ContentLength,
    /// `transfer-encoding` malformed, chunked not last or twice, or in HTTP/1.0 (RFC 9112, section 6.1).
    TransferEncoding,
    /// `transfer-encoding` with a coding other than chunked (RFC 9112, section 6.1).
    UnsupportedCoding,
    /// Chunk size, extension, or the line end after a chunk (RFC 9112, section 7.1).
    Chunk,
    /// Head above its limit.
    HeadTooLong,
    /// Target above its limit.
    TargetTooLong,
    /// Fields above their number.
    TooManyFields,
    /// Body above its limit.
    BodyTooLong,
    /// Trailer section above its limit.
    TrailersTooLong,
    /// Interim responses above their number.
    TooManyInterim,
    /// A response, or more of one, that no request asked for.
    Unsolicited,
    /// Input ended inside a message (RFC 9112, section 8).
    UnexpectedEof {
        /// Bytes of the head or body that came.
        seen: u64,
        /// Bytes announced, if they were.
        expected: Option<u64>,
    },
}

impl Error {
    /// Status a server answers with; none at the end of input, or for what only a client meets.
    pub const fn status(self) -> Option<u16> {
        Some(match self {
            Self::StartLine
            | Self::Field
            | Self::BareLf
            | Self::Host
            | Self::ContentLength
            | Self::TransferEncoding
            | Self::Chunk => 400,
            Self::BodyTooLong => 413,
            Self::TargetTooLong => 414,
            Self::HeadTooLong | Self::TooManyFields | Self::TrailersTooLong => 431,
            Self::UnsupportedCoding => 501,
            Self::Version => 505,
            Self::TooManyInterim | Self::Unsolicited | Self::UnexpectedEof { .. } => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StartLine => "malformed start line",
            Self::Version => "not HTTP/1",
            Self::Field => "malformed field line",
            Self::BareLf => "line feed without carriage return",
            Self::Host => "host missing, repeated or malformed",
            Self::ContentLength => "faulty content-length",
            Self::TransferEncoding => "faulty transfer-encoding",
            Self::UnsupportedCoding => "unknown transfer coding",
            Self::Chunk => "malformed chunk",
            Self::HeadTooLong => "head too long",
            Self::TargetTooLong => "request target too long",
            Self::TooManyFields => "too many fields",
            Self::BodyTooLong => "body too long",
            Self::TrailersTooLong => "trailer section too long",
            Self::TooManyInterim => "too many interim responses",
            Self::Unsolicited => "input that no request asked for",
            Self::UnexpectedEof { seen, expected: Some(expected) } => {
                return write!(f, "input ended after {seen} of {expected} bytes");
            }
            Self::UnexpectedEof { seen, expected: None } => {
                return write!(f, "input ended inside a message, after {seen} bytes");
            }
        })
    }
}

impl core::error::Error for Error {}

/// The caller used a connection wrongly; the connection and `tx` are as they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misuse {
    /// Not now: no request to answer, a message not ended, closed, or `switch` before the request's end.
    State,
    /// Status out of range, or interim where a final one is due.
    Status,
    /// Method or target that is none.
    RequestLine,
    /// A field with a name that is none, a value with a control character, one that the core writes itself, or a client's
    /// `host` missing or repeated.
    Field,
    /// More body than announced.
    BodyTooLong,
    /// Ended before the announced length.
    BodyTooShort,
    /// A body where there cannot be one, or trailers without chunks.
    BodyForbidden,
    /// [`Config::with_max_outstanding`](super::Config::with_max_outstanding) requests are unanswered: wait for one.
    Outstanding,
}

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State => "not in this state of the connection",
            Self::Status => "not a status for this place",
            Self::RequestLine => "malformed method or target",
            Self::Field => "malformed or reserved field",
            Self::BodyTooLong => "more body than announced",
            Self::BodyTooShort => "less body than announced",
            Self::BodyForbidden => "no body, or no trailers, can be here",
            Self::Outstanding => "too many requests are unanswered",
        })
    }
}

impl core::error::Error for Misuse {}
