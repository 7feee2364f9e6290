//! A replicated coordination service in the manner of ZooKeeper, as a state machine:
//! bytes, times and link events go in, effects come out.
//!
//! It is here to be compared with: what locks on Redis are measured against is a lock
//! whose service is linearizable and survives the loss of a minority of its members.
//! [`Member`] is one member. It does no input or output and reads no clock; whoever
//! drives it carries out the [`Effect`]s and calls it when it wants to be called.
//!
//! `request` says what clients can ask: sessions that end when nothing is heard of their
//! clients, ephemeral nodes with ascending numbers, and watches. `service` is the state
//! that is replicated, `command` what changes it, `raft` how the members agree on the
//! order of changes. `member` puts these together: it answers changes once they are
//! applied, questions once the leader knows that it still leads, and watches when their
//! nodes are gone. `expiry` is the one place where time enters, by the leader's clock;
//! `links` and `wire` are how members reach each other, `storage` is what they keep.
//!
//! Only the leader serves clients; the others name it. The log is kept whole, in memory
//! and on disk: two or three entries for each time that a lock is taken, none for pings
//! and questions, so that minutes of a run take some thousands.

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

pub use self::config::{MemberConfig, Timing};
pub use self::links::LinkId;
pub use self::member::{ConnId, Effect, Member};
