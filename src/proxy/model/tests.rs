//! Tests of the model, in virtual time.

mod bench;
mod handshake;
mod links;
mod power;
mod retransmission;
