//! Peers on tokio, in every topology.

use super::{Candidate, Job};
use crate::{
    load::companions::Companions,
    options::{Protocol, Runtime, Topology},
    work,
};
use bytewise_net::tokio::Stream;
use futures_util::{FutureExt, Sink, SinkExt, Stream as Messages, StreamExt};
use std::{io, sync::Arc, thread};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    sync::mpsc,
};
use tokio_rustls::TlsAcceptor;

/// A peer on tokio, in every topology.
#[derive(Debug, Clone, Copy)]
pub struct OnTokio {
    name: &'static str,
    protocols: &'static [Protocol],
    serve: fn(Job) -> io::Result<()>,
}

impl OnTokio {
    /// Of that name; it serves by [`serve`], or by [`serve_either`] if it speaks TLS too.
    pub(super) const fn new(
        name: &'static str,
        protocols: &'static [Protocol],
        serve: fn(Job) -> io::Result<()>,
    ) -> Self {
        Self { name, protocols, serve }
    }
}

impl Candidate for OnTokio {
    fn name(&self) -> &'static str {
        self.name
    }

    fn protocols(&self) -> &'static [Protocol] {
        self.protocols
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio]
    }

    fn supports(&self, _: Runtime, _: Topology) -> bool {
        true
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        (self.serve)(job)
    }
}

/// When replies are flushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flush {
    /// After each of them: `SinkExt::send`.
    EachMessage,
    /// Once no further request can be decoded without waiting.
    EachBatch,
}

/// Does the work of each message, and sends back what `reply` makes of it.
pub(super) async fn echo<In, Out, E, M>(
    mut messages: M,
    flush: Flush,
    reply: impl Fn(In) -> Option<Out>,
) -> io::Result<()>
where
    M: Messages<Item = Result<In, E>> + Sink<Out, Error = E> + Unpin,
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let reply = |message| reply(message).inspect(|_| work::message());
    while let Some(first) = messages.next().await {
        if let Some(reply) = reply(first.map_err(io::Error::other)?) {
            messages.feed(reply).await.map_err(io::Error::other)?;
        }
        while flush == Flush::EachBatch
            && let Some(Some(message)) = messages.next().now_or_never()
        {
            if let Some(reply) = reply(message.map_err(io::Error::other)?) {
                messages.feed(reply).await.map_err(io::Error::other)?;
            }
        }
        messages.flush().await.map_err(io::Error::other)?;
    }
    Ok(())
}

/// What a peer speaks over.
pub(super) trait Io: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> Io for T {}

/// How a peer serves a connection, whatever it speaks over.
pub(super) trait Serving: Copy + Send + 'static {
    fn serve(self, io: impl Io) -> impl Future<Output = io::Result<()>> + Send;
}

/// Serves each connection, which has `TCP_NODELAY`; under TLS by tokio-rustls if the job says so.
pub(super) fn serve_either(job: Job, serving: impl Serving) -> io::Result<()> {
    let Some(config) = job.tls()? else { return serve(job, move |stream| serving.serve(stream)) };
    let acceptor = TlsAcceptor::from(config);
    serve(job, move |stream| {
        let accept = acceptor.accept(stream);
        async move { serving.serve(accept.await?).await }
    })
}

/// Spawns that future for each connection, which has `TCP_NODELAY`.
pub(super) fn serve<F>(job: Job, connection: impl Fn(TcpStream) -> F + Clone + Send + 'static) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    match job.topology {
        Topology { contexts: 1, threads } => on_one_context(job, threads, connection),
        Topology { contexts, .. } => on_many_contexts(job, contexts, connection),
    }
}

/// One runtime, on one thread or on several.
fn on_one_context<F>(
    job: Job,
    threads: usize,
    connection: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let runtime = match threads {
        1 => Builder::new_current_thread().enable_all().build(),
        threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
    }?;
    let accept = async move {
        job.listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(job.listener)?;
        loop {
            let (stream, _) = listener.accept().await?;
            spawn(stream, &connection, job.companions.as_ref())?;
        }
    };
    match threads {
        1 => runtime.block_on(accept),
        _ => runtime.block_on(runtime.spawn(accept)).map_err(io::Error::other)?,
    }
}

/// A runtime per thread; this thread accepts, and hands out round robin.
fn on_many_contexts<F>(
    job: Job,
    contexts: usize,
    connection: impl Fn(TcpStream) -> F + Clone + Send + 'static,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    let mut queues = Vec::new();
    for _ in 0..contexts {
        let (queue, mut accepted) = mpsc::unbounded_channel::<std::net::TcpStream>();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (connection, companions) = (connection.clone(), job.companions.clone());
        let serve = async move {
            while let Some(stream) = accepted.recv().await {
                spawn(TcpStream::from_std(stream)?, &connection, companions.as_ref())?;
            }
            Ok(())
        };
        thread::spawn(move || {
            let result: io::Result<()> = runtime.block_on(serve);
            if let Err(error) = result {
                eprintln!("a context has ended: {error}");
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
fn spawn<F>(
    stream: TcpStream,
    connection: impl Fn(TcpStream) -> F,
    companions: Option<&Arc<Companions>>,
) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Send + 'static,
{
    stream.set_nodelay(true)?;
    // The client sees how it went.
    tokio::spawn(connection(stream));
    if let Some(companions) = companions {
        tokio::spawn(companions.client(|stream| TcpStream::from_std(stream).map(Stream::new)));
    }
    Ok(())
}
