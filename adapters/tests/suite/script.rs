//! A transport that plays a script and writes down what is asked of it.

use bytewise::Time;
use bytewise_net::Transport;
use std::{
    collections::VecDeque,
    future::Future,
    io::{self, ErrorKind, IoSlice},
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker, ready},
};

/// What a read comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    Bytes(Vec<u8>),
    /// Not ready once; whoever plays the peer wakes the task.
    Pending,
    End,
    Fails(ErrorKind),
    /// These bytes, again and again.
    Always(Vec<u8>),
}

/// How writes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// So many bytes at most are taken by each.
    Takes(usize),
    /// None is ready.
    Blocked,
    Fails(ErrorKind),
}

/// What was asked of the transport.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Call {
    /// So many bytes were read; 0 is the end.
    Read(usize),
    ReadPending,
    /// So many bytes in so many slices were taken.
    Write(usize, usize),
    WritePending,
    Flush,
    Shutdown,
}

use Call::*;

#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) input: VecDeque<Input>,
    pub(crate) output: Output,
    pub(crate) written: Vec<u8>,
    pub(crate) calls: Vec<Call>,
    pub(crate) now: Time,
    /// When the timer fires.
    pub(crate) armed: Option<Time>,
    /// Pending before every step, one byte at a time, and it wakes itself.
    pub(crate) reluctant: Option<Reluctant>,
}

/// Which operation was pending last time.
#[derive(Debug, Default)]
pub(crate) struct Reluctant {
    read: bool,
    write: bool,
    flush: bool,
    shutdown: bool,
}

impl Script {
    pub(crate) fn new(input: impl IntoIterator<Item = Input>) -> Self {
        Self {
            input: input.into_iter().collect(),
            output: Output::Takes(usize::MAX),
            written: Vec::new(),
            calls: Vec::new(),
            now: Time::ZERO,
            armed: None,
            reluctant: None,
        }
    }

    pub(crate) fn with_output(self, output: Output) -> Self {
        Self { output, ..self }
    }

    /// Input that ends, slowly.
    pub(crate) fn reluctant(bytes: &[u8]) -> Self {
        let input = [Input::Bytes(bytes.to_vec()), Input::End];
        Self { reluctant: Some(Reluctant::default()), output: Output::Takes(1), ..Self::new(input) }
    }

    /// The calls since last time.
    pub(crate) fn take_calls(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }

    fn turn(&mut self, cx: &mut Context<'_>, which: impl Fn(&mut Reluctant) -> &mut bool) -> Poll<()> {
        let Some(reluctant) = &mut self.reluctant else { return Poll::Ready(()) };
        let was_pending = which(reluctant);
        *was_pending = !*was_pending;
        if *was_pending {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl Transport for Script {
    fn poll_read(&mut self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        assert!(!space.is_empty(), "a read into nothing");
        ready!(self.turn(cx, |reluctant| &mut reluctant.read));
        let most = if self.reluctant.is_some() { 1 } else { space.len() };
        let n = match self.input.front_mut() {
            None => {
                self.calls.push(ReadPending);
                return Poll::Pending;
            }
            Some(Input::Pending) => {
                self.input.pop_front();
                self.calls.push(ReadPending);
                return Poll::Pending;
            }
            Some(Input::Bytes(bytes)) => {
                let n = bytes.len().min(most);
                space[..n].copy_from_slice(&bytes[..n]);
                bytes.drain(..n);
                if bytes.is_empty() {
                    self.input.pop_front();
                }
                n
            }
            Some(Input::Always(bytes)) => {
                let n = bytes.len().min(most);
                space[..n].copy_from_slice(&bytes[..n]);
                bytes.rotate_left(n);
                n
            }
            Some(Input::End) => 0,
            Some(Input::Fails(kind)) => return Poll::Ready(Err((*kind).into())),
        };
        self.calls.push(Read(n));
        Poll::Ready(Ok(n))
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, chunks: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        assert!(!chunks.is_empty() && chunks.iter().all(|chunk| !chunk.is_empty()), "a write of nothing");
        ready!(self.turn(cx, |reluctant| &mut reluctant.write));
        match self.output {
            Output::Takes(most) => {
                let all: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.iter().copied()).collect();
                let n = all.len().min(most);
                self.written.extend(&all[..n]);
                self.calls.push(Write(n, chunks.len()));
                Poll::Ready(Ok(n))
            }
            Output::Blocked => {
                self.calls.push(WritePending);
                Poll::Pending
            }
            Output::Fails(kind) => Poll::Ready(Err(kind.into())),
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.turn(cx, |reluctant| &mut reluctant.flush));
        self.calls.push(Flush);
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.turn(cx, |reluctant| &mut reluctant.shutdown));
        self.calls.push(Shutdown);
        Poll::Ready(Ok(()))
    }

    fn now(&self) -> Time {
        self.now
    }

    fn poll_deadline(&mut self, _: &mut Context<'_>, at: Time) -> Poll<()> {
        self.armed = Some(at);
        if self.now >= at { Poll::Ready(()) } else { Poll::Pending }
    }
}

/// Polls once, and drops the future; beside the outcome, how often it was woken meanwhile.
pub(crate) fn once<F: Future>(future: F) -> (Poll<F::Output>, usize) {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let count = Arc::new(Count(AtomicUsize::new(0)));
    let outcome = pin!(future).poll(&mut Context::from_waker(&Waker::from(Arc::clone(&count))));
    let woken = count.0.load(Ordering::Relaxed);
    (outcome, woken)
}

/// The outcome of a future that is ready.
#[track_caller]
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match once(future).0 {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => panic!("it is not ready"),
    }
}

/// Whether it waits, with the task not woken.
pub(crate) fn waits<F: Future>(future: F) -> bool {
    matches!(once(future), (Poll::Pending, 0))
}
