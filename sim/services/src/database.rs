//! A relational database, reduced to the features that a lock can use, as a state machine:
//! bytes and a time go in, effects come out.
//!
//! It serves as a baseline: locks on Redis are compared with a lock that is a row under a
//! unique index, and with compare-and-set on a version column. [`Database`] is one node without
//! replicas. It does no input or output and reads no clock; its driver executes the
//! [`Effect`]s.
//!
//! `table` executes statements, `statement` defines their format and the SQL that each of them
//! stands for, `node` has the connections and the journal. There are no transactions of several
//! statements: the locks in question do not need them.

mod lock_table;
mod node;
mod statement;
#[cfg(test)]
mod tests;

pub use self::node::{ConnId, Database, Effect};
