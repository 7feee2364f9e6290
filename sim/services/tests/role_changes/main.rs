//! Whether acknowledged writes are lost when a master hands over its role, or is shut down, while
//! clients write.

mod client;
mod handover;
mod shutdown;
