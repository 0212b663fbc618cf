//! The core in a bare completion loop: one thread and one io_uring, by compio's driver, whose operations own their buffers.
//!
//! ```text
//! io_uring_enter ──▶ completed ──▶ turn: restore, consume ─▶ all events ─▶ lend what is to be sent, and room to read
//!        ▲                                                                                     │
//!        └─────────────────────────── one system call for all of them ─────────────────────────┘
//! ```

use super::{Job, machine::Spoken};
use ::bytewise::{Eof, NextIo, RecvBuf, SendBuf};
use bytes::Bytes;
use bytewise_net::tls::Tls;
use compio_buf::{BufResult, IntoInner, IoBuf, Slice};
use compio_driver::{
    Key, Proactor, PushEntry, SharedFd,
    op::{Accept, Recv, RecvFlags, Send, SendFlags},
};
use slab::Slab;
use std::{
    io::{self, ErrorKind},
    mem,
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    task::{Wake, Waker},
};

type Socket = SharedFd<TcpStream>;
type Read = Recv<Slice<Vec<u8>>, Socket>;
type Write = Send<Bytes, Socket>;

/// Where the listener is among the connections.
const LISTENER: usize = usize::MAX;

/// Operations that are handed to the kernel at once.
const ENTRIES: u32 = 1024;

/// Who has something completed.
type Completed = Arc<Mutex<Vec<usize>>>;

/// Tells who it is, when an operation of its has completed.
struct Teller {
    at: usize,
    completed: Completed,
}

impl Teller {
    fn waker(at: usize, completed: &Completed) -> Waker {
        Waker::from(Arc::new(Self { at, completed: Arc::clone(completed) }))
    }
}

impl Wake for Teller {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.completed.lock().unwrap_or_else(PoisonError::into_inner).push(self.at);
    }
}

/// Why there is no ring for this process, if there is none.
pub(super) fn prepare() -> Result<(), String> {
    ring().map(drop).map_err(|error| format!("the kernel gives no io_uring ({error})"))
}

fn ring() -> io::Result<Proactor> {
    let mut builder = Proactor::builder();
    // Nothing but sockets, for which the driver needs no threads.
    builder.capacity(ENTRIES).thread_pool_limit(0);
    builder.build()
}

/// Hands an operation to the ring; what it says at once comes with it.
fn push<T: compio_driver::OpCode + 'static>(ring: &mut Proactor, operation: T, waker: &Waker) -> io::Result<Key<T>> {
    match ring.push(operation) {
        PushEntry::Pending(key) => {
            ring.update_waker(&key, waker);
            Ok(key)
        }
        PushEntry::Ready(BufResult(result, _)) => Err(result.err().unwrap_or_else(|| ErrorKind::Unsupported.into())),
    }
}

/// What came of it, if it has completed; otherwise it stays there.
fn take<T: compio_driver::OpCode + 'static>(
    ring: &mut Proactor,
    slot: &mut Option<Key<T>>,
) -> Option<BufResult<usize, T>> {
    match ring.pop(slot.take()?) {
        PushEntry::Ready(result) => Some(result),
        PushEntry::Pending(key) => {
            *slot = Some(key);
            None
        }
    }
}

struct Connection {
    socket: Socket,
    waker: Waker,
    tls: Option<Tls>,
    spoken: Spoken,
    rx: RecvBuf,
    tx: SendBuf,
    reading: Option<Key<Read>>,
    writing: Option<Key<Write>>,
}

impl Connection {
    /// Goes on after an operation has completed; whether the connection does.
    fn turn(&mut self, ring: &mut Proactor) -> io::Result<bool> {
        if let Some(BufResult(result, write)) = take(ring, &mut self.writing) {
            drop(write);
            match result? {
                0 => return Err(ErrorKind::WriteZero.into()),
                n => self.wire().1.consume(n),
            }
        }
        if let Some(BufResult(result, read)) = take(ring, &mut self.reading) {
            let n = result?;
            let records = self.wire().0;
            records.restore(read.into_inner().into_inner(), n);
            if n == 0 {
                records.set_eof(Eof::Clean);
            }
        }
        self.process()?;
        self.spoken.answer(&mut self.rx, &mut self.tx)?;
        let is_over = self.spoken.next_io() != NextIo::Read;
        if is_over && let Some(tls) = &mut self.tls {
            tls.close();
        }
        self.process()?;
        // A read goes along with each write, and no further one before that is done: so little waits to be sent.
        if self.writing.is_none() {
            if !self.wire().1.is_empty() {
                let write = Send::new(self.socket.clone(), self.wire().1.lend(), SendFlags::empty());
                self.writing = Some(push(ring, write, &self.waker)?);
            } else if is_over {
                return Ok(false);
            }
            if !is_over && self.reading.is_none() {
                let block = self.wire().0.lend();
                let all = block.len();
                let read = Recv::new(self.socket.clone(), block.slice(..all), RecvFlags::empty());
                self.reading = Some(push(ring, read, &self.waker)?);
            }
        }
        Ok(true)
    }

    /// What is read into, and what is written.
    fn wire(&mut self) -> (&mut RecvBuf, &mut SendBuf) {
        match &mut self.tls {
            Some(tls) => tls.wire(),
            None => (&mut self.rx, &mut self.tx),
        }
    }

    fn process(&mut self) -> io::Result<()> {
        match &mut self.tls {
            Some(tls) => tls.process(&mut self.rx, &mut self.tx).map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

/// Serves until the listener or the ring fails.
pub(super) fn serve(job: Job) -> io::Result<()> {
    let config = job.tls()?;
    let listener = SharedFd::new(job.listener);
    let (mut ring, completed) = (ring()?, Completed::default());
    let accepted = Teller::waker(LISTENER, &completed);
    let mut accepting = Some(accept(&mut ring, &listener, &accepted)?);
    let (mut connections, mut turns) = (Slab::<Connection>::new(), Vec::new());
    loop {
        ring.poll(None)?;
        mem::swap(&mut turns, &mut completed.lock().unwrap_or_else(PoisonError::into_inner));
        for mut at in turns.drain(..) {
            if at == LISTENER {
                let Some(BufResult(result, accept_)) = take(&mut ring, &mut accepting) else { continue };
                result?;
                let socket = TcpStream::from(accept_.into_inner().0);
                socket.set_nodelay(true)?;
                accepting = Some(accept(&mut ring, &listener, &accepted)?);
                let slot = connections.vacant_entry();
                at = slot.key();
                slot.insert(Connection {
                    socket: SharedFd::new(socket),
                    waker: Teller::waker(at, &completed),
                    tls: config.clone().map(Tls::server).transpose().map_err(io::Error::other)?,
                    spoken: Spoken::new(job.protocol),
                    rx: RecvBuf::new(),
                    tx: SendBuf::new(),
                    reading: None,
                    writing: None,
                });
            }
            // Whoever has failed is gone, and may have had two completed.
            let Some(connection) = connections.get_mut(at) else { continue };
            if !matches!(connection.turn(&mut ring), Ok(true)) {
                connections.remove(at);
            }
        }
    }
}

fn accept(
    ring: &mut Proactor,
    listener: &SharedFd<TcpListener>,
    waker: &Waker,
) -> io::Result<Key<Accept<SharedFd<TcpListener>>>> {
    push(ring, Accept::new(listener.clone()), waker)
}
