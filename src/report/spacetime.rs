//! Space-time.
