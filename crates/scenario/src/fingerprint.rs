//! A fingerprint of a model. Caches and sweeps use it to recognise a run that was already made.
//!
//! Unlike [`Scenario::hash`](crate::Scenario::hash), which covers the text, it covers the model with the contents of
//! its captures and game models. It may change between versions of the program.

use core::fmt::{self, Write};

use gamelane_core::Seed;

use crate::Model;

impl Model {
    /// A 128-bit number that is equal for models which differ at most in their seed.
    pub fn fingerprint(&self) -> u128 {
        let unseeded = Self { seed: Seed(0), ..self.clone() };
        let mut hash = Fnv1a128::default();
        write!(hash, "{unseeded:?}").expect("hashing takes any text");
        hash.0
    }
}

/// FNV-1a with 128 bits (draft-eastlake-fnv). The 64 bits of [`gamelane_core::rng::Fnv1a`] are too few here: a collision
/// would show the result of another run.
struct Fnv1a128(u128);

impl Default for Fnv1a128 {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Write for Fnv1a128 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_fnv_1a() {
        let hash = |text| {
            let mut hash = Fnv1a128::default();
            hash.write_str(text).unwrap();
            hash.0
        };
        // From the test vectors of draft-eastlake-fnv.
        assert_eq!(hash(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(hash("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
        assert_eq!(hash("foobar"), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
