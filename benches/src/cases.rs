//! What is done in memory, without sockets: `codec` takes the time of it, `counts` counts its instructions.
//!
//! Here are `bytewise`, and what is compared with it by hand; peers are where they are used.

pub mod deflate;
pub mod echo;
mod fixed;
pub mod framed;
pub mod http;
pub mod workload;
pub mod ws;
pub mod wss;

use std::{fmt, hint::black_box};
use workload::Workload;

/// Bytes of the buffers of `hand` and `floor`: two of the largest blocks or bodies.
const FIXED: usize = 2 << 16;

/// Something measured.
pub struct Candidate<'w> {
    /// Who it is: `bytewise`, `hand`, `floor`, or a peer.
    pub name: &'static str,
    /// First allocation of its receive buffer, bytes; `None` where that makes no difference.
    pub initial: Option<usize>,
    /// One call is one pass over the same work, in steady state from the second on; it says how many messages that were.
    pub pass: Box<dyn FnMut() -> u64 + 'w>,
}

impl<'w> Candidate<'w> {
    /// One whose receive buffer makes no difference.
    pub fn new(name: &'static str, pass: impl FnMut() -> u64 + 'w) -> Self {
        Self { name, initial: None, pass: Box::new(pass) }
    }
}

impl fmt::Debug for Candidate<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Candidate").field("name", &self.name).field("initial", &self.initial).finish_non_exhaustive()
    }
}

/// Only copies the blocks.
#[must_use]
pub fn floor(work: &Workload) -> Candidate<'_> {
    let mut buf = vec![0; FIXED];
    let mut end = 0;
    Candidate::new("floor", move || {
        for block in work.blocks() {
            if buf.len() - end < block.len() {
                end = 0;
            }
            buf[end..][..block.len()].copy_from_slice(block);
            end += block.len();
            black_box(&buf);
        }
        work.messages()
    })
}
