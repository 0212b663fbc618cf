use crate::{Driver, Error, Receiver, Sender, Transport, wakers::Place};
use bytes::Bytes;
use bytewise::ws::{self, CloseCode, CloseFrame, Connection, Event};
use futures_core::{Stream, stream::FusedStream};
use futures_sink::Sink;
use std::{
    fmt, io,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// A message of one's own, or a control frame.
///
/// It costs an allocation and a copy that [`Driver::next`], which lends, does without.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Message {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Bytes),
    /// A ping of at most 125 bytes; what came was answered.
    Ping(Bytes),
    /// A pong of at most 125 bytes.
    Pong(Bytes),
    /// The close frame. What came was answered; sent, it begins the closing.
    Close(Option<(CloseCode, String)>),
}

impl Message {
    fn of(event: Event<'_>) -> Result<Self, MessageError> {
        Ok(match event {
            Event::Text(text) => Self::Text(text.into()),
            Event::Binary(data) => Self::Binary(Bytes::copy_from_slice(data)),
            Event::Ping(payload) => Self::Ping(Bytes::copy_from_slice(payload)),
            Event::Pong(payload) => Self::Pong(Bytes::copy_from_slice(payload)),
            Event::Close(frame) => Self::Close(frame.map(|frame| (frame.code, frame.reason.into()))),
            _ => return Err(MessageError::Chunks),
        })
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<Bytes> for Message {
    fn from(data: Bytes) -> Self {
        Self::Binary(data)
    }
}

impl From<Vec<u8>> for Message {
    fn from(data: Vec<u8>) -> Self {
        Self::Binary(data.into())
    }
}

/// What ends a [`Messages`], or keeps it from sending.
#[derive(Debug)]
#[non_exhaustive]
pub enum MessageError {
    /// The peer broke the protocol, the transport failed, or something took too long.
    Connection(Error<ws::Error>),
    /// The message cannot be sent.
    Misuse(ws::Misuse),
    /// The connection is set to [`Delivery::Chunks`](ws::Delivery::Chunks), which are no messages.
    Chunks,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(f),
            Self::Misuse(error) => error.fmt(f),
            Self::Chunks => f.write_str("the connection hands messages over in chunks"),
        }
    }
}

impl std::error::Error for MessageError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connection(error) => Some(error),
            Self::Misuse(error) => Some(error),
            Self::Chunks => None,
        }
    }
}

impl From<io::Error> for MessageError {
    fn from(error: io::Error) -> Self {
        Self::Connection(Error::Io(error))
    }
}

/// A WebSocket as a [`Stream`] and a [`Sink`] of [`Message`]s, for the combinators of `futures`.
///
/// The stream ends after the peer's close frame and whatever the closing takes, or after an error. Pings are answered, and
/// deadlines kept, while the stream is polled. What is fed is written when it is flushed, or when the stream waits. Closing the
/// sink sends the close frame; take the stream to its end to see the peer's. Both sides may be `split` into two tasks.
///
/// ```
/// # #[cfg(feature = "tokio")]
/// # mod example {
/// use bytewise_net::{BoxError, Message, WsOptions, tokio::connect_ws};
/// use futures::{SinkExt, StreamExt};
///
/// async fn example() -> Result<(), BoxError> {
///     let ws = connect_ws("ws://localhost:8000/echo", &WsOptions::default()).await?;
///     let mut messages = ws.into_messages(1 << 16);
///     messages.send("hello".into()).await?;
///     while let Some(message) = messages.next().await {
///         if let Message::Text(text) = message? {
///             println!("{text}");
///             messages.close().await?;
///         }
///     }
///     Ok(())
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Messages<Io> {
    receiver: Receiver<Io, Connection>,
    sender: Sender<Io, Connection>,
    place: Place,
    ended: bool,
}

impl<Io: Transport> Driver<Io, Connection> {
    /// As a stream and a sink of messages, which queues at most about `high_water` bytes: the last message may go above it.
    pub fn into_messages(self, high_water: usize) -> Messages<Io> {
        let (receiver, sender) = self.into_halves(high_water);
        Messages { receiver, place: sender.place(), sender, ended: false }
    }
}

impl<Io> Messages<Io> {
    /// The connection, to lend messages instead.
    pub fn into_driver(self) -> Driver<Io, Connection> {
        self.receiver.into_driver()
    }
}

impl<Io: Transport> Stream for Messages<Io> {
    type Item = Result<Message, MessageError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let item = match ready!(self.receiver.poll_next(cx, Message::of)) {
            Ok(event) => event,
            Err(error) => Some(Err(MessageError::Connection(error))),
        };
        self.ended = !matches!(item, Some(Ok(_)));
        Poll::Ready(item)
    }
}

impl<Io: Transport> FusedStream for Messages<Io> {
    fn is_terminated(&self) -> bool {
        self.ended
    }
}

impl<Io: Transport> Sink<Message> for Messages<Io> {
    type Error = MessageError;

    fn poll_ready(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), MessageError>> {
        let Self { sender, place, .. } = self.get_mut();
        Poll::Ready(Ok(ready!(sender.poll_room(place, cx))?))
    }

    /// A close frame is no misuse when one was sent already, in answer to the peer's, say.
    fn start_send(self: Pin<&mut Self>, message: Message) -> Result<(), MessageError> {
        let sent = self.sender.queue(|ws, tx| match message {
            Message::Text(text) => ws.send_text(text, tx),
            Message::Binary(data) => ws.send_binary(data, tx),
            Message::Ping(payload) => ws.ping(&payload, tx),
            Message::Pong(payload) => ws.pong(&payload, tx),
            Message::Close(_) if ws.is_closing() => Ok(()),
            Message::Close(None) => ws.close(None, tx),
            Message::Close(Some((code, reason))) => ws.close(Some(CloseFrame { code, reason: &reason }), tx),
        });
        sent?.map_err(MessageError::Misuse)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), MessageError>> {
        let Self { sender, place, .. } = self.get_mut();
        Poll::Ready(Ok(ready!(sender.poll_flush(place, cx))?))
    }

    /// Says 1000, unless a close frame was sent.
    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), MessageError>> {
        self.as_mut().start_send(Message::Close(Some((CloseCode::NORMAL, String::new()))))?;
        self.poll_flush(cx)
    }
}
