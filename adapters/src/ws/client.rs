use crate::{
    ClientOptions, Driver, Error, Transport, UpgradeError,
    url::{check, fields_of, target},
};
use bytewise::{
    Time, Timeouts,
    http1::{self, Client, ClientEvent},
    ws::{Config, Connection, MaskKeys, handshake::Request},
};
use std::{io, sync::Arc};
use url::Url;

/// Settings of a WebSocket client, the same on every runtime.
///
/// ```
/// # #[cfg(feature = "deflate")] {
/// use bytewise::ws::{Config, Deflate};
/// use bytewise_net::WsOptions;
///
/// let options = WsOptions::default()
///     .with_config(Config::default().with_max_message(1 << 20).with_deflate(Deflate::default()))
///     .with_protocols(["chat.v2", "chat"])
///     .with_field("authorization", "Bearer 4711");
/// # }
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct WsOptions {
    pub(crate) client: ClientOptions,
    pub(crate) http: http1::Config,
    config: Config,
    protocols: Vec<String>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
}

impl WsOptions {
    /// Limits and extensions of the WebSocket; [`Config::default`] unless set.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// Subprotocols to choose from, the preferred one first. Which one the server chose says
    /// [`Connection::negotiated`](bytewise::ws::Connection::negotiated).
    #[must_use]
    pub fn with_protocols(mut self, protocols: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.protocols = protocols.into_iter().map(Into::into).collect();
        self
    }

    /// A field more of the request, such as `authorization` or `origin`. `host` is made out of the URL unless it is given.
    #[must_use]
    pub fn with_field(mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Self {
        self.fields.push((name.as_ref().to_vec(), value.as_ref().to_vec()));
        self
    }

    /// How long resolving the name may take, and connecting to each of its addresses; 10 s each unless set.
    #[must_use]
    pub fn with_connect_timeout(mut self, at_most: Time) -> Self {
        self.client = self.client.with_connect_timeout(at_most);
        self
    }

    /// Bounds in time of the open connection, [`Timeouts::default`] unless set: [`Phase::Head`](bytewise::Phase::Head) until the
    /// server answers, [`Phase::Idle`](bytewise::Phase::Idle) between frames, [`Phase::Body`](bytewise::Phase::Body) for a
    /// message, [`Phase::Closing`](bytewise::Phase::Closing); pings by [`Timeouts::with_keep_alive`].
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: impl Into<Arc<Timeouts>>) -> Self {
        self.client = self.client.with_timeouts(timeouts);
        self
    }

    /// TLS, for `wss`.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, config: impl Into<Arc<rustls::ClientConfig>>) -> Self {
        self.client = self.client.with_tls(config);
        self
    }

    /// Limits of the response that the server accepts or refuses with; [`http1::Config::default`] unless set.
    #[must_use]
    pub fn with_http(mut self, config: http1::Config) -> Self {
        self.http = config;
        self
    }
}

pub(crate) fn parse(url: &str) -> Result<Url, UpgradeError> {
    let url = Url::parse(url).map_err(|error| UpgradeError::Url(error.to_string()))?;
    check(&url, ["ws", "wss"]).map_err(UpgradeError::Url)?;
    Ok(url)
}

/// Upgrades a connection to the server of that URL.
pub(crate) async fn open<Io: Transport>(
    http: Driver<Io, Client>,
    url: &Url,
    options: &WsOptions,
) -> Result<Driver<Io, Connection>, UpgradeError> {
    let fields = fields_of(url, options.fields.iter().map(|(name, value)| (name, value)));
    let protocols: Vec<&str> = options.protocols.iter().map(String::as_str).collect();
    http.upgrade(target(url), fields, &protocols, &options.config).await
}

impl<Io: Transport> Driver<Io, Client> {
    /// Upgrades a connection on which no response is due to a WebSocket. `fields` are those beside the handshake's, `host` among
    /// them; `protocols` are the subprotocols to choose from, the preferred one first.
    ///
    /// The nonce and the masking keys come from the system. Frames that come right behind the response are kept.
    ///
    /// # Errors
    ///
    /// See [`UpgradeError`]; the connection is gone.
    pub async fn upgrade(
        mut self,
        target: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        protocols: &[&str],
        config: &Config,
    ) -> Result<Driver<Io, Connection>, UpgradeError> {
        let system = |error| UpgradeError::Connection(Error::Io(error));
        let request = Request::from_system(config, protocols).map_err(system)?;
        let masks = MaskKeys::from_system().map_err(system)?;
        let own: Vec<_> = fields.into_iter().collect();
        let own = own.iter().map(|(name, value)| (name.as_ref(), value.as_ref()));
        let all = request.fields().map(|(name, value)| (name.as_bytes(), value)).chain(own);
        let out = self.outbox();
        out.machine.request("GET", target, all, "", out.tx).map_err(UpgradeError::Misuse)?;
        let connection = loop {
            match self.next().await.map_err(UpgradeError::Connection)? {
                Some((ClientEvent::Switched(head) | ClientEvent::Response(head), _)) => {
                    let rejected = |why| UpgradeError::Rejected(why, Box::new(head.into_owned()));
                    break request.finish(&head, masks).map_err(rejected)?;
                }
                Some(_) => {}
                None => return Err(system(io::ErrorKind::UnexpectedEof.into())),
            }
        };
        Ok(self.switch(connection))
    }
}
