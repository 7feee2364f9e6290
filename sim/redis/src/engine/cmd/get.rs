//! GET and its relatives that also change the key.

use bytes::Bytes;

use crate::engine::command::Call;
use crate::store::changes::Class;
use crate::wire::reply::{Answer, Reply};

/// `GET key`.
pub(in crate::engine) fn get(call: &mut Call<'_>) -> Answer {
    let value = call.read::<Bytes>(call.args[1])?;
    Ok(Reply::bulk_or_nil(value.cloned()))
}

/// `GETSET key value`: the old value. Removes the key's time to live.
pub(in crate::engine) fn getset(call: &mut Call<'_>) -> Answer {
    let old = get(call)?;
    call.reply_goes_here();
    call.set_string(call.args[1], Bytes::copy_from_slice(call.args[2]));
    call.propagate_as(&[b"SET", call.args[1], call.args[2]]);
    Ok(old)
}

/// `GETDEL key`: returns the value and deletes the key.
pub(in crate::engine) fn getdel(call: &mut Call<'_>) -> Answer {
    let value = get(call)?;
    call.reply_goes_here();
    let now_ms = call.now_ms();
    if call.state.db.remove(call.args[1], now_ms).is_some() {
        call.notify(Class::Generic, "del", call.args[1]);
        call.propagate_as(&[b"DEL", call.args[1]]);
    }
    Ok(value)
}
