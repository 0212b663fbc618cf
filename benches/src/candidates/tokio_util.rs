//! tokio-util's `LengthDelimitedCodec` on tokio, as its documentation shows it and as one writes it for throughput.

use super::{Candidate, Job};
use crate::{
    load::companions::Companions,
    options::{Protocol, Runtime, Topology},
};
use bytes::Bytes;
use bytewise_net::tokio::Stream;
use futures_util::{FutureExt, SinkExt, StreamExt};
use std::{io, sync::Arc, thread};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::mpsc,
};
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

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio]
    }

    fn supports(&self, protocol: Protocol, _: Runtime, topology: Topology) -> bool {
        matches!(protocol, Protocol::Framed) && topology.threads > 0
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        match job.topology {
            Topology { contexts: 1, threads } => on_one_context(job, threads, self.flush),
            Topology { contexts, .. } => on_many_contexts(job, contexts, self.flush),
        }
    }
}

/// One runtime, on one thread or on several.
fn on_one_context(job: Job, threads: usize, flush: Flush) -> io::Result<()> {
    let runtime = match threads {
        1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    }?;
    let accept = async move {
        job.listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(job.listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            spawn(stream, flush, job.companions.as_ref());
        }
    };
    match threads {
        1 => runtime.block_on(accept),
        _ => runtime.block_on(runtime.spawn(accept)).map_err(io::Error::other)?,
    }
}

/// A runtime per thread; this thread accepts, and hands out round robin.
fn on_many_contexts(job: Job, contexts: usize, flush: Flush) -> io::Result<()> {
    let mut queues = Vec::new();
    for _ in 0..contexts {
        let (queue, mut accepted) = mpsc::unbounded_channel::<std::net::TcpStream>();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let companions = job.companions.clone();
        let serve = async move {
            while let Some(stream) = accepted.recv().await {
                spawn(TcpStream::from_std(stream)?, flush, companions.as_ref());
            }
            Ok(())
        };
        thread::spawn(move || {
            let result: io::Result<()> = runtime.block_on(serve);
            if let Err(error) = result {
                eprintln!("tokio-util: {error}");
            }
        });
        queues.push(queue);
    }
    for queue in queues.iter().cycle() {
        let (stream, _) = job.listener.accept()?;
        stream.set_nonblocking(true)?;
        queue.send(stream).map_err(io::Error::other)?;
    }
    Ok(())
}

/// A task for the connection, and one for a client if there are some.
fn spawn(stream: TcpStream, flush: Flush, companions: Option<&Arc<Companions>>) {
    tokio::spawn(echo(stream, flush));
    if let Some(companions) = companions {
        tokio::spawn(companions.client(|stream| TcpStream::from_std(stream).map(Stream::new)));
    }
}

async fn echo(stream: TcpStream, flush: Flush) -> io::Result<()> {
    stream.set_nodelay(true)?;
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
