//! The project's own chores; `cargo xtask test` is what CI runs.
fn main() {}
