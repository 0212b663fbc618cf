use super::{Stream, block, connect};
use crate::{ClientOptions, Connect, Driver, RequestError};
use bytes::Bytes;
use bytewise::{
    Payload, Time,
    http1::{self, BodyLength, Config, Fields, ResponseHead},
};
use std::{future::Future, io};

/// Connects for an [`HttpClient`].
#[derive(Debug, Clone, Copy, Default)]
pub struct Connector;

impl Connect for Connector {
    type Io = Stream;

    fn connect(
        &self,
        host: &str,
        port: u16,
        options: &ClientOptions,
        machine: http1::Client,
    ) -> impl Future<Output = io::Result<Driver<Stream, http1::Client>>> + Send {
        std::future::ready(connect(host, port, options, machine).map(|driver| driver.0))
    }

    fn is_open(io: &Stream) -> bool {
        let socket = io.get_ref();
        let peek = || {
            socket.set_nonblocking(true)?;
            let peeked = socket.peek(&mut [0]);
            socket.set_nonblocking(false)?;
            peeked
        };
        // What has come was not asked for, if it is not the end.
        peek().is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }
}

/// Requests by URL, over connections that are kept: [`crate::HttpClient`] without `async`.
#[derive(Debug, Clone)]
pub struct HttpClient(crate::HttpClient<Connector>);

/// A response, whose body is read from here: [`crate::Response`] without `async`.
#[derive(Debug)]
pub struct Response(crate::Response<Connector>);

/// A request whose body is being sent: [`crate::Upload`] without `async`.
#[derive(Debug)]
pub struct Upload(crate::Upload<Connector>);

impl HttpClient {
    /// With no connection yet.
    pub fn new(options: ClientOptions) -> Self {
        Self(crate::HttpClient::new(options))
    }

    /// Limits and leniencies of the connections; [`Config::default`] unless set.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        Self(self.0.with_config(config))
    }

    /// How many redirects are followed; none unless set. See [`crate::HttpClient::with_redirects`].
    #[must_use]
    pub fn with_redirects(self, at_most: u32) -> Self {
        Self(self.0.with_redirects(at_most))
    }

    /// Connections kept for each origin, and for how long. See [`crate::HttpClient::with_idle`].
    #[must_use]
    pub fn with_idle(self, per_origin: usize, at_most: Time) -> Self {
        Self(self.0.with_idle(per_origin, at_most))
    }

    /// Sends a GET, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub fn get(&self, url: &str) -> Result<Response, RequestError> {
        block(self.0.get(url)).map(Response)
    }

    /// Sends a POST with that body, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub fn post<'a>(
        &self,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)> + Clone,
        body: impl Into<Payload<'a>>,
    ) -> Result<Response, RequestError> {
        block(self.0.post(url, fields, body)).map(Response)
    }

    /// Sends a request, and waits for the head of the response. `host` is made out of the URL unless it is among the fields.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub fn request<'a>(
        &self,
        method: &str,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)> + Clone,
        body: impl Into<Payload<'a>>,
    ) -> Result<Response, RequestError> {
        block(self.0.request(method, url, fields, body)).map(Response)
    }

    /// Begins a POST in chunks.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub fn post_stream(
        &self,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<Upload, RequestError> {
        block(self.0.post_stream(url, fields)).map(Upload)
    }

    /// Begins a request whose body follows. It is not sent again, and its redirects are not followed.
    ///
    /// # Errors
    ///
    /// See [`RequestError`].
    pub fn begin(
        &self,
        method: &str,
        url: &str,
        fields: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
        body: BodyLength,
    ) -> Result<Upload, RequestError> {
        block(self.0.begin(method, url, fields, body)).map(Upload)
    }
}

impl Response {
    /// Status and fields.
    pub fn head(&self) -> ResponseHead<'_> {
        self.0.head()
    }

    /// Where it came from: the last URL, if redirects were followed.
    pub fn url(&self) -> &str {
        self.0.url()
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    ///
    /// [`RequestError::Connection`].
    pub fn data(&mut self) -> Result<Option<&[u8]>, RequestError> {
        block(self.0.data())
    }

    /// The whole body, or what is left of it, of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// [`RequestError::Connection`].
    pub fn body(&mut self, max: usize) -> Result<Bytes, RequestError> {
        block(self.0.body(max))
    }

    /// The trailers, once the body is read to its end; none before.
    pub fn trailers(&self) -> Fields<'_> {
        self.0.trailers()
    }
}

impl Upload {
    /// Sends a piece; waits while more than 64 KiB are queued.
    ///
    /// # Errors
    ///
    /// [`RequestError::Misuse`] if it is more than was announced, [`RequestError::Connection`].
    pub fn send<'a>(&mut self, data: impl Into<Payload<'a>>) -> Result<(), RequestError> {
        block(self.0.send(data))
    }

    /// Ends the body, with trailers if it is in chunks, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// [`RequestError::Misuse`] if it is less than was announced, or for the trailers; [`RequestError::Connection`].
    pub fn finish(
        self,
        trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<Response, RequestError> {
        block(self.0.finish(trailers)).map(Response)
    }
}
