//! The connections of one server: how many there are, who waits for that, and what they are told when it ends.

use slab::Slab;
use std::{
    future::poll_fn,
    mem,
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
        Membership { connections: Arc::clone(self), told: Stage::Serving, key: None, key_stage: Stage::Serving }
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
            let old = state.server.replace(cx.waker().clone());
            drop(state);
            drop(old);
            Poll::Pending
        })
        .await;
    }
}

/// A connection's place among those of its server, which it leaves when it is dropped.
#[derive(Debug)]
pub(crate) struct Membership {
    connections: Arc<Connections>,
    told: Stage,
    /// Its waker among the members, which are fewer than descriptors can be, and the stage that this is good for.
    key: Option<u32>,
    key_stage: Stage,
}

impl Membership {
    /// The stage, if it is another one than last time, or the last.
    #[inline]
    pub(crate) fn news(&mut self) -> Option<Stage> {
        let stage = self.connections.stage();
        if stage == self.told && stage != Stage::Over {
            return None;
        }
        self.told = stage;
        Some(stage)
    }

    /// Whether [`news`](Self::news) has some.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.connections.stage() != self.told
    }

    /// Has the task woken when there is news; ready if there is.
    pub(crate) fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.register(cx) {
            stage if stage == self.told => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }

    /// Whether the server is over.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.connections.stage() == Stage::Over
    }

    /// Has the task woken when there is news; ready if the server is over.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.register(cx) {
            Stage::Over => Poll::Ready(()),
            _ => Poll::Pending,
        }
    }

    /// Whoever changes the stage that is returned finds the waker.
    fn register(&mut self, cx: &Context<'_>) -> Stage {
        let mut state = self.connections.state();
        let stage = self.connections.stage();
        let key = self.key.filter(|_| self.key_stage == stage);
        let old = match key.and_then(|key| state.members.get_mut(key as usize)) {
            Some(waker) if waker.will_wake(cx.waker()) => None,
            Some(waker) => Some(mem::replace(waker, cx.waker().clone())),
            None => {
                self.key = u32::try_from(state.members.insert(cx.waker().clone())).ok();
                None
            }
        };
        self.key_stage = stage;
        // Whatever a waker owns is dropped outside the lock.
        drop(state);
        drop(old);
        stage
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        state.live -= 1;
        let key = self.key.filter(|_| self.connections.stage() == self.key_stage);
        let own = key.and_then(|key| state.members.try_remove(key as usize));
        let server = state.server.take();
        // Whatever a waker owns is dropped outside the lock.
        drop(state);
        drop(own);
        if let Some(server) = server {
            server.wake();
        }
    }
}
