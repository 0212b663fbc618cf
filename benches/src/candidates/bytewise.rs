//! What this workspace makes: one echo handler on every runtime, and the core in a bare readiness loop.

use super::{BYTEWISE, Candidate, Job, epoll_tls, io_uring};
use crate::{
    load::companions::{Companions, Task},
    options::{Protocol, Runtime, Topology},
    work,
};
use async_io::Async;
use bytewise::{
    Machine, SendBuf,
    framing::{ByteOrder, Frame, Framed, LengthPrefix, Width},
    http1::{self, BodyLength, NO_FIELDS, Server, ServerEvent},
    ws::{self, handshake::Upgrade},
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

#[path = "../../../core/examples/epoll_ws.rs"]
#[allow(dead_code, unreachable_pub, reason = "as a program it has a `main`, which is not for this one")]
mod epoll_ws;

/// This workspace's servers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bytewise;

impl Candidate for Bytewise {
    fn name(&self) -> &'static str {
        BYTEWISE
    }

    fn protocols(&self) -> &'static [Protocol] {
        &[Protocol::Framed, Protocol::Http, Protocol::Ws, Protocol::Https, Protocol::Wss]
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio, Runtime::Smol, Runtime::AsyncStd, Runtime::Blocking, Runtime::Epoll, Runtime::IoUring]
    }

    fn supports(&self, runtime: Runtime, topology: Topology) -> bool {
        !matches!(runtime, Runtime::Epoll | Runtime::IoUring) || topology == Topology::SINGLE
    }

    fn works(&self, runtime: Runtime, protocol: Protocol) -> bool {
        // The examples have no place for it.
        runtime != Runtime::Epoll || protocol.has_tls()
    }

    fn prepare(&self, runtime: Runtime, _: Protocol) -> Result<(), String> {
        if runtime == Runtime::IoUring { io_uring::prepare() } else { Ok(()) }
    }

    fn serve(&self, job: Job) -> io::Result<()> {
        match job.protocol {
            _ if job.runtime == Runtime::IoUring => io_uring::serve(job),
            Protocol::Framed => serve::<Framed<LengthPrefix>>(job, epoll_echo::serve),
            Protocol::Http => serve::<Server>(job, epoll_http::serve),
            Protocol::Ws => serve::<ws::Connection>(job, epoll_ws::serve),
            Protocol::Https | Protocol::Wss if job.runtime == Runtime::Epoll => epoll_tls::serve(job),
            Protocol::Https => serve::<Server>(job, unsupported),
            Protocol::Wss => serve::<ws::Connection>(job, unsupported),
        }
    }
}

fn unsupported(_: TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// A machine that can echo.
pub(super) trait Echo: for<'e> Machine<Event<'e>: Send> + Send + Sized + 'static {
    /// What a connection begins with.
    type First: Machine + Send + 'static;

    fn first() -> Self::First;

    /// Goes on to this machine.
    fn open<T: Transport + Send>(
        conn: Driver<T, Self::First>,
    ) -> impl Future<Output = Result<Driver<T, Self>, BoxError>> + Send;

    fn open_blocking(conn: blocking::Conn<Self::First>) -> Result<blocking::Conn<Self>, BoxError>;

    /// Answers one event.
    fn answer(&mut self, event: Self::Event<'_>, tx: &mut SendBuf) -> Result<(), BoxError>;
}

impl Echo for Framed<LengthPrefix> {
    type First = Self;

    fn first() -> Self {
        Self::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 16 << 20))
    }

    async fn open<T: Transport + Send>(conn: Driver<T, Self>) -> Result<Driver<T, Self>, BoxError> {
        Ok(conn)
    }

    fn open_blocking(conn: blocking::Conn<Self>) -> Result<blocking::Conn<Self>, BoxError> {
        Ok(conn)
    }

    fn answer(&mut self, event: Frame<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        match event {
            Frame::Data(data) => {
                work::message();
                Ok(self.send(data, tx)?)
            }
            _ => Ok(()),
        }
    }
}

impl Echo for Server {
    type First = Self;

    fn first() -> Self {
        Self::new(&http1::Config::default())
    }

