//! What becomes of acknowledged writes when a master hands its role over, or is shut down,
//! while clients write.

mod client;
mod handover;
mod shutdown;
