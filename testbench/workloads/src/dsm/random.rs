//! Random numbers of applications: the same for any number of nodes.

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
pub(super) struct Keys(ChaCha8Rng);

impl Keys {
    pub(super) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Passes over so many numbers.
    pub(super) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.0.next_u32();
        }
    }

    /// The next number below a power of two.
    pub(super) fn below(&mut self, limit: u32) -> u32 {
        self.0.next_u32() % limit
    }
}
