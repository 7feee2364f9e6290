//! Commands for keys of any type: EXISTS, DBSIZE, FLUSHALL; and for whole databases.

use super::SYNTAX;
use crate::engine::command::Call;
use crate::wire::reply::{Answer, Reply};

/// `EXISTS key [key …]`: how many exist; a key named twice counts twice.
pub(in crate::engine) fn exists(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let names = call.args[1..].iter();
    let found = names.filter(|key| call.state.db.peek(key, now_ms).is_some());
    Ok(Reply::Integer(found.count() as i64))
}

/// `DBSIZE`: includes expired keys that have not been deleted yet.
pub(in crate::engine) fn dbsize(call: &mut Call<'_>) -> Answer {
    call.state.run_due_cycles(call.wall_us);
    Ok(Reply::Integer(call.state.db.len() as i64))
}

/// `FLUSHALL [SYNC | ASYNC]`.
pub(in crate::engine) fn flushall(call: &mut Call<'_>) -> Answer {
    if !is_flush_mode(&call.args[1..]) {
        return Err(SYNTAX);
    }
    call.state.db.flush_all();
    Ok(Reply::OK)
}

/// `FLUSHDB [SYNC | ASYNC]`: the selected database only.
pub(in crate::engine) fn flushdb(call: &mut Call<'_>) -> Answer {
    if !is_flush_mode(&call.args[1..]) {
        return Err(SYNTAX);
    }
    call.state.db.flush();
    Ok(Reply::OK)
}

/// Checks the options of a command that flushes data: replies do not reveal whether it is done in
/// the background.
pub(in crate::engine) fn is_flush_mode(options: &[&[u8]]) -> bool {
    match options {
        [] => true,
        [mode] => mode.eq_ignore_ascii_case(b"sync") || mode.eq_ignore_ascii_case(b"async"),
        _ => false,
    }
}
