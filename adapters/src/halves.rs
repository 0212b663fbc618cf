use crate::{
    Driver, Error, Transport,
    driver::Inner,
    wakers::{Place, Wakers},
};
use bytewise::{Machine, RecvBuf, SendBuf};
use std::{
    future::poll_fn,
    io, mem,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker, ready},
};

/// What the halves of a connection share. The lock is held for no await.
#[derive(Debug)]
struct Shared<Io, M> {
    /// Gone with the receiver.
    conn: Mutex<Option<Box<Inner<Io, M>>>>,
    wakers: Arc<Wakers>,
    /// All of them, for the transport.
    waker: Waker,
    /// Whether the receiver waits for input, and so writes what is queued when it is woken.
    receiver_waits: AtomicBool,
    high_water: usize,
    /// The driver's own.
    before: usize,
}

/// The half of a connection that receives; see [`Driver::into_halves`].
///
/// It does the machine's part: replies of the protocol (a pong, the close) go out while it [waits](Self::next), keep-alive and
/// deadlines are its own. Dropped, it ends the connection, whatever senders there are.
#[derive(Debug)]
pub struct Receiver<Io, M> {
    shared: Arc<Shared<Io, M>>,
    /// The connection's, while an event borrows from it.
    rx: RecvBuf,
    lent: bool,
}

/// The half of a connection that sends; see [`Driver::into_halves`]. Clones send on the same connection.
///
/// What is sent goes out at once or, together with what others send, when the receiver is woken for it. While the peer does not
/// read, what is queued stays there until the receiver waits again, or someone [flushes](Self::flush).
#[derive(Debug)]
pub struct Sender<Io, M> {
    shared: Arc<Shared<Io, M>>,
}

impl<Io: Transport, M: Machine> Driver<Io, M> {
    /// Two halves for two tasks, or more, since the sending half can be cloned. They queue at most about `high_water` bytes: the
    /// last message may go above it.
    ///
    /// ```
    /// # #[cfg(all(feature = "tokio", feature = "ws"))]
    /// # mod example {
    /// use bytewise::ws::{Connection, Event};
    /// use bytewise_net::{BoxError, Driver, tokio::Stream};
    /// use tokio::{sync::mpsc, task::JoinHandle};
    ///
    /// /// Echoes, and sends the news of another task.
    /// async fn handle(ws: Driver<Stream, Connection>, mut news: mpsc::Receiver<String>) -> Result<(), BoxError> {
    ///     let (mut receiver, sender) = ws.into_halves(1 << 20);
    ///     let herald: JoinHandle<Result<(), BoxError>> = tokio::spawn({
    ///         let sender = sender.clone();
    ///         async move {
    ///             while let Some(news) = news.recv().await {
    ///                 sender.send(|ws, tx| ws.send_text(news, tx)).await??; // waits while the peer does not read
    ///             }
    ///             Ok(())
    ///         }
    ///     });
    ///     while let Some(event) = receiver.next().await? {
    ///         if let Event::Text(text) = event {
    ///             sender.send(|ws, tx| ws.send_text(text, tx)).await??; // `text` still borrows the receive buffer
    ///         }
    ///     }
    ///     receiver.close().await?; // ends the other task's sending
    ///     herald.await?
    /// }
    /// # }
    /// ```
    pub fn into_halves(mut self, high_water: usize) -> (Receiver<Io, M>, Sender<Io, M>) {
        let before = mem::replace(&mut self.0.high_water, usize::MAX);
        let wakers = Arc::<Wakers>::default();
        let shared = Arc::new(Shared {
            conn: Mutex::new(Some(self.0)),
            waker: Waker::from(Arc::clone(&wakers)),
            wakers,
            receiver_waits: AtomicBool::new(false),
            high_water: high_water.max(1),
            before,
        });
        (Receiver { shared: Arc::clone(&shared), rx: RecvBuf::new(), lent: false }, Sender { shared })
    }
}

impl<Io, M> Shared<Io, M> {
    fn conn(&self) -> MutexGuard<'_, Option<Box<Inner<Io, M>>>> {
        // A closure of a sender may have panicked between two calls of the machine, which keeps it whole.
        self.conn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The connection is over, or goes on as a whole.
    fn take(&self) -> Option<Box<Inner<Io, M>>> {
        let conn = self.conn().take();
        self.wakers.wake_senders();
        conn
    }
}

/// What a sender hears once the receiver is gone.
fn receiver_gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the receiving half is gone")
}

/// What it hears after a write that failed.
fn write_failed() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the peer does not listen any more")
}

