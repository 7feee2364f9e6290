//! The command line as a newcomer meets it: the built program, run in an empty folder.
//!
//! Every run here is a separate process, so that exit codes, the two output streams, signals
//! and files are the real ones. No test needs a redis-server.

mod advise;
mod bench;
mod budgets;
#[cfg(target_os = "linux")]
mod doctor;
mod help;
mod kills;
mod museum;
mod provenance;
mod record;
mod streams;
mod submit;
mod terminal;
mod transcripts;
mod untrusted;
