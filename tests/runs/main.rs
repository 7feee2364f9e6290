//! What a simulated run depends on, and what happens in one.

mod draws;
mod failover;
mod fault_times;
mod schedules;
mod seeds;
