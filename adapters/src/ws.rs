//! WebSocket beyond the driver: clients by URL, and connections of owned messages.

mod client;
mod error;
#[cfg(feature = "_tasks")]
mod messages;

pub use client::WsOptions;
#[cfg(any(feature = "blocking", feature = "_tasks"))]
pub(crate) use client::{open, parse};
pub use error::UpgradeError;
#[cfg(feature = "_tasks")]
pub use messages::{Message, MessageError, Messages};

/// The clients of a runtime with tasks, beside its `Stream` and its `connect`.
#[cfg(feature = "_tasks")]
macro_rules! on_a_runtime {
    ($runtime:literal, $sleep:path) => {
        /// A WebSocket, either side.
        pub type WsConn = Conn<bytewise::ws::Connection>;

        /// Connects a WebSocket to a URL; `wss` needs TLS in the options (feature `tls`).
        ///
        /// # Errors
        ///
        /// See [`UpgradeError`](crate::UpgradeError).
        pub async fn connect_ws(url: &str, options: &crate::WsOptions) -> Result<WsConn, crate::UpgradeError> {
            let url = crate::ws::parse(url)?;
            let origin = crate::url::Origin::of(&url);
            let machine = http1::Client::new(&options.http);
            let client = options.client.secured(origin.secure).map_err(crate::UpgradeError::Url)?;
            let http = connect(&origin.host, origin.port, &client, machine).await;
            crate::ws::open(http.map_err(crate::UpgradeError::Connect)?, &url, options).await
        }

        /// Connects again and again, until the server accepts or what is wrong is not
        /// [temporary](crate::UpgradeError::is_temporary). Before each try but the first since the `backoff` was new or
        /// [reset](crate::Backoff::reset) it waits.
        ///
        /// ```no_run
        #[doc = concat!("use bytewise_net::", $runtime, "::reconnect_ws;")]
        /// use bytewise::ws::Event;
        /// use bytewise_net::{Backoff, BoxError, WsOptions};
        ///
        /// async fn listen(url: &str) -> Result<(), BoxError> {
        ///     let (options, mut backoff) = (WsOptions::default(), Backoff::default());
        ///     loop {
        ///         let mut ws = reconnect_ws(url, &options, &mut backoff).await?;
        ///         while let Ok(Some((event, _))) = ws.next().await {
        ///             backoff.reset(); // this server is worth a try at once
        ///             if let Event::Text(text) = event {
        ///                 println!("{text}");
        ///             }
        ///         }
        ///     }
        /// }
        /// ```
        ///
        /// # Errors
        ///
        /// See [`UpgradeError`](crate::UpgradeError).
        pub async fn reconnect_ws(
            url: &str,
            options: &crate::WsOptions,
            backoff: &mut crate::Backoff,
        ) -> Result<WsConn, crate::UpgradeError> {
            loop {
                let pause = backoff.before_try();
                if !pause.is_zero() {
                    $sleep(pause).await;
                }
                match connect_ws(url, options).await {
                    Err(error) if error.is_temporary() => {}
                    outcome => return outcome,
                }
            }
        }
    };
}
#[cfg(feature = "_tasks")]
pub(crate) use on_a_runtime;
