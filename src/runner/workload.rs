//! The work of the clients: with a lock and the resource that it protects, or, without a lock, with
//! a set.
//!
//! All of it uses an [`Env`](locklab_env::Env) and an [`Observer`](locklab_env::observe::Observer),
//! so the same programs run in the simulator and as processes on a real machine.

pub mod adds;
pub mod client;
pub mod operator;
pub mod other_writes;
pub mod resource;
