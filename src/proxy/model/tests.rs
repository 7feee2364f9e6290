//! Tests of the model, in virtual time.

mod beside_the_world;
mod fixture;
mod handshake;
mod links;
mod power;
mod retransmission;
mod watch;
