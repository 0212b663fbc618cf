//! tokio-tungstenite, as its examples show it and as one writes it for throughput.

use super::on_tokio::{self, Flush, Io, OnTokio, Serving};
use crate::options::Protocol;
use std::io;
use tokio_tungstenite::{accept_async, tungstenite::Message};

const PROTOCOLS: &[Protocol] = &[Protocol::Ws, Protocol::Wss];

/// Flushes after each message.
pub(super) const TUNGSTENITE: OnTokio =
    OnTokio::new("tungstenite", PROTOCOLS, |job| on_tokio::serve_either(job, Tungstenite(Flush::EachMessage)));

/// Flushes once per batch.
pub(super) const TUNGSTENITE_BATCHED: OnTokio =
    OnTokio::new("tungstenite-batched", PROTOCOLS, |job| on_tokio::serve_either(job, Tungstenite(Flush::EachBatch)));

#[derive(Debug, Clone, Copy)]
struct Tungstenite(Flush);

impl Serving for Tungstenite {
    async fn serve(self, io: impl Io) -> io::Result<()> {
        let websocket = accept_async(io).await.map_err(io::Error::other)?;
        let data = |message: Message| (message.is_text() || message.is_binary()).then_some(message);
        on_tokio::echo(websocket, self.0, data).await
    }
}
