use bytewise::{Time, Timeouts};
use std::{io, net::SocketAddr, sync::Arc};

/// Settings of a client, the same on every runtime.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientOptions {
    pub(crate) connect_timeout: Time,
    pub(crate) timeouts: Arc<Timeouts>,
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
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self { connect_timeout: Time::from_secs(10), timeouts: Arc::default() }
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
