//! The command line as a newcomer meets it: the built program, run in an empty folder.
//!
//! Every run here is a separate process, so that exit codes, the two output streams, signals
//! and files are the real ones. No test needs a redis-server.

mod bad_input;
mod bench;
mod campaign;
mod check;
mod errors;
mod help;
mod judge;
mod kills;
mod matrix;
mod museum;
mod new;
mod rare;
mod record;
mod replay;
mod reproduce;
mod risk;
mod run;
mod shards;
mod shrink;
mod silent_redis;
mod streams;
mod submit;
mod sweep;
mod terminal;
mod untrusted;
mod view;
