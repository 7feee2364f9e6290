//! The command line, thin: see [`locklab::main`].

use std::process::ExitCode;

/// Every run allocates close to a thousand times: with the C library's own allocator a sweep
/// takes a tenth longer.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    locklab::main(&[])
}
