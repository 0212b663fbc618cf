//! How a server is spread over contexts and threads.

use crate::{
    BoxError, Driver, ServerOptions, Shutdown, Waiting,
    accept::accept_each,
    serve::{Accept, Runtime, Threads, serve},
};
use async_channel::{Receiver, Sender, TrySendError, bounded};
use bytewise::Machine;
use futures_lite::{Stream as _, future::or};
use std::{
    future::Future,
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    num::NonZeroUsize,
    pin::Pin,
    task::{Context, Poll, ready},
    thread,
};

/// Contexts and threads of a server. A context is a runtime, or an executor, of its own.
///
/// One context on one thread costs least per message; more threads serve more of them. With one context on many threads
/// a busy thread's connections are taken over by others; with many contexts a connection stays on its thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Topology {
    /// One context on the calling thread.
    Single,
    /// One context on so many threads.
    Shared(NonZeroUsize),
    /// So many contexts of one thread each, which all accept: each on a listener of its own if the one given allows it
    /// ([`bind_reuse_port`]), so that the system spreads the connections, else on the one.
    PerThread(NonZeroUsize),
    /// So many contexts of one thread each; the calling thread accepts, and hands out in turn.
    HandedOut(NonZeroUsize),
}

/// A listener whose port others may be bound to as well (`SO_REUSEPORT`), for [`Topology::PerThread`].
///
/// # Errors
///
/// As of [`TcpListener::bind`]; where the system has no such option, [`io::ErrorKind::Unsupported`].
pub fn bind_reuse_port(address: SocketAddr) -> io::Result<TcpListener> {
    #[cfg(unix)]
    {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        socket.set_reuse_port(true)?;
        socket.bind(&address.into())?;
        socket.listen(1024)?;
        Ok(socket.into())
    }
    #[cfg(not(unix))]
    {
        let _ = address;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The listeners of so many contexts.
fn listeners_per_thread(first: TcpListener, count: NonZeroUsize) -> io::Result<Vec<TcpListener>> {
    #[cfg(unix)]
    let reuse_port = socket2::SockRef::from(&first).reuse_port()?;
    #[cfg(not(unix))]
    let reuse_port = false;
    let address = first.local_addr()?;
    let mut listeners = Vec::with_capacity(count.get());
    for _ in 1..count.get() {
        let listener = if reuse_port { bind_reuse_port(address)? } else { first.try_clone()? };
        // tokio panics at one that blocks.
        listener.set_nonblocking(true)?;
        listeners.push(listener);
    }
    listeners.push(first);
    Ok(listeners)
}

/// [`serve`] in contexts of their own, in that topology.
pub(crate) fn run<R: Runtime, M, H, F>(
    topology: Topology,
    listener: TcpListener,
    options: ServerOptions,
    machine: impl Fn() -> M + Clone + Send,
    handler: H,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    M: Machine,
    H: Fn(Driver<R::Io, M>) -> F + Clone + Send,
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    listener.set_nonblocking(true)?;
    let ended = Shutdown::new();
    let (threads, count) = match topology {
        Topology::Single => (Threads::One, NonZeroUsize::MIN),
        Topology::Shared(count) => (Threads::Many(count), NonZeroUsize::MIN),
        Topology::PerThread(count) | Topology::HandedOut(count) => (Threads::One, count),
    };
    if let Topology::Single | Topology::Shared(_) = topology {
        return R::block_on(threads, async |runtime| {
            let accept = runtime.listen(listener)?;
            serve(runtime, accept, options, machine, handler, shutdown).await
        });
    }
    // On the calling thread: who waits for a signal needs a runtime too.
    let wait = |ended: Waiting| {
        R::block_on(Threads::One, async |_| {
            or(shutdown, ended).await;
            Ok(())
        })
    };
    let share = options.clone().with_max_connections(options.max_connections.div_ceil(count.get()));
    let parts = || (share.clone(), machine.clone(), handler.clone());
    if let Topology::PerThread(count) = topology {
        let listeners = listeners_per_thread(listener, count)?;
        let sources = listeners.into_iter().map(|listener| (listener, parts())).collect();
        let context = |(listener, (options, machine, handler)), ended| {
            R::block_on(Threads::One, async |runtime| {
                let accept = runtime.listen(listener)?;
                serve(runtime, accept, options, machine, handler, ended).await
            })
        };
        return on_threads(sources, &ended, context, wait);
    }
    let (senders, receivers): (Vec<_>, Vec<_>) = (0..count.get()).map(|_| bounded(HANDED_OUT)).unzip();
    let sources = receivers.into_iter().map(|receiver| (receiver, parts())).collect();
    let context = |(receiver, (options, machine, handler)), ended| {
        R::block_on(Threads::One, async |runtime| {
            let accept = HandedOut { receiver: Box::pin(receiver), runtime };
            serve(runtime, accept, options, machine, handler, ended).await
        })
    };
    thread::scope(|scope| {
        // The listener goes with it: once it has ended, who comes is refused.
        let (options, ended) = (&options, &ended);
        let acceptor = scope.spawn(move || {
            let _end_all = EndAll(ended);
            hand_out(listener, options, ended, senders)
        });
        let outcome = on_threads(sources, ended, context, wait);
        outcome.and(acceptor.join().unwrap_or_else(|_| Err(io::Error::other("the accepting thread panicked"))))
    })
}

/// Runs a context for each of `sources` on a thread of its own until `ended` has begun, which `wait` waits for on the
/// calling thread. One that fails ends them all, and its error is returned.
fn on_threads<S: Send>(
    sources: Vec<S>,
    ended: &Shutdown,
    context: impl Fn(S, Waiting) -> io::Result<()> + Sync,
    wait: impl FnOnce(Waiting) -> io::Result<()>,
) -> io::Result<()> {
    let context = &context;
    thread::scope(|scope| {
        let run = |source| {
            move || {
                let _end_all = EndAll(ended);
                context(source, ended.wait())
            }
        };
        let threads: Vec<_> = sources.into_iter().map(|source| scope.spawn(run(source))).collect();
        let mut outcome = wait(ended.wait());
        ended.begin();
        for thread in threads {
            outcome = outcome.and(thread.join().unwrap_or_else(|_| Err(io::Error::other("a context panicked"))));
        }
        outcome
    })
}

/// Ends all contexts with one of them, even if that panics.
struct EndAll<'s>(&'s Shutdown);

impl Drop for EndAll<'_> {
    fn drop(&mut self) {
        self.0.begin();
    }
}

