//! DEL, and UNLINK, which differs only in where the memory is freed.

use crate::redis::reply::{Answer, Reply};
use crate::redis::table::Call;

/// `DEL key [key …]`: how many of the keys were there.
pub(in crate::redis) fn del(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let removed = call.args[1..]
        .iter()
        .filter(|key| call.state.db.remove(key, now_ms).is_some())
        .count();
    Ok(Reply::Integer(removed as i64))
}
