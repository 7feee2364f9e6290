//! MEMORY: how much a key takes.

use super::{SYNTAX, integer};
use crate::engine::command::Call;
use crate::store::memory;
use crate::wire::reply::{Answer, Reply};

/// `MEMORY USAGE key [SAMPLES count]`: about the bytes that the key takes in Redis.
pub(in crate::engine) fn usage(call: &mut Call<'_>) -> Answer {
    let mut options = &call.args[3..];
    while let [option, count, rest @ ..] = options {
        if !option.eq_ignore_ascii_case(b"samples") {
            return Err(SYNTAX);
        }
        if integer(count)? < 0 {
            return Err(SYNTAX);
        }
        options = rest;
    }
    if !options.is_empty() {
        return Err(SYNTAX);
    }
    let now_ms = call.now_ms();
    Ok(match call.state.db.peek(call.args[2], now_ms) {
        Some(entry) => Reply::Integer(memory::of_key(call.args[2], &entry.value) as i64),
        None => Reply::Nil,
    })
}
