//! Length-prefixed frames: four bytes of length, big-endian, then the payload.

use super::{Dialect, Fault, Pattern};

/// Sends frames and expects the same ones back.
#[derive(Debug)]
pub struct Framed {
    requests: Pattern,
    expected: Pattern,
    /// How much of the expected frame has been seen.
    seen: usize,
}

impl Framed {
    /// Where the block first differs from the expected frame; all of it is compared only now.
    #[cold]
    fn differs(&self, block: &[u8]) -> Fault {
        let expected = self.expected.current()[self.seen..].iter();
        let at = expected.zip(block).take_while(|(expected, got)| expected == got).count();
        Fault::Differs { reply: self.expected.index(), at: self.seen + at }
    }
}

impl Dialect for Framed {
    fn new(client: usize, payload: usize) -> Self {
        let length = u32::try_from(payload).unwrap_or(u32::MAX).to_be_bytes();
        let pattern = Pattern::new(client, payload, &length);
        Self { requests: pattern.clone(), expected: pattern, seen: 0 }
    }

    #[inline]
    fn request(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.requests.current());
        self.requests.advance();
    }

    #[inline]
    fn replies(&mut self, mut block: &[u8]) -> Result<usize, Fault> {
        let mut complete = 0;
        loop {
            let rest = &self.expected.current()[self.seen..];
            let Some((piece, later)) = block.split_at_checked(rest.len()) else { break };
            if piece != rest {
                return Err(self.differs(block));
            }
            self.expected.advance();
            self.seen = 0;
            block = later;
            complete += 1;
        }
        if !self.expected.current()[self.seen..].starts_with(block) {
            return Err(self.differs(block));
        }
        self.seen += block.len();
        Ok(complete)
    }

    fn is_partial(&self) -> bool {
        self.seen != 0
    }
}
