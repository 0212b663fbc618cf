//! The clients of all runtimes under one name, as one that blocks.

use bytes::Bytes;
use bytewise::{
    Payload, Time,
    http1::{BodyLength, Config, Fields, NO_FIELDS, ResponseHead},
};
use bytewise_net::{self as net, ClientOptions, Connect, RequestError, blocking};
use std::{future::Future, sync::LazyLock};

pub(crate) type Named<'a> = &'a [(&'a str, &'a str)];

/// A client that is asked by a test.
pub(crate) trait Client: Clone + Send + Sync + 'static {
    type Response: Response;
    type Upload: Upload<Response = Self::Response>;

    fn with_options(options: ClientOptions) -> Self;
    fn config(self, config: Config) -> Self;
    fn redirects(self, at_most: u32) -> Self;
    fn idle(self, per_origin: usize, at_most: Time) -> Self;

    fn request<'a>(
        &self,
        method: &str,
        url: &str,
        fields: Named<'_>,
        body: impl Into<Payload<'a>>,
    ) -> Result<Self::Response, RequestError>;

    fn begin(&self, method: &str, url: &str, fields: Named<'_>, body: BodyLength)
    -> Result<Self::Upload, RequestError>;

    // Their own short forms.

    fn get(&self, url: &str) -> Result<Self::Response, RequestError>;
    fn post(&self, url: &str, body: &str) -> Result<Self::Response, RequestError>;
    fn post_stream(&self, url: &str) -> Result<Self::Upload, RequestError>;

    // What tests make of them.

    fn new() -> Self {
        Self::with_options(ClientOptions::default())
    }

    /// Asks, and reads the answer, which is text.
    #[track_caller]
    fn ask(&self, method: &str, url: &str) -> String {
        self.request(method, url, &[], "").unwrap().text()
    }

    #[track_caller]
    fn ask_get(&self, url: &str) -> String {
        self.get(url).unwrap().text()
    }

    #[track_caller]
    fn refused(&self, method: &str, url: &str) -> RequestError {
        self.request(method, url, &[], "").err().expect("an error")
    }
}

pub(crate) trait Response {
    fn head(&self) -> ResponseHead<'_>;
    fn url(&self) -> &str;
    fn data(&mut self) -> Result<Option<&[u8]>, RequestError>;
    fn body(&mut self, max: usize) -> Result<Bytes, RequestError>;
    fn trailers(&self) -> Fields<'_>;

    fn status(&self) -> u16 {
        self.head().status()
    }

    #[track_caller]
    fn text(&mut self) -> String {
        String::from_utf8(self.body(1 << 20).unwrap().into()).unwrap()
    }
}

pub(crate) trait Upload: Sized {
    type Response: Response;

    fn send<'a>(&mut self, data: impl Into<Payload<'a>>) -> Result<(), RequestError>;
    fn finish(self, trailers: Named<'_>) -> Result<Self::Response, RequestError>;
}

/// A runtime that has tasks.
pub(crate) trait OnRuntime: Connect<Io: Send> + Default + 'static {
    fn block_on<T>(work: impl Future<Output = T>) -> T;
}

/// One for all tests.
pub(crate) static TOKIO: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| tokio::runtime::Runtime::new().unwrap());

impl OnRuntime for net::tokio::Connector {
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        TOKIO.block_on(work)
    }
}

impl OnRuntime for net::smol::Connector {
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        smol::block_on(work)
    }
}

impl OnRuntime for net::async_std::Connector {
    fn block_on<T>(work: impl Future<Output = T>) -> T {
        async_std::task::block_on(work)
    }
}

impl<C: OnRuntime> Client for net::HttpClient<C> {
    type Response = OnTasks<net::Response<C>, C>;
    type Upload = OnTasks<net::Upload<C>, C>;

    fn with_options(options: ClientOptions) -> Self {
        Self::new(options)
    }

    fn config(self, config: Config) -> Self {
        self.with_config(config)
    }

    fn redirects(self, at_most: u32) -> Self {
        self.with_redirects(at_most)
    }

    fn idle(self, per_origin: usize, at_most: Time) -> Self {
        self.with_idle(per_origin, at_most)
    }

