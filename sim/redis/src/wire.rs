//! The wire format: requests, replies, and the numbers in both.
//!
//! It handles bytes alone and has no access to commands, keys or sessions.

pub(crate) mod float;
pub(crate) mod memory_usage;
pub(crate) mod number;
pub(crate) mod outbox;
pub(crate) mod reply;
pub(crate) mod request;
