//! The server: connections, commands and their effects.
//!
//! Everything here works on one [`State`](state::State).

mod active_expiry;
mod blocking;
mod busy;
mod categories;
mod cmd;
mod config;
mod contents;
mod dispatch;
mod eviction;
mod fan_out;
mod functions;
mod monitor;
mod needs;
mod node;
mod notify;
mod parameters;
mod pause;
mod persist;
mod propagate;
mod pubsub;
#[cfg(test)]
mod reference;
mod repl;
mod script;
mod shutdown;
mod state;
mod stats;
mod table;
mod tracking;
mod turn;

pub use contents::Key;
pub use node::{ConnId, Effect, Node, NodeConfig};
pub use parameters::{ParameterError, Parameters, Persistence, SnapshotRule};
pub use state::eviction::EvictionPolicy;
pub use state::persist::{DiskWrite, Files, Fsync};
pub use state::session::Addresses;
