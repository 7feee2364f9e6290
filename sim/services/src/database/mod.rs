//! A relational database, as much of one as a lock can see, as a state machine: bytes and
//! a time go in, effects come out.
//!
//! It is here to be compared with: locks on Redis are measured against a lock that is a
//! row under a unique index, and against compare-and-set on a version column.
//! [`Database`] is one node without replicas. It does no input or output and reads no
//! clock; whoever drives it carries out the [`Effect`]s.
//!
//! `table` is what the statements do, `statement` how they are written and which SQL each
//! of them stands for, `node` keeps the connections and the journal. There are no
//! transactions of several statements: the locks in question need none.

mod node;
mod statement;
mod table;
#[cfg(test)]
mod tests;

pub use self::node::{ConnId, Database, Effect};
