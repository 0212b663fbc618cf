//! What a handler does for each message, beside sending it back: arithmetic that nothing can leave out.
//!
//! A process serves one job, so that how much it is belongs to the process, and a candidate only says [`message`]. How
//! often it did is looked at in the end: who has answered more than that has not worked.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU32, AtomicU64, Ordering},
};

static ROUNDS: AtomicU32 = AtomicU32::new(0);

static MESSAGES: AtomicU64 = AtomicU64::new(0);

/// What is mixed. `peers/beast_echo.cpp` has the same numbers.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
const FACTOR: u64 = 0xD6E8_FEB8_6659_FD93;

/// From now on each message takes so many rounds.
pub fn set(rounds: u32) {
    ROUNDS.store(rounds, Ordering::Relaxed);
}

/// How many it takes.
#[must_use]
pub fn rounds() -> u32 {
    ROUNDS.load(Ordering::Relaxed)
}

/// For how many messages it was done, if there is some to do.
#[must_use]
pub fn messages() -> u64 {
    MESSAGES.load(Ordering::Relaxed)
}

/// Does the work of one message.
#[inline]
pub fn message() {
    let rounds = rounds();
    if rounds > 0 {
        black_box(mix(black_box(SEED), rounds));
        MESSAGES.fetch_add(1, Ordering::Relaxed);
    }
}

/// Rounds of a mixer over eight bytes, each of which waits for the one before.
fn mix(mut bytes: u64, rounds: u32) -> u64 {
    for _ in 0..rounds {
        bytes = (bytes ^ (bytes >> 32)).wrapping_mul(FACTOR);
    }
    bytes
}

/// The work of one who does not know what a message is, but how long: when its last byte has come.
#[derive(Debug, Clone, Copy)]
pub struct ByLength {
    length: usize,
    /// How much of the current message has come.
    seen: usize,
}

impl ByLength {
    /// All messages have that many bytes.
    #[must_use]
    pub const fn new(length: usize) -> Self {
        Self { length, seen: 0 }
    }

    /// So many bytes have come: does the work of all messages that end with them.
    #[inline]
    pub fn received(&mut self, bytes: usize) {
        (0..self.complete(bytes)).for_each(|_| message());
    }

    #[inline]
    const fn complete(&mut self, bytes: usize) -> usize {
        let all = self.seen + bytes;
        // Of no length there are no messages.
        let Some(complete) = all.checked_div(self.length) else { return 0 };
        self.seen = all % self.length;
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_depend_on_each_other() {
        assert_eq!(mix(SEED, 0), SEED);
        assert_eq!(mix(mix(SEED, 3), 4), mix(SEED, 7));
        let mut seen: Vec<_> = (0..100).map(|rounds| mix(SEED, rounds)).collect();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 100);
    }

    #[test]
    fn messages_are_told_by_their_length_wherever_they_are_cut() {
        for cut in 1..30 {
            let mut messages = ByLength::new(7);
            let blocks = (0..70_usize).step_by(cut).map(|at| cut.min(70 - at));
            assert_eq!(blocks.map(|block| messages.complete(block)).sum::<usize>(), 10);
        }
        assert_eq!(ByLength::new(0).complete(100), 0);
    }
}
