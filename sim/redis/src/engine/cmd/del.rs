//! DEL, and UNLINK, which differs only in where Redis frees the memory.

use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::wire::reply::{Answer, Reply};

/// `DEL key [key …]`, and `UNLINK key [key …]`: returns the number of keys that existed.
pub(in crate::engine) fn del(call: &mut Call<'_>) -> Answer {
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
