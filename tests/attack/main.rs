//! Programs of others as clients, on real Redis: what they show and tell becomes a history, faults strike
//! them, and whatever they do, a run ends with words and leaves nothing behind.
#![cfg(target_os = "linux")]

mod again;
mod bench;
mod clients;
mod clocks;
mod cluster;
mod failover;
mod hostile;
mod mute;
mod passing;
mod renewals;
mod silent;
mod skeletons;
mod stalls;
mod tls;
mod told;
mod verdicts;
