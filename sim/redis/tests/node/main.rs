//! The fake node by itself: requests, replies and effects, with a clock that the test sets.

mod api;
mod endpoint;
mod eviction;
mod fan_out;
mod hostile;
mod http;
mod monitor;
mod replication;
mod scripts;
mod stories;
mod turns;
mod types;
