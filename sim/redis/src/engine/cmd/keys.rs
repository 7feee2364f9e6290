//! Commands for keys of any type: EXISTS, DBSIZE, FLUSHALL.

use super::SYNTAX;
use crate::engine::table::Call;
use crate::wire::reply::{Answer, Error, Reply};

/// `EXISTS key [key …]`, and `TOUCH key [key …]`: how many exist; a key named twice counts twice.
pub(in crate::engine) fn exists(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let found = call.args[1..]
        .iter()
        .filter(|key| call.state.db.get(key, now_ms).is_some())
        .count();
    Ok(Reply::Integer(found as i64))
}

/// `DBSIZE`: includes expired keys that have not been deleted yet.
pub(in crate::engine) fn dbsize(call: &mut Call<'_>) -> Answer {
    call.state.run_due_cycles(call.wall_us);
    Ok(Reply::Integer(call.state.db.len() as i64))
}

/// `FLUSHALL [SYNC | ASYNC]`, and `FLUSHDB [SYNC | ASYNC]`: equivalent, as there is one database.
pub(in crate::engine) fn flush(call: &mut Call<'_>) -> Answer {
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

/// `SELECT index`: only database 0 exists.
pub(in crate::engine) fn select(call: &mut Call<'_>) -> Answer {
    match database_index(call.args[1])? {
        0 => Ok(Reply::OK),
        _ => Err(Error::of("ERR DB index is out of range")),
    }
}

/// The index of a database, which need not exist.
pub(in crate::engine) fn database_index(arg: &[u8]) -> Result<i32, Error> {
    i32::try_from(super::integer(arg)?).map_err(|_| {
        Error::of("ERR value is out of range, value must between -2147483648 and 2147483647")
    })
}
