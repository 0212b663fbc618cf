use alloc::boxed::Box;
use chacha20::{
    ChaChaCore, R12,
    rand_core::{SeedableRng, block::Generator},
    variants::Legacy,
};
use core::fmt;

/// Masking keys of a client, a ChaCha stream: unpredictable (RFC 6455, section 10.3), repeatable in tests.
pub struct MaskKeys(Box<Stream>);

struct Stream {
    cipher: ChaChaCore<R12, Legacy>,
    block: [u32; 64],
    used: usize,
}

impl MaskKeys {
    /// From 32 random bytes. Whoever can guess them can guess the keys.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Box::new(Stream { cipher: ChaChaCore::from_seed(seed), block: [0; 64], used: 64 }))
    }

    /// From the randomness of the system.
    ///
    /// # Errors
    ///
    /// The system has none.
    #[cfg(feature = "std")]
    pub fn from_system() -> std::io::Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)?;
        Ok(Self::from_seed(seed))
    }

    #[inline]
    pub(super) fn next(&mut self) -> [u8; 4] {
        let stream = &mut *self.0;
        let Some(key) = stream.block.get(stream.used) else { return stream.next_block() };
        stream.used += 1;
        key.to_ne_bytes()
    }
}

impl Stream {
    /// The first key of the next block. Out of line, or the cipher would be in every caller.
    #[cold]
    #[inline(never)]
    fn next_block(&mut self) -> [u8; 4] {
        self.cipher.generate(&mut self.block);
        self.used = 1;
        self.block[0].to_ne_bytes()
    }
}

impl fmt::Debug for MaskKeys {
    /// The state is not shown: it would tell the keys to come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKeys(..)")
    }
}
