//! The preloaded library in real processes: Redis servers, and this program itself.

#![cfg(target_os = "linux")]

mod address;
mod clocks;
mod disk;
mod failures;
mod folder;
mod formula;
mod monotonic;
mod power;
mod preloaded;
mod reader;
mod server;
mod transparent;
mod waits;
