//! The seed of everything that chance decides. It is printed, and DOORWARD_TEST_SEED repeats it.

use std::hash::{BuildHasher, RandomState};

/// A random generator (SplitMix64).
pub struct Chance(u64);

impl Chance {
    /// With the seed that the environment names, or with a new one.
    pub fn of_this_run() -> Self {
        let seed = given().unwrap_or_else(|| RandomState::new().hash_one(()) >> 32);
        println!("DOORWARD_TEST_SEED={seed}");
        Self(seed)
    }

    /// Another generator, for another thread.
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

#[expect(clippy::disallowed_methods, reason = "the environment names the seed")]
fn given() -> Option<u64> {
    let seed = std::env::var("DOORWARD_TEST_SEED").ok()?;
    Some(seed.parse().expect("DOORWARD_TEST_SEED is a number"))
}