    fn request<'a>(
        &self,
        method: &str,
        url: &str,
        fields: Named<'_>,
        body: impl Into<Payload<'a>>,
    ) -> Result<Self::Response, RequestError> {
        C::block_on(self.request(method, url, fields.iter().copied(), body)).map(OnTasks::new)
    }

    fn begin(
        &self,
        method: &str,
        url: &str,
        fields: Named<'_>,
        body: BodyLength,
    ) -> Result<Self::Upload, RequestError> {
        C::block_on(self.begin(method, url, fields.iter().copied(), body)).map(OnTasks::new)
    }

    fn get(&self, url: &str) -> Result<Self::Response, RequestError> {
        C::block_on(self.get(url)).map(OnTasks::new)
    }

    fn post(&self, url: &str, body: &str) -> Result<Self::Response, RequestError> {
        C::block_on(self.post(url, NO_FIELDS, body)).map(OnTasks::new)
    }

    fn post_stream(&self, url: &str) -> Result<Self::Upload, RequestError> {
        C::block_on(self.post_stream(url, NO_FIELDS)).map(OnTasks::new)
    }
}

/// A response or an upload, with the runtime that it needs.
pub(crate) struct OnTasks<T, C>(T, std::marker::PhantomData<C>);

impl<T, C> OnTasks<T, C> {
    const fn new(of: T) -> Self {
        Self(of, std::marker::PhantomData)
    }
}

impl<C: OnRuntime> Response for OnTasks<net::Response<C>, C> {
    fn head(&self) -> ResponseHead<'_> {
        self.0.head()
    }

    fn url(&self) -> &str {
        self.0.url()
    }

    fn data(&mut self) -> Result<Option<&[u8]>, RequestError> {
        C::block_on(self.0.data())
    }

    fn body(&mut self, max: usize) -> Result<Bytes, RequestError> {
        C::block_on(self.0.body(max))
    }

    fn trailers(&self) -> Fields<'_> {
        self.0.trailers()
    }
}

impl<C: OnRuntime> Upload for OnTasks<net::Upload<C>, C> {
    type Response = OnTasks<net::Response<C>, C>;

    fn send<'a>(&mut self, data: impl Into<Payload<'a>>) -> Result<(), RequestError> {
        C::block_on(self.0.send(data))
    }

    fn finish(self, trailers: Named<'_>) -> Result<Self::Response, RequestError> {
        C::block_on(self.0.finish(trailers.iter().copied())).map(OnTasks::new)
    }
}

impl Client for blocking::HttpClient {
    type Response = blocking::Response;
    type Upload = blocking::Upload;

    fn with_options(options: ClientOptions) -> Self {
        Self::new(options)
    }

    fn config(self, config: Config) -> Self {
        self.with_config(config)
    }

    fn redirects(self, at_most: u32) -> Self {
        self.with_redirects(at_most)
    }

    fn idle(self, per_origin: usize, at_most: Time) -> Self {
        self.with_idle(per_origin, at_most)
    }

    fn request<'a>(
        &self,
        method: &str,
        url: &str,
        fields: Named<'_>,
        body: impl Into<Payload<'a>>,
    ) -> Result<Self::Response, RequestError> {
        self.request(method, url, fields.iter().copied(), body)
    }

    fn begin(
        &self,
        method: &str,
        url: &str,
        fields: Named<'_>,
        body: BodyLength,
    ) -> Result<Self::Upload, RequestError> {
        self.begin(method, url, fields.iter().copied(), body)
    }

    fn get(&self, url: &str) -> Result<Self::Response, RequestError> {
        self.get(url)
    }

    fn post(&self, url: &str, body: &str) -> Result<Self::Response, RequestError> {
        self.post(url, NO_FIELDS, body)
    }

    fn post_stream(&self, url: &str) -> Result<Self::Upload, RequestError> {
        self.post_stream(url, NO_FIELDS)
    }
}

impl Response for blocking::Response {
    fn head(&self) -> ResponseHead<'_> {
        self.head()
    }

    fn url(&self) -> &str {
        self.url()
    }

    fn data(&mut self) -> Result<Option<&[u8]>, RequestError> {
        self.data()
    }

    fn body(&mut self, max: usize) -> Result<Bytes, RequestError> {
        self.body(max)
    }

    fn trailers(&self) -> Fields<'_> {
        self.trailers()
    }
}

impl Upload for blocking::Upload {
    type Response = blocking::Response;

    fn send<'a>(&mut self, data: impl Into<Payload<'a>>) -> Result<(), RequestError> {
        self.send(data)
    }

    fn finish(self, trailers: Named<'_>) -> Result<Self::Response, RequestError> {
        self.finish(trailers.iter().copied())
    }
}
