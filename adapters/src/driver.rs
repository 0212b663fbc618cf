use crate::{
    Error, Outbox, Transport,
    buffers::{Buffers, Pair},
    connections::{Membership, Stage},
    link::{Due, For, Linger, Link, server_over},
};
use bytewise::{Machine, NextIo, RecvBuf, SendBuf, TimedOut, Timeouts};
use std::{
    future::poll_fn,
    io,
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Output above this is written before the next event is taken, and nothing more is read while it cannot be.
const HIGH_WATER: usize = 64 * 1024;

/// Bytes that may come out of decompression before other tasks have their turn; one message may go above it.
const INFLATED_PER_TURN: u64 = 1 << 20;

/// One transport bound to one machine.
///
/// ```text
///             ┌──────────────────────────────── next() ───────────────────────────────┐
///  handler ◀──┤ an event is ready, little is queued                                   │
///             │ otherwise: write all that is queued ─▶ read once ─▶ poll the machine ─┘
/// ```
///
/// All state is in here and none in a future: drop any future at any await, and nothing is lost.
///
/// * **Batching.** Events are taken until there are none, then what they led to is written at once, then it reads: a
///   window of requests in one read is answered by one write.
/// * **Fairness.** After a few reads it gives way to the other tasks of its thread, and after a MiB that came out of decompression.
/// * **Backpressure.** It reads on while a write is blocked, so that two peers that both pipeline do not wait for each
///   other, but only while less than 64 KiB are queued, or what [`with_high_water`](Self::with_high_water) says.
/// * **Memory.** While it waits with nothing unread and nothing unwritten it holds no buffers: the connections of a
///   thread share them.
///
/// See the [crate's example](crate) and that of [`Transport`].
#[derive(Debug)]
pub struct Driver<Io, M>(pub(crate) Box<Inner<Io, M>>);

/// In a box, since handlers move their connection: an `async fn` would hold it once per move.
#[derive(Debug)]
pub(crate) struct Inner<Io, M> {
    pub(crate) machine: M,
    pub(crate) buffers: Buffers,
    pub(crate) link: Link<Io>,
    /// Answers above it are written before the next event is taken.
    pub(crate) high_water: usize,
    /// [`Machine::inflated`] when the task last gave way to others.
    inflated: u64,
    closing: Closing,
    /// What a write failed with: what had come before is still heard, since a server that refuses an upload answers, and resets
    /// the connection.
    pub(crate) broken: Option<io::Error>,
}

/// How far a connection is closed, all that was queued being written.
#[derive(Debug)]
enum Closing {
    Open,
    /// Input is being discarded.
    Lingering(Linger),
    Closed,
}

impl Closing {
    /// Shuts down writing, and lingers unless the machine says that there is nothing to linger for.
    fn poll<Io: Transport>(
        &mut self,
        next_io: NextIo,
        link: &mut Link<Io>,
        buffers: &mut Buffers,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        loop {
            *self = match self {
                Self::Open => {
                    ready!(link.poll_shut_down(cx));
                    match next_io {
                        NextIo::Close => Self::Closed,
                        _ => Self::Lingering(link.linger()),
                    }
                }
                Self::Lingering(linger) => {
                    ready!(link.poll_linger(linger, buffers, cx));
                    Self::Closed
                }
                Self::Closed => return Poll::Ready(()),
            };
        }
    }
}

impl<Io, M> Driver<Io, M> {
    /// Over an open transport, without bounds in time.
    pub fn new(io: Io, machine: M) -> Self {
        Self(Box::new(Inner {
            machine,
            buffers: Buffers::new(),
            link: Link::new(io),
            high_water: HIGH_WATER,
            inflated: 0,
            closing: Closing::Open,
            broken: None,
        }))
    }

    /// With those buffers: limits of your own, or bytes that are there already. They stay the connection's own.
    #[must_use]
    pub fn with_buffers(mut self, rx: RecvBuf, tx: SendBuf) -> Self {
        self.0.buffers = Buffers::own(rx, tx);
        self
    }

    /// With those bounds in time, which many connections may share.
    #[must_use]
    pub fn with_timeouts(mut self, timeouts: impl Into<Arc<Timeouts>>) -> Self {
        self.0.link.set_timeouts(timeouts);
        self
    }

    /// Answers are written before the next event is taken once so many bytes are queued, 64 KiB unless set, and nothing more is read
    /// while they cannot be. For one that asks instead, and may queue more than that before it hears the first answer,
    /// [`usize::MAX`]: two peers that both pipeline would otherwise wait for each other. It makes no difference where the machine
    /// does not [answer](Machine::answers).
    #[must_use]
    pub fn with_high_water(mut self, bytes: usize) -> Self {
        self.0.high_water = bytes.max(1);
        self
    }

    pub(crate) fn with_membership(mut self, membership: Membership) -> Self {
        self.0.link.set_membership(membership);
        self
    }

    /// Under TLS, whose handshake is still to be done: [`next`](Self::next) does it, as does whatever writes, or
    /// [`handshake`](Self::handshake).
    ///
    /// What fails in it is an error of I/O: [`io::Error::downcast`] gives the [`TlsError`](crate::tls::TlsError).
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn with_tls(mut self, tls: crate::tls::Tls) -> Self {
        self.0.link.set_tls(tls);
        self
    }

    /// What TLS knows of the peer, if there is TLS.
    #[cfg(feature = "tls")]
    pub fn tls(&self) -> Option<&crate::tls::Tls> {
        self.0.link.tls()
    }

    /// Changes the keys of TLS with the next write, and asks the peer to change its own: see
    /// [`Tls::refresh_keys`](crate::tls::Tls::refresh_keys). `false` if that cannot be: there is no TLS 1.3, its handshake is still
    /// under way, or it is closing.
    #[cfg(feature = "tls")]
    pub fn refresh_keys(&mut self) -> bool {
        self.0.link.tls_mut().is_some_and(crate::tls::Tls::refresh_keys)
    }

    /// The machine.
    pub const fn machine(&self) -> &M {
        &self.0.machine
    }

    /// The machine, to set limits, say. To send, take the [`outbox`](Self::outbox).
    pub const fn machine_mut(&mut self) -> &mut M {
        &mut self.0.machine
    }

    /// The transport.
    pub const fn io(&self) -> &Io {
        &self.0.link.io
    }

    /// What is received and not consumed, and how input ended.
    pub fn received(&self) -> &RecvBuf {
        self.0.buffers.received()
    }

    /// Where to send without an event.
    pub fn outbox(&mut self) -> Outbox<'_, Io, M> {
        let Inner { machine, buffers, link, .. } = &mut *self.0;
        Outbox { machine, tx: &mut buffers.pair().tx, link }
    }

    /// The same connection under another protocol, which begins with what is unread.
    pub fn switch<N>(self, machine: N) -> Driver<Io, N> {
        let Inner { buffers, link, high_water, closing, broken, .. } = *self.0;
        Driver(Box::new(Inner { machine, buffers, link, high_water, inflated: 0, closing, broken }))
    }

    /// Gives all parts back. A server no longer counts the connection among its own. Under TLS its session is lost: what the
    /// transport then has are records that nobody can read.
    pub fn into_parts(self) -> (Io, M, RecvBuf, SendBuf) {
        let Inner { machine, buffers, link, .. } = *self.0;
        let (rx, tx) = buffers.into_parts();
        (link.io, machine, rx, tx)
    }
}

