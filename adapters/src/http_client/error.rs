use crate::Error;
use bytewise::http1::{self, Misuse};
use std::{fmt, io};

/// Why a request has no response, or its body did not come whole.
#[derive(Debug)]
#[non_exhaustive]
pub enum RequestError {
    /// The URL is none, or not one of this client's.
    Url(String),
    /// There is no connection to be had.
    Connect(io::Error),
    /// The method, a field or the body cannot be sent; nothing was.
    Misuse(Misuse),
    /// The connection ended, or something took too long.
    Connection(Error<http1::Error>),
    /// More redirects than [asked for](super::HttpClient::with_redirects).
    TooManyRedirects,
}

impl RequestError {
    /// Whether a connection that was kept had been closed by the server meanwhile: no byte of a response came.
    pub(super) fn is_stale(&self) -> bool {
        match self {
            Self::Connection(Error::Protocol(http1::Error::UnexpectedEof { seen, .. })) => *seen == 0,
            Self::Connection(Error::Io(error)) => matches!(
                error.kind(),
                io::ErrorKind::BrokenPipe
                    | io::ErrorKind::ConnectionReset
                    | io::ErrorKind::ConnectionAborted
                    | io::ErrorKind::NotConnected
                    | io::ErrorKind::UnexpectedEof
            ),
            _ => false,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(why) => write!(f, "the URL cannot be used: {why}"),
            Self::Connect(error) => write!(f, "connecting failed: {error}"),
            Self::Misuse(error) => write!(f, "the request cannot be sent: {error}"),
            Self::Connection(error) => error.fmt(f),
            Self::TooManyRedirects => f.write_str("too many redirects"),
        }
    }
}

impl std::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(error) => Some(error),
            Self::Misuse(error) => Some(error),
            Self::Connection(error) => Some(error),
            Self::Url(_) | Self::TooManyRedirects => None,
        }
    }
}
