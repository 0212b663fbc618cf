use super::{Conn, Driver, block, connect};
use crate::{Backoff, Transport, UpgradeError, WsOptions, url::Origin, ws};
use bytewise::{
    http1::Client,
    ws::{Config, Connection},
};
use std::thread;

/// A WebSocket, either side.
pub type WsConn = Conn<Connection>;

impl<Io: Transport> Driver<Io, Client> {
    /// Upgrades a connection on which no response is due to a WebSocket, as [`crate::Driver::upgrade`].
    ///
    /// # Errors
    ///
    /// See [`UpgradeError`]; the connection is gone.
    pub fn upgrade(
        self,
        target: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        protocols: &[&str],
        config: &Config,
    ) -> Result<Driver<Io, Connection>, UpgradeError> {
        block(self.0.upgrade(target, fields, protocols, config)).map(Driver)
    }
}

/// Connects a WebSocket to a URL; `wss` needs TLS in the options (feature `tls`).
///
/// # Errors
///
/// See [`UpgradeError`].
pub fn connect_ws(url: &str, options: &WsOptions) -> Result<WsConn, UpgradeError> {
    let url = ws::parse(url)?;
    let origin = Origin::of(&url);
    let client = options.client.secured(origin.secure).map_err(UpgradeError::Url)?;
    let http = connect(&origin.host, origin.port, &client, Client::new(&options.http));
    block(ws::open(http.map_err(UpgradeError::Connect)?.0, &url, options)).map(Driver)
}

/// Connects again and again, until the server accepts or what is wrong is not
/// [temporary](UpgradeError::is_temporary). Before each try but the first since the `backoff` was new or
/// [reset](Backoff::reset) it sleeps.
///
/// # Errors
///
/// See [`UpgradeError`].
pub fn reconnect_ws(url: &str, options: &WsOptions, backoff: &mut Backoff) -> Result<WsConn, UpgradeError> {
    loop {
        thread::sleep(backoff.before_try());
        match connect_ws(url, options) {
            Err(error) if error.is_temporary() => {}
            outcome => return outcome,
        }
    }
}