#[cfg(feature = "tls")]
impl<Io: Transport, M> Driver<Io, M> {
    /// Waits until hands are shaken, if there is TLS: for a client that wants to know before it sends, or a server that looks at the
    /// peer's name first.
    ///
    /// # Errors
    ///
    /// The handshake failed ([`TlsError`](crate::tls::TlsError)) or took too long, or the transport failed.
    pub async fn handshake(&mut self) -> io::Result<()> {
        poll_fn(|cx| self.0.link.poll_handshake(cx)).await
    }
}

impl<Io: Transport, M: Machine> Driver<Io, M> {
    /// Gives its buffers to the thread, if they hold nothing: for one that waits without reading.
    #[cfg(feature = "http-client")]
    pub(crate) fn give_back_buffers(&mut self) {
        self.0.buffers.give_back();
    }

    /// [`outbox`](Self::outbox) for an answer, which may be the last one: if the server ends, the machine knows.
    #[inline]
    pub(crate) fn outbox_for_answer(&mut self) -> Outbox<'_, Io, M> {
        self.0.look_for_end();
        self.outbox()
    }

    /// The next event, and where answers to it go. `None` is the end: closed by the peer, finished, or switched to
    /// another protocol; [`Machine::next_io`] of the [`machine`](Self::machine) tells which. While that is
    /// [`NextIo::Paused`], it is no end: an HTTP server says so until the response that is due is sent.
    ///
    /// Writes what is queued before it waits for input. At an end after which the machine says
    /// [`NextIo::Linger`], it shuts down writing and lingers before it tells. Once it returned `None` or an error it does so
    /// again.
    ///
    /// # Errors
    ///
    /// The peer broke the protocol (what answers that is written by then), the transport failed, or something took too
    /// long.
    #[inline]
    pub async fn next(&mut self) -> Result<Option<(M::Event<'_>, Outbox<'_, Io, M>)>, Error<M::Error>> {
        let inner = &mut *self.0;
        if !inner.is_ready() && !poll_fn(|cx| inner.poll_ready(cx)).await? {
            return Ok(None);
        }
        let Inner { machine, buffers, link, closing, .. } = inner;
        let Pair { rx, tx, .. } = buffers.pair();
        // No event may be alive where this waits: it would be kept in the future, and be stored and loaded again on its way.
        let error = match machine.next_event(rx, tx) {
            Ok(Some(event)) => return Ok(Some((event, Outbox { machine, tx, link }))),
            Ok(None) => return Ok(None),
            Err(error) => error,
        };
        poll_fn(|cx| link.poll_room(tx, 0, cx)).await?;
        // What is still coming would turn the end into a reset, before the peer has read why.
        // The machine is not held over the wait: that would ask of it to be `Sync`.
        let (next_io, mut rest) = (machine.next_io(), Buffers::new());
        poll_fn(|cx| match closing.poll(next_io, link, &mut rest, cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => link.poll_over(cx).map(drop),
        })
        .await;
        Err(Error::Protocol(error))
    }

    /// Ends well: writes what is queued, then closes as the machine says, lingering or not.
    ///
    /// A machine that was not at its end is shut down first.
    ///
    /// # Errors
    ///
    /// The transport failed before all was written, or took nothing for too long; or bytes that the caller was to write
    /// itself are missing ([`io::ErrorKind::InvalidInput`]).
    pub async fn close(self) -> Result<(), Error<M::Error>> {
        let mut inner = self.0;
        if inner.is_open() {
            inner.machine.shut_down(&mut inner.buffers.pair().tx);
        }
        Ok(poll_fn(move |cx| inner.poll_close(cx)).await?)
    }
}

