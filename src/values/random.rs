//! Named random streams: a seed and a name determine a generator.
//!
//! Each consumer has a stream of its own (`network`, `workload/c1`, `faults/gc`), so that one
//! more draw in one stream never shifts another, and a run stays a pure function of its
//! scenario and seed.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

pub use rand_xoshiro::rand_core::Rng;
use rand_xoshiro::rand_core::{SeedableRng, TryRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A named generator of random numbers. It implements [`Rng`], so it can be used wherever a
/// generator of `rand` can.
#[derive(Debug, Clone)]
pub struct Stream {
    numbers: Xoshiro256PlusPlus,
    renewable: Option<Renewable>,
}

impl Stream {
    /// Creates the stream of this name in the run of this seed.
    ///
    /// Xoshiro256++, with its state filled by SplitMix64 as its authors advise. SplitMix64
    /// starts from its first number for `seed`, XORed with the 64-bit FNV-1a hash of `name`.
    /// This rule is part of the meaning of a seed: changing it changes every run ever recorded.
    pub fn new(seed: u64, name: &str) -> Self {
        Self {
            numbers: generator(seed, fnv_1a(name.as_bytes())),
            renewable: None,
        }
    }

    /// Creates the stream of this name in a run whose streams begin anew at some times.
    pub fn renewed(seed: u64, name: &str, renewals: Arc<Renewals>) -> Self {
        let mut stream = Self {
            renewable: Some(Renewable {
                name: fnv_1a(name.as_bytes()),
                followed: 0,
                renewals,
            }),
            ..Self::new(seed, name)
        };
        // It may be created after one of them.
        stream.follow();
        stream
    }

    fn follow(&mut self) {
        if let Some(renewable) = &mut self.renewable
            && let Some(seed) = renewable.renewals.since(&mut renewable.followed)
        {
            self.numbers = generator(seed, renewable.name);
        }
    }

    /// A number in the half-open interval 0..1, with 53 random bits.
    pub fn uniform_f64(&mut self) -> f64 {
        unit_f64(self)
    }

    /// A number in 0..`n`, `n` excluded; 0 when `n` is 0.
    ///
    /// By multiplication and shift, without rejection: the bias is below `n` / 2⁶⁴, and every
    /// call takes exactly one number from the stream.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// True with probability `p`; never when `p` is at most 0 or not a number, always
    /// when it is at least 1. Takes one number from the stream in any case.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform_f64() < p
    }
}

impl TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.follow();
        self.numbers.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.follow();
        self.numbers.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        self.follow();
        self.numbers.try_fill_bytes(bytes)
    }
}

/// Two streams are equal if they draw the same numbers until they begin anew.
impl PartialEq for Stream {
    fn eq(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Eq for Stream {}

/// The seeds from which the streams of a run begin anew, one after the other. Before the first renewal
/// the run is the same as without any; what it draws after one is independent of what it drew before.
#[derive(Debug, Default)]
pub struct Renewals {
    seeds: Vec<u64>,
    done: AtomicUsize,
}

impl Renewals {
    /// A renewal for each seed, in this order.
    pub fn new(seeds: Vec<u64>) -> Arc<Self> {
        Arc::new(Self {
            seeds,
            done: AtomicUsize::new(0),
        })
    }

    /// From now on every stream draws from the next seed.
    pub fn renew(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The seed of the last renewal, if there was one since a stream `followed` them.
    fn since(&self, followed: &mut usize) -> Option<u64> {
        let done = self.done.load(Ordering::Relaxed);
        if done == *followed {
            return None;
        }
        *followed = done;
        self.seeds.get(done.checked_sub(1)?).copied()
    }
}

/// What a stream needs to begin anew.
#[derive(Debug, Clone)]
struct Renewable {
    /// The hash of its name.
    name: u64,
    /// How many renewals it has seen.
    followed: usize,
    renewals: Arc<Renewals>,
}

fn generator(seed: u64, name: u64) -> Xoshiro256PlusPlus {
    let mixed = SplitMix64::seed_from_u64(seed).next_u64();
    Xoshiro256PlusPlus::seed_from_u64(mixed ^ name)
}

/// A number in the half-open interval 0..1 from the upper 53 bits of the next number.
pub(super) fn unit_f64(rng: &mut impl Rng) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * STEP
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo; RFC 9923).
fn fnv_1a(bytes: &[u8]) -> u64 {
    const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes.iter().fold(OFFSET_BASIS, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed by a second implementation of the rule. If these values change, every seed
    /// means a different run.
    #[test]
    fn numbers_of_a_stream_never_change() {
        let draw = |seed, name| Stream::new(seed, name).next_u64();
        assert_eq!(draw(0, "network"), 7_291_638_063_001_997_332);
        assert_eq!(draw(0, "faults"), 1_889_521_557_006_398_499);
        assert_eq!(draw(1, "network"), 9_171_858_533_205_484_557);
    }

    #[test]
    fn a_renewed_stream_is_that_of_the_other_seed() {
        let renewals = Renewals::new(vec![8, 9]);
        let draw = |stream: &mut Stream| stream.next_u64();
        let (mut stream, mut plain) = (
            Stream::renewed(7, "test", renewals.clone()),
            Stream::new(7, "test"),
        );
        assert_eq!(
            [(); 3].map(|()| draw(&mut stream)),
            [(); 3].map(|()| draw(&mut plain))
        );
        renewals.renew();
        let expected = Stream::new(8, "test").next_u64();
        assert_eq!(draw(&mut stream), expected);
        assert_eq!(
            draw(&mut Stream::renewed(7, "test", renewals.clone())),
            expected
        );
        renewals.renew();
        assert_eq!(draw(&mut stream), Stream::new(9, "test").next_u64());
    }

    /// The test vectors of the FNV draft.
    #[test]
    fn fnv_1a_is_fnv_1a() {
        assert_eq!(fnv_1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv_1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn numbers_below_n_reach_both_ends_and_stay_below() {
        let mut stream = Stream::new(7, "test");
        let mut seen = [0_u32; 5];
        for _ in 0..1000 {
            seen[stream.below(5) as usize] += 1;
        }
        // Each value is expected 200 times; one standard deviation is 12.6.
        assert!(
            seen.iter().all(|&count| (140..260).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(stream.below(0), 0);
    }

    #[test]
    fn chance_knows_its_limits() {
        let mut stream = Stream::new(7, "test");
        assert!((0..1000).all(|_| !stream.chance(0.0)));
        assert!((0..1000).all(|_| stream.chance(1.0)));
        assert!(!stream.chance(f64::NAN));
    }
}
