//! What this workspace makes: one echo handler on every runtime, and the core in a bare readiness loop.

use super::{BYTEWISE, Candidate, Job};
use crate::{
    load::companions::{Companions, Task},
    options::{Protocol, Runtime, Topology},
};
use async_io::Async;
use bytewise::framing::{ByteOrder, Frame, Framed, LengthPrefix, Width};
use bytewise_net::{BoxError, Driver, ServerOptions, Shutdown, Socket, Transport, async_std, blocking, smol, tokio};
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{future::pending, io, net::TcpStream, num::NonZeroUsize, sync::Arc};

/// The embedder's example, as it is.
#[path = "../../../core/examples/epoll_echo.rs"]
#[allow(dead_code, unreachable_pub, reason = "as a program it has a `main`, which is not for this one")]
mod epoll_echo;

/// This workspace's servers.
#[derive(Debug, Clone, Copy)]
pub struct Bytewise;

impl Candidate for Bytewise {
    fn name(&self) -> &'static str {
        BYTEWISE
    }

    fn runtimes(&self) -> &'static [Runtime] {
        &[Runtime::Tokio, Runtime::Smol, Runtime::AsyncStd, Runtime::Blocking, Runtime::Epoll]
    }

    fn supports(&self, protocol: Protocol, runtime: Runtime, topology: Topology) -> bool {
        matches!(protocol, Protocol::Framed) && (runtime != Runtime::Epoll || topology == Topology::SINGLE)
    }

    fn serve(&self, job: Job) -> io::Result<()> {
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
                tokio::run(topology, listener, options, machine, handler, pending())
            }
            Runtime::Smol => {
                let handler = move |conn| beside(echo(conn), companions.as_ref().map(on_async_io));
                smol::run(topology, listener, options, machine, handler, pending())
            }
            Runtime::AsyncStd => {
                let handler = move |conn| beside(echo(conn), companions.as_ref().map(on_async_io));
                async_std::run(topology, listener, options, machine, handler, pending())
            }
            Runtime::Blocking => blocking::serve(listener, options, machine, echo_blocking, Shutdown::new()),
            Runtime::Epoll => epoll_echo::serve(listener),
        }
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

fn machine() -> Framed<LengthPrefix> {
    Framed::new(LengthPrefix::new(Width::U32, ByteOrder::Big, 16 << 20))
}

async fn echo<T: Transport>(mut conn: Driver<T, Framed<LengthPrefix>>) -> Result<(), BoxError> {
    while let Some((frame, out)) = conn.next().await? {
        if let Frame::Data(data) = frame {
            out.machine.send(data, out.tx)?;
        }
    }
    Ok(conn.close().await?)
}

fn echo_blocking(mut conn: blocking::Conn<Framed<LengthPrefix>>) -> Result<(), BoxError> {
    while let Some((frame, out)) = conn.next()? {
        if let Frame::Data(data) = frame {
            out.machine.send(data, out.tx)?;
        }
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
