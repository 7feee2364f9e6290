//! What each lock promises, on simulated nodes without faults and with nodes missing; and
//! what it does to the keys of a real server.

mod client;
mod locker;
mod redisson;
mod redisson_fair;
mod redisson_many;
mod redisson_read_write;
mod redlock;
mod set_nx_px;
mod stage;
