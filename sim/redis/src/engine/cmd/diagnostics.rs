//! SLOWLOG, LATENCY and MEMORY, with the replies of a server that has nothing to report.
//!
//! Commands of a fake node take no time.

use super::{SYNTAX, integer};
use crate::engine::command::Call;
use crate::store::memory;
use crate::wire::number::parse_i64;
use crate::wire::reply::{Answer, Error, Reply};

/// `SLOWLOG GET [count]`.
pub(in crate::engine) fn slowlog_get(call: &mut Call<'_>) -> Answer {
    match call.args {
        [_, _] => {}
        [_, _, count] if parse_i64(count).is_some_and(|count| count >= -1) => {}
        [_, _, _] => {
            return Err(Error::of("ERR count should be greater than or equal to -1"));
        }
        _ => {
            return Err(Error::of(
                "ERR unknown subcommand or wrong number of arguments for 'GET'. Try SLOWLOG HELP.",
            ));
        }
    }
    Ok(Reply::Array(Vec::new()))
}

/// `SLOWLOG LEN`, and `LATENCY RESET [event …]`: the number of entries, always 0.
pub(in crate::engine) fn none(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(0))
}

/// `SLOWLOG RESET`, and `MEMORY PURGE`.
pub(in crate::engine) fn done(_: &mut Call<'_>) -> Answer {
    Ok(Reply::OK)
}

/// `LATENCY LATEST`, and `LATENCY HISTORY event`.
pub(in crate::engine) fn nothing(_: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(Vec::new()))
}

/// `LATENCY DOCTOR`: monitoring is off by default.
pub(in crate::engine) fn latency_doctor(_: &mut Call<'_>) -> Answer {
    Ok(Reply::text(
        "I'm sorry, Dave, I can't do that. Latency monitoring is disabled in this Redis instance. You may use \"CONFIG SET latency-monitor-threshold <milliseconds>.\" in order to enable it. If we weren't in a deep space mission I'd suggest to take a look at https://redis.io/topics/latency-monitor.\n",
    ))
}

/// `LATENCY GRAPH event`.
pub(in crate::engine) fn latency_graph(call: &mut Call<'_>) -> Answer {
    let event = call.args[2];
    let text = [b"ERR No samples available for event '", event, b"'"].concat();
    Err(Error::new(text))
}

/// `MEMORY DOCTOR`.
pub(in crate::engine) fn memory_doctor(_: &mut Call<'_>) -> Answer {
    Ok(Reply::text(
        "Hi Sam, this instance is empty or is using very little memory, my issues detector can't be used in these conditions. Please, leave for your mission on Earth and fill it with some data. The new Sam and I will be back to our programming as soon as I finished rebooting.\n",
    ))
}

/// `MEMORY USAGE key [SAMPLES count]`: about the bytes that the key takes in Redis.
pub(in crate::engine) fn memory_usage(call: &mut Call<'_>) -> Answer {
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
