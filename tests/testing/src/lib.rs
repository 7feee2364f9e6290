//! Shared by tests and measurements that use the machine: real Redis servers, a ZooKeeper and a Slurm
//! cluster as processes, polling until a condition holds, several jobs at the same time, hostile input,
//! transcripts, scripts, and programs that `locklab new` writes.
//!
//! It does not depend on Locklab. A failure panics, as in a test.

mod at_once;
pub mod hostile;
mod port;
mod process;
mod redis_server;
mod script;
mod skeleton;
mod slurm;
mod transcript;
mod until;
mod zookeeper;

pub use at_once::at_once;
pub use port::free_ports;
pub use process::Process;
pub use redis_server::{RedisServer, program, server};
pub use script::script;
pub use skeleton::Skeleton;
pub use slurm::{Slurm, why_no_slurm};
pub use transcript::{assert_transcripts, check_transcript};
pub use until::{TIMEOUT, try_until, until};
pub use zookeeper::{ZooKeeper, why_no_zookeeper};
