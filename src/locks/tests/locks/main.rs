//! The guarantees of each lock, on simulated nodes without faults and with nodes missing; and
//! its effects on the keys of a real server.

mod baselines;
mod client;
mod connections;
mod deadlines;
mod external;
mod facts;
mod getset;
mod held;
mod lease_guard;
mod locker;
mod nonsense;
mod owners;
mod parameters;
mod redisson;
mod redisson_fair;
mod redisson_many;
mod redisson_read_write;
mod redisson_relatives;
mod redisson_runs;
mod redisson_waiting;
mod redlock;
mod redlock_fenced;
mod replicas;
mod set_nx_px;
mod setnx;
mod setnx_expire;
mod stage;
mod zookeeper;
mod zookeeper_client;
