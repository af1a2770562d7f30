//! The one source of chance: a world is a function of its seed.

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, no bad seeds, the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// From a seed.
    #[must_use]
    pub const fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// A number below `limit`; 0 where `limit` is 0. The bias of a 64-bit product is far below what a test could see.
    pub const fn below(&mut self, limit: u64) -> u64 {
        let wide = (self.next() as u128) * (limit as u128);
        (wide >> 64) as u64
    }

    /// An index into something of `len` entries; 0 where it is empty.
    #[expect(clippy::cast_possible_truncation, reason = "below `len`, which is a usize")]
    pub const fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from `low` to `high`, both included.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// Whether something that happens `per_million` times in a million happens now.
    pub const fn chance(&mut self, per_million: u32) -> bool {
        self.below(1_000_000) < per_million as u64
    }
}

/// Spreads every bit of the input over all of the output.
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // The first outputs of SplitMix64 for seed 1234567, as its authors' reference code prints them.
        let mut random = Random::seeded(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut random = Random::seeded(1);
        for _ in 0..10_000 {
            assert!(random.below(7) < 7);
            assert!((3..=5).contains(&random.between(3, 5)));
        }
        assert_eq!(random.below(0), 0);
        assert!(random.chance(1_000_000) && !random.chance(0));
    }
}
