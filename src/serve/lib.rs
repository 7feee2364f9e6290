//! Served nodes, replicas and sentinels, as `locklab serve` has them: a Redis for the tests of any client.
//!
//! [`topology`] says who is where, and listens there; [`servers`] starts a thread for each and watches it. With
//! faults, [`Served`] stands before them: it carries out the commands `LAB.…` of [`order`], which come by a control
//! port ([`control`]), from clients of the nodes, or at times that were given before ([`schedule`]), and a [`Record`]
//! keeps what was done. A [`witness::Witness`] keeps what clients did, so that somebody can judge their locks.

pub mod control;
pub mod order;
mod record;
pub mod schedule;
mod served;
pub mod servers;
pub mod topology;
pub mod witness;

pub use record::{Record, Say};
pub use schedule::Scheduled;
pub use served::{Bench, Judging, Outcome, Served};
