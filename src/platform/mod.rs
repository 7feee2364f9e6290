//! The two implementations of [`Env`](crate::env::Env): the simulated world, and the real
//! machine.

pub mod machine;
pub mod world;
