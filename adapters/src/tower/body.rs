//! The body of a request, from the connection that reads it to the service that may have it anywhere.

use crate::BoxError;
use bytes::Bytes;
use bytewise::http1::BodyLength;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::{
    mem,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

/// The body of a request, read as it is polled. It may be sent to another task; it fails if it outlives its exchange.
#[derive(Debug)]
pub struct RequestBody {
    /// `None` if there is no body, or none any more.
    shared: Option<Arc<Shared>>,
    /// Bytes still to come, if that was announced.
    left: Option<u64>,
}

/// The end of it that the connection holds.
#[derive(Debug)]
pub(super) struct Feed(Option<Arc<Shared>>);

#[derive(Debug, Default)]
struct Shared(Mutex<Slot>);

/// At most one piece is on its way, and it was asked for.
#[derive(Debug, Default)]
struct Slot {
    content: Content,
    /// Who waits for the next piece.
    reader: Option<Waker>,
    /// Who waits for being asked for it.
    feeder: Option<Waker>,
    /// The request is over: what was not asked for by then does not come.
    over: bool,
}

#[derive(Debug, Default)]
enum Content {
    #[default]
    Nothing,
    Wanted,
    Data(Bytes),
    End(HeaderMap),
    Failed,
}

impl Shared {
    /// Nothing that can panic is done while it is held.
    fn lock(&self) -> MutexGuard<'_, Slot> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn new(length: BodyLength) -> (RequestBody, Feed) {
    let left = match length {
        BodyLength::None | BodyLength::Length(0) => return (RequestBody { shared: None, left: Some(0) }, Feed(None)),
        BodyLength::Length(length) => Some(length),
        _ => None,
    };
    let shared = Arc::<Shared>::default();
    (RequestBody { shared: Some(Arc::clone(&shared)), left }, Feed(Some(shared)))
}

impl Feed {
    /// Whether the service asks for the next piece; if not, the task is woken when it does.
    pub(super) fn is_wanted(&self, cx: &mut Context<'_>) -> bool {
        let Some(shared) = &self.0 else { return false };
        let mut slot = shared.lock();
        let wanted = matches!(slot.content, Content::Wanted);
        if !wanted {
            slot.feeder = Some(cx.waker().clone());
        }
        wanted
    }

    pub(super) fn data(&self, data: &[u8]) {
        self.put(Content::Data(Bytes::copy_from_slice(data)));
    }

    pub(super) fn end(&self, trailers: HeaderMap) {
        self.put(Content::End(trailers));
    }

    pub(super) fn fail(&self) {
        self.put(Content::Failed);
    }

    fn put(&self, content: Content) {
        let Some(shared) = &self.0 else { return };
        let mut slot = shared.lock();
        slot.content = content;
        let reader = slot.reader.take();
        drop(slot);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        let Some(shared) = &self.0 else { return };
        let mut slot = shared.lock();
        slot.over = true;
        let reader = slot.reader.take();
        drop(slot);
        reader.into_iter().for_each(Waker::wake);
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(shared) = &self.shared else { return Poll::Ready(None) };
        let mut slot = shared.lock();
        let frame = match mem::take(&mut slot.content) {
            Content::Nothing | Content::Wanted if !slot.over => {
                slot.content = Content::Wanted;
                slot.reader = Some(cx.waker().clone());
                let feeder = slot.feeder.take();
                drop(slot);
                feeder.into_iter().for_each(Waker::wake);
                return Poll::Pending;
            }
            Content::Data(data) => {
                drop(slot);
                self.left = self.left.map(|left| left.saturating_sub(data.len() as u64));
                return Poll::Ready(Some(Ok(Frame::data(data))));
            }
            Content::End(trailers) if trailers.is_empty() => None,
            Content::End(trailers) => Some(Ok(Frame::trailers(trailers))),
            Content::Failed | Content::Nothing | Content::Wanted => {
                Some(Err("the request ended before its body".into()))
            }
        };
        drop(slot);
        (self.shared, self.left) = (None, Some(0));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.shared.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
