//! The node's wire, with inputs that libFuzzer finds: `cargo +nightly fuzz run wire`.

#![no_main]

#[path = "../../sim/tests/redis_fuzz/wire.rs"]
mod wire;

libfuzzer_sys::fuzz_target!(|input: &[u8]| wire::play(input));
