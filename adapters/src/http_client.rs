//! A client that keeps connections: [`HttpClient`].

mod error;
mod pool;
mod redirect;
mod response;
mod upload;

pub use error::RequestError;
pub use response::Response;
pub use upload::Upload;

/// The client of a runtime with tasks, beside its `Stream` and its `connect`.
#[cfg(feature = "_tasks")]
macro_rules! on_a_runtime {
    () => {
        /// Connects for an [`HttpClient`].
        #[derive(Debug, Clone, Copy, Default)]
        pub struct Connector;

        impl crate::Connect for Connector {
            type Io = Stream;

            async fn connect(
                &self,
                host: &str,
                port: u16,
                options: &ClientOptions,
                machine: http1::Client,
            ) -> io::Result<Driver<Stream, http1::Client>> {
                connect(host, port, options, machine).await
            }
        }

        /// Requests by URL, over connections that are kept.
        pub type HttpClient = crate::HttpClient<Connector>;
    };
}
#[cfg(feature = "_tasks")]
pub(crate) use on_a_runtime;

use crate::{
    ClientOptions, Driver, Error, Transport,
    url::{self, Origin, fields_of, target},
};
use ::url::Url;
use bytewise::{
    Payload, Time,
    http1::{self, BodyLength, Client, ClientEvent, Config},
};
use pool::Pool;
use std::{fmt, future::Future, io, sync::Arc};

/// How a runtime connects. Each has one, `Connector`; implement it to bring a runtime of your own, or a proxy.
pub trait Connect: Clone + Send + Sync {
    /// What a connection is made of.
    type Io: Transport;

    /// Connects to that host. The name is without brackets, if it is an address of IPv6.
    ///
    /// # Errors
    ///
    /// The name has no address, none of them answers, or that takes too long.
    fn connect(
        &self,
        host: &str,
        port: u16,
        options: &ClientOptions,
        machine: Client,
    ) -> impl Future<Output = io::Result<Driver<Self::Io, Client>>> + Send;

    /// Whether a connection that was kept is still open, as far as can be told at once. For a transport that
    /// [blocks](Transport::BLOCKING); of others it is known.
    fn is_open(_: &Self::Io) -> bool {
        true
    }
}

/// Requests by URL, over connections that are kept and used again. `https` needs TLS in the options (feature `tls`).
///
/// A clone shares the connections. For pipelining, interim responses, upgrades or a connection of one's own there is
/// the runtime's `connect`.
///
/// * A connection goes back once its response is read to the end, which one without a body is from the start; one that is
///   dropped before that closes.
/// * Of a connection that was kept and turns out to be closed, requests are sent again on another, if their method is idempotent
///   (RFC 9110, section 9.2.2) and their body is whole.
/// * Redirects are followed only if [asked for](Self::with_redirects).
/// * Deadlines are those of the [`ClientOptions`]: resolving and connecting, then
///   [`Phase::Head`](bytewise::Phase::Head) until the response begins, [`Phase::Body`](bytewise::Phase::Body) for its body.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # mod example {
/// use bytewise::http1::NO_FIELDS;
/// use bytewise_net::{BoxError, ClientOptions, tokio::HttpClient};
///
/// async fn example() -> Result<(), BoxError> {
///     let client = HttpClient::new(ClientOptions::default());
///
///     let mut response = client.get("http://localhost:8000/").await?;
///     assert_eq!(response.head().status(), 200);
///     println!("{}", String::from_utf8_lossy(&response.body(1 << 20).await?));
///
///     // The same connection again; the body is sent as it is read.
///     let mut upload = client.post_stream("http://localhost:8000/echo", NO_FIELDS).await?;
///     upload.send("one, ").await?;
///     upload.send("two").await?;
///     let mut response = upload.finish(NO_FIELDS).await?;
///     while let Some(data) = response.data().await? {
///         println!("{} bytes", data.len());
///     }
///     Ok(())
/// }
/// # }
/// ```
pub struct HttpClient<C: Connect> {
    connector: C,
    options: ClientOptions,
    config: Config,
    redirects: u32,
    pool: Arc<Pool<C::Io>>,
}

impl<C: Connect + Default> HttpClient<C> {
    /// With no connection yet.
    pub fn new(options: ClientOptions) -> Self {
        Self::with_connector(C::default(), options)
    }
}

impl<C: Connect> HttpClient<C> {
    /// With a way of its own to connect.
    pub fn with_connector(connector: C, options: ClientOptions) -> Self {
        Self { connector, options, config: Config::default(), redirects: 0, pool: Arc::new(Pool::new()) }
    }

    /// Limits and leniencies of the connections; [`Config::default`] unless set.
    #[must_use]
    pub fn with_config(mut self, config: Config) -> Self {
        self.config = config;
        self
    }

    /// How many redirects are followed, one after the other; none unless set, so that they come as responses.
    ///
    /// `301`, `302` and `303` turn POST into GET, `303` everything but HEAD, without the fields that describe a body; `307`
    /// and `308` send the same again (RFC 9110, section 15.4). To another origin, the fields `authorization`, `cookie`,
    /// `host` and `proxy-authorization` are not sent. Bodies that were streamed are not sent twice.
    #[must_use]
    pub fn with_redirects(mut self, at_most: u32) -> Self {
        self.redirects = at_most;
        self
    }

    /// Connections kept for each origin while no request uses them, 8 unless set, and for how long, 30 s unless set. Forgets
    /// those that are kept; clones made before keep to their own.
    #[must_use]
    pub fn with_idle(mut self, per_origin: usize, at_most: Time) -> Self {
        self.pool = Arc::new(Pool::with(per_origin, at_most));
        self
    }

