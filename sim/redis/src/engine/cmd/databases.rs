//! SELECT (`src/db.c`).

use crate::engine::command::{Call, Context};
use crate::wire::reply::{Answer, Error, Reply};

pub(super) const OUT_OF_RANGE: Error = Error::of("ERR DB index is out of range");

/// `SELECT index`: the client's commands from here on run in this database. In a script, those of
/// the script do.
pub(in crate::engine) fn select(call: &mut Call<'_>) -> Answer {
    let index = existing(call, call.args[1])?;
    match call.context {
        Context::Script => call.state.db.select(index),
        Context::Direct | Context::Transaction => call.state.select(call.client, index),
    }
    Ok(Reply::OK)
}

/// The number of an existing database.
///
/// # Errors
///
/// It is no number, or that of no database.
pub(super) fn existing(call: &Call<'_>, arg: &[u8]) -> Result<usize, Error> {
    let index = i32::try_from(super::integer(arg)?).map_err(|_| {
        Error::of("ERR value is out of range, value must between -2147483648 and 2147483647")
    })?;
    in_range(call, index)
}

fn in_range(call: &Call<'_>, index: i32) -> Result<usize, Error> {
    let index = usize::try_from(index).ok();
    let index = index.filter(|index| *index < call.state.db.count);
    index.ok_or(OUT_OF_RANGE)
}
