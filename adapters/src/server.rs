use crate::{Driver, connections::Membership};
use bytewise::{Time, Timeouts};
use std::{fmt, io, sync::Arc};

/// What a handler fails with; every error of this workspace turns into it with `?`.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

type ErrorLog = Arc<dyn Fn(BoxError) + Send + Sync>;

/// Settings of a server, the same on every runtime.
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) max_connections: usize,
    pub(crate) drain: Time,
    #[cfg(feature = "tls")]
    tls: Option<Arc<rustls::ServerConfig>>,
    error_log: Option<ErrorLog>,
}

impl ServerOptions {
    /// Bounds in time of each connection; [`Timeouts::default`] unless set.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: impl Into<Arc<Timeouts>>) -> Self {
        self.timeouts = timeouts.into();
        self
    }

    /// Connections at once, 10,000 unless set; at least one. Above it none is accepted: who comes waits in the listener's
    /// queue. Many contexts share it evenly, rounded up; what `Topology::HandedOut` accepts above it, up to 64 for each
    /// context, waits unserved.
    #[must_use]
    pub const fn with_max_connections(mut self, count: usize) -> Self {
        self.max_connections = count;
        self
    }

    /// How long connections may take to end after [`Machine::shut_down`](bytewise::Machine::shut_down), 30 s unless set; then they are cut off.
    #[must_use]
    pub const fn with_drain(mut self, at_most: Time) -> Self {
        self.drain = at_most;
        self
    }

    /// TLS for all connections: the first thing a handler waits for is the handshake, which
    /// [`Phase::Handshake`](bytewise::Phase::Handshake) bounds.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, config: impl Into<Arc<rustls::ServerConfig>>) -> Self {
        self.tls = Some(config.into());
        self
    }

    /// What a handler is given.
    pub(crate) fn connection<Io, M>(&self, io: Io, machine: M, membership: Membership) -> io::Result<Driver<Io, M>> {
        let conn = Driver::new(io, machine).with_timeouts(Arc::clone(&self.timeouts)).with_membership(membership);
        #[cfg(feature = "tls")]
        if let Some(config) = &self.tls {
            return Ok(conn.with_tls(crate::tls::Tls::server(Arc::clone(config))?));
        }
        Ok(conn)
    }

    /// Hears why connections ended badly, what handlers failed with, and what accepting failed with.
    #[must_use]
    pub fn with_error_log(mut self, log: impl Fn(BoxError) + Send + Sync + 'static) -> Self {
        self.error_log = Some(Arc::new(log));
        self
    }

    pub(crate) fn log(&self, error: BoxError) {
        if let Some(log) = &self.error_log {
            log(error);
        }
    }

    /// What the handler's panics and errors come to: the log.
    pub(crate) fn settle(&self, outcome: std::thread::Result<Result<(), BoxError>>) {
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.log(error),
            Err(panic) => {
                let text = panic.downcast_ref::<&str>().copied();
                let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
                self.log(format!("a handler panicked: {}", text.unwrap_or("not with a text")).into());
            }
        }
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        let (timeouts, drain) = (Arc::default(), Time::from_secs(30));
        Self {
            timeouts,
            max_connections: 10_000,
            drain,
            #[cfg(feature = "tls")]
            tls: None,
            error_log: None,
        }
    }
}

impl fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerOptions")
            .field("timeouts", &self.timeouts)
            .field("max_connections", &self.max_connections)
            .field("drain", &self.drain)
            .finish_non_exhaustive()
    }
}