impl<Io: Transport, M: Machine> Shared<Io, M> {
    /// Writes until at most `left` bytes are queued.
    fn poll_room(&self, left: usize) -> Poll<io::Result<()>> {
        let mut conn = self.conn();
        let inner = conn.as_mut().ok_or_else(receiver_gone)?;
        if inner.broken.is_some() {
            return Poll::Ready(Err(write_failed()));
        }
        let before = inner.buffers.queued();
        let polled = inner.link.poll_room(&mut inner.buffers.pair().tx, left, &mut Context::from_waker(&self.waker));
        let freed = before >= self.high_water && inner.buffers.queued() < self.high_water;
        drop(conn);
        if freed {
            self.wakers.wake_senders();
        }
        polled
    }

    /// Waits until an event is ready (`true`) or the connection is over.
    fn poll_ready(
        &self,
        rx: &mut RecvBuf,
        lent: &mut bool,
        cx: &mut Context<'_>,
    ) -> Poll<Result<bool, Error<M::Error>>> {
        self.wakers.set_receiver(cx.waker());
        let mut conn = self.conn();
        let Some(inner) = conn.as_mut() else { return Poll::Ready(Ok(false)) };
        if mem::take(lent) {
            mem::swap(rx, &mut inner.buffers.pair().rx);
        }
        let full = inner.buffers.queued() >= self.high_water;
        let polled = inner.poll_ready(&mut Context::from_waker(&self.waker));
        let freed = full && inner.buffers.queued() < self.high_water;
        // Under the lock, so that a sender either finds it waiting, or was before it.
        self.receiver_waits.store(polled.is_pending(), Ordering::Release);
        drop(conn);
        if freed {
            self.wakers.wake_senders();
        }
        polled
    }

    /// The machine has failed: what tells the peer of it is written, and has time to arrive.
    fn poll_failed(&self, cx: &mut Context<'_>) -> Poll<Result<(), Error<M::Error>>> {
        self.wakers.set_receiver(cx.waker());
        let mut conn = self.conn();
        let Some(inner) = conn.as_mut() else { return Poll::Ready(Ok(())) };
        inner.poll_ready(&mut Context::from_waker(&self.waker)).map_ok(drop)
    }

    /// Sends if there is room, without waiting for any.
    fn try_send<R>(&self, with: &mut Option<impl FnOnce(&mut M, &mut SendBuf) -> R>) -> io::Result<Option<R>> {
        let mut conn = self.conn();
        let inner = conn.as_mut().ok_or_else(receiver_gone)?;
        if inner.broken.is_some() {
            return Err(write_failed());
        }
        let Inner { machine, buffers, link, .. } = &mut **inner;
        let tx = &mut buffers.pair().tx;
        if tx.queued() >= self.high_water {
            return Ok(None);
        }
        let Some(with) = with.take() else { return Ok(None) };
        let sent = with(machine, tx);
        // One who blocks is not woken by anything but input.
        if !Io::BLOCKING && self.receiver_waits.load(Ordering::Acquire) {
            drop(conn);
            self.wakers.wake_receiver();
        } else if let Poll::Ready(Err(error)) = link.poll_write(tx, 0, &mut Context::from_waker(&self.waker)) {
            drop(conn);
            self.wakers.wake_receiver();
            return Err(error);
        }
        Ok(Some(sent))
    }
}

impl<Io: Transport, M: Machine> Sender<Io, M> {
    /// Waits for room, then sends with the machine's own methods.
    ///
    /// If its future is dropped before it is ready, `with` was not called, and nothing was sent.
    ///
    /// # Errors
    ///
    /// The receiver is gone ([`io::ErrorKind::BrokenPipe`]), the transport failed, or took nothing for too long.
    pub async fn send<R>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> R) -> io::Result<R> {
        let mut with = Some(with);
        let mut place = self.place();
        loop {
            if let Some(sent) = self.shared.try_send(&mut with)? {
                return Ok(sent);
            }
            poll_fn(|cx| self.poll_room(&mut place, cx)).await?;
        }
    }

    /// The same without waiting.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::WouldBlock`] if there is no room: then `with` was not called; and as [`send`](Self::send).
    pub fn try_send<R>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> R) -> io::Result<R> {
        let mut with = Some(with);
        if let Some(sent) = self.shared.try_send(&mut with)? {
            return Ok(sent);
        }
        // What the system has room for, though nobody was woken to use it.
        if let Poll::Ready(written) = self.shared.poll_room(self.shared.high_water - 1) {
            written?;
        }
        self.shared.try_send(&mut with)?.ok_or_else(|| io::ErrorKind::WouldBlock.into())
    }

    /// Waits until all that is queued is written.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn flush(&self) -> io::Result<()> {
        let mut place = self.place();
        poll_fn(|cx| self.poll_flush(&mut place, cx)).await
    }

    pub(crate) fn place(&self) -> Place {
        Place::new(Arc::clone(&self.shared.wakers))
    }

    /// Ready when there is room.
    pub(crate) fn poll_room(&self, place: &mut Place, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        place.set(cx.waker());
        ready!(self.shared.poll_room(self.shared.high_water - 1))?;
        place.leave();
        Poll::Ready(Ok(()))
    }

    /// Ready when nothing is queued.
    pub(crate) fn poll_flush(&self, place: &mut Place, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        place.set(cx.waker());
        ready!(self.shared.poll_room(0))?;
        place.leave();
        Poll::Ready(Ok(()))
    }

    /// Queues, whether there is room or not, and leaves the writing to others.
    #[cfg(all(feature = "ws", feature = "_tasks"))]
    pub(crate) fn queue<R>(&self, with: impl FnOnce(&mut M, &mut SendBuf) -> R) -> io::Result<R> {
        let mut conn = self.shared.conn();
        let inner = conn.as_mut().ok_or_else(receiver_gone)?;
        let Inner { machine, buffers, .. } = &mut **inner;
        Ok(with(machine, &mut buffers.pair().tx))
    }
}

