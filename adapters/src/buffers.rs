//! The buffers of a connection, which it has only while it works.
//!
//! A connection that waits with nothing unread and nothing unwritten gives its pair to the thread, and one that works
//! takes the pair that was used last: idle connections hold none, and busy ones use memory that is still in the cache,
//! grown once for all of them. Sharing is safe: a buffer shows no bytes but those received into it since.

use bytewise::{RecvBuf, SendBuf};
use std::cell::RefCell;

/// Pairs that a thread keeps: as many as connections are at work at once, those with part of a message among them. Under TLS each has
/// two.
const PAIRS: usize = 48;

/// Bytes of memory that they hold together at most.
const BYTES: usize = 32 << 20;

thread_local! {
    #[expect(clippy::vec_box, reason = "they move in and out: by pointer, and without an allocation")]
    static SPARE: RefCell<Vec<Box<Pair>>> = const { RefCell::new(Vec::new()) };
}

#[derive(Debug, Default)]
pub(crate) struct Pair {
    pub(crate) rx: RecvBuf,
    pub(crate) tx: SendBuf,
    /// Not to be shared: it has limits of its own, or an end that is remembered.
    own: bool,
}

impl Pair {
    fn capacity(&self) -> usize {
        self.rx.capacity() + self.tx.capacity()
    }

    fn is_idle(&self) -> bool {
        !self.own && self.rx.is_idle() && self.rx.eof().is_none() && self.tx.is_empty()
    }
}

#[derive(Debug, Default)]
pub(crate) struct Buffers(Option<Box<Pair>>);

/// What a connection has received that has no buffers.
static NOTHING: RecvBuf = RecvBuf::new();

impl Buffers {
    pub(crate) const fn new() -> Self {
        Self(None)
    }

    /// A pair of the connection's own.
    pub(crate) fn own(rx: RecvBuf, tx: SendBuf) -> Self {
        Self(Some(Box::new(Pair { rx, tx, own: true })))
    }

    /// The pair to work with.
    #[inline(always)]
    pub(crate) fn pair(&mut self) -> &mut Pair {
        if self.0.is_none() {
            self.0 = Some(spare());
        }
        self.0.as_mut().expect("there is one now")
    }

    /// What is received, without taking a pair for it.
    pub(crate) fn received(&self) -> &RecvBuf {
        self.0.as_ref().map_or(&NOTHING, |pair| &pair.rx)
    }

    /// Bytes that are to be written.
    pub(crate) fn queued(&self) -> usize {
        self.0.as_ref().map_or(0, |pair| pair.tx.queued())
    }

    pub(crate) fn into_parts(self) -> (RecvBuf, SendBuf) {
        self.0.map_or_else(Default::default, |pair| (pair.rx, pair.tx))
    }

    /// Before a wait: gives the pair to the thread if it holds nothing. One of the connection's own stays.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        let Some(pair) = self.0.take_if(|pair| pair.is_idle()) else { return };
        // While the thread ends there is nobody to keep it for.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            let kept: usize = spare.iter().map(|kept| kept.capacity()).sum();
            if spare.len() < PAIRS && kept + pair.capacity() <= BYTES {
                spare.push(pair);
            }
        });
    }
}

#[inline(never)]
fn spare() -> Box<Pair> {
    SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}
