//! What the clients make of a URL.

use url::{Host, Url};

/// What can be asked for: with one of the two schemes, the second of which is that over TLS.
pub(crate) fn check(url: &Url, schemes: [&str; 2]) -> Result<(), String> {
    if !schemes.contains(&url.scheme()) {
        return Err(format!("the scheme is neither {} nor {}", schemes[0], schemes[1]));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // RFC 9110, section 4.2.4.
        return Err("a user name in a URL is not sent; set the field `authorization`".into());
    }
    Ok(())
}

/// Path and query. The fragment is not sent.
pub(crate) fn target(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

/// The fields to send, `host` first.
pub(crate) fn fields_of(
    url: &Url,
    fields: impl Iterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all: Vec<_> = fields.map(|(name, value)| (name.as_ref().to_vec(), value.as_ref().to_vec())).collect();
    if !all.iter().any(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        all.insert(0, (b"host".to_vec(), authority.into()));
    }
    all
}

/// Where a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    /// Over TLS.
    pub(crate) secure: bool,
    /// Without brackets.
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Origin {
    pub(crate) fn of(url: &Url) -> Self {
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        let secure = matches!(url.scheme(), "https" | "wss");
        Self { secure, host, port: url.port_or_known_default().unwrap_or(80) }
    }
}
