//! A replicated coordination service in the manner of ZooKeeper, as a state machine:
//! bytes, times and link events go in, effects come out.
//!
//! It serves as a baseline: locks on Redis are compared with a lock whose service is
//! linearizable and survives the loss of a minority of its members. [`Member`] is one member.
//! It does no input or output and reads no clock; its driver executes the [`Effect`]s and calls
//! it at the times that it requests.
//!
//! `request` defines what clients can ask: sessions that end when their clients are silent,
//! ephemeral nodes with ascending numbers, and watches. `service` is the replicated state,
//! `command` defines its changes, and with `raft` the members agree on the order of changes.
//! `member` combines these: it answers changes once they are applied, queries once the leader
//! has confirmed that it still leads, and watches when their nodes are gone. Time matters only
//! in `expiry`, by the leader's clock. `clients` and `links` are a member's connections, `waiting`
//! the clients whose answers are due later, `wire` what members say to each other, and `storage`
//! their persistent state.
//!
//! Only the leader serves clients; the other members name it. The log is kept completely, in
//! memory and on disk: there are two or three entries per acquisition of a lock, and none for
//! pings and queries, so minutes of a run produce a few thousand.

mod clients;
mod command;
mod config;
mod expiry;
mod links;
mod member;
mod raft;
mod request;
mod service;
mod storage;
mod waiting;
mod wire;

pub use self::clients::ConnId;
pub use self::config::{MemberConfig, Timing};
pub use self::links::LinkId;
pub use self::member::{Effect, Member};
