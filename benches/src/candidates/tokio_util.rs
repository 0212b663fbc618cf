//! tokio-util's `LengthDelimitedCodec` on tokio, as its documentation shows it and as one writes it for throughput.

use super::{Candidate, Job, on_tokio};
use crate::options::{Protocol, Runtime, Topology};
use bytes::Bytes;
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::io;
use tokio::net::TcpStream;
use tokio_util::codec::{Framed, LengthDelimitedCodec};

/// Buffers of the batched variant, in bytes; otherwise it would flush whenever 8 KiB are written.
const BATCH: usize = 64 * 1024;

/// When replies are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flush {
    /// After each of them: `SinkExt::send`.
    EachMessage,
    /// Once no further request can be decoded without waiting.
    EachBatch,
}

/// An echo of `Framed<TcpStream, LengthDelimitedCodec>`.
#[derive(Debug, Clone, Copy)]
pub struct TokioUtil {
    name: &'static str,
    flush: Flush,
}

impl TokioUtil {
    /// Flushes after each message.
    pub const PER_MESSAGE: Self = Self { name: "tokio-util", flush: Flush::EachMessage };

    /// Flushes once per batch.
    pub const BATCHED: Self = Self { name: "tokio-util-batched", flush: Flush::EachBatch };
}

impl Candidate for TokioUtil {
    fn name(&self) -> &'static str {
        self.name
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Framed]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio]
    }

    fn supports(&self, _: Runtime, _: Topology) -> bool {
        true
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        let flush = self.flush;
        on_tokio::serve(job, move |stream| echo(stream, flush))
    }
}

async fn echo(stream: TcpStream, flush: Flush) -> io::Result<()> {
    match flush {
        Flush::EachMessage => echo_messages(Framed::new(stream, codec())).await,
        Flush::EachBatch => {
            let mut framed = Framed::with_capacity(stream, codec(), BATCH);
            framed.set_backpressure_boundary(BATCH);
            echo_batches(framed).await
        }
    }
}

fn codec() -> LengthDelimitedCodec {
    LengthDelimitedCodec::builder().max_frame_length(16 << 20).new_codec()
}

async fn echo_messages(mut framed: Framed<TcpStream, LengthDelimitedCodec>) -> io::Result<()> {
    while let Some(message) = framed.next().await {
        framed.send(message?.freeze()).await?;
    }
    Ok(())
}

async fn echo_batches(mut framed: Framed<TcpStream, LengthDelimitedCodec>) -> io::Result<()> {
    while let Some(first) = framed.next().await {
        framed.feed(first?.freeze()).await?;
        while let Some(Some(message)) = framed.next().now_or_never() {
            framed.feed(message?.freeze()).await?;
        }
        SinkExt::<Bytes>::flush(&mut framed).await?;
    }
    Ok(())
}
