//! The node's wire, with inputs that libFuzzer finds: `cargo +nightly fuzz run wire`.

#![no_main]

// The node; what an input means to it is shared with a test of its own.
use locklab_redis as _;

#[path = "../../sim/redis/tests/fuzz/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|input: &[u8]| wire::play(input));
