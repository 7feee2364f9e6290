//! The commands, one file each where there is substance.

pub(super) mod auth;
pub(super) mod blocking;
pub(super) mod client;
pub(super) mod config;
pub(super) mod connection;
pub(super) mod debug;
pub(super) mod del;
pub(super) mod expire;
pub(super) mod get;
pub(super) mod incr;
pub(super) mod keys;
pub(super) mod multi;
pub(super) mod pubsub;
pub(super) mod script;
pub(super) mod server;
pub(super) mod set;
pub(super) mod tracking;

use super::number::parse_i64;
use super::reply::Error;

pub(super) const SYNTAX: Error = Error::of("ERR syntax error");
pub(super) const NOT_AN_INTEGER: Error = Error::of("ERR value is not an integer or out of range");

/// An argument that has to be an integer.
pub(super) fn integer(arg: &[u8]) -> Result<i64, Error> {
    parse_i64(arg).ok_or(NOT_AN_INTEGER)
}
