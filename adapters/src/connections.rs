//! The connections of one server: how many there are, who waits for that, and what they are told when it ends.

use slab::Slab;
use std::{
    future::poll_fn,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, Ordering},
    },
    task::{Context, Poll, Waker},
};

/// What the server is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Serving,
    /// What is under way is to be finished.
    Draining,
    /// What is still under way is cut off.
    Over,
}

#[derive(Debug, Default)]
pub(crate) struct Connections {
    stage: AtomicU8,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    live: usize,
    /// Tasks to wake when the stage changes.
    members: Slab<Waker>,
    /// The server, which waits for connections to end.
    server: Option<Waker>,
}

impl Connections {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing that panics is done under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            0 => Stage::Serving,
            1 => Stage::Draining,
            _ => Stage::Over,
        }
    }

    /// One connection more.
    pub(crate) fn enter(self: &Arc<Self>) -> Membership {
        self.state().live += 1;
        Membership { connections: Arc::clone(self), key: None, told: Stage::Serving }
    }

    /// Tells all connections.
    pub(crate) fn set_stage(&self, stage: Stage) {
        let mut state = self.state();
        // Under the lock: a key of the slab is good as long as the stage is the one its owner knows.
        self.stage.store(stage as u8, Ordering::Release);
        let woken: Vec<_> = state.members.drain().collect();
        drop(state);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Waits until there are at most so many.
    pub(crate) async fn at_most(&self, count: usize) {
        poll_fn(|cx| {
            let mut state = self.state();
            if state.live <= count {
                return Poll::Ready(());
            }
            state.server = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

/// A connection's place among those of its server, which it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    connections: Arc<Connections>,
    /// Its place among the members, which are fewer than descriptors can be.
    key: Option<u32>,
    told: Stage,
}

impl Membership {
    /// The stage, if it is another one than last time.
    #[inline]
    pub(crate) fn news(&mut self) -> Option<Stage> {
        let stage = self.connections.stage();
        if stage == self.told {
            return None;
        }
        (self.told, self.key) = (stage, None);
        Some(stage)
    }

    /// Has the task woken when there is news; ready if there is.
    pub(crate) fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.connections.state();
        if self.connections.stage() != self.told {
            return Poll::Ready(());
        }
        match self.key.and_then(|key| state.members.get_mut(key as usize)) {
            Some(waker) => waker.clone_from(cx.waker()),
            None => self.key = u32::try_from(state.members.insert(cx.waker().clone())).ok(),
        }
        Poll::Pending
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        state.live -= 1;
        if let (Some(key), true) = (self.key, self.connections.stage() == self.told) {
            state.members.remove(key as usize);
        }
        let server = state.server.take();
        drop(state);
        if let Some(server) = server {
            server.wake();
        }
    }
}
