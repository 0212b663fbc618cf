//! fastwebsockets over hyper's upgrade, like its example `echo_server`. It writes each frame when it is sent.

use super::on_tokio::{self, Io, OnTokio, Serving};
use crate::{options::Protocol, work};
use bytes::Bytes;
use fastwebsockets::{FragmentCollector, OpCode, WebSocketError, upgrade};
use http_body_util::Empty;
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::io;

/// With its defaults.
pub(super) const FASTWEBSOCKETS: OnTokio =
    OnTokio::new("fastwebsockets", &[Protocol::Ws, Protocol::Wss], |job| on_tokio::serve_either(job, Upgrading));

#[derive(Debug, Clone, Copy)]
struct Upgrading;

impl Serving for Upgrading {
    async fn serve(self, io: impl Io) -> io::Result<()> {
        let http = http1::Builder::new().serve_connection(TokioIo::new(io), service_fn(accept));
        http.with_upgrades().await.map_err(io::Error::other)
    }
}

async fn accept(mut request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    let (response, upgrade) = upgrade::upgrade(&mut request)?;
    // The client sees how it went.
    tokio::spawn(echo(upgrade));
    Ok(response)
}

async fn echo(upgrade: upgrade::UpgradeFut) -> Result<(), WebSocketError> {
    let mut websocket = FragmentCollector::new(upgrade.await?);
    loop {
        let frame = websocket.read_frame().await?;
        match frame.opcode {
            OpCode::Text | OpCode::Binary => {
                work::message();
                websocket.write_frame(frame).await?;
            }
            OpCode::Close => return Ok(()),
            _ => {}
        }
    }
}
