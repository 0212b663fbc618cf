//! Connections that no request uses.

use crate::{Driver, Transport, url::Origin};
use bytewise::{Time, http1::Client};
use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Wake, Waker},
    time::Instant,
};

pub(super) struct Pool<Io> {
    per_origin: usize,
    at_most: Time,
    idle: Mutex<HashMap<Origin, Vec<Idle<Io>>>>,
}

struct Idle<Io> {
    driver: Driver<Io, Client>,
    since: Instant,
    heard: Arc<Heard>,
}

/// Whether something has come over a connection that nobody uses: its end, most likely. It is the reactor's to notice, which
/// needs no call of the system when the connection is used again.
#[derive(Default)]
struct Heard(AtomicBool);

impl Wake for Heard {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

impl<Io> Idle<Io> {
    fn is_usable(&self, at_most: Time) -> bool {
        self.since.elapsed() < at_most && !self.heard.0.load(Ordering::Acquire)
    }
}

impl<Io: Transport> Idle<Io> {
    /// `None` if it cannot be used again.
    fn new(mut driver: Driver<Io, Client>) -> Option<Self> {
        let received = driver.received();
        // Under TLS the end may have come with the response, while the socket stays open.
        if !driver.machine().is_reusable() || !received.unread().is_empty() || received.eof().is_some() {
            return None;
        }
        let heard = Arc::<Heard>::default();
        // A transport that blocks would wait.
        if !Io::BLOCKING {
            let waker = Waker::from(Arc::clone(&heard));
            let read = driver.0.link.io.poll_read(&mut Context::from_waker(&waker), &mut [0]);
            if read.is_ready() {
                return None;
            }
        }
        driver.give_back_buffers();
        Some(Self { driver, since: Instant::now(), heard })
    }
}

impl<Io> Pool<Io> {
    pub(super) fn new() -> Self {
        Self::with(8, Time::from_secs(30))
    }

    pub(super) fn with(per_origin: usize, at_most: Time) -> Self {
        Self { per_origin, at_most, idle: Mutex::default() }
    }

    /// The one that was used last.
    pub(super) fn take(&self, origin: &Origin) -> Option<Driver<Io, Client>> {
        let mut idle = self.lock();
        let of_origin = idle.get_mut(origin)?;
        of_origin.retain(|idle| idle.is_usable(self.at_most));
        let taken = of_origin.pop();
        if of_origin.is_empty() {
            idle.remove(origin);
        }
        taken.map(|idle| idle.driver)
    }

    /// Keeps it if it can be used again.
    pub(super) fn give_back(&self, origin: Origin, driver: Driver<Io, Client>)
    where
        Io: Transport,
    {
        let Some(unused) = Idle::new(driver) else { return };
        let mut idle = self.lock();
        // Whoever is of no use any more, of any origin, goes.
        idle.retain(|_, of_origin| {
            of_origin.retain(|idle| idle.is_usable(self.at_most));
            !of_origin.is_empty()
        });
        let of_origin = idle.entry(origin).or_default();
        if of_origin.len() < self.per_origin {
            of_origin.push(unused);
        }
    }

    /// Nothing that can panic is done while it is held.
    fn lock(&self) -> MutexGuard<'_, HashMap<Origin, Vec<Idle<Io>>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<Io> fmt::Debug for Pool<Io> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let idle: usize = self.lock().values().map(Vec::len).sum();
        f.debug_struct("Pool").field("idle", &idle).finish_non_exhaustive()
    }
}
