//! The fake node by itself: requests, replies and effects, with a clock that the test sets.

mod api;
mod busy;
mod counters;
mod endpoint;
mod eviction;
mod fan_out;
mod hostile;
mod http;
mod imitated;
mod monitor;
mod replication;
mod scripts;
mod time;
mod turns;
mod types;
mod waiting;