impl<Io, M> Sender<Io, M> {
    /// Whether the receiver is gone: nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.shared.conn().is_none()
    }
}

impl<Io, M> Clone for Sender<Io, M> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<Io: Transport, M: Machine> Receiver<Io, M> {
    /// The next event; `None` is the end, as with [`Driver::next`]. Others may send while the event is looked at.
    ///
    /// Drop its future at any await, and nothing is lost.
    ///
    /// # Errors
    ///
    /// As [`Driver::next`].
    pub async fn next(&mut self) -> Result<Option<M::Event<'_>>, Error<M::Error>> {
        let Self { shared, rx, lent } = self;
        // Whoever drops the future does not write any more.
        let waits = Waits(&shared.receiver_waits);
        let is_ready = poll_fn(|cx| shared.poll_ready(rx, lent, cx)).await?;
        drop(waits);
        if !is_ready {
            return Ok(None);
        }
        let error = match next_event(shared, rx, lent) {
            Ok(event) => return Ok(event),
            Err(error) => error,
        };
        poll_fn(|cx| shared.poll_failed(cx)).await?;
        Err(Error::Protocol(error))
    }

    /// Hands the next event over, if there is one: for those who poll.
    #[cfg(all(feature = "ws", feature = "_tasks"))]
    pub(crate) fn poll_next<T>(
        &mut self,
        cx: &mut Context<'_>,
        with: impl FnOnce(M::Event<'_>) -> T,
    ) -> Poll<Result<Option<T>, Error<M::Error>>> {
        let Self { shared, rx, lent } = self;
        if !ready!(shared.poll_ready(rx, lent, cx))? {
            return Poll::Ready(Ok(None));
        }
        match next_event(shared, rx, lent).map(|event| event.map(with)) {
            Ok(event) => Poll::Ready(Ok(event)),
            // It is final: the machine says it again, and what tells the peer is written before.
            Err(_) => shared.poll_ready(rx, lent, cx).map_ok(|_| None),
        }
    }

    /// Ends well, as [`Driver::close`]. Nothing can be sent any more.
    ///
    /// # Errors
    ///
    /// As [`Driver::close`].
    pub async fn close(self) -> Result<(), Error<M::Error>> {
        self.into_driver().close().await
    }
}

/// The event that is ready, on the receiver's buffer.
fn next_event<'b, Io, M: Machine>(
    shared: &Shared<Io, M>,
    rx: &'b mut RecvBuf,
    lent: &mut bool,
) -> Result<Option<M::Event<'b>>, M::Error> {
    let mut conn = shared.conn();
    let Some(inner) = conn.as_mut() else { return Ok(None) };
    let Inner { machine, buffers, .. } = &mut **inner;
    let pair = buffers.pair();
    mem::swap(rx, &mut pair.rx);
    *lent = true;
    machine.next_event(rx, &mut pair.tx)
}

impl<Io, M> Receiver<Io, M> {
    /// One more sending half.
    pub fn sender(&self) -> Sender<Io, M> {
        Sender { shared: Arc::clone(&self.shared) }
    }

    /// The connection as a whole again. Nothing can be sent by the senders any more; what they queued still goes out.
    ///
    /// # Panics
    ///
    /// Never: the connection is there as long as its receiver.
    pub fn into_driver(mut self) -> Driver<Io, M> {
        let mut inner = self.shared.take().expect("kept until the receiver is dropped");
        if mem::take(&mut self.lent) {
            mem::swap(&mut self.rx, &mut inner.buffers.pair().rx);
        }
        inner.high_water = self.shared.before;
        Driver(inner)
    }
}

impl<Io, M> Drop for Receiver<Io, M> {
    fn drop(&mut self) {
        drop(self.shared.take());
    }
}

/// The receiver does not wait any more when this is dropped.
struct Waits<'a>(&'a AtomicBool);

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}
