use super::{Connect, RequestError, pool::Pool};
use crate::{Driver, url::Origin};
use bytes::Bytes;
use bytewise::http1::{self, BodyLength, Client, ClientEvent, Fields, OwnedFields, OwnedResponseHead, ResponseHead};
use futures_lite::future::poll_once;
use std::sync::Arc;
use url::Url;

/// A response, whose body is read from here.
///
/// Once it is read to its end and this is dropped, the connection serves other requests.
#[derive(Debug)]
pub struct Response<C: Connect> {
    /// There until this is dropped.
    driver: Option<Driver<C::Io, Client>>,
    head: OwnedResponseHead,
    trailers: OwnedFields,
    ended: bool,
    url: Url,
    pool: Arc<Pool<C::Io>>,
}

impl<C: Connect> Response<C> {
    /// That of a head that has come. If there is no body, that is its end.
    pub(super) async fn begin(
        driver: Driver<C::Io, Client>,
        head: OwnedResponseHead,
        to_head: bool,
        url: Url,
        pool: Arc<Pool<C::Io>>,
    ) -> Self {
        let is_empty = {
            let head = head.head();
            to_head || matches!(head.status(), 204 | 304) || head.body_length() == BodyLength::Length(0)
        };
        let mut response =
            Self { driver: Some(driver), head, trailers: OwnedFields::default(), ended: false, url, pool };
        if is_empty {
            // Not so if much of the request is still to be written: nobody waits for that here.
            let _ = poll_once(response.data()).await;
        }
        response
    }

    /// Status and fields.
    pub fn head(&self) -> ResponseHead<'_> {
        self.head.head()
    }

    /// Where it came from: the last URL, if redirects were followed.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// The next piece of the body; `None` at its end.
    ///
    /// # Errors
    ///
    /// [`RequestError::Connection`].
    pub async fn data(&mut self) -> Result<Option<&[u8]>, RequestError> {
        let Self { driver: Some(driver), trailers, ended, .. } = self else { return Ok(None) };
        if *ended {
            return Ok(None);
        }
        match driver.next().await.map_err(RequestError::Connection)? {
            Some((ClientEvent::Data(data), _)) => return Ok(Some(data)),
            Some((ClientEvent::End(fields), _)) => *trailers = fields.into_owned(),
            _ => {}
        }
        *ended = true;
        Ok(None)
    }

    /// The whole body, or what is left of it, of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// [`RequestError::Connection`], with [`http1::Error::BodyTooLong`] if there is more.
    pub async fn body(&mut self, max: usize) -> Result<Bytes, RequestError> {
        let mut body = Vec::new();
        while let Some(data) = self.data().await? {
            if data.len() > max - body.len() {
                return Err(RequestError::Connection(crate::Error::Protocol(http1::Error::BodyTooLong)));
            }
            body.extend_from_slice(data);
        }
        self.give_back();
        Ok(body.into())
    }

    /// The trailers, once the body is read to its end; none before.
    pub fn trailers(&self) -> Fields<'_> {
        self.trailers.fields()
    }

    fn give_back(&mut self) {
        if let Some(driver) = self.driver.take_if(|_| self.ended) {
            self.pool.give_back(Origin::of(&self.url), driver);
        }
    }
}

impl<C: Connect> Drop for Response<C> {
    fn drop(&mut self) {
        self.give_back();
    }
}
