//! What all connections of one server share.

use std::collections::BTreeMap;

use bytes::Bytes;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

use super::db::Db;
use super::script::{Rand48, Sha};

/// The Redis that the node is like in whatever can be seen of it.
pub(super) const VERSION: &str = "7.0.15";

/// The server without its connections.
pub(super) struct State {
    pub(super) db: Db,
    /// The scripts that EVALSHA finds here.
    pub(super) scripts: BTreeMap<Sha, Bytes>,
    /// Where the scripts' `math.random` is in its sequence.
    pub(super) random: Rand48,
    /// What RANDOMKEY, SPOP and SRANDMEMBER draw from.
    choices: SplitMix64,
    /// 40 hexadecimal digits that name this start of the server.
    pub(super) run_id: String,
    pub(super) connected_clients: usize,
    /// Commands called since the start, for INFO.
    pub(super) commands_processed: u64,
}

impl State {
    pub(super) fn new(run_id_seed: u64) -> Self {
        State {
            db: Db::default(),
            scripts: BTreeMap::new(),
            random: Rand48::default(),
            choices: SplitMix64::seed_from_u64(run_id_seed),
            run_id: run_id(run_id_seed),
            connected_clients: 0,
            commands_processed: 0,
        }
    }

    /// A number below `len`, drawn by the node. `len` is not 0.
    pub(super) fn choose(&mut self, len: usize) -> usize {
        // The bias is below 2^-32 for whatever fits into a node.
        (self.choices.next_u64() % len as u64) as usize
    }
}

/// 160 bits from SplitMix64, which spreads neighbouring seeds.
fn run_id(mut seed: u64) -> String {
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = seed;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    format!("{:016x}{:016x}{:08x}", next(), next(), next() as u32)
}
