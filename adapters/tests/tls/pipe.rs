//! A transport in memory: two ends, in one thread, with blocks and room as a test wants them.

use bytewise::Time;
use bytewise_net::Transport;
use std::{
    cell::RefCell,
    collections::VecDeque,
    future::Future,
    io::{self, ErrorKind, IoSlice},
    pin::pin,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// One direction.
pub(crate) struct Line {
    pub(crate) bytes: VecDeque<u8>,
    pub(crate) ended: bool,
    /// Writes fail: the peer has closed.
    pub(crate) is_refused: bool,
    /// More is not held.
    pub(crate) room: usize,
    /// More is not read or written at once.
    pub(crate) block: usize,
    /// All that was ever written.
    pub(crate) total: usize,
    wakers: Vec<Waker>,
}

impl Line {
    fn new(block: usize) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self {
            bytes: VecDeque::new(),
            ended: false,
            is_refused: false,
            room: 1 << 20,
            block,
            total: 0,
            wakers: Vec::new(),
        }))
    }

    fn wake(&mut self) {
        self.wakers.drain(..).for_each(Waker::wake);
    }

    pub(crate) fn end(&mut self) {
        self.ended = true;
        self.wake();
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.wake();
    }
}

/// One end of two lines, with a clock that a test sets.
pub(crate) struct Pipe {
    pub(crate) from: Rc<RefCell<Line>>,
    pub(crate) to: Rc<RefCell<Line>>,
    pub(crate) clock: Rc<RefCell<Time>>,
}

pub(crate) fn pipes(block: usize) -> (Pipe, Pipe) {
    let (there, back) = (Line::new(block), Line::new(block));
    let pipe = |from: &Rc<_>, to: &Rc<_>| Pipe { from: Rc::clone(from), to: Rc::clone(to), clock: Rc::default() };
    (pipe(&back, &there), pipe(&there, &back))
}

impl Transport for Pipe {
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        assert!(!space.is_empty(), "a read into nothing");
        let mut line = self.from.borrow_mut();
        let n = line.bytes.len().min(space.len()).min(line.block);
        if n == 0 && !line.ended {
            line.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        for (slot, byte) in space.iter_mut().zip(line.bytes.drain(..n)) {
            *slot = byte;
        }
        line.wake();
        Poll::Ready(Ok(n))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        assert!(!chunks.is_empty() && chunks.iter().all(|chunk| !chunk.is_empty()), "a write of nothing");
        let mut line = self.to.borrow_mut();
        if line.is_refused || line.ended {
            return Poll::Ready(Err(ErrorKind::BrokenPipe.into()));
        }
        let most = line.room.saturating_sub(line.bytes.len()).min(line.block);
        if most == 0 {
            line.wakers.push(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.iter().copied()).take(most).collect();
        line.push(&bytes);
        line.total += bytes.len();
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.to.borrow_mut().end();
        Poll::Ready(Ok(()))
    }

    fn now(&self) -> Time {
        *self.clock.borrow()
    }

    fn poll_deadline(&mut self, _: &mut Context<'_>, at: Time) -> Poll<()> {
        if *self.clock.borrow() >= at { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.to.borrow_mut().end();
    }
}

/// Polls once, and drops the future.
pub(crate) fn once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// The outcome of a future that is ready within so many polls, of new futures each time.
#[track_caller]
pub(crate) fn soon<T>(mut poll: impl FnMut() -> Poll<T>) -> T {
    for _ in 0..200_000 {
        if let Poll::Ready(outcome) = poll() {
            return outcome;
        }
    }
    panic!("it never comes to an end");
}
