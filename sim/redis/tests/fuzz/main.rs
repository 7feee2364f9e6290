//! Random inputs against the node's wire format and its scripts, for `LOCKLAB_FUZZ_SECONDS` seconds
//! each: `cargo xtask fuzz --seconds 60`.

mod script;
mod wire;

use std::panic;
use std::time::{Duration, Instant};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng as _};

/// Long enough for some thousand inputs.
const SECONDS: u64 = 2;

/// The largest input, in bytes: some hundred steps.
const MAX_BYTES: u64 = 1200;

#[test]
fn no_bytes_take_the_node_down() {
    try_all(wire::play);
}

#[test]
fn no_script_takes_the_node_down() {
    try_all(script::play);
}

fn try_all(play: fn(&[u8])) {
    let seconds = std::env::var("LOCKLAB_FUZZ_SECONDS").ok();
    let seconds = seconds.map(|text| text.parse().expect("a number of seconds"));
    let start = Instant::now();
    let mut seed = 0;
    while start.elapsed() < Duration::from_secs(seconds.unwrap_or(SECONDS)) {
        if let Err(panicked) = panic::catch_unwind(|| play(&input(seed))) {
            eprintln!("input of seed {seed}: {:?}", input(seed));
            panic::resume_unwind(panicked);
        }
        seed += 1;
    }
    println!("{seed} inputs");
    assert!(seed > 10, "{seed} inputs in {seconds:?} seconds");
}

fn input(seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::seed_from_u64(seed);
    let len = random.next_u64() % MAX_BYTES;
    (0..len).map(|_| random.next_u64() as u8).collect()
}
