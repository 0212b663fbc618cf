//! What the clients make of a URL.

use url::{Host, Url};

/// What can be asked for over connections without TLS.
pub(crate) fn check(url: &Url, scheme: &str, secure: &str) -> Result<(), String> {
    match url.scheme() {
        // RFC 9110, section 4.2.4.
        found if found == scheme && (!url.username().is_empty() || url.password().is_some()) => {
            Err("a user name in a URL is not sent; set the field `authorization`".into())
        }
        found if found == scheme => Ok(()),
        found if found == secure => Err(format!("{secure} needs TLS, which this client does not have yet")),
        _ => Err(format!("the scheme is not {scheme}")),
    }
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
        Self { host, port: url.port_or_known_default().unwrap_or(80) }
    }
}
