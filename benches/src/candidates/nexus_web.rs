//! nexus-web: by nexus-async-web, as its documentation shows it, and its sans-IO halves in a loop of one's own.

use super::on_tokio::{self, OnTokio};
use crate::{options::Protocol, work};
use nexus_async_web::{AsyncReadAdapter, ws::WsStreamBuilder};
use nexus_web::ws::{Error, FrameWriter, Message, Role};
use std::io;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Each reply is written when it is sent.
pub(super) const NEXUS_WEB: OnTokio = OnTokio::new("nexus-web", &[Protocol::Ws], |job| {
    on_tokio::serve(job, |stream| async { echo(stream).await.map_err(io::Error::other) })
});

/// Its sans-IO halves: replies to what was read at once are written at once.
pub(super) const NEXUS_WEB_BATCHED: OnTokio = OnTokio::new("nexus-web-batched", &[Protocol::Ws], |job| {
    on_tokio::serve(job, |stream| async { echo_batches(stream).await.map_err(io::Error::other) })
});

/// Bytes of its write buffer, which holds one message, or it panics. What is not used of it costs nothing.
const LARGEST: usize = (16 << 20) + 14;

/// Read at once by the batched variant.
const BLOCK: usize = 64 * 1024;

async fn echo(stream: TcpStream) -> Result<(), Error> {
    let builder = WsStreamBuilder::new().write_buffer_capacity(LARGEST);
    let (mut reader, mut writer, mut io) = builder.accept(AsyncReadAdapter::new(stream)).await?;
    while let Some(message) = reader.recv(&mut io).await? {
        if matches!(message, Message::Text(_) | Message::Binary(_)) {
            work::message();
        }
        match message {
            Message::Text(text) => writer.send_text(&mut io, text).await?,
            Message::Binary(data) => writer.send_binary(&mut io, data).await?,
            Message::Ping(data) => writer.send_pong(&mut io, data).await?,
            Message::Close(_) => break,
            Message::Pong(_) => {}
        }
    }
    Ok(())
}

async fn echo_batches(stream: TcpStream) -> Result<(), Error> {
    let (mut reader, _, io) = WsStreamBuilder::new().accept(AsyncReadAdapter::new(stream)).await?;
    let (reader, mut writer, mut stream) = (reader.frame_reader_mut(), FrameWriter::new(Role::Server), io.into_inner());
    let (mut replies, mut end) = (Vec::new(), 0);
    loop {
        while let Some(message) = reader.next()? {
            let most = end + writer.max_encoded_len(message.as_bytes().len());
            if replies.len() < most {
                replies.resize(most, 0);
            }
            let free = &mut replies[end..];
            if matches!(message, Message::Text(_) | Message::Binary(_)) {
                work::message();
            }
            end += match message {
                Message::Text(text) => writer.encode_text(text.as_bytes(), free),
                Message::Binary(data) => writer.encode_binary(data, free),
                Message::Ping(data) => writer.encode_pong(data, free).map_err(Error::Encode)?,
                Message::Close(_) => return Ok(()),
                Message::Pong(_) => 0,
            };
        }
        stream.write_all(&replies[..end]).await?;
        end = 0;
        if reader.should_compact() || reader.spare().is_empty() {
            reader.compact();
        }
        let space = reader.spare();
        let room = space.len().min(BLOCK);
        match stream.read(&mut space[..room]).await? {
            0 => return Ok(()),
            n => reader.filled(n),
        }
    }
}
