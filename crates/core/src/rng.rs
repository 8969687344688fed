//! Seeded random streams, one per component. A stream is named by the component's path, so adding a component does not
//! change the draws of the others. The generator is xoshiro256++, which gives the same draws on every machine.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seed of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// Makes the stream of the component at `path`, for example `gateway/up/pie`.
    pub fn stream(self, path: &str) -> Stream {
        let mut state = Fnv1a::default();
        state.write(path.as_bytes());
        Stream(Xoshiro256PlusPlus::seed_from_u64(mix(self.0) ^ state.finish()))
    }
}

/// Random stream of one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Draws 64 uniform bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from [0, 1), with 53 random bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Draws uniformly from (0, 1). The result is never 0, so its logarithm is finite.
    pub fn open_unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Draws uniformly from [0, bound). `bound` must not be zero. The bias of at most `bound` / 2^64 is too small to
    /// matter here.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with `probability`.
    pub fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }
}

/// Mixes 64 bits so that every input bit affects the whole output: the finaliser of SplitMix64.
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The 64-bit FNV-1a hash (draft-eastlake-fnv). Unlike the standard library's hasher, its values never change between versions.
#[derive(Clone, Debug)]
pub struct Fnv1a(u64);

impl Default for Fnv1a {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv1a {
    /// Adds bytes.
    pub fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// Returns the hash of all bytes so far.
    pub const fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_depend_on_seed_and_path_only() {
        let draw = |seed, path| Seed(seed).stream(path).bits();
        assert_eq!(draw(1, "link/up"), draw(1, "link/up"));
        assert_ne!(draw(1, "link/up"), draw(1, "link/down"));
        assert_ne!(draw(1, "link/up"), draw(2, "link/up"));
    }

    #[test]
    fn uniform_draws_stay_in_range_and_average_one_half() {
        let mut stream = Seed(7).stream("test");
        let n = 100_000;
        let mut sum = 0.0;
        for _ in 0..n {
            let u = stream.open_unit();
            assert!(u > 0.0 && u < 1.0);
            sum += u;
            assert!(stream.below(6) < 6);
        }
        // Standard error of the mean is 1/sqrt(12 n) = 0.0009.
        assert!((sum / f64::from(n) - 0.5).abs() < 0.004);
    }
}
