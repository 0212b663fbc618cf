/// A small generator of random numbers, the same ones in every run (SplitMix64).
#[derive(Debug)]
pub struct Rng(u64);

impl Rng {
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not zero.
    pub const fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// `bytes` in blocks of 1 to `most` bytes.
    pub fn blocks<'b>(&mut self, mut bytes: &'b [u8], most: usize) -> Vec<&'b [u8]> {
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let (block, rest) = bytes.split_at((1 + self.below(most)).min(bytes.len()));
            blocks.push(block);
            bytes = rest;
        }
        blocks
    }
}
