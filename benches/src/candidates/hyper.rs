//! hyper's HTTP/1.1 server on tokio, as its documentation shows it and with its option for pipelining.

use super::on_tokio::{self, Io, OnTokio, Serving};
use crate::{options::Protocol, work};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::io;

const PROTOCOLS: &[Protocol] = &[Protocol::Http, Protocol::Https];

/// As it is by default: each response is written when it is complete.
pub(super) const HYPER: OnTokio =
    OnTokio::new("hyper", PROTOCOLS, |job| on_tokio::serve_either(job, Hyper { pipeline_flush: false }));

/// With `pipeline_flush`, which its documentation calls experimental: responses to requests that came together are written
/// together.
pub(super) const HYPER_PIPELINED: OnTokio =
    OnTokio::new("hyper-pipelined", PROTOCOLS, |job| on_tokio::serve_either(job, Hyper { pipeline_flush: true }));

#[derive(Debug, Clone, Copy)]
struct Hyper {
    pipeline_flush: bool,
}

impl Serving for Hyper {
    async fn serve(self, io: impl Io) -> io::Result<()> {
        let mut http = http1::Builder::new();
        http.pipeline_flush(self.pipeline_flush);
        http.serve_connection(TokioIo::new(io), service_fn(echo)).await.map_err(io::Error::other)
    }
}

async fn echo(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    work::message();
    Ok(Response::new(Full::new(body)))
}
