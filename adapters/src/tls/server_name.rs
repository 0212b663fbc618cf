use rustls::{
    ServerConfig,
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use std::sync::{Arc, OnceLock};

/// Notes the name that the client asks for on its way to the configured resolver: rustls 0.23 does not tell it on its unbuffered
/// server connection.
#[derive(Debug)]
pub(super) struct Requested {
    resolver: Arc<dyn ResolvesServerCert>,
    name: OnceLock<Box<str>>,
}

impl Requested {
    /// The configuration, which is a set of `Arc`s, with this one as its resolver.
    pub(super) fn of(config: &ServerConfig) -> (ServerConfig, Arc<Self>) {
        let mut config = config.clone();
        let requested = Arc::new(Self { resolver: Arc::clone(&config.cert_resolver), name: OnceLock::new() });
        config.cert_resolver = Arc::<Self>::clone(&requested);
        (config, requested)
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.get().map(|name| &**name)
    }
}

impl ResolvesServerCert for Requested {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if let Some(name) = hello.server_name() {
            self.name.get_or_init(|| name.into());
        }
        self.resolver.resolve(hello)
    }

    fn only_raw_public_keys(&self) -> bool {
        self.resolver.only_raw_public_keys()
    }
}
