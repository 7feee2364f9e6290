//! The server: connections, commands and their effects.
//!
//! Everything here works on one [`State`](state::State).

mod active_expiry;
mod blocking;
mod busy;
mod categories;
mod cmd;
mod command;
mod config;
mod contents;
mod dispatch;
mod errors;
mod eviction;
mod execute;
mod fan_out;
mod functions;
mod load;
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
mod serve;
mod shutdown;
mod state;
mod stats;
mod stream;
mod table;
mod tracking;
mod turn;

pub use contents::Key;
pub use node::{ConnId, Effect, Node, NodeConfig};
pub use parameters::{ParameterError, Parameters, Persistence, SnapshotRule};
pub use state::eviction::EvictionPolicy;
pub use state::fsync::Fsync;
pub use state::persist::{DiskWrite, Files};
pub use state::session::Addresses;
