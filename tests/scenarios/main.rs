//! Scenario files: those that ship, and those that are wrong.

mod errors;
mod shipped;
