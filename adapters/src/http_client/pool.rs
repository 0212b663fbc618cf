//! Connections that no request uses.

use crate::Driver;
use bytewise::{Time, http1::Client};
use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};
use url::{Host, Url};

/// Where a connection leads to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Origin {
    /// Without brackets.
    pub(super) host: String,
    pub(super) port: u16,
}

impl Origin {
    pub(super) fn of(url: &Url) -> Self {
        let host = match url.host() {
            Some(Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        Self { host, port: url.port_or_known_default().unwrap_or(80) }
    }
}

pub(super) struct Pool<Io> {
    per_origin: usize,
    at_most: Time,
    idle: Mutex<HashMap<Origin, Vec<Idle<Io>>>>,
}

struct Idle<Io> {
    driver: Driver<Io, Client>,
    since: Instant,
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
        let taken = of_origin.pop();
        if of_origin.is_empty() {
            idle.remove(origin);
        }
        drop(idle);
        // Those that waited for longer than it are still in there: they are dropped when another comes.
        taken.filter(|idle| idle.since.elapsed() < self.at_most).map(|idle| idle.driver)
    }

    /// Keeps it if it can be used again.
    pub(super) fn give_back(&self, origin: Origin, driver: Driver<Io, Client>) {
        if !driver.machine().is_reusable() || !driver.received().unread().is_empty() {
            return;
        }
        let mut idle = self.lock();
        // Whoever is over its time, of any origin, goes.
        idle.retain(|_, of_origin| {
            of_origin.retain(|idle| idle.since.elapsed() < self.at_most);
            !of_origin.is_empty()
        });
        let of_origin = idle.entry(origin).or_default();
        if of_origin.len() < self.per_origin {
            of_origin.push(Idle { driver, since: Instant::now() });
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
