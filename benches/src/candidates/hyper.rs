//! hyper's HTTP/1.1 server on tokio, as its documentation shows it and with its option for pipelining.

use super::on_tokio::{self, OnTokio};
use crate::options::Protocol;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::io;
use tokio::net::TcpStream;

/// As it is by default: each response is written when it is complete.
pub const HYPER: OnTokio =
    OnTokio::new("hyper", Protocol::Http, |job| on_tokio::serve(job, |stream| connection(stream, false)));

/// With `pipeline_flush`, which its documentation calls experimental: responses to requests that came together are written
/// together.
pub const HYPER_PIPELINED: OnTokio =
    OnTokio::new("hyper-pipelined", Protocol::Http, |job| on_tokio::serve(job, |stream| connection(stream, true)));

async fn connection(stream: TcpStream, pipeline_flush: bool) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.pipeline_flush(pipeline_flush);
    http.serve_connection(TokioIo::new(stream), service_fn(echo)).await.map_err(io::Error::other)
}

async fn echo(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}
