//! A transport with what belongs to it: counters, deadlines, and its place in a server.

#[cfg(feature = "tls")]
mod tls;

use crate::{
    Transport,
    buffers::Buffers,
    connections::{Membership, Stage},
};
use bytewise::{Eof, Phase, Progress, SendBuf, Time, TimedOut, Timeouts, Watchdog};
use std::{
    io::{self, IoSlice},
    sync::Arc,
    task::{Context, Poll, ready},
};

/// Reads per wake-up, before other connections have their turn.
const READS_PER_TURN: u8 = 4;

/// Chunks per vectored write.
const CHUNKS: usize = 16;

/// Input that is discarded after the last answer, at most: many clients send a whole upload before they read that it was
/// refused, and a discarded byte costs little.
const MAX_LINGER: usize = 16 << 20;

/// How long it is discarded at most, unless [`Phase::Closing`] is bounded.
const LINGER: Time = Time::from_secs(10);

#[derive(Debug)]
pub(crate) struct Link<Io> {
    pub(crate) io: Io,
    /// Reads since the task was last woken, or gave way to others.
    reads: u8,
    /// Whether something was written that is not flushed yet.
    unflushed: bool,
    deadlines: Option<Deadlines>,
    /// TLS between the transport and the machine's buffers.
    #[cfg(feature = "tls")]
    tls: Option<Box<crate::tls::Tls>>,
    /// Its place among the connections of the server that accepted it.
    membership: Option<Membership>,
}

#[derive(Debug)]
struct Deadlines {
    watchdog: Watchdog,
    received: u64,
    sent: u64,
    /// When the transport's timer fires: never after the deadline. It is not moved while the deadline only moves away.
    armed: Option<Time>,
    /// What took too long, which is final.
    expired: Option<TimedOut>,
}

/// What it is time for.
pub(crate) enum Due {
    /// Something took too long.
    TimedOut(TimedOut),
    /// The peer is to be asked for a sign of life.
    KeepAlive,
}

/// What a wait is for.
#[derive(Clone, Copy)]
pub(crate) enum For {
    /// The peer, in that phase.
    Peer((Phase, u32)),
    /// Room to write into.
    Room,
}

impl<Io> Link<Io> {
    pub(crate) const fn new(io: Io) -> Self {
        Self {
            io,
            reads: 0,
            unflushed: false,
            deadlines: None,
            #[cfg(feature = "tls")]
            tls: None,
            membership: None,
        }
    }

    pub(crate) fn set_timeouts(&mut self, timeouts: impl Into<Arc<Timeouts>>) {
        let (received, sent) = self.deadlines.as_ref().map_or((0, 0), |deadlines| (deadlines.received, deadlines.sent));
        self.deadlines =
            Some(Deadlines { watchdog: Watchdog::new(timeouts), received, sent, armed: None, expired: None });
    }

    pub(crate) fn set_membership(&mut self, membership: Membership) {
        self.membership = Some(membership);
    }

    /// The transport, unless TLS is in between.
    pub(crate) const fn io_itself(&mut self) -> Option<&mut Io> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return None;
        }
        Some(&mut self.io)
    }

    /// What took too long, if something has.
    #[inline]
    pub(crate) fn timed_out(&self) -> Option<TimedOut> {
        self.deadlines.as_ref()?.expired
    }

    /// What the server is about, if that is news.
    #[inline]
    pub(crate) fn news(&mut self) -> Option<Stage> {
        self.membership.as_mut()?.news()
    }

    /// Whether there is [`news`](Self::news).
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.membership.as_ref().is_some_and(Membership::has_news)
    }

    /// Has the task woken when there is news of the server; ready if there is.
    pub(crate) fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.membership {
            Some(membership) => membership.poll_news(cx),
            None => Poll::Pending,
        }
    }
}

