//! tokio-tungstenite, as its examples show it and as one writes it for throughput.

use super::on_tokio::{self, Flush, OnTokio};
use crate::options::Protocol;
use std::io;
use tokio::net::TcpStream;
use tokio_tungstenite::{accept_async, tungstenite::Message};

/// Flushes after each message.
pub const TUNGSTENITE: OnTokio = OnTokio::new("tungstenite", Protocol::Ws, |job| {
    on_tokio::serve(job, |stream| connection(stream, Flush::EachMessage))
});

/// Flushes once per batch.
pub const TUNGSTENITE_BATCHED: OnTokio = OnTokio::new("tungstenite-batched", Protocol::Ws, |job| {
    on_tokio::serve(job, |stream| connection(stream, Flush::EachBatch))
});

async fn connection(stream: TcpStream, flush: Flush) -> io::Result<()> {
    let websocket = accept_async(stream).await.map_err(io::Error::other)?;
    let data = |message: Message| (message.is_text() || message.is_binary()).then_some(message);
    on_tokio::echo(websocket, flush, data).await
}
