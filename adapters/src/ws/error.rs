use crate::Error;
use bytewise::{
    http1::{self, Misuse, OwnedResponseHead},
    ws::handshake::Rejected,
};
use std::{fmt, io};

/// Why there is no WebSocket.
#[derive(Debug)]
#[non_exhaustive]
pub enum UpgradeError {
    /// The URL is none, or not one of this client's.
    Url(String),
    /// There is no connection to be had.
    Connect(io::Error),
    /// The target, a field or a subprotocol cannot be sent; nothing was.
    Misuse(Misuse),
    /// The connection ended before the server answered, or something took too long.
    Connection(Error<http1::Error>),
    /// The server did not agree, with that response.
    Rejected(Rejected, Box<OwnedResponseHead>),
}

impl UpgradeError {
    /// Whether it may go away by itself: the server is not there, is too slow, or says so (429, 500, 502, 503, 504).
    pub const fn is_temporary(&self) -> bool {
        match self {
            Self::Connect(_) | Self::Connection(Error::Io(_) | Error::TimedOut(_)) => true,
            Self::Connection(Error::Protocol(error)) => matches!(error, http1::Error::UnexpectedEof { .. }),
            Self::Rejected(Rejected::Status(status), _) => matches!(status, 429 | 500 | 502..=504),
            Self::Url(_) | Self::Misuse(_) | Self::Rejected(..) => false,
        }
    }
}

impl fmt::Display for UpgradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) => write!(f, "the URL cannot be used: {why}"),
            Self::Connect(error) => write!(f, "connecting failed: {error}"),
            Self::Misuse(error) => write!(f, "the request cannot be sent: {error}"),
            Self::Connection(error) => error.fmt(f),
            Self::Rejected(why, _) => why.fmt(f),
        }
    }
}

impl std::error::Error for UpgradeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => Some(error),
            Self::Misuse(error) => Some(error),
            Self::Connection(error) => Some(error),
            Self::Rejected(why, _) => Some(why),
            Self::Url(_) => None,
        }
    }
}
