//! The buffer of what is written by hand.

/// A fixed buffer, which holds what has been received and not yet used.
pub(super) struct Fixed {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Fixed {
    /// With room for a block behind the beginning of a message.
    pub(super) fn new(room: usize) -> Self {
        Self { bytes: vec![0; room], start: 0, end: 0 }
    }

    pub(super) fn push(&mut self, block: &[u8]) {
        if self.bytes.len() - self.end < block.len() {
            self.bytes.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        self.bytes[self.end..][..block.len()].copy_from_slice(block);
        self.end += block.len();
    }

    pub(super) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    pub(super) fn unread_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.end]
    }

    pub(super) fn take(&mut self, n: usize) {
        self.start += n;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}
