//! What smol and async-std share: streams of futures-io, sockets on async-io's reactor.

use crate::{
    ClientOptions, Driver, Transport,
    client::{begin, first_that_answers, too_slow},
    serve::Accept,
};
use ::futures_io::{AsyncRead, AsyncWrite};
use async_io::{Async, Timer};
use bytewise::Time;
use futures_lite::future::or;
use std::{
    future::Future,
    io::{self, ErrorKind, IoSlice, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    pin::Pin,
    sync::{Arc, LazyLock},
    task::{Context, Poll, ready},
    time::Instant,
};

/// A connected socket on the reactor of smol and async-std.
///
/// Their own sockets read first, and wait when there is nothing: a useless system call whenever they are woken up. This
/// one waits first, unless the last read filled its space.
#[derive(Debug)]
pub struct Socket {
    socket: Async<TcpStream>,
    /// Whether the last read left nothing.
    drained: bool,
    /// Whether the last write found no room: what some other event wakes up for is no reason to try again, and the few KiB that it
    /// would get rid of would pass for progress.
    full: bool,
}

impl Socket {
    /// Over a connected socket.
    pub const fn new(socket: Async<TcpStream>) -> Self {
        Self { socket, drained: false, full: false }
    }

    /// The socket.
    pub const fn get_ref(&self) -> &Async<TcpStream> {
        &self.socket
    }

    /// Gives the socket back.
    pub fn into_inner(self) -> Async<TcpStream> {
        self.socket
    }

    #[inline]
    fn poll_writing(
        &mut self,
        cx: &mut Context<'_>,
        mut write: impl FnMut(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.full {
                ready!(self.socket.poll_writable(cx))?;
                self.full = false;
            }
            match write(self.socket.get_ref()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.full = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

impl AsyncRead for Socket {
    #[inline]
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        loop {
            if self.drained {
                ready!(self.socket.poll_readable(cx))?;
                self.drained = false;
            }
            match self.socket.get_ref().read(space) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.drained = true,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(n) => {
                    // The end comes at once, again and again.
                    self.drained = n > 0 && n < space.len();
                    return Poll::Ready(Ok(n));
                }
                failed => return Poll::Ready(failed),
            }
        }
    }
}

impl AsyncWrite for Socket {
    #[inline]
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |mut socket| socket.write(bytes))
    }

    #[inline]
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        chunks: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_writing(cx, |mut socket| socket.write_vectored(chunks))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.socket.get_ref().shutdown(Shutdown::Write))
    }
}

/// What times are counted from: one for all, since each connection would have to remember its own.
static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// A stream of futures-io, with a timer beside it.
#[derive(Debug)]
pub struct Stream<S = Socket> {
    stream: S,
    timer: Option<(Time, Timer)>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream<S> {
    /// Over any stream. For a TCP socket, a [`Socket`] costs least.
    pub const fn new(stream: S) -> Self {
        Self { stream, timer: None }
    }

    /// The stream.
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream, to read or write it by hand.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Gives the stream back.
    pub fn into_inner(self) -> S {
        self.stream
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Transport for Stream<S> {
    #[inline]
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_read(cx, space)
    }

    #[inline]
    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        match chunks {
            [chunk] => Pin::new(&mut self.stream).poll_write(cx, chunk),
            _ => Pin::new(&mut self.stream).poll_write_vectored(cx, chunks),
        }
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(cx)
    }

    #[inline]
    fn now(&self) -> Time {
        ORIGIN.elapsed()
    }

    #[inline]
    fn poll_deadline(&mut self, cx: &mut Context<'_>, at: Time) -> Poll<()> {
        // What is beyond the clock is beyond the connection's life.
        let Some(instant) = ORIGIN.checked_add(at) else { return Poll::Pending };
        let (armed, timer) = self.timer.get_or_insert_with(|| (at, Timer::at(instant)));
        if *armed != at {
            *armed = at;
            timer.set_at(instant);
        }
        ready!(Pin::new(timer).poll(cx));
        self.timer = None;
        Poll::Ready(())
    }
}

impl Accept for Arc<Async<TcpListener>> {
    type Io = Stream;

    fn poll_accept(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Stream>>> {
        loop {
            match (**self).get_ref().accept() {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if let Err(error) = ready!(self.poll_readable(cx)) {
                        return Poll::Ready(Some(Err(error)));
                    }
                }
                accepted => return Poll::Ready(Some(accepted.and_then(|(stream, _)| open(stream)))),
            }
        }
    }
}

/// A stream of a connected socket, with `TCP_NODELAY`.
pub(crate) fn open(stream: TcpStream) -> io::Result<Stream> {
    stream.set_nodelay(true)?;
    Ok(Stream::new(Socket::new(Async::new(stream)?)))
}

/// Connects to the first of the addresses that answers.
pub(crate) async fn connect<M, A: IntoIterator<Item = SocketAddr>>(
    addresses: impl Future<Output = io::Result<A>>,
    host: &str,
    options: &ClientOptions,
    machine: M,
) -> io::Result<Driver<Stream, M>> {
    let within = options.connect_timeout;
    let addresses = in_time(within, addresses).await?;
    let connect = move |address| in_time(within, Async::<TcpStream>::connect(address));
    let socket = first_that_answers(addresses, connect).await?;
    socket.get_ref().set_nodelay(true)?;
    begin(Stream::new(Socket::new(socket)), host, options, machine).await
}

async fn in_time<T>(within: Time, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let expired = async {
        Timer::after(within).await;
        Err(too_slow())
    };
    or(work, expired).await
}
