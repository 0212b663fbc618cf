use std::{fmt, io};

/// Why a session ended, or could not begin. Final: every later call returns it again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum TlsError {
    /// The peer broke TLS, was not accepted, did not accept us, or sent an alert.
    Tls(rustls::Error),
    /// What came first is no TLS: plain HTTP, most likely.
    NotTls,
    /// Input ended before the handshake did.
    HandshakeEof,
    /// A server's configuration allows 0-RTT data, which an attacker can replay.
    EarlyData,
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Tls(error)
    }
}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        let kind = match error {
            TlsError::HandshakeEof => io::ErrorKind::UnexpectedEof,
            TlsError::EarlyData => io::ErrorKind::InvalidInput,
            TlsError::Tls(_) | TlsError::NotTls => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tls(error) => write!(f, "TLS failed: {error}"),
            Self::NotTls => f.write_str("the peer does not speak TLS"),
            Self::HandshakeEof => f.write_str("the connection ended during the TLS handshake"),
            Self::EarlyData => f.write_str("0-RTT data is not supported: it can be replayed"),
        }
    }
}

impl std::error::Error for TlsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tls(error) => Some(error),
            _ => None,
        }
    }
}
