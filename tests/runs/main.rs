//! What a simulated run depends on, and what happens in one.

mod draws;
mod failover;
mod seeds;