/// Connections on their way from the thread that accepts to each context, at most.
const HANDED_OUT: usize = 64;

/// Accepts, and hands out in turn.
fn hand_out(
    listener: TcpListener,
    options: &ServerOptions,
    ended: &Shutdown,
    contexts: Vec<Sender<TcpStream>>,
) -> io::Result<()> {
    let mut turn = 0;
    accept_each(
        listener,
        options,
        ended,
        || {},
        |mut stream| {
            if let Err(error) = stream.set_nonblocking(true) {
                return options.log(error.into());
            }
            turn = (turn + 1) % contexts.len();
            // To the context whose turn it is or, if that does not keep up, to the next one that does.
            for context in contexts[turn..].iter().chain(&contexts[..turn]) {
                match context.try_send(stream) {
                    Ok(()) => return,
                    Err(TrySendError::Full(back) | TrySendError::Closed(back)) => stream = back,
                }
            }
            // It fails when the server ends: then the connection is dropped.
            drop(contexts[turn].send_blocking(stream));
        },
    )
}

/// A context's streams that were accepted by another thread.
struct HandedOut<'r, R> {
    receiver: Pin<Box<Receiver<TcpStream>>>,
    runtime: &'r R,
}

impl<R: Runtime> Accept for HandedOut<'_, R> {
    type Io = R::Io;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<R::Io>>> {
        let stream = ready!(self.receiver.as_mut().poll_next(cx));
        Poll::Ready(stream.map(|stream| self.runtime.adopt(stream)))
    }
}