/// Whether more may be queued before it is written.
#[inline]
fn has_room<M: Machine>(machine: &M, tx: &SendBuf, high_water: usize) -> bool {
    tx.queued() < high_water || !machine.answers()
}

/// Whether a write fails so because the peer does not listen any more: then a read is ready soon.
pub(crate) fn is_peer_gone(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
}

impl<Io: Transport, M: Machine> Inner<Io, M> {
    /// Whether input can still lead to something.
    fn is_open(&self) -> bool {
        self.machine.next_io() == NextIo::Read && self.buffers.received().eof().is_none()
    }

    /// Has the machine know if the server ends: an answer that is about to be sent can say so.
    #[inline]
    fn look_for_end(&mut self) {
        if let Some(Stage::Draining) = self.link.news() {
            self.machine.shut_down(&mut self.buffers.pair().tx);
        }
    }

    /// Whether an event is ready that needs nothing done before.
    #[inline]
    fn is_ready(&mut self) -> bool {
        if self.has_inflated_much() {
            return false;
        }
        let Pair { rx, tx, .. } = self.buffers.pair();
        has_room(&self.machine, tx, self.high_water)
            && !self.link.has_news()
            && matches!(self.machine.poll(rx, tx), Ok(true))
    }

    #[inline]
    fn has_inflated_much(&self) -> bool {
        self.machine.inflated().wrapping_sub(self.inflated) >= INFLATED_PER_TURN
    }

