//! Accepting connections: what its errors mean, and how a thread that blocks in it is ended.

use crate::{ServerOptions, Shutdown};
use bytewise::Time;
use mio::{Events, Interest, Poll, Token};
use std::{
    future::Future,
    io,
    net::{TcpListener, TcpStream},
    pin::pin,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread,
};

/// How long to wait when there are no descriptors, say, before accepting is tried again.
pub(crate) const PAUSE: Time = Time::from_millis(100);

/// What to do about an error of accepting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It was that connection's.
    Next,
    /// No descriptors or no memory: that may get better.
    Pause,
    /// The listener is of no use.
    Fatal,
}

impl Failure {
    pub(crate) fn of(error: &io::Error) -> Self {
        use io::ErrorKind as Kind;
        match error.kind() {
            Kind::ConnectionAborted | Kind::ConnectionReset | Kind::ConnectionRefused | Kind::Interrupted => Self::Next,
            Kind::InvalidInput => Self::Fatal,
            _ => Self::Pause,
        }
    }
}

/// Accepts on the calling thread, which blocks, until `shutdown` has begun. `room` is called before each connection, and
/// may block until then. Streams do not block.
pub(crate) fn accept_each(
    listener: TcpListener,
    options: &ServerOptions,
    shutdown: &Shutdown,
    mut room: impl FnMut(),
    mut on: impl FnMut(TcpStream),
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let mut listener = mio::net::TcpListener::from_std(listener);
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(8));
    poll.registry().register(&mut listener, Token(0), Interest::READABLE)?;
    let bell = Waker::from(Arc::new(Bell(mio::Waker::new(poll.registry(), Token(1))?)));
    let mut waiting = pin!(shutdown.wait());
    while waiting.as_mut().poll(&mut Context::from_waker(&bell)).is_pending() {
        room();
        match listener.accept() {
            Ok(_) if shutdown.has_begun() => break,
            Ok((stream, _)) => on(stream.into()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => match poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
                _ => {}
            },
            Err(error) => {
                let failure = Failure::of(&error);
                if failure == Failure::Fatal {
                    return Err(error);
                }
                options.log(error.into());
                if failure == Failure::Pause {
                    thread::sleep(PAUSE);
                }
            }
        }
    }
    Ok(())
}

/// Wakes the thread that accepts. It is made at once: when it is needed, there may be no descriptor left.
struct Bell(mio::Waker);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // It fails only if the thread is gone.
        let _ = self.0.wake();
    }
}