impl<Io: Transport> Link<Io> {
    /// Writes until at most `left` bytes are queued, or the caller has to write itself; whether it wrote any.
    #[inline]
    pub(crate) fn poll_write(&mut self, tx: &mut SendBuf, left: usize, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return self.poll_write_tls(tx, left, cx);
        }
        let mut wrote = false;
        while tx.queued() > left {
            let mut chunks = tx.chunks();
            let Some(first) = chunks.next() else { break };
            let mut slices = [IoSlice::new(&[]); CHUNKS];
            slices[0] = IoSlice::new(first);
            let mut count = 1;
            for (slot, chunk) in slices[1..].iter_mut().zip(chunks) {
                *slot = IoSlice::new(chunk);
                count += 1;
            }
            let n = ready!(self.io.poll_write(cx, &slices[..count]))?;
            if n == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            tx.consume(n);
            (wrote, self.unflushed) = (true, true);
            if let Some(deadlines) = &mut self.deadlines {
                deadlines.sent += n as u64;
            }
        }
        self.poll_flush(cx).map_ok(|()| wrote)
    }

    #[inline]
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.unflushed {
            ready!(self.io.poll_flush(cx))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// The same for one who waits for room: what took too long, or that the server is over, is an error of I/O.
    pub(crate) fn poll_room(&mut self, tx: &mut SendBuf, left: usize, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.membership.as_ref().is_some_and(Membership::is_over) {
            return Poll::Ready(Err(server_over()));
        }
        // What is to be written waits for the handshake, for which somebody has to read.
        #[cfg(feature = "tls")]
        if self.is_handshaking() && !tx.is_empty() {
            ready!(self.poll_handshake(cx))?;
        }
        if let Poll::Ready(wrote) = self.poll_write(tx, left, cx) {
            return Poll::Ready(wrote.map(drop));
        }
        if let Poll::Ready(over) = self.poll_over(cx) {
            return Poll::Ready(Err(over));
        }
        self.poll_too_long(For::Room, tx.queued(), cx).map(Err)
    }

    /// Ready with an error when something took too long.
    fn poll_too_long(&mut self, wait: For, queued: usize, cx: &mut Context<'_>) -> Poll<io::Error> {
        match ready!(self.poll_due(wait, queued, cx)) {
            Due::TimedOut(timed_out) => Poll::Ready(io::Error::new(io::ErrorKind::TimedOut, timed_out)),
            // That is for who waits for the peer.
            Due::KeepAlive => Poll::Pending,
        }
    }

    /// Has the task woken when there is news of the server; ready with an error if it is over.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        match &mut self.membership {
            Some(membership) => membership.poll_over(cx).map(|()| server_over()),
            None => Poll::Pending,
        }
    }

    /// Reads once. It holds no buffers while it waits, unless something is unread or unwritten.
    #[inline]
    pub(crate) fn poll_read(&mut self, buffers: &mut Buffers, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            return self.poll_read_tls(buffers, cx);
        }
        if self.reads == READS_PER_TURN {
            self.reads = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let rx = &mut buffers.pair().rx;
        let space = rx.space();
        if space.is_empty() {
            return Poll::Ready(Err(io::Error::other("the receive buffer is full, and the machine wants more")));
        }
        let Poll::Ready(read) = self.io.poll_read(cx, space) else {
            self.reads = 0;
            buffers.give_back();
            return Poll::Pending;
        };
        self.reads += 1;
        match read {
            Ok(0) => rx.set_eof(Eof::Clean),
            Ok(n) => {
                rx.filled(n);
                if let Some(deadlines) = &mut self.deadlines {
                    deadlines.received += n as u64;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => rx.set_eof(Eof::Truncated),
            Err(error) => return Poll::Ready(Err(error)),
        }
        Poll::Ready(Ok(()))
    }

    /// Ready when it is time for something; otherwise the task is woken in time to ask again.
    pub(crate) fn poll_due(&mut self, wait: For, queued: usize, cx: &mut Context<'_>) -> Poll<Due> {
        let Some(deadlines) = &mut self.deadlines else { return Poll::Pending };
        let Deadlines { watchdog, received, sent, armed, expired: last } = deadlines;
        #[cfg(feature = "tls")]
        let (wait, queued) = match &self.tls {
            Some(tls) => (wait.under(tls), queued + tls.queued()),
            None => (wait, queued),
        };
        let progress = Progress { received: *received, sent: *sent, queued };
        loop {
            let now = self.io.now();
            let (expired, deadline) = match wait {
                For::Peer(phase) => {
                    watchdog.observe(phase, progress, now);
                    (watchdog.expired(now), watchdog.deadline())
                }
                For::Room => {
                    watchdog.observe_writing(progress, now);
                    (watchdog.writing_expired(now), watchdog.writing_deadline())
                }
            };
            if let Some(expired) = expired {
                *last = Some(expired);
                return Poll::Ready(Due::TimedOut(expired));
            }
            if matches!(wait, For::Peer(_)) && watchdog.keep_alive(now) {
                return Poll::Ready(Due::KeepAlive);
            }
            let Some(deadline) = deadline else {
                // Who waits for room leaves the timer to who waits for the peer, in another task.
                if matches!(wait, For::Peer(_)) && armed.take().is_some() {
                    // Else a transport that blocks would go on to bound its reads by it.
                    let _ = self.io.poll_deadline(cx, Time::MAX);
                }
                return Poll::Pending;
            };
            let at = armed.filter(|armed| *armed <= deadline).unwrap_or(deadline);
            *armed = Some(at);
            ready!(self.io.poll_deadline(cx, at));
            *armed = None;
        }
    }

    /// Shuts down writing. If that fails, the peer is gone.
    pub(crate) fn poll_shut_down(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        #[cfg(feature = "tls")]
        if self.tls.is_some() {
            ready!(self.poll_close_tls(cx));
        }
        self.io.poll_shutdown(cx).map(drop)
    }

    /// Begins to linger.
    pub(crate) fn linger(&self) -> Linger {
        let closing = self.deadlines.as_ref().and_then(|deadlines| deadlines.watchdog.timeouts().of(Phase::Closing));
        Linger { until: self.io.now().saturating_add(closing.unwrap_or(LINGER)), discarded: 0 }
    }

    /// Discards input to its end, within bounds of bytes and time, so that a reset does not destroy what was written
    /// last (RFC 9112, section 9.6).
    pub(crate) fn poll_linger(&mut self, linger: &mut Linger, buffers: &mut Buffers, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let rx = &mut buffers.pair().rx;
            let n = rx.unread().len();
            rx.take(n);
            linger.discarded += n;
            if rx.eof().is_some() || linger.discarded >= MAX_LINGER {
                return Poll::Ready(());
            }
            let over = self.io.poll_deadline(cx, linger.until).is_ready() || self.io.now() >= linger.until;
            if over || ready!(self.poll_read(buffers, cx)).is_err() {
                return Poll::Ready(());
            }
        }
    }
}

/// What a connection is cut off with.
pub(crate) fn server_over() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the server has ended")
}

/// Bounds of lingering.
#[derive(Debug)]
pub(crate) struct Linger {
    until: Time,
    discarded: usize,
}
