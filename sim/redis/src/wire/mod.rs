//! The wire: requests in, replies out, and numbers as both write them.
//!
//! It knows of bytes alone: neither commands nor keys nor sessions.

pub(crate) mod float;
pub(crate) mod number;
pub(crate) mod reply;
pub(crate) mod request;
