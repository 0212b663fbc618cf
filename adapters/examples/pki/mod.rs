//! A certificate for `localhost`, made anew; a server in earnest reads its own from files.

use bytewise_net::BoxError;
use rustls::{ServerConfig, crypto::ring::default_provider, pki_types::PrivateKeyDer};
use std::{fs, sync::Arc};

/// A configuration with it; whoever is to trust it reads it from the file.
pub(crate) fn server_config(file: &str) -> Result<ServerConfig, BoxError> {
    let made = rcgen::generate_simple_self_signed(["localhost".into(), "127.0.0.1".into()])?;
    fs::write(file, made.cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    Ok(ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?)
}
