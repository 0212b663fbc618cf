//! What is in a payload.

/// Payloads that differ by connection and by number: eight bytes of number, then what is the connection's own.
#[derive(Debug, Clone)]
pub struct Pattern {
    bytes: Vec<u8>,
    /// Where the payload begins in `bytes`.
    at: usize,
    next: u64,
    /// What the number is masked with.
    mask: u64,
}

impl Pattern {
    /// Payloads of `payload` bytes for connection `client`, each behind `head`.
    #[must_use]
    pub fn new(client: usize, payload: usize, head: &[u8]) -> Self {
        let mut state = (client as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut bytes = head.to_vec();
        bytes.extend((0..payload).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        }));
        let mut pattern = Self { bytes, at: head.len(), next: 0, mask: 0 };
        pattern.number();
        pattern
    }

    /// The same payloads, masked with that key as WebSocket does it: each byte is xored with the next one of the key.
    #[must_use]
    pub fn masked(mut self, key: [u8; 4]) -> Self {
        self.bytes[self.at..].iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
        let [a, b, c, d] = key;
        self.mask ^= u64::from_le_bytes([a, b, c, d, a, b, c, d]);
        self
    }

    /// The current message: head and payload.
    #[must_use]
    #[inline]
    pub fn current(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of the current message.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.next
    }

    /// Bytes of the head.
    #[must_use]
    pub const fn head(&self) -> usize {
        self.at
    }

    /// Puts another head before this payload and the following ones.
    pub fn set_head(&mut self, head: &[u8]) {
        self.bytes.splice(..self.at, head.iter().copied());
        self.at = head.len();
    }

    /// Goes on to the next message.
    #[inline]
    pub fn advance(&mut self) {
        self.next += 1;
        self.number();
    }

    /// Writes the number: low bytes first, so that a payload too small for it still changes.
    #[inline]
    fn number(&mut self) {
        let number = (self.next ^ self.mask).to_le_bytes();
        match self.bytes[self.at..].first_chunk_mut() {
            Some(all) => *all = number,
            None => {
                let some = &mut self.bytes[self.at..];
                some.copy_from_slice(&number[..some.len()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_differ_by_connection_and_by_number() {
        let (mut one, two) = (Pattern::new(0, 64, b"head"), Pattern::new(1, 64, b"head"));
        assert_ne!(one.current(), two.current());
        let first = one.current().to_vec();
        assert_eq!(&first[..4], b"head");
        assert_eq!(first.len(), 68);
        one.advance();
        assert_ne!(one.current(), first);
        assert_eq!((one.index(), &one.current()[12..]), (1, &first[12..]));
    }

    #[test]
    fn another_head_leaves_the_payload() {
        let mut pattern = Pattern::new(0, 64, b"");
        let payload = pattern.current().to_vec();
        for head in [&b"longer"[..], b"short", b""] {
            pattern.set_head(head);
            assert_eq!((pattern.head(), pattern.current()), (head.len(), &[head, &payload].concat()[..]));
        }
    }

    #[test]
    fn masked_payloads_are_the_same_when_unmasked() {
        let key = [1, 2, 4, 8];
        for payload in [1, 7, 8, 9, 64] {
            let mut plain = Pattern::new(0, payload, b"head");
            let mut masked = plain.clone().masked(key);
            for _ in 0..3 {
                assert_eq!(&masked.current()[..4], b"head");
                let unmasked = masked.current()[4..].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key);
                assert!(unmasked.eq(plain.current()[4..].iter().copied()) && masked.current() != plain.current());
                plain.advance();
                masked.advance();
            }
        }
    }

    #[test]
    fn small_payloads_hold_part_of_the_number() {
        let mut pattern = Pattern::new(0, 1, b"");
        pattern.advance();
        assert_eq!(pattern.current(), [1]);
    }
}
