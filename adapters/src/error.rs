use bytewise::TimedOut;
use std::{fmt, io};

/// Why a connection ended before its time; `E` is the machine's.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// The transport failed.
    Io(io::Error),
    /// The peer broke the protocol; what answers it was written.
    Protocol(E),
    /// Something took too long.
    TimedOut(TimedOut),
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the connection failed: {error}"),
            Self::Protocol(error) => write!(f, "the peer broke the protocol: {error}"),
            Self::TimedOut(error) => write!(f, "timed out: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for Error<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Protocol(error) => Some(error),
            Self::TimedOut(error) => Some(error),
        }
    }
}

impl<E> From<io::Error> for Error<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<E> From<TimedOut> for Error<E> {
    fn from(error: TimedOut) -> Self {
        Self::TimedOut(error)
    }
}
