//! A socket in memory: what one end has written, the other one reads. Nothing blocks.

use std::{
    cell::RefCell,
    io::{self, ErrorKind, IoSlice, Read, Write},
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// As much as a socket has read on at once, about.
const READ: usize = 64 * 1024;

#[derive(Debug, Default)]
struct Direction {
    bytes: Vec<u8>,
    read: usize,
}

impl Direction {
    fn next(&mut self, room: usize) -> io::Result<&[u8]> {
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.read = 0;
            return Err(ErrorKind::WouldBlock.into());
        }
        let from = self.read;
        self.read = self.bytes.len().min(from + room.min(READ));
        Ok(&self.bytes[from..self.read])
    }
}

/// One end.
#[derive(Debug)]
pub struct Pipe {
    incoming: Rc<RefCell<Direction>>,
    outgoing: Rc<RefCell<Direction>>,
}

impl Pipe {
    /// Both ends.
    #[must_use]
    pub fn pair() -> (Self, Self) {
        let (one, other) = (Rc::default(), Rc::default());
        let back = Self { incoming: Rc::clone(&other), outgoing: Rc::clone(&one) };
        (Self { incoming: one, outgoing: other }, back)
    }
}

impl Read for Pipe {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let mut incoming = self.incoming.borrow_mut();
        let bytes = incoming.next(to.len())?;
        to[..bytes.len()].copy_from_slice(bytes);
        Ok(bytes.len())
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.borrow_mut().bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        slices.iter().map(|slice| self.write(slice)).sum()
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Pipe {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.incoming.borrow_mut().next(to.remaining()) {
            Ok(bytes) => {
                to.put_slice(bytes);
                Poll::Ready(Ok(()))
            }
            // Whoever fills it polls again.
            Err(_) => Poll::Pending,
        }
    }
}

impl AsyncWrite for Pipe {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write(bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.write_vectored(slices))
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
