//! Replies that are known to the byte.

use super::{Fault, Pattern};

/// Compares blocks, cut anywhere, with the messages of a [`Pattern`], one after the other.
#[derive(Debug, Clone)]
pub struct Expected {
    pattern: Pattern,
    /// How much of the current message has been seen.
    seen: usize,
}

impl Expected {
    /// From the first message on.
    #[must_use]
    pub const fn new(pattern: Pattern) -> Self {
        Self { pattern, seen: 0 }
    }

    /// Adds the number of messages that the block completes to `complete`.
    ///
    /// Where it differs from what must come, what was right before counts, and the rest of the block is returned: it
    /// belongs behind what has been [`seen`](Self::seen) of the current message, and differs somewhere.
    #[inline]
    pub fn compare<'b>(&mut self, mut block: &'b [u8], complete: &mut usize) -> Result<(), &'b [u8]> {
        loop {
            let rest = &self.pattern.current()[self.seen..];
            let Some((piece, later)) = block.split_at_checked(rest.len()) else { break };
            if piece != rest {
                return Err(block);
            }
            self.pattern.advance();
            self.seen = 0;
            block = later;
            *complete += 1;
        }
        if !self.pattern.current()[self.seen..].starts_with(block) {
            return Err(block);
        }
        self.seen += block.len();
        Ok(())
    }

    /// What has been seen of the current message, as it was.
    #[must_use]
    pub fn seen(&self) -> &[u8] {
        &self.pattern.current()[..self.seen]
    }

    /// Where in the current message a block that [differs](Self::compare) does so first; all of it is compared only now.
    #[cold]
    #[must_use]
    pub fn difference(&self, block: &[u8]) -> usize {
        let rest = self.pattern.current()[self.seen..].iter();
        self.seen + rest.zip(block).take_while(|(expected, got)| expected == got).count()
    }

    /// That as a fault.
    #[cold]
    #[must_use]
    pub fn fault(&self, block: &[u8]) -> Fault {
        Fault::Differs { reply: self.pattern.index(), at: self.difference(block) }
    }

    /// The messages that are expected.
    #[must_use]
    pub const fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// From the current message on, this is the head of all; it has been seen, and nothing behind it.
    pub fn go_on_behind(&mut self, head: &[u8]) {
        self.pattern.set_head(head);
        self.seen = head.len();
    }

    /// Whether a message has begun and not ended.
    #[must_use]
    pub const fn is_partial(&self) -> bool {
        self.seen != 0
    }
}
