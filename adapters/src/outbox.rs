use crate::{Transport, link::Link};
use bytewise::SendBuf;
use std::{
    future::{Future, poll_fn},
    io,
    pin::pin,
    task::Poll,
};

/// Where replies go; lent beside an event, so that an event can be sent on without a copy of its own.
///
/// The machine's own methods do the sending: `out.machine.send(frame, out.tx)?`. What they queue is written when the
/// driver next waits for input, together with what other events of the same batch led to; the methods here are for a
/// handler that holds an event for longer.
///
/// Dropping any of their futures loses nothing. A write that stalls beyond its bound is
/// [`io::ErrorKind::TimedOut`].
#[derive(Debug)]
pub struct Outbox<'a, Io, M> {
    /// The machine.
    pub machine: &'a mut M,
    /// What it sends into.
    pub tx: &'a mut SendBuf,
    pub(crate) link: &'a mut Link<Io>,
}

impl<Io: Transport, M> Outbox<'_, Io, M> {
    /// Writes until nothing is queued, or only what the caller writes itself ([`SendBuf::external`]) and what is behind it.
    ///
    /// Nothing is read meanwhile, since the event is still lent: two peers that both only write wait for each other until
    /// the bound on stalled writes.
    ///
    /// # Errors
    ///
    /// The transport failed, or took nothing for too long.
    pub async fn flush(&mut self) -> io::Result<()> {
        self.ready(0).await
    }

    /// Writes until at most `high_water` bytes are queued, or as [`flush`](Self::flush) no more can be; does nothing if there
    /// are no more.
    ///
    /// For a handler whose answers are long: without it they are all held in memory at once.
    ///
    /// # Errors
    ///
    /// The transport failed, or took nothing for too long.
    pub async fn ready(&mut self, high_water: usize) -> io::Result<()> {
        if self.tx.queued() <= high_water && high_water > 0 {
            return Ok(());
        }
        poll_fn(|cx| self.link.poll_room(self.tx, high_water, cx)).await
    }

    /// Waits for something else and, if that is not ready at once, writes meanwhile what is queued.
    ///
    /// For a handler that waits for a database: earlier answers are not held up by it.
    ///
    /// # Errors
    ///
    /// The transport failed, or took nothing for too long; then `other` is dropped.
    pub async fn flush_while<F: Future>(&mut self, other: F) -> io::Result<F::Output> {
        let mut other = pin!(other);
        poll_fn(|cx| {
            if let Poll::Ready(output) = other.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            match self.link.poll_room(self.tx, 0, cx) {
                Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
                _ => Poll::Pending,
            }
        })
        .await
    }

    /// The transport, to write what is [`external`](SendBuf::external). `None` under TLS, where nothing may go around the cipher:
    /// put it into `tx` instead.
    pub const fn io(&mut self) -> Option<&mut Io> {
        self.link.io_itself()
    }
}
