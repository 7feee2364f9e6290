//! Raft's rules.
