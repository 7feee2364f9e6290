//! The commands, with one file per group.

mod access;
pub(super) mod auth;
pub(super) mod blocking;
pub(super) mod client;
pub(super) mod comparison;
pub(super) mod config;
pub(super) mod connection;
pub(super) mod databases;
pub(super) mod debug;
pub(super) mod del;
pub(super) mod expire;
pub(super) mod failover;
pub(super) mod get;
pub(super) mod hashes;
pub(super) mod incr;
pub(super) mod info;
pub(super) mod keys;
pub(super) mod lists;
pub(super) mod memory;
pub(super) mod monitor;
pub(super) mod multi;
pub(super) mod object;
pub(super) mod pubsub;
pub(super) mod replication;
pub(super) mod scan;
pub(super) mod script;
pub(super) mod server;
pub(super) mod set;
pub(super) mod sets;
pub(super) mod strings;
pub(super) mod tracking;
pub(super) mod wait;
pub(super) mod zset_range;
pub(super) mod zsets;

use std::ops::Range;

use crate::wire::number::parse_i64;
use crate::wire::reply::{Error, Reply};

pub(super) const SYNTAX: Error = Error::of("ERR syntax error");
pub(super) const NOT_AN_INTEGER: Error = Error::of("ERR value is not an integer or out of range");
pub(super) const NOT_A_FLOAT: Error = Error::of("ERR value is not a valid float");

/// The error of a subcommand with too many arguments, where Redis checks that in the command
/// itself.
pub(super) fn subcommand_syntax(args: &[&[u8]]) -> Error {
    let container = args[0].to_ascii_uppercase();
    let text: [&[u8]; 5] = [
        b"ERR unknown subcommand or wrong number of arguments for '",
        args[1],
        b"'. Try ",
        &container,
        b" HELP.",
    ];
    Error::new(text.concat())
}

/// Parses an argument that has to be an integer.
pub(super) fn integer(arg: &[u8]) -> Result<i64, Error> {
    parse_i64(arg).ok_or(NOT_AN_INTEGER)
}

/// Parses an argument that has to be an integer and may not be negative.
pub(super) fn not_negative(arg: &[u8]) -> Result<u64, Error> {
    not_negative_or(arg, "ERR value is out of range, must be positive")
}

/// Like [`not_negative`], with a custom error text.
pub(super) fn not_negative_or(arg: &[u8], refusal: &'static str) -> Result<u64, Error> {
    let number = parse_i64(arg).and_then(|number| u64::try_from(number).ok());
    number.ok_or(Error::of(refusal))
}

/// The part of a sequence between two indices, both included; negative ones count from the end.
pub(super) fn slice(start: i64, stop: i64, len: usize) -> Range<usize> {
    let from_start = |index: i64| match index {
        ..0 => index.saturating_add_unsigned(len as u64).max(-1),
        _ => index.min(len as i64),
    };
    let start = from_start(start).max(0) as usize;
    let end = ((from_start(stop) + 1) as usize).min(len);
    start.min(end)..end
}

/// Pairs: a map in RESP3, one after the other in RESP2.
pub(super) fn map(pairs: impl Iterator<Item = (Reply, Reply)>) -> Reply {
    Reply::Map(pairs.collect())
}

/// Members of a set: a set in RESP3, an array in RESP2.
pub(super) fn set_of(members: Vec<Reply>) -> Reply {
    Reply::Set(members)
}

/// A score: a double in RESP3, in RESP2 its text with 17 digits.
pub(super) fn double(number: f64) -> Reply {
    Reply::Double(number)
}