    /// Waits until an event is ready (`true`) or the connection is over.
    #[inline]
    pub(crate) fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<bool, Error<M::Error>>> {
        if self.has_inflated_much() {
            self.inflated = self.machine.inflated();
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            if let Some(timed_out) = self.link.timed_out() {
                return Poll::Ready(Err(Error::TimedOut(timed_out)));
            }
            if let Some(stage) = self.link.news() {
                self.on_news(stage)?;
            }
            let Pair { rx, tx, .. } = self.buffers.pair();
            let polled = self.machine.poll(rx, tx);
            if matches!(polled, Ok(true)) && has_room(&self.machine, tx, self.high_water) {
                return Poll::Ready(Ok(true));
            }
            let written = match self.broken {
                None => self.link.poll_write(tx, 0, cx),
                Some(_) => Poll::Ready(Ok(false)),
            };
            match written {
                Poll::Ready(Err(error)) => {
                    if matches!(polled, Ok(true)) {
                        return Poll::Ready(Ok(true));
                    }
                    if !is_peer_gone(&error) || !self.is_open() {
                        return Poll::Ready(Err(Error::Io(error)));
                    }
                    self.broken = Some(error);
                    continue;
                }
                // Something may have waited for room.
                Poll::Ready(Ok(true)) => continue,
                Poll::Ready(Ok(false)) => {
                    if matches!(polled, Ok(true)) {
                        return Poll::Ready(Ok(true));
                    }
                    if !self.is_open() {
                        // What is queued waits for the handshake.
                        #[cfg(feature = "tls")]
                        if self.broken.is_none() && self.link.is_handshaking() && self.buffers.queued() > 0 {
                            ready!(self.link.poll_handshake(cx))?;
                            continue;
                        }
                        if let Some(error) = self.broken.take() {
                            return Poll::Ready(Err(Error::Io(error)));
                        }
                        // Here and not only in `close`: whoever leaves with `?` should not reset the connection.
                        if self.machine.next_io() == NextIo::Linger && self.poll_end(cx).is_pending() {
                            ready!(self.link.poll_news(cx));
                            continue;
                        }
                        return Poll::Ready(polled.map_err(Error::Protocol));
                    }
                }
                Poll::Pending => {
                    let reads_on =
                        matches!(polled, Ok(false)) && has_room(&self.machine, tx, self.high_water) && self.is_open();
                    if !reads_on {
                        ready!(self.poll_wait(cx))?;
                        continue;
                    }
                }
            }
            if Io::BLOCKING
                && let Poll::Ready(due) = self.poll_due(cx)
            {
                due?;
                continue;
            }
            match self.link.poll_read(&mut self.buffers, cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(Err(Error::Io(self.broken.take().unwrap_or(error)))),
                Poll::Pending => ready!(self.poll_wait(cx))?,
            }
        }
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if matches!(self.closing, Closing::Open) {
            let tx = &mut self.buffers.pair().tx;
            ready!(self.link.poll_room(tx, 0, cx))?;
            if !tx.is_empty() {
                let missing = "bytes that the caller was to write itself are missing";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidInput, missing)));
            }
        }
        if self.poll_end(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.link.poll_over(cx).map(Err)
    }

    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Self { machine, buffers, link, closing, .. } = self;
        closing.poll(machine.next_io(), link, buffers, cx)
    }

    /// Nothing can be done now: ready if that is no longer so.
    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error<M::Error>>> {
        if self.link.poll_news(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        self.poll_due(cx)
    }

    /// Ready when something took too long, or when there is more to be written since nothing came.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error<M::Error>>> {
        let wait = For::Peer(self.machine.phase());
        match ready!(self.link.poll_due(wait, self.buffers.queued(), cx)) {
            Due::KeepAlive => {
                self.machine.keep_alive(&mut self.buffers.pair().tx);
                Poll::Ready(Ok(()))
            }
            Due::TimedOut(timed_out) => {
                if timed_out != TimedOut::Write {
                    self.tell_timed_out(cx);
                }
                Poll::Ready(Err(Error::TimedOut(timed_out)))
            }
        }
    }

    /// Tells the peer, if that goes at once: one that is slow on purpose is not waited for.
    #[cold]
    fn tell_timed_out(&mut self, cx: &mut Context<'_>) {
        let tx = &mut self.buffers.pair().tx;
        self.machine.time_out(tx);
        if let Poll::Ready(Ok(_)) = self.link.poll_write(tx, 0, cx) {
            let _ = self.link.poll_shut_down(cx);
        }
    }

    #[cold]
    fn on_news(&mut self, stage: Stage) -> io::Result<()> {
        match stage {
            Stage::Serving => Ok(()),
            Stage::Draining => {
                self.machine.shut_down(&mut self.buffers.pair().tx);
                Ok(())
            }
            Stage::Over => Err(server_over()),
        }
    }
}
