//! Accepting connections: what its errors mean, and how a thread that blocks in it is ended.

use crate::{ServerOptions, Shutdown};
use bytewise::Time;
use socket2::{Domain, Socket, Type};
use std::{
    future::Future,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream},
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
            Kind::InvalidInput | Kind::Unsupported => Self::Fatal,
            _ => Self::Pause,
        }
    }
}

/// Accepts on the calling thread, which blocks, until `shutdown` has begun. `room` is called before each connection, and
/// may block.
pub(crate) fn accept_each(
    listener: &TcpListener,
    options: &ServerOptions,
    shutdown: &Shutdown,
    mut room: impl FnMut(),
    mut on: impl FnMut(TcpStream),
) -> io::Result<()> {
    listener.set_nonblocking(false)?;
    let knock = Waker::from(Arc::new(Knock::new(listener.local_addr()?)?));
    let mut waiting = pin!(shutdown.wait());
    while waiting.as_mut().poll(&mut Context::from_waker(&knock)).is_pending() {
        room();
        match listener.accept() {
            Ok(_) if shutdown.has_begun() => break,
            Ok((stream, _)) => on(stream),
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

/// Wakes a thread that blocks in accepting, by a connection of its own. The socket is made at once: when it is needed, there
/// may be no descriptor left.
struct Knock {
    socket: Socket,
    address: SocketAddr,
}

impl Knock {
    fn new(mut address: SocketAddr) -> io::Result<Self> {
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
            });
        }
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket, address })
    }
}

impl Wake for Knock {
    fn wake(self: Arc<Self>) {
        // It goes on by itself. If it cannot be made, the queue is full: then accepting does not block.
        let _ = self.socket.connect(&self.address.into());
    }
}
