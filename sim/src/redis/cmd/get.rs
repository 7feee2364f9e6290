//! GET and its relatives that also change the key.

use crate::redis::changes::Class;
use crate::redis::db::Entry;
use crate::redis::reply::{Answer, Reply};
use crate::redis::table::Call;

/// `GET key`.
pub(in crate::redis) fn get(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let entry = call.state.db.get(call.args[1], now_ms);
    Ok(Reply::bulk_or_nil(entry.map(|entry| entry.value.clone())))
}

/// `GETSET key value`: the old value. The key's time to live goes.
pub(in crate::redis) fn getset(call: &mut Call<'_>) -> Answer {
    let old = get(call)?;
    let entry = Entry {
        value: bytes::Bytes::copy_from_slice(call.args[2]),
        expires_at_ms: None,
    };
    call.state.db.set(call.args[1], entry);
    call.notify(Class::String, "set", call.args[1]);
    Ok(old)
}

/// `GETDEL key`: the value, which is gone then.
pub(in crate::redis) fn getdel(call: &mut Call<'_>) -> Answer {
    let now_ms = call.now_ms();
    let removed = call.state.db.remove(call.args[1], now_ms);
    if removed.is_some() {
        call.notify(Class::Generic, "del", call.args[1]);
    }
    Ok(Reply::bulk_or_nil(removed.map(|entry| entry.value)))
}
