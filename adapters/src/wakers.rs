use slab::Slab;
use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Wake, Waker},
};

/// Wakes all who wait for one connection that several tasks share, since a socket keeps one waker for each direction.
#[derive(Debug, Default)]
pub(crate) struct Wakers(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    receiver: Option<Waker>,
    senders: Slab<Waker>,
}

impl Wakers {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that panics is done under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before it looks whether it has to wait.
    pub(crate) fn set_receiver(&self, waker: &Waker) {
        let mut waiting = self.waiting();
        if waiting.receiver.as_ref().is_some_and(|old| old.will_wake(waker)) {
            return;
        }
        let old = waiting.receiver.replace(waker.clone());
        // Whatever a waker owns is dropped outside the lock.
        drop(waiting);
        drop(old);
    }

    pub(crate) fn wake_receiver(&self) {
        let receiver = self.waiting().receiver.take();
        if let Some(receiver) = receiver {
            receiver.wake();
        }
    }

    /// The senders keep their places, and leave them when they go on.
    pub(crate) fn wake_senders(&self) {
        let senders = self.senders();
        senders.into_iter().for_each(Waker::wake);
    }

    fn senders(&self) -> Vec<Waker> {
        self.waiting().senders.iter().map(|(_, sender)| sender.clone()).collect()
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.wake_receiver();
        self.wake_senders();
    }
}

/// A sender's place among those who wait, which it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    wakers: Arc<Wakers>,
    key: Option<usize>,
}

impl Place {
    pub(crate) const fn new(wakers: Arc<Wakers>) -> Self {
        Self { wakers, key: None }
    }

    /// Before it looks whether it has to wait.
    pub(crate) fn set(&mut self, waker: &Waker) {
        let mut waiting = self.wakers.waiting();
        let old = match self.key.and_then(|key| waiting.senders.get_mut(key)) {
            Some(old) if old.will_wake(waker) => None,
            Some(old) => Some(mem::replace(old, waker.clone())),
            None => {
                self.key = Some(waiting.senders.insert(waker.clone()));
                None
            }
        };
        drop(waiting);
        drop(old);
    }

    pub(crate) fn leave(&mut self) {
        if let Some(key) = self.key.take() {
            let own = self.wakers.waiting().senders.try_remove(key);
            drop(own);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
    }
}
