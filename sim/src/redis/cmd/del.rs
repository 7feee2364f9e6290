//! DEL, and UNLINK, which differs only in where the memory is freed.

use crate::redis::changes::Class;
use crate::redis::reply::{Answer, Reply};
use crate::redis::table::Call;

/// `DEL key [key …]`, and `UNLINK key [key …]`: how many of the keys were there.
pub(in crate::redis) fn del(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let mut removed = 0;
    for key in &call.args[1..] {
        if call.state.db.remove(key, now_ms).is_some() {
            call.notify(Class::Generic, "del", key);
            removed += 1;
        }
    }
    Ok(Reply::Integer(removed))
}
