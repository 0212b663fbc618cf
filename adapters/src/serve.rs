//! The server of all runtimes that have tasks: accepts, spawns handlers, drains.

use crate::{
    BoxError, Driver, ServerOptions, Transport,
    accept::{Failure, PAUSE},
    connections::{Connections, Stage},
};
use bytewise::{Machine, Time};
use futures_lite::future::{or, yield_now};
use pin_project_lite::pin_project;
use std::{
    future::{Future, poll_fn},
    io,
    net::{TcpListener, TcpStream},
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
};

/// What a server needs of a runtime beside its streams.
pub(crate) trait Runtime: Sized {
    type Io: Transport;
    /// Makes a context of so many threads, and works in it on the calling thread until the future is ready.
    fn block_on<T>(threads: Threads, work: impl AsyncFnOnce(&Self) -> io::Result<T>) -> io::Result<T>;
    /// A listener that does not block, to be accepted from in this context.
    fn listen(&self, listener: TcpListener) -> io::Result<impl Accept<Io = Self::Io>>;
    /// A stream that was accepted elsewhere and does not block.
    fn adopt(&self, stream: TcpStream) -> io::Result<Self::Io>;
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static);
    fn sleep(&self, time: Time) -> impl Future<Output = ()>;
}

/// Where a server's connections come from.
pub(crate) trait Accept {
    type Io;
    /// `None` when there will be no more.
    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Self::Io>>>;
}

/// Threads of a context.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Threads {
    /// The calling one.
    One,
    /// So many beside the calling one.
    Many(NonZeroUsize),
}

/// Accepts until `shutdown` is ready or there is nothing more to accept, then drains.
pub(crate) async fn serve<R: Runtime, A: Accept, M, H, F>(
    runtime: &R,
    mut accept: A,
    options: ServerOptions,
    machine: impl Fn() -> M,
    handler: H,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()>
where
    A::Io: Transport,
    M: Machine,
    H: Fn(Driver<A::Io, M>) -> F,
    F: Future<Output = Result<(), BoxError>> + Send + 'static,
{
    let connections = Arc::new(Connections::default());
    let options = Arc::new(options);
    let room = options.max_connections.saturating_sub(1);
    let mut shutdown = pin!(shutdown);
    let outcome = loop {
        let ended = async {
            shutdown.as_mut().await;
            None
        };
        let accepted = async {
            connections.at_most(room).await;
            poll_fn(|cx| accept.poll_accept(cx)).await
        };
        let error = match or(ended, accepted).await {
            None => break Ok(()),
            Some(Ok(io)) => {
                let conn = match options.connection(io, machine(), connections.enter()) {
                    Ok(conn) => conn,
                    Err(error) => {
                        options.log(error.into());
                        continue;
                    }
                };
                // Not in an async block: that would hold the handler twice, as captured and as awaited.
                match catch_unwind(AssertUnwindSafe(|| handler(conn))) {
                    Ok(handler) => runtime.spawn(Handling { handler, options: Arc::clone(&options) }),
                    Err(panic) => options.settle(Err(panic)),
                }
                continue;
            }
            Some(Err(error)) => error,
        };
        let failure = Failure::of(&error);
        if failure == Failure::Fatal {
            break Err(error);
        }
        options.log(error.into());
        match failure {
            // The end is looked for after it.
            Failure::Pause => runtime.sleep(PAUSE).await,
            _ => yield_now().await,
        }
    };
    // Who comes from now on is refused.
    drop(accept);
    connections.set_stage(Stage::Draining);
    or(connections.at_most(0), runtime.sleep(options.drain)).await;
    connections.set_stage(Stage::Over);
    // Those that are cut off still have to notice, and not every context goes on when this is done.
    or(connections.at_most(0), runtime.sleep(CUT_OFF)).await;
    outcome
}

/// How long connections that are cut off may take to notice.
const CUT_OFF: Time = Time::from_secs(1);

pin_project! {
    /// A handler at work: its errors and panics go to the log.
    struct Handling<F> {
        #[pin]
        handler: F,
        options: Arc<ServerOptions>,
    }
}

impl<F: Future<Output = Result<(), BoxError>>> Future for Handling<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.project();
        let outcome = match catch_unwind(AssertUnwindSafe(|| this.handler.poll(cx))) {
            Ok(polled) => Ok(ready!(polled)),
            Err(panic) => Err(panic),
        };
        this.options.settle(outcome);
        Poll::Ready(())
    }
}
