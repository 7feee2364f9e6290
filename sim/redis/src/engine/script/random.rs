//! The generator of a script's `math.random` (`src/rand.c`): the one of `drand48`, so that
//! scripts draw the same numbers on every machine. A server has one for its lifetime, shared by
//! all its scripts.

/// The state of the generator: 48 bits.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(in crate::engine) struct Rand48(u64);

const MASK: u64 = (1 << 48) - 1;

impl Default for Rand48 {
    /// The initial state of a server.
    fn default() -> Self {
        Rand48(0x1234_abcd_330e)
    }
}

impl Rand48 {
    /// `redisSrand48`.
    pub(in crate::engine) fn seeded(seed: i32) -> Self {
        Rand48((u64::from(seed as u32) << 16 | 0x330e) & MASK)
    }

    /// The next number in [0, 1), out of 2^31 - 1 possible ones.
    pub(in crate::engine) fn unit(&mut self) -> f64 {
        self.0 = (self.0.wrapping_mul(0x5_deec_e66d).wrapping_add(0xb)) & MASK;
        let max = i64::from(i32::MAX);
        let drawn = (self.0 >> 17) as i64;
        (drawn % max) as f64 / max as f64
    }
}
