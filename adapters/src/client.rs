use crate::{Driver, Transport};
use bytewise::{Time, Timeouts};
use std::{io, net::SocketAddr, sync::Arc};

/// Settings of a client, the same on every runtime.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    pub(crate) connect_timeout: Time,
    pub(crate) timeouts: Arc<Timeouts>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<Arc<rustls::ClientConfig>>,
}

impl ClientOptions {
    /// How long resolving the name may take, and connecting to each of its addresses; 10 s each unless set.
    #[must_use]
    pub const fn with_connect_timeout(mut self, at_most: Time) -> Self {
        self.connect_timeout = at_most;
        self
    }

    /// Bounds in time of the open connection; [`Timeouts::default`] unless set.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: impl Into<Arc<Timeouts>>) -> Self {
        self.timeouts = timeouts.into();
        self
    }

    /// TLS: a `connect` is ready when hands are shaken with the host of that name, a client by URL uses it for `https` and `wss`.
    /// [`Phase::Handshake`](bytewise::Phase::Handshake) bounds the handshake.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, config: impl Into<Arc<rustls::ClientConfig>>) -> Self {
        self.tls = Some(config.into());
        self
    }

    /// The same for one connection: without TLS unless it is to be `secure`. Else, why that cannot be.
    #[cfg(any(feature = "http-client", feature = "ws"))]
    pub(crate) fn secured(&self, secure: bool) -> Result<Self, String> {
        let options = self.clone();
        #[cfg(feature = "tls")]
        let options = Self { tls: options.tls.filter(|_| secure), ..options };
        if secure && !options.has_tls() {
            return Err("it needs TLS, which this client was not given (`with_tls`, of the feature `tls`)".into());
        }
        Ok(options)
    }

    #[cfg(any(feature = "http-client", feature = "ws"))]
    const fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        return self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        return false;
    }
}

/// The connection over a stream that is open, with hands shaken if there is TLS.
pub(crate) async fn begin<Io: Transport, M>(
    io: Io,
    host: &str,
    options: &ClientOptions,
    machine: M,
) -> io::Result<Driver<Io, M>> {
    let driver = Driver::new(io, machine).with_timeouts(Arc::clone(&options.timeouts));
    #[cfg(feature = "tls")]
    if let Some(config) = &options.tls {
        let name = rustls::pki_types::ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let mut driver = driver.with_tls(crate::tls::Tls::client(Arc::clone(config), name)?);
        driver.handshake().await?;
        return Ok(driver);
    }
    let _ = host;
    Ok(driver)
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Time::from_secs(10),
            timeouts: Arc::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

/// Connects to the first address that answers; the error is that of the last one.
///
/// It takes no async closure: whether the future of one is `Send` cannot be said yet.
pub(crate) async fn first_that_answers<S, F: Future<Output = io::Result<S>>>(
    addresses: impl IntoIterator<Item = SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<S> {
    let mut error = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(failed) => error = failed,
        }
    }
    Err(error)
}

#[cfg(feature = "_tasks")]
/// What a connect or a look-up that takes too long fails with.
pub(crate) fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "connecting took too long")
}
