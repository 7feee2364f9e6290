//! The proxy between real sockets. Tests assert orders and what has not happened yet, never
//! that something is fast.

mod control;
mod data;
mod endings;
mod faults;
mod fixture;
mod handshake;
