//! The node's scripts, made of inputs that libFuzzer finds: `cargo +nightly fuzz run script`.

#![no_main]

// The node, and what it sends; what an input means to it is shared with a test of its own.
use bytes as _;
use locklab_redis as _;

#[path = "../../sim/redis/tests/fuzz/script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|input: &[u8]| script::play(input));
