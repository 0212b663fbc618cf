use rustls::{AlertDescription as Alert, CertificateError as Certificate, PeerIncompatible as Incompatible};
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
            Self::Tls(error) => match in_words(error) {
                Some(words) => write!(f, "TLS failed: {words} ({error})"),
                None => write!(f, "TLS failed: {error}"),
            },
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

/// What most often is wrong, for who reads a log and does not know the names of TLS.
fn in_words(error: &rustls::Error) -> Option<&'static str> {
    Some(match error {
        rustls::Error::InvalidCertificate(error) => match error {
            Certificate::UnknownIssuer => "no authority that is trusted here vouches for the peer's certificate",
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. } => {
                "the peer's certificate is for another name"
            }
            Certificate::Expired | Certificate::ExpiredContext { .. } => "the peer's certificate has expired",
            Certificate::NotValidYet | Certificate::NotValidYetContext { .. } => {
                "the peer's certificate is not valid yet"
            }
            Certificate::Revoked => "the peer's certificate was revoked",
            _ => "the peer's certificate is not acceptable",
        },
        rustls::Error::NoCertificatesPresented => "the peer has no certificate, and one is required",
        rustls::Error::NoApplicationProtocol => "no application protocol (ALPN) is common to both ends",
        rustls::Error::PeerIncompatible(incompatible) => match incompatible {
            Incompatible::ServerDoesNotSupportTls12Or13
            | Incompatible::ServerTlsVersionIsDisabledByOurConfig
            | Incompatible::SupportedVersionsExtensionRequired
            | Incompatible::Tls12NotOffered
            | Incompatible::Tls12NotOfferedOrEnabled => "no version of TLS is common to both ends",
            Incompatible::NoCipherSuitesInCommon => "no cipher suite is common to both ends",
            _ => "the two ends do not fit together",
        },
        rustls::Error::AlertReceived(alert) => match *alert {
            Alert::UnknownCA => "the peer does not trust who vouches for the certificate of this end",
            Alert::BadCertificate | Alert::UnsupportedCertificate | Alert::CertificateUnknown => {
                "the peer does not accept the certificate of this end"
            }
            Alert::CertificateExpired => "the peer says that the certificate of this end has expired",
            Alert::CertificateRevoked => "the peer says that the certificate of this end was revoked",
            Alert::CertificateRequired => "the peer requires a certificate of this end",
            Alert::ProtocolVersion => "the peer speaks none of the versions of TLS that this end does",
            Alert::HandshakeFailure | Alert::InsufficientSecurity => "the peer found nothing that both ends can do",
            Alert::NoApplicationProtocol => "the peer speaks none of the application protocols (ALPN) of this end",
            Alert::UnrecognisedName => "the peer does not go by the name that it was asked for",
            Alert::AccessDenied => "the peer denies access",
            _ => "the peer gave up",
        },
        rustls::Error::DecryptError | rustls::Error::PeerMisbehaved(_) | rustls::Error::InvalidMessage(_) => {
            "what the peer sent is no TLS, or was changed on the way"
        }
        rustls::Error::PeerSentOversizedRecord => "the peer sent a record that is too long",
        _ => return None,
    })
}
