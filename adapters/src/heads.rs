//! Memory of the heads that exchanges keep: a thread's connections share it, so that a request costs no allocation and an
//! idle connection no memory.

use std::cell::RefCell;

/// Pieces of memory that a thread keeps.
const KEPT: usize = 16;

/// A larger piece is freed.
const LARGEST: usize = 16 * 1024;

thread_local! {
    static SPARE: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// Memory for a head.
pub(crate) fn take() -> Vec<u8> {
    SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten().unwrap_or_default()
}

/// Gives it to the thread, for the next head.
pub(crate) fn give_back(memory: Vec<u8>) {
    // While the thread ends there is nobody to keep it for.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.len() < KEPT && (1..=LARGEST).contains(&memory.capacity()) {
            spare.push(memory);
        }
    });
}
