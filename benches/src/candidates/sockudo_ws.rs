//! sockudo-ws on tokio, written for throughput as its documentation says: replies are fed, and flushed once per batch.

use super::on_tokio::{self, Flush, OnTokio};
use crate::options::Protocol;
use sockudo_ws::{Config, Message, Role, WebSocketStream, handshake::server_handshake};
use std::io;
use tokio::net::TcpStream;

/// Flushes once per batch.
pub(super) const SOCKUDO_WS: OnTokio = OnTokio::new("sockudo-ws", &[Protocol::Ws], |job| {
    // Otherwise the first connection waits until the clock is calibrated.
    sockudo_ws::init_clock();
    on_tokio::serve(job, connection)
});

async fn connection(mut stream: TcpStream) -> io::Result<()> {
    let handshake = server_handshake(&mut stream).await.map_err(io::Error::other)?;
    let config = Config::default();
    let websocket = WebSocketStream::from_raw_with_leftover(stream, Role::Server, config, handshake.leftover);
    let data = |message: Message| (message.is_text() || message.is_binary()).then_some(message);
    on_tokio::echo(websocket, Flush::EachBatch, data).await
}
