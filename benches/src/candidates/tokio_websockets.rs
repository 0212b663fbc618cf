//! tokio-websockets, as its examples show it and as one writes it for throughput.

use super::on_tokio::{self, Flush, Io, OnTokio, Serving};
use crate::{options::Protocol, work};
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::io;
use tokio_websockets::{Config, Error, Message, ServerBuilder};

const PROTOCOLS: &[Protocol] = &[Protocol::Ws, Protocol::Wss];

/// Flushes after each message.
pub(super) const TOKIO_WEBSOCKETS: OnTokio =
    OnTokio::new("tokio-websockets", PROTOCOLS, |job| on_tokio::serve_either(job, EachMessage));

/// Flushes once per batch.
pub(super) const TOKIO_WEBSOCKETS_BATCHED: OnTokio =
    OnTokio::new("tokio-websockets-batched", PROTOCOLS, |job| on_tokio::serve_either(job, EachBatch));

#[derive(Debug, Clone, Copy)]
struct EachMessage;

impl Serving for EachMessage {
    async fn serve(self, io: impl Io) -> io::Result<()> {
        let (_, websocket) = ServerBuilder::new().accept(io).await.map_err(io::Error::other)?;
        on_tokio::echo(websocket, Flush::EachMessage, data).await
    }
}

#[derive(Debug, Clone, Copy)]
struct EachBatch;

impl Serving for EachBatch {
    async fn serve(self, io: impl Io) -> io::Result<()> {
        echo_batches(io).await.map_err(io::Error::other)
    }
}

/// Bytes that are buffered before the batched variant flushes all the same; by default 8 KiB.
const BATCH: usize = 64 * 1024;

fn data(message: Message) -> Option<Message> {
    (message.is_text() || message.is_binary()).then_some(message)
}

/// Whoever asks it for the next message makes it flush: so no reply is fed before all messages are there.
async fn echo_batches(io: impl Io) -> Result<(), Error> {
    let server = ServerBuilder::new().config(Config::default().flush_threshold(BATCH));
    let (_, mut websocket) = server.accept(io).await?;
    let mut batch = Vec::new();
    while let Some(first) = websocket.next().await {
        batch.push(first?);
        while let Some(Some(message)) = websocket.next().now_or_never() {
            batch.push(message?);
        }
        for reply in batch.drain(..).filter_map(data) {
            work::message();
            websocket.feed(reply).await?;
        }
        websocket.flush().await?;
    }
    Ok(())
}
