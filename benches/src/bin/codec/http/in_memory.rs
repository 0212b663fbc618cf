//! hyper's server over memory, polled by hand: no runtime and no system call.

use bytes::Bytes;
use bytewise_bench::cases::{Candidate, workload::Workload};
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Incoming,
    rt::{Read, ReadBufCursor, Write},
    server::conn::http1,
    service::service_fn,
};
use std::{
    cell::Cell,
    convert::Infallible,
    hint::black_box,
    io::{self, IoSlice},
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

/// Both directions of a connection.
#[derive(Default)]
struct Memory<'w> {
    unread: Cell<&'w [u8]>,
    written: Cell<usize>,
}

struct Io<'w>(Rc<Memory<'w>>);

impl Read for Io<'_> {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, mut to: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let unread = self.0.unread.get();
        if unread.is_empty() {
            return Poll::Pending;
        }
        let (now, later) = unread.split_at(unread.len().min(to.remaining()));
        to.put_slice(now);
        self.0.unread.set(later);
        Poll::Ready(Ok(()))
    }
}

impl Write for Io<'_> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let n = black_box(slices).iter().map(|slice| slice.len()).sum();
        self.0.written.set(self.0.written.get() + n);
        Poll::Ready(Ok(n))
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

/// Whether something can go on.
#[derive(Default)]
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// An echo of whole bodies. Its responses are as long as those of the others: without a date.
pub(crate) fn hyper(work: &Workload) -> Candidate<'_> {
    let memory = Rc::new(Memory::default());
    let answered = Rc::new(Cell::new(0));
    let service = {
        let answered = Rc::clone(&answered);
        service_fn(move |request: Request<Incoming>| {
            let answered = Rc::clone(&answered);
            async move {
                let body = request.into_body().collect().await.expect("requests are as they were sent").to_bytes();
                answered.set(answered.get() + 1);
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::new(body)))
            }
        })
    };
    let mut http = http1::Builder::new();
    http.auto_date_header(false);
    let mut connection = Box::pin(http.serve_connection(Io(Rc::clone(&memory)), service));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let pass = move || {
        answered.set(0);
        memory.written.set(0);
        for block in work.blocks() {
            memory.unread.set(block);
            woken.0.store(true, Ordering::Relaxed);
            while woken.0.swap(false, Ordering::Relaxed) {
                let poll = connection.as_mut().poll(&mut Context::from_waker(&waker));
                assert!(poll.is_pending(), "the connection has ended");
            }
        }
        assert!(memory.written.get() as u64 > answered.get(), "requests were not answered");
        answered.get()
    };
    Candidate::new("hyper", pass)
}
