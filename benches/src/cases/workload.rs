//! What is decoded: messages, and the blocks that they come in.

use std::ops::Range;

/// Bytes of all messages, about: they stay in the second-level cache.
const WIRE: usize = 256 * 1024;

/// Largest body that is accepted, by all candidates.
pub const MAX_BODY: usize = 1 << 20;

/// How messages and blocks lie to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// So many messages are delivered together, in blocks of at most the block size, and then there is a pause: the
    /// buffer is drained.
    Batch(usize),
    /// One message after the other, cut into blocks of the block size wherever that cuts.
    Stream,
}

impl Delivery {
    /// In the names of cases.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Batch(1) => "single",
            Self::Batch(_) => "batch16",
            Self::Stream => "stream",
        }
    }
}

/// Some messages, and how they are cut.
#[derive(Debug)]
pub struct Workload {
    wire: Vec<u8>,
    blocks: Vec<Range<usize>>,
    messages: u64,
}

impl Workload {
    /// The same message over and over: a payload of `body` bytes behind the header that is made for it.
    #[must_use]
    pub fn new(body: usize, block: usize, delivery: Delivery, header: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let payload: Vec<u8> = (0..body).map(|i| i as u8).collect();
        Self::of(&[header(&payload), payload].concat(), block, delivery)
    }

    /// That message over and over.
    #[must_use]
    pub fn of(message: &[u8], block: usize, delivery: Delivery) -> Self {
        let messages = (WIRE / message.len()).next_multiple_of(16);
        let wire = message.repeat(messages);
        let delivered = match delivery {
            Delivery::Batch(messages) => message.len() * messages,
            Delivery::Stream => wire.len(),
        };
        let blocks = (0..wire.len())
            .step_by(delivered)
            .flat_map(|begin| {
                let end = begin + delivered;
                (begin..end).step_by(block).map(move |at| at..end.min(at + block))
            })
            .collect();
        Self { wire, blocks, messages: messages as u64 }
    }

    /// How many messages it is.
    #[must_use]
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// What is received, block by block.
    #[inline]
    pub fn blocks(&self) -> impl Iterator<Item = &[u8]> {
        self.blocks.iter().map(|block| &self.wire[block.clone()])
    }
}
