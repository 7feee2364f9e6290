//! MONITOR.

use crate::engine::command::{Call, Context};
use crate::engine::state::session::Peer;
use crate::wire::reply::{Answer, Error, Reply};

/// `MONITOR`: from here on the client is shown every call of a command.
pub(in crate::engine) fn monitor(call: &mut Call<'_>) -> Answer {
    if call.context != Context::Direct {
        return Err(Error::of(
            "ERR MONITOR isn't allowed for DENY BLOCKING client",
        ));
    }
    let is_replica = call.session().peer == Peer::Replica;
    if is_replica || !call.state.monitors.add(call.client) {
        return Ok(Reply::NONE);
    }
    Ok(Reply::OK)
}
