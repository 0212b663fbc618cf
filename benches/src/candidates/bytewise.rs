//! What this workspace makes: one echo handler on every runtime, and the core in a bare readiness loop.

use super::{BYTEWISE, Candidate, Job};
use crate::{
    load::companions::{Companions, Task},
    options::{Protocol, Runtime, Topology},
};
use async_io::Async;
use bytewise::{
    Machine, SendBuf,
    framing::{ByteOrder, Frame, Framed, LengthPrefix, Width},
    http1::{BodyLength, Config, NO_FIELDS, Server, ServerEvent},
};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Socket, Transport, async_std, blocking, smol, tokio};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{
    future::pending,
    io,
    net::{TcpListener, TcpStream},
    num::NonZeroUsize,
    sync::Arc,
};

/// The embedder's examples, as they are.
#[path = "../../../core/examples/epoll_echo.rs"]
#[allow(dead_code, unreachable_pub, reason = "as a program it has a `main`, which is not for this one")]
mod epoll_echo;

#[path = "../../../core/examples/epoll_http.rs"]
#[allow(dead_code, unreachable_pub, reason = "as a program it has a `main`, which is not for this one")]
mod epoll_http;

/// This workspace's servers.
#[derive(Debug, Clone, Copy)]
pub struct Bytewise;

impl Candidate for Bytewise {
    fn name(&self) -> &'static str {
        BYTEWISE
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Framed, Protocol::Http]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio, Runtime::Smol, Runtime::AsyncStd, Runtime::Blocking, Runtime::Epoll]
    }

    fn supports(&self, runtime: Runtime, topology: Topology) -> bool {
        runtime != Runtime::Epoll || topology == Topology::SINGLE
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        match job.protocol {
            Protocol::Framed => serve::<Framed<LengthPrefix>>(job, epoll_echo::serve),
            Protocol::Http => serve::<Server>(job, epoll_http::serve),
        }
    }
}

/// A machine that can echo.
trait Echo: for<'e> Machine<Event<'e>: Send> + Send + Sized + 'static {
    fn new() -> Self;

    /// Answers one event.
    fn answer(&mut self, event: Self::Event<'_>, tx: &mut SendBuf) -> Result<(), BoxError>;
}

impl Echo for Framed<LengthPrefix> {
    fn new() -> Self {
        Self::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 16 << 20))
    }

    fn answer(&mut self, event: Frame<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        match event {
            Frame::Data(data) => Ok(self.send(data, tx)?),
            _ => Ok(()),
        }
    }
}

impl Echo for Server {
    fn new() -> Self {
        Self::new(&Config::default())
    }

    fn answer(&mut self, event: ServerEvent<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        match event {
            ServerEvent::Request(head) => match head.body_length() {
                BodyLength::None | BodyLength::Length(0) => self.respond(200, NO_FIELDS, "", tx)?,
                length => self.send_response(200, NO_FIELDS, length, tx)?,
            },
            ServerEvent::Data(data) => self.send_data(data, tx)?,
            ServerEvent::End(_) => self.send_end(NO_FIELDS, tx)?,
            _ => {}
        }
        Ok(())
    }
}

fn serve<M: Echo>(job: Job, on_epoll: fn(TcpListener) -> io::Result<()>) -> io::Result<()> {
    let Job { listener, runtime, topology, companions, .. } = job;
    let topology = in_net(topology)?;
    let options = ServerOptions::default().with_max_connections(usize::MAX);
    match runtime {
        Runtime::Tokio => {
            let handler = move |conn| {
                if let Some(companions) = &companions {
                    ::tokio::spawn(on_tokio(companions));
                }
                echo(conn)
            };
            tokio::run(topology, listener, options, M::new, handler, pending())
        }
        Runtime::Smol => {
            let handler = move |conn| beside(echo(conn), companions.as_ref().map(on_async_io));
            smol::run(topology, listener, options, M::new, handler, pending())
        }
        Runtime::AsyncStd => {
            let handler = move |conn| beside(echo(conn), companions.as_ref().map(on_async_io));
            async_std::run(topology, listener, options, M::new, handler, pending())
        }
        Runtime::Blocking => blocking::serve(listener, options, M::new, echo_blocking, Shutdown::new()),
        Runtime::Epoll => on_epoll(listener),
        Runtime::Asio => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// That topology, as the adapters name it. Connections are dealt out to contexts, as by the peers.
fn in_net(Topology { contexts, threads }: Topology) -> io::Result<bytewise_net::Topology> {
    let threads = NonZeroUsize::new(threads).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(match (contexts, threads.get()) {
        (1, 1) => bytewise_net::Topology::Single,
        (1, _) => bytewise_net::Topology::Shared(threads),
        _ => bytewise_net::Topology::HandedOut(threads),
    })
}

async fn echo<T: Transport, M: Echo>(mut conn: Driver<T, M>) -> Result<(), BoxError> {
    while let Some((event, out)) = conn.next().await? {
        out.machine.answer(event, out.tx)?;
    }
    Ok(conn.close().await?)
}

fn echo_blocking<M: Echo>(mut conn: blocking::Conn<M>) -> Result<(), BoxError> {
    while let Some((event, out)) = conn.next()? {
        out.machine.answer(event, out.tx)?;
    }
    Ok(conn.close()?)
}

fn on_tokio(companions: &Arc<Companions>) -> Task {
    companions.client(|stream| ::tokio::net::TcpStream::from_std(stream).map(tokio::Stream::new))
}

fn on_async_io(companions: &Arc<Companions>) -> Task {
    companions.client(|stream: TcpStream| Ok(smol::Stream::new(Socket::new(Async::new(stream)?))))
}

/// The server's end of a connection, and a client in the same task, each polled when it is woken itself: the
/// executors that `run` makes cannot be spawned on from outside.
async fn beside(
    echo: impl Future<Output = Result<(), BoxError>> + Send + 'static,
    client: Option<Task>,
) -> Result<(), BoxError> {
    let Some(client) = client else { return echo.await };
    let echo: Task = Box::pin(async {
        // The client sees how it went.
        let _ = echo.await;
    });
    FuturesUnordered::from_iter([echo, client]).collect::<()>().await;
    Ok(())
}
