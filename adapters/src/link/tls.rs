//! The same under TLS: the wire has buffers of its own, and a handshake comes first.

use super::{CHUNKS, For, Link, READS_PER_TURN};
use crate::{
    Transport,
    buffers::Buffers,
    driver::is_peer_gone,
    tls::{Tls, TlsError},
};
use bytewise::{Eof, Phase, SendBuf};
use std::{
    io::{self, IoSlice},
    task::{Context, Poll, ready},
};

impl For {
    /// While hands are shaken, that is what is waited for.
    pub(super) fn under(self, tls: &Tls) -> Self {
        if tls.is_handshaking() { Self::Peer((Phase::Handshake, 0)) } else { self }
    }
}

impl<Io> Link<Io> {
    pub(crate) fn set_tls(&mut self, tls: Tls) {
        self.tls = Some(Box::new(tls));
    }

    pub(crate) fn tls(&self) -> Option<&Tls> {
        self.tls.as_deref()
    }

    pub(crate) fn tls_mut(&mut self) -> Option<&mut Tls> {
        self.tls.as_deref_mut()
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.is_handshaking())
    }
}

impl<Io: Transport> Link<Io> {
    /// Shakes hands, if that is not done. Plaintext that comes with it is kept.
    pub(crate) fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(())) };
            let shaken = tls.shake_hands();
            let is_handshaking = tls.is_handshaking();
            // Also what a failure says to the peer.
            let written = self.poll_write_wire(0, cx);
            self.check(shaken, cx)?;
            if !is_handshaking {
                return Poll::Ready(Ok(()));
            }
            unless_peer_gone(written)?;
            // Before the read, which one that blocks has to bound.
            if let Poll::Ready(error) = self.poll_over(cx) {
                return Poll::Ready(Err(error));
            }
            if let Poll::Ready(error) = self.poll_too_long(For::Room, 0, cx) {
                return Poll::Ready(Err(error));
            }
            ready!(self.poll_read_wire(cx))?;
        }
    }

    /// Reads until there is plaintext, or its end, or hands are shaken.
    pub(super) fn poll_read_tls(&mut self, buffers: &mut Buffers, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(())) };
            let rx = &mut buffers.pair().rx;
            if rx.is_full() {
                return Poll::Ready(Err(io::Error::other("the receive buffer is full, and the machine wants more")));
            }
            let before = (rx.unread().len(), rx.eof(), tls.is_handshaking());
            let decrypted = tls.decrypt(rx);
            let news = (rx.unread().len(), rx.eof(), tls.is_handshaking()) != before;
            // The handshake's part, an answer to a change of keys, an alert: whatever there is, and as far as that goes.
            let written = self.poll_write_wire(0, cx);
            self.check(decrypted, cx)?;
            unless_peer_gone(written)?;
            if news {
                return Poll::Ready(Ok(()));
            }
            let read = self.poll_read_wire(cx);
            if read.is_pending() {
                buffers.give_back();
            }
            ready!(read)?;
        }
    }

    /// Encrypts and writes until at most `left` bytes are queued, or no more can be.
    pub(super) fn poll_write_tls(
        &mut self,
        tx: &mut SendBuf,
        left: usize,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let mut wrote = false;
        loop {
            let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(wrote)) };
            tls.encrypt(tx)?;
            let queued = tls.queued();
            if queued == 0 || (queued + tx.queued() <= left) {
                break;
            }
            wrote |= ready!(self.poll_write_wire(left.saturating_sub(tx.queued()), cx))?;
        }
        self.poll_flush(cx).map_ok(|()| wrote)
    }

    /// Says that nothing more comes, `close_notify`, and writes it. If that fails, the peer is gone.
    pub(super) fn poll_close_tls(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(tls) = &mut self.tls {
            tls.close();
            // What fails now failed before.
            let _ = tls.encrypt(&mut SendBuf::new());
        }
        ready!(self.poll_write_wire(0, cx)).ok();
        self.poll_flush(cx).map(drop)
    }

    /// What failed, after the alert was tried to be written, and writing shut down.
    fn check(&mut self, outcome: Result<(), TlsError>, cx: &mut Context<'_>) -> io::Result<()> {
        outcome.map_err(|error| {
            let _ = self.poll_flush(cx);
            let _ = self.io.poll_shutdown(cx);
            error.into()
        })
    }

    /// Writes records until at most `left` bytes of them are queued; whether it wrote any.
    fn poll_write_wire(&mut self, left: usize, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let mut wrote = false;
        while let Some(tls) = &mut self.tls
            && tls.queued() > left
        {
            let tx = tls.wire().1;
            let mut slices = [IoSlice::new(&[]); CHUNKS];
            let mut count = 0;
            for (slot, chunk) in slices.iter_mut().zip(tx.chunks()) {
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
        Poll::Ready(Ok(wrote))
    }

    /// Reads records once.
    fn poll_read_wire(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Some(tls) = &mut self.tls else { return Poll::Ready(Ok(())) };
        if self.reads == READS_PER_TURN {
            self.reads = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let Poll::Ready(read) = self.io.poll_read(cx, tls.wire().0.space()) else {
            self.reads = 0;
            tls.give_back_buffers();
            return Poll::Pending;
        };
        self.reads += 1;
        let rx = tls.wire().0;
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
}

/// A write's failure, unless it is that the peer does not listen any more: what it said before, an alert for one, is still to be
/// read, and then its end.
fn unless_peer_gone(written: Poll<io::Result<bool>>) -> io::Result<()> {
    match written {
        Poll::Ready(Err(error)) if !is_peer_gone(&error) => Err(error),
        _ => Ok(()),
    }
}
