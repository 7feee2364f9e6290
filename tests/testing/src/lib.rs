//! What tests and measurements that meet the machine share: real Redis servers as
//! processes, and waiting that asks until there is an answer.
//!
//! It knows nothing of Locklab. A failure panics, as a test's does.

mod port;
mod process;
mod redis_server;
mod until;

pub use port::free_ports;
pub use process::Process;
pub use redis_server::{RedisServer, program, version};
pub use until::{PATIENCE, try_until, until};