    async fn open<T: Transport + Send>(conn: Driver<T, Self>) -> Result<Driver<T, Self>, BoxError> {
        Ok(conn)
    }

    fn open_blocking(conn: blocking::Conn<Self>) -> Result<blocking::Conn<Self>, BoxError> {
        Ok(conn)
    }

    fn answer(&mut self, event: ServerEvent<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        match event {
            ServerEvent::Request(head) => match head.body_length() {
                BodyLength::None | BodyLength::Length(0) => self.respond(200, NO_FIELDS, "", tx)?,
                length => self.send_response(200, NO_FIELDS, length, tx)?,
            },
            ServerEvent::Data(data) => self.send_data(data, tx)?,
            ServerEvent::End(_) => {
                work::message();
                self.send_end(NO_FIELDS, tx)?;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Echo for ws::Connection {
    type First = Server;

    fn first() -> Server {
        Server::new(&http1::Config::default())
    }

    async fn open<T: Transport + Send>(mut conn: Driver<T, Server>) -> Result<Driver<T, Self>, BoxError> {
        let mut exchange = conn.exchange().await?.ok_or("no request")?;
        let accepted = Upgrade::parse(exchange.head())?.accept(&ws::Config::default(), None);
        let out = exchange.outbox();
        out.machine.switch(101, accepted.fields(), out.tx)?;
        Ok(conn.switch(accepted.into_connection()))
    }

    fn open_blocking(mut conn: blocking::Conn<Server>) -> Result<blocking::Conn<Self>, BoxError> {
        let mut exchange = conn.exchange()?.ok_or("no request")?;
        let accepted = Upgrade::parse(exchange.head())?.accept(&ws::Config::default(), None);
        let out = exchange.outbox();
        out.machine.switch(101, accepted.fields(), out.tx)?;
        Ok(conn.switch(accepted.into_connection()))
    }

    fn answer(&mut self, event: ws::Event<'_>, tx: &mut SendBuf) -> Result<(), BoxError> {
        if matches!(event, ws::Event::Text(_) | ws::Event::Binary(_)) {
            work::message();
        }
        match event {
            ws::Event::Text(text) => self.send_text(text, tx)?,
            ws::Event::Binary(data) => self.send_binary(data, tx)?,
            _ => {}
        }
        Ok(())
    }
}

fn serve<M: Echo>(job: Job, on_epoll: fn(TcpListener) -> io::Result<()>) -> io::Result<()> {
    let tls = job.tls()?;
    let Job { listener, runtime, topology, companions, .. } = job;
    let topology = in_net(topology)?;
    let mut options = ServerOptions::default().with_max_connections(usize::MAX);
    if let Some(tls) = tls {
        options = options.with_tls(tls);
    }
    match runtime {
        Runtime::Tokio => {
            let handler = move |conn| {
                if let Some(companions) = &companions {
                    ::tokio::spawn(on_tokio(companions));
                }
                echo::<_, M>(conn)
            };
            tokio::run(topology, listener, options, M::first, handler, pending())
        }
        Runtime::Smol => {
            let handler = move |conn| beside(echo::<_, M>(conn), companions.as_ref().map(on_async_io));
            smol::run(topology, listener, options, M::first, handler, pending())
        }
        Runtime::AsyncStd => {
            let handler = move |conn| beside(echo::<_, M>(conn), companions.as_ref().map(on_async_io));
            async_std::run(topology, listener, options, M::first, handler, pending())
        }
        Runtime::Blocking => blocking::serve(listener, options, M::first, echo_blocking::<M>, Shutdown::new()),
        Runtime::Epoll => on_epoll(listener),
        Runtime::IoUring | Runtime::Asio => Err(io::ErrorKind::Unsupported.into()),
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

async fn echo<T: Transport + Send, M: Echo>(conn: Driver<T, M::First>) -> Result<(), BoxError> {
    let mut conn = M::open(conn).await?;
    while let Some((event, out)) = conn.next().await? {
        out.machine.answer(event, out.tx)?;
    }
    Ok(conn.close().await?)
}

fn echo_blocking<M: Echo>(conn: blocking::Conn<M::First>) -> Result<(), BoxError> {
    let mut conn = M::open_blocking(conn)?;
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
