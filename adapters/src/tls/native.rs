use rustls::RootCertStore;
use std::io;

/// The authorities that the system trusts, for a client's configuration; those that cannot be read are left out.
///
/// ```no_run
/// use bytewise_net::{ClientOptions, tls::native_roots};
///
/// // With a default provider of cryptography, or one of your choice by `builder_with_provider`.
/// let config = rustls::ClientConfig::builder().with_root_certificates(native_roots()?).with_no_client_auth();
/// let options = ClientOptions::default().with_tls(config);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
///
/// None is found.
pub fn native_roots() -> io::Result<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if !roots.is_empty() {
        return Ok(roots);
    }
    Err(match found.errors.into_iter().next() {
        Some(error) => io::Error::other(error),
        None => io::Error::new(io::ErrorKind::NotFound, "the system trusts no authority"),
    })
}
