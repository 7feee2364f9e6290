//! The server: connections, commands and their effects.
//!
//! The modules form layers; each depends only on those below it:
//!
//! - [`state`] is all data of a server, and knows no behaviour.
//! - `command` defines a command and a call of one. `notify`, `tracking`, `pubsub`, `blocking`,
//!   `repl`, `persist`, `propagate`, `eviction` and others are the mechanisms of a server.
//! - `execute` executes a checked command; `script` executes scripts, which execute commands.
//! - `cmd` has the commands, and `command_table` a row for each of them.
//! - `dispatch`, `serve`, `load` and `node` bring requests to the commands.
//!
//! Code below `command_table` that executes commands receives them as the [`Table`](command::Table)
//! of a call.

mod active_expiry;
mod blocking;
mod busy;
mod cmd;
mod command;
mod command_table;
mod config;
mod dispatch;
mod errors;
mod eviction;
mod execute;
mod fan_out;
mod inspect;
mod load;
mod monitor;
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
mod requests;
mod requirements;
mod script;
mod serve;
mod shutdown;
mod state;
mod stats;
mod stream;
mod tracking;
mod turn;

pub use config::unit_of_memory;
pub use inspect::Key;
pub use node::{Effect, Node, NodeConfig};
pub use parameters::{ParameterError, Parameters, Persistence, SnapshotRule};
pub use state::eviction::EvictionPolicy;
pub use state::extension::ExtensionReply;
pub use state::fsync::Fsync;
pub use state::input::{ConnId, InputSize};
pub use state::now::Now;
pub use state::other_clients::{Arrival, OtherClients};
pub use state::persist::{DiskWrite, Files};
pub use state::session::Addresses;
