//! Tests of the model, in virtual time.

mod bench;
mod beside_the_world;
mod handshake;
mod links;
mod power;
mod retransmission;
