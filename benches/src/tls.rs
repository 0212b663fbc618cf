//! The TLS of all who speak it here: one certificate, TLS 1.3, one cipher suite, no tickets.

use rcgen::{CertificateParams, CertifiedKey, KeyPair, PKCS_ED25519, SerialNumber, generate_simple_self_signed};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    client::Resumption,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::TLS13,
};
use serde::{Deserialize, Serialize};
use std::{fmt, io, sync::Arc};

/// What the certificate is for.
const NAME: &str = "localhost";

/// A certificate that signs itself, and its key, as PEM.
#[derive(Clone, Serialize, Deserialize)]
pub struct Identity {
    certificate: String,
    key: String,
}

impl Identity {
    /// A new one.
    pub fn new() -> io::Result<Self> {
        let made = generate_simple_self_signed([NAME.to_owned()]).map_err(io::Error::other)?;
        let CertifiedKey { cert, signing_key } = made;
        Ok(Self { certificate: cert.pem(), key: signing_key.serialize_pem() })
    }

    /// A new one by Ed25519: its certificate and what it signs always have the same length, so that a handshake leaves the heap
    /// as every other one does.
    pub fn of_fixed_length() -> io::Result<Self> {
        let make = || {
            let key = KeyPair::generate_for(&PKCS_ED25519)?;
            let mut params = CertificateParams::new([NAME.to_owned()])?;
            params.serial_number = Some(SerialNumber::from(1));
            Ok(Self { certificate: params.self_signed(&key)?.pem(), key: key.serialize_pem() })
        };
        make().map_err(|error: rcgen::Error| io::Error::other(error))
    }

    /// The certificate as PEM.
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The key as PEM.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// How a server has it.
    pub fn server(&self) -> io::Result<Arc<ServerConfig>> {
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(io::Error::other)?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS13])
            .and_then(|config| config.with_no_client_auth().with_single_cert(vec![parse(&self.certificate)?], key))
            .map_err(io::Error::other)?;
        // Nobody comes back.
        config.send_tls13_tickets = 0;
        Ok(Arc::new(config))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

/// How a client trusts that certificate alone, and the name that it has.
pub fn client(certificate: &str) -> io::Result<(Arc<ClientConfig>, ServerName<'static>)> {
    let mut roots = RootCertStore::empty();
    let mut config = parse(certificate)
        .and_then(|certificate| roots.add(certificate))
        .and_then(|()| ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]))
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok((Arc::new(config), ServerName::try_from(NAME).map_err(io::Error::other)?))
}

fn parse(certificate: &str) -> Result<CertificateDer<'static>, rustls::Error> {
    CertificateDer::from_pem_slice(certificate.as_bytes()).map_err(|error| rustls::Error::General(error.to_string()))
}

/// `ring`, which has the suite that everyone else has too.
fn provider() -> Arc<CryptoProvider> {
    let cipher_suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() })
}
