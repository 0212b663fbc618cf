use crate::{RecvBuf, SendBuf};
use alloc::vec::Vec;
use core::mem;

/// Memory for whichever connection is at work: one of these per thread or event loop.
///
/// A connection that waits with nothing unread and nothing unwritten then holds no memory, and one that works uses
/// memory that is still in the cache from the last one, grown once for all of them. Sharing is safe: a buffer shows no
/// bytes but those received into it since.
///
/// ```
/// use bytewise::{RecvBuf, SendBuf, Spare};
///
/// let mut spare = Spare::new();
/// let (mut rx, mut tx) = (RecvBuf::new(), SendBuf::new());
///
/// spare.lend(&mut rx, &mut tx); // before work
/// rx.push(b"frame");
/// tx.put(&*rx.take(5));
/// tx.consume(5);
/// spare.take_back(&mut rx, &mut tx); // before a wait
///
/// assert_eq!((rx.capacity(), tx.capacity()), (0, 0));
/// ```
#[derive(Debug, Default)]
pub struct Spare {
    block: Vec<u8>,
    /// Rounds in a row that would have done without the memory of a peak in the block.
    calm: u8,
    tx: SendBuf,
}

impl Spare {
    /// Memory of either kind up to this size is kept for the next connection; larger is freed at once.
    ///
    /// What a large message needed is kept that long only as messages like it go on: the buffers themselves give
    /// it back after [`RecvBuf::CALM_ROUNDS`] that did without.
    pub const KEEP: usize = 32 << 20;

    /// Nothing yet, without an allocation.
    pub const fn new() -> Self {
        Self { block: Vec::new(), calm: 0, tx: SendBuf::new() }
    }

    /// Before work: gives memory to buffers that have none.
    #[inline]
    pub fn lend(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) {
        if rx.capacity() == 0 {
            rx.restore(mem::take(&mut self.block), 0);
            rx.calm = self.calm;
        }
        if tx.capacity() == 0 && tx.is_empty() {
            mem::swap(tx, &mut self.tx);
        }
    }

    /// Before a wait: takes the memory of buffers that hold nothing.
    ///
    /// A buffer that holds part of a message, or bytes not yet written, keeps its own.
    #[inline]
    pub fn take_back(&mut self, rx: &mut RecvBuf, tx: &mut SendBuf) {
        if rx.is_idle() && rx.capacity() > 0 {
            let block = rx.lend();
            if (self.block.len()..=Self::KEEP).contains(&block.len()) {
                (self.block, self.calm) = (block, rx.calm);
            }
            rx.shrink();
        }
        if tx.is_empty() && tx.capacity() > 0 {
            if (self.tx.capacity()..=Self::KEEP).contains(&tx.capacity()) {
                mem::swap(tx, &mut self.tx);
            }
            tx.shrink();
        }
    }
}
