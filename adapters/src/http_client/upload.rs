use super::{Connect, RequestError, Response, pool::Pool, response_head};
use crate::{Driver, Error};
use bytewise::{Payload, http1::Client};
use std::sync::Arc;
use url::Url;

/// What is queued before it is waited for.
const HIGH_WATER: usize = 64 * 1024;

/// A request whose body is being sent.
///
/// It only writes: a server that answers before the body is complete is heard after [`finish`](Self::finish). To listen
/// meanwhile, take a connection of your own.
#[derive(Debug)]
pub struct Upload<C: Connect> {
    driver: Driver<C::Io, Client>,
    is_head: bool,
    url: Url,
    pool: Arc<Pool<C::Io>>,
}

impl<C: Connect> Upload<C> {
    pub(super) const fn new(driver: Driver<C::Io, Client>, is_head: bool, url: Url, pool: Arc<Pool<C::Io>>) -> Self {
        Self { driver, is_head, url, pool }
    }

    /// Sends a piece; waits while more than 64 KiB are queued.
    ///
    /// # Errors
    ///
    /// [`RequestError::Misuse`] if it is more than was announced, [`RequestError::Connection`].
    pub async fn send<'a>(&mut self, data: impl Into<Payload<'a>>) -> Result<(), RequestError> {
        let mut out = self.driver.outbox();
        out.machine.send_data(data, out.tx).map_err(RequestError::Misuse)?;
        out.ready(HIGH_WATER).await.map_err(|error| RequestError::Connection(Error::Io(error)))
    }

    /// Ends the body, with trailers if it is in chunks, and waits for the head of the response.
    ///
    /// # Errors
    ///
    /// [`RequestError::Misuse`] if it is less than was announced, or for the trailers; [`RequestError::Connection`].
    pub async fn finish(
        mut self,
        trailers: impl IntoIterator<Item = (impl AsRef<[u8]>, impl AsRef<[u8]>)>,
    ) -> Result<Response<C>, RequestError> {
        let out = self.driver.outbox();
        out.machine.send_end(trailers, out.tx).map_err(RequestError::Misuse)?;
        let head = response_head(&mut self.driver).await?;
        Ok(Response::begin(self.driver, head, self.is_head, self.url, self.pool).await)
    }
}