    /// Sends a GET, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub async fn get(&self, url: &str) -> Result<Response<C>, RequestError> {
        self.request("GET", url, http1::NO_FIELDS, "").await
    }

    /// Sends a POST with that body, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub async fn post<'a>(
        &self,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)> + Clone,
        body: impl Into<Payload<'a>>,
    ) -> Result<Response<C>, RequestError> {
        self.request("POST", url, fields, body).await
    }

    /// Sends a request, and waits for the head of the response. `host` is made out of the URL unless it is among the fields.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub async fn request<'a>(
        &self,
        method: &str,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)> + Clone,
        body: impl Into<Payload<'a>>,
    ) -> Result<Response<C>, RequestError> {
        let mut url = parse(url)?;
        let (mut method, mut body) = (method, body.into());
        let (mut same_origin, mut has_body, mut left) = (true, true, self.redirects);
        loop {
            let fields = fields.clone().into_iter().filter(|(name, _)| {
                (same_origin || !redirect::is_private(name)) && (has_body || !redirect::is_of_body(name))
            });
            let mut response = self.exchange(method, &url, fields_of(&url, fields), body.clone()).await?;
            if self.redirects == 0 {
                return Ok(response);
            }
            let Some(next) = redirect::next(&response, &url)? else { return Ok(response) };
            left = left.checked_sub(1).ok_or(RequestError::TooManyRedirects)?;
            // What it says to people is read, if it is short, so that the connection can be used again.
            let _ = response.body(redirect::MAX_BODY).await;
            if redirect::becomes_get(response.head().status(), method) {
                (method, body, has_body) = ("GET", Payload::from(""), false);
            }
            same_origin &= Origin::of(&next) == Origin::of(&url);
            url = next;
        }
    }

    /// Begins a POST in chunks.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub async fn post_stream(
        &self,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<Upload<C>, RequestError> {
        self.begin("POST", url, fields, BodyLength::Chunked).await
    }

    /// Begins a request whose body follows. It is not sent again, and its redirects are not followed.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub async fn begin(
        &self,
        method: &str,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
    ) -> Result<Upload<C>, RequestError> {
        let url = parse(url)?;
        let fields = fields_of(&url, fields.into_iter());
        let (mut driver, _) = self.connection(&Origin::of(&url)).await?;
        let out = driver.outbox();
        out.machine.send_request(method, target(&url), fields, body, out.tx).map_err(RequestError::Misuse)?;
        Ok(Upload::new(driver, method == "HEAD", url, Arc::clone(&self.pool)))
    }

    /// One request and the head of its response, on a connection that was kept or on a new one.
    async fn exchange(
        &self,
        method: &str,
        url: &Url,
        fields: Vec<(Vec<u8>, Vec<u8>)>,
        body: Payload<'_>,
    ) -> Result<Response<C>, RequestError> {
        let origin = Origin::of(url);
        loop {
            let (mut driver, kept) = self.connection(&origin).await?;
            let out = driver.outbox();
            let fields = fields.iter().map(|(name, value)| (name, value));
            out.machine.request(method, target(url), fields, body.clone(), out.tx).map_err(RequestError::Misuse)?;
            match response_head(&mut driver).await {
                Ok(head) => {
                    let pool = Arc::clone(&self.pool);
                    return Ok(Response::begin(driver, head, method == "HEAD", url.clone(), pool).await);
                }
                Err(error) if kept && is_idempotent(method) && error.is_stale() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// A connection, and whether it was kept.
    async fn connection(&self, origin: &Origin) -> Result<(Driver<C::Io, Client>, bool), RequestError> {
        while let Some(driver) = self.pool.take(origin) {
            if C::is_open(driver.io()) {
                return Ok((driver, true));
            }
        }
        let machine = Client::new(&self.config);
        let options = self.options.secured(origin.secure).map_err(RequestError::Url)?;
        let driver = self.connector.connect(&origin.host, origin.port, &options, machine).await;
        Ok((driver.map_err(RequestError::Connect)?, false))
    }
}

impl<C: Connect> Clone for HttpClient<C> {
    fn clone(&self) -> Self {
        Self {
            connector: self.connector.clone(),
            options: self.options.clone(),
            config: self.config.clone(),
            redirects: self.redirects,
            pool: Arc::clone(&self.pool),
        }
    }
}

impl<C: Connect> fmt::Debug for HttpClient<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("options", &self.options)
            .field("config", &self.config)
            .field("redirects", &self.redirects)
            .finish_non_exhaustive()
    }
}

/// The head of the response that is due; interim ones are skipped.
async fn response_head<Io: Transport>(
    driver: &mut Driver<Io, Client>,
) -> Result<http1::OwnedResponseHead, RequestError> {
    loop {
        match driver.next().await.map_err(RequestError::Connection)? {
            Some((ClientEvent::Response(head), _)) => return Ok(head.into_owned()),
            Some(_) => {}
            None => return Err(RequestError::Connection(Error::Io(io::ErrorKind::UnexpectedEof.into()))),
        }
    }
}

fn parse(url: &str) -> Result<Url, RequestError> {
    let url = Url::parse(url).map_err(|error| RequestError::Url(error.to_string()))?;
    check(&url)?;
    Ok(url)
}

/// What can be asked for.
fn check(url: &Url) -> Result<(), RequestError> {
    url::check(url, ["http", "https"]).map_err(RequestError::Url)
}

/// RFC 9110, section 9.2.2.
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
}
