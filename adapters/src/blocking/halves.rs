use super::{Driver, READ_TURN, Stream, WATCH, block_waiting, unparking};
use crate::Error;
use bytewise::{Machine, SendBuf};
use std::{
    io::{self, ErrorKind},
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
    thread,
};

/// The half of a connection that receives: [`crate::Receiver`] without `async`.
///
/// It waits for input outside the lock of the connection, so that others send meanwhile: that costs a call of the system
/// (a peek) more each time.
#[derive(Debug)]
pub struct Receiver<M> {
    half: crate::Receiver<Stream, M>,
    socket: TcpStream,
    input: Arc<Input>,
}

/// The half of a connection that sends: [`crate::Sender`] without `async`. Clones send on the same connection.
#[derive(Debug)]
pub struct Sender<M>(crate::Sender<Stream, M>);

/// Whether there is input, or the end of it: found by who waits for it without the lock.
#[derive(Debug, Default)]
pub(super) struct Input {
    found: AtomicBool,
    /// There is more to be done without any: who gave way to others goes on.
    woken: AtomicBool,
}

impl Wake for Input {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
    }
}

impl Input {
    /// Takes the news.
    pub(super) fn take(&self) -> bool {
        self.found.swap(false, Ordering::Acquire)
    }

    /// Blocks for as long as the socket was told.
    fn wait(&self, socket: &TcpStream) {
        if self.woken.swap(false, Ordering::Acquire) {
            return;
        }
        let nothing = match socket.peek(&mut [0]) {
            Ok(_) => false,
            Err(error) => {
                matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
            }
        };
        if !nothing {
            self.found.store(true, Ordering::Release);
        }
    }
}

impl<M: Machine> Driver<Stream, M> {
    /// Two halves for two threads, or more, since the sending half can be cloned, as [`crate::Driver::into_halves`].
    ///
    /// # Errors
    ///
    /// The system has no descriptor left: it takes a second one.
    pub fn into_halves(mut self, high_water: usize) -> io::Result<(Receiver<M>, Sender<M>)> {
        let stream = &mut self.0.0.link.io;
        let socket = stream.stream.try_clone()?;
        let input = Arc::<Input>::default();
        stream.input = Some(Arc::clone(&input));
        // What the senders do, a deadline of the closing for one, is noticed.
        stream.watch = Some(WATCH);
        let (half, sender) = self.0.into_halves(high_water);
        Ok((Receiver { half, socket, input }, Sender(sender)))
    }
}

impl<M: Machine> Receiver<M> {
    /// The next event; `None` is the end. Others may send while it waits, and while the event is looked at.
    ///
    /// # Errors
    ///
    /// As [`Driver::next`].
    #[expect(
        clippy::should_implement_trait,
        reason = "it lends, and it may fail; the name is that of the other runtimes"
    )]
    pub fn next(&mut self) -> Result<Option<M::Event<'_>>, Error<M::Error>> {
        let Self { half, socket, input } = self;
        block_waiting(half.next(), &Waker::from(Arc::clone(input)), || input.wait(socket))
    }

    /// Ends well, as [`Driver::close`]. Nothing can be sent any more.
    ///
    /// # Errors
    ///
    /// As [`Driver::close`].
    pub fn close(self) -> Result<(), Error<M::Error>> {
        self.into_driver().close()
    }

    /// One more sending half.
    pub fn sender(&self) -> Sender<M> {
        Sender(self.half.sender())
    }

    /// The connection as a whole again. Nothing can be sent by the senders any more; what they queued still goes out.
    pub fn into_driver(self) -> Driver<Stream, M> {
        let mut driver = self.half.into_driver();
        driver.0.link.io.input = None;
        Driver(driver)
    }
}

impl<M: Machine> Sender<M> {
    /// Blocks until there is room, then sends with the machine's own methods.
    ///
    /// # Errors
    ///
    /// As [`crate::Sender::send`].
    pub fn send<R>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> R) -> io::Result<R> {
        Self::block(self.0.send(with))
    }

    /// The same without waiting for room. A write may block for 20 ms.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::WouldBlock`] if there is no room: then `with` was not called; and as [`send`](Self::send).
    pub fn try_send<R>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> R) -> io::Result<R> {
        self.0.try_send(with)
    }

    /// Blocks until all that is queued is written.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub fn flush(&self) -> io::Result<()> {
        Self::block(self.0.flush())
    }

    /// Whether the receiver is gone: nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// A write that blocked in vain is made again, after others had the lock.
    fn block<T>(future: impl Future<Output = T>) -> T {
        block_waiting(future, &unparking(), || thread::park_timeout(READ_TURN))
    }
}

impl<M> Clone for Sender<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
