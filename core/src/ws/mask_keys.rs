use alloc::boxed::Box;
use chacha20::{
    ChaCha12Rng,
    rand_core::{Rng, SeedableRng},
};
use core::fmt;

/// Masking keys of a client, a ChaCha stream: unpredictable (RFC 6455, section 10.3), repeatable in tests.
pub struct MaskKeys(Box<ChaCha12Rng>);

impl MaskKeys {
    /// From 32 random bytes. Whoever can guess them can guess the keys.
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(Box::new(ChaCha12Rng::from_seed(seed)))
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
        self.0.next_u32().to_ne_bytes()
    }
}

impl fmt::Debug for MaskKeys {
    /// The state is not shown: it would tell the keys to come.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MaskKeys(..)")
    }
}
