//! Services and bodies for them.

use axum::{
    body::Body,
    http::{HeaderMap, Request, Response},
};
use bytes::Bytes;
use bytewise_net::{BoxError, tower::RequestBody};
use futures_lite::Stream;
use http_body::{Body as _, Frame, SizeHint};
use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
};
use tower_service::Service;

/// A service that is a function.
#[derive(Debug, Clone)]
pub(crate) struct Answering<F>(F);

/// A service out of a function of the request.
pub(crate) const fn answering<F, A>(answer: F) -> Answering<F>
where
    F: Fn(Request<RequestBody>) -> A,
    A: Future<Output = Result<Response<Body>, BoxError>>,
{
    Answering(answer)
}

impl<F, A> Service<Request<RequestBody>> for Answering<F>
where
    F: Fn(Request<RequestBody>) -> A,
    A: Future<Output = Result<Response<Body>, BoxError>>,
{
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = A;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> A {
        (self.0)(request)
    }
}

/// A `200`.
pub(crate) fn ok(body: impl Into<Body>) -> Result<Response<Body>, BoxError> {
    Ok(Response::new(body.into()))
}

pub(crate) fn status(status: u16, body: impl Into<Body>) -> Result<Response<Body>, BoxError> {
    Ok(Response::builder().status(status).body(body.into())?)
}

/// The next frame of a body.
pub(crate) async fn frame(body: &mut RequestBody) -> Option<Result<Frame<Bytes>, BoxError>> {
    poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await
}

/// All of a body, and its trailers.
pub(crate) async fn whole(mut body: RequestBody) -> Result<(Vec<u8>, HeaderMap), BoxError> {
    let (mut data, mut trailers) = (Vec::new(), HeaderMap::new());
    while let Some(next) = frame(&mut body).await {
        match next?.into_data() {
            Ok(piece) => data.extend_from_slice(&piece),
            Err(other) => trailers = other.into_trailers().expect("there is no other"),
        }
    }
    assert!(body.is_end_stream());
    Ok((data, trailers))
}

/// What the next frame of a [`Frames`] is.
pub(crate) type Next = Result<Frame<Bytes>, BoxError>;

/// A body whose frames a test sends.
pub(crate) struct Frames {
    frames: Pin<Box<async_channel::Receiver<Next>>>,
    length: Option<u64>,
}

impl Frames {
    pub(crate) fn of(frames: async_channel::Receiver<Next>) -> Self {
        Self { frames: Box::pin(frames), length: None }
    }

    /// One whose frames are there.
    pub(crate) fn ready(frames: impl IntoIterator<Item = Next>) -> Self {
        let (send, receive) = async_channel::unbounded();
        for frame in frames {
            send.try_send(frame).unwrap();
        }
        Self::of(receive)
    }

    /// Says that it is so long, which may be a lie.
    pub(crate) fn hinting(mut self, length: u64) -> Self {
        self.length = Some(length);
        self
    }

    pub(crate) fn body(self) -> Body {
        Body::new(self)
    }
}

pub(crate) fn data(piece: impl Into<Bytes>) -> Next {
    Ok(Frame::data(piece.into()))
}

pub(crate) fn trailers(fields: &[(&'static str, &'static str)]) -> Next {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        map.append(*name, value.parse()?);
    }
    Ok(Frame::trailers(map))
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Next>> {
        self.frames.as_mut().poll_next(cx)
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
