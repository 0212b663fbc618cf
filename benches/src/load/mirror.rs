//! Requests that come back as they are.

use super::{Dialect, Expected, Fault, Pattern};
use std::marker::PhantomData;

/// What stands before each payload.
pub trait Head: Send + 'static {
    /// What the payload is [masked](Pattern::masked) with, if it is.
    const MASK: [u8; 4] = [0; 4];

    /// Before one of so many bytes.
    fn head(payload: usize) -> Vec<u8>;
}

/// Sends payloads behind their heads, and expects the same bytes back.
#[derive(Debug)]
pub struct Mirror<H> {
    requests: Pattern,
    expected: Expected,
    head: PhantomData<fn() -> H>,
}

impl<H: Head> Dialect for Mirror<H> {
    fn new(client: usize, payload: usize) -> Self {
        let requests = Pattern::new(client, payload, &H::head(payload)).masked(H::MASK);
        Self { expected: Expected::new(requests.clone()), requests, head: PhantomData }
    }

    #[inline]
    fn request(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.requests.current());
        self.requests.advance();
    }

    #[inline]
    fn replies(&mut self, block: &[u8]) -> Result<usize, Fault> {
        let mut complete = 0;
        match self.expected.compare(block, &mut complete) {
            Ok(()) => Ok(complete),
            Err(rest) => Err(self.expected.fault(rest)),
        }
    }

    fn is_partial(&self) -> bool {
        self.expected.is_partial()
    }
}

/// Four bytes of length, big-endian.
#[derive(Debug)]
pub struct LengthHead;

impl Head for LengthHead {
    fn head(payload: usize) -> Vec<u8> {
        u32::try_from(payload).unwrap_or(u32::MAX).to_be_bytes().to_vec()
    }
}

/// Length-prefixed frames: what an echo sends back is what it received.
pub type Framed = Mirror<LengthHead>;
