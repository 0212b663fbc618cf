use slab::Slab;
use std::{
    future::Future,
    mem,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker},
};

/// Begun once, noticed by all who wait: ends a server, on any runtime.
///
/// Clones are the same shutdown. The servers of asynchronous runtimes take any future for it;
/// `blocking::serve` takes this.
///
/// ```
/// use bytewise_net::Shutdown;
///
/// let shutdown = Shutdown::new();
/// let waiting = shutdown.wait(); // a future, for a server
/// shutdown.begin(); // from a signal handler's task, say
/// futures_lite::future::block_on(waiting);
/// assert!(shutdown.has_begun());
/// ```
#[derive(Debug, Clone, Default)]
pub struct Shutdown(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    begun: AtomicBool,
    waiting: Mutex<Slab<Waker>>,
}

impl Inner {
    fn waiting(&self) -> MutexGuard<'_, Slab<Waker>> {
        // Nothing that panics is done under the lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shutdown {
    /// Not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins it, and wakes all who wait. Again is no difference.
    pub fn begin(&self) {
        self.0.begun.store(true, Ordering::Release);
        let mut waiting = self.0.waiting();
        let woken: Vec<_> = waiting.drain().collect();
        drop(waiting);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Whether it has begun.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.0.begun.load(Ordering::Acquire)
    }

    /// Ready once it has begun.
    pub fn wait(&self) -> Waiting {
        Waiting { shutdown: self.clone(), key: None }
    }
}

/// Waits for a [`Shutdown`] to begin.
#[derive(Debug)]
pub struct Waiting {
    shutdown: Shutdown,
    key: Option<usize>,
}

impl Waiting {
    /// Whether it has begun, without waiting.
    #[inline]
    pub fn has_begun(&self) -> bool {
        self.shutdown.has_begun()
    }

    fn leave(&mut self) {
        if let Some(key) = self.key.take() {
            let mut waiting = self.shutdown.0.waiting();
            // Once begun, all are taken out.
            let own = if self.shutdown.has_begun() { None } else { waiting.try_remove(key) };
            // Whatever a waker owns is dropped outside the lock.
            drop(waiting);
            drop(own);
        }
    }
}

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.has_begun() {
            return Poll::Ready(());
        }
        let mut waiting = this.shutdown.0.waiting();
        // It may have begun before the lock was taken: then nobody would wake this one.
        if this.shutdown.has_begun() {
            return Poll::Ready(());
        }
        let old = match this.key.and_then(|key| waiting.get_mut(key)) {
            Some(waker) => Some(mem::replace(waker, cx.waker().clone())),
            None => {
                this.key = Some(waiting.insert(cx.waker().clone()));
                None
            }
        };
        drop(waiting);
        drop(old);
        Poll::Pending
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.leave();
    }
}
