//! A connection whose input is a block at a time, and whose output is only looked at: for peers that do I/O themselves.

use std::{
    cell::Cell,
    hint::black_box,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Both directions; clones are the same connection.
#[derive(Clone, Default)]
pub(super) struct Memory<'w>(Rc<Cell<&'w [u8]>>);

impl<'w> Memory<'w> {
    /// What is read next. What was there before must have been read.
    pub(super) fn receive(&self, block: &'w [u8]) {
        assert!(self.0.replace(block).is_empty(), "it was not read");
    }

    /// Takes as much of the input as there is and fits.
    fn next(&self, room: usize) -> io::Result<&'w [u8]> {
        let unread = self.0.get();
        if unread.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let (now, later) = unread.split_at(unread.len().min(room));
        self.0.set(later);
        Ok(now)
    }
}

impl io::Read for Memory<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let bytes = self.next(to.len())?;
        to[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl io::Write for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(black_box(bytes).len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Memory<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.next(to.remaining()) {
            Ok(bytes) => {
                to.put_slice(bytes);
                Poll::Ready(Ok(()))
            }
            // Whoever fills it polls again.
            Err(_) => Poll::Pending,
        }
    }
}

impl AsyncWrite for Memory<'_> {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(black_box(bytes).len()))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(black_box(slices).iter().map(|slice| slice.len()).sum()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
