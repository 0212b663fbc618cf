//! Certificates made for a test, and configurations of them.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::ring::default_provider,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
    version::{TLS12, TLS13},
};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

pub(crate) const VERSIONS: [&SupportedProtocolVersion; 2] = [&TLS12, &TLS13];

static AUTHORITIES: AtomicU32 = AtomicU32::new(0);

/// An authority, and a certificate of its making.
pub(crate) struct Pki {
    authority: CertifiedIssuer<'static, KeyPair>,
    leaf: (CertificateDer<'static>, PrivateKeyDer<'static>),
}

impl Pki {
    /// For a server of those names.
    pub(crate) fn new(names: &[&str]) -> Self {
        Self::of(CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap())
    }

    pub(crate) fn of(leaf: CertificateParams) -> Self {
        let mut authority = CertificateParams::new(Vec::<String>::new()).unwrap();
        // A name of its own: authorities that share one are told apart only by their signatures.
        let number = AUTHORITIES.fetch_add(1, Ordering::Relaxed);
        authority.distinguished_name.push(DnType::CommonName, format!("authority {number}"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = leaf.signed_by(&key, &authority).unwrap();
        Self { leaf: (certificate.der().clone(), PrivateKeyDer::Pkcs8(key.serialize_der().into())), authority }
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.der().clone()).unwrap();
        roots
    }

    pub(crate) fn server(&self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let (certificate, key) = &self.leaf;
        ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key.clone_key())
            .unwrap()
    }

    pub(crate) fn client(&self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(self.roots())
            .with_no_client_auth()
    }

    /// A server that asks its clients for certificates of another authority.
    pub(crate) fn server_for(&self, clients: &Self, versions: &[&'static SupportedProtocolVersion]) -> ServerConfig {
        let (certificate, key) = &self.leaf;
        let provider = Arc::new(default_provider());
        let roots = Arc::new(clients.roots());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider)).build().unwrap();
        ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.clone()], key.clone_key())
            .unwrap()
    }

    /// A client that shows the certificate of another authority.
    pub(crate) fn client_as(&self, own: &Self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        let (certificate, key) = &own.leaf;
        ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(self.roots())
            .with_client_auth_cert(vec![certificate.clone()], key.clone_key())
            .unwrap()
    }
}
