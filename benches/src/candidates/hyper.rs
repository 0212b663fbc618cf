//! hyper's HTTP/1.1 server on tokio, as its documentation shows it and with its option for pipelining.

use super::{Candidate, Job, on_tokio};
use crate::options::{Protocol, Runtime, Topology};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::io;
use tokio::net::TcpStream;

/// An echo of whole bodies by `hyper::server::conn::http1`.
#[derive(Debug, Clone, Copy)]
pub struct Hyper {
    name: &'static str,
    /// Whether responses to requests that came together are written together.
    pipeline_flush: bool,
}

impl Hyper {
    /// As it is by default: each response is written when it is complete.
    pub const PER_RESPONSE: Self = Self { name: "hyper", pipeline_flush: false };

    /// With `pipeline_flush`, which its documentation calls experimental.
    pub const PIPELINED: Self = Self { name: "hyper-pipelined", pipeline_flush: true };
}

impl Candidate for Hyper {
    fn name(&self) -> &'static str {
        self.name
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Http]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio]
    }

    fn supports(&self, _: Runtime, _: Topology) -> bool {
        true
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        let pipeline_flush = self.pipeline_flush;
        on_tokio::serve(job, move |stream| connection(stream, pipeline_flush))
    }
}

async fn connection(stream: TcpStream, pipeline_flush: bool) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.pipeline_flush(pipeline_flush);
    http.serve_connection(TokioIo::new(stream), service_fn(echo)).await.map_err(io::Error::other)
}

async fn echo(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    Ok(Response::new(Full::new(body)))
}
