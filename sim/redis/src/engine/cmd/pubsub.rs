//! SUBSCRIBE and its relatives, PUBLISH, PUBSUB.

use bytes::Bytes;

use crate::engine::command::Call;
use crate::engine::pubsub::publish as send;
use crate::engine::state::session::Kind;
use crate::glob;
use crate::wire::reply::{Answer, Reply};

/// `SUBSCRIBE channel [channel …]`.
pub(in crate::engine) fn subscribe(call: &mut Call<'_>) -> Answer {
    subscribe_to(call, Kind::Channel, "subscribe")
}

/// `PSUBSCRIBE pattern [pattern …]`.
pub(in crate::engine) fn psubscribe(call: &mut Call<'_>) -> Answer {
    subscribe_to(call, Kind::Pattern, "psubscribe")
}

/// `UNSUBSCRIBE [channel …]`: from all channels, if none is given.
pub(in crate::engine) fn unsubscribe(call: &mut Call<'_>) -> Answer {
    unsubscribe_from(call, Kind::Channel, "unsubscribe")
}

/// `PUNSUBSCRIBE [pattern …]`.
pub(in crate::engine) fn punsubscribe(call: &mut Call<'_>) -> Answer {
    unsubscribe_from(call, Kind::Pattern, "punsubscribe")
}

/// `PUBLISH channel message`: the number of deliveries on this node.
pub(in crate::engine) fn publish(call: &mut Call<'_>) -> Answer {
    let receivers = send(call.state, call.args[1], call.args[2]);
    Ok(Reply::Integer(receivers as i64))
}

/// `PUBSUB CHANNELS [pattern]`: channels that have subscribers.
pub(in crate::engine) fn channels(call: &mut Call<'_>) -> Answer {
    let pattern = match call.args {
        [_, _] => b"*",
        [_, _, pattern] => *pattern,
        _ => return Err(super::subcommand_syntax(call.args)),
    };
    let subscribers = call.state.pubsub.of(Kind::Channel);
    let matching = subscribers
        .keys()
        .filter(|name| glob::matches(pattern, name));
    Ok(Reply::Array(matching.cloned().map(Reply::Bulk).collect()))
}

/// `PUBSUB NUMSUB [channel …]`: each with its number of subscribers.
pub(in crate::engine) fn numsub(call: &mut Call<'_>) -> Answer {
    let subscribers = call.state.pubsub.of(Kind::Channel);
    let counted = call.args[2..].iter().flat_map(|name| {
        let count = subscribers.get(*name).map_or(0, Vec::len);
        [Reply::bulk(name), Reply::Integer(count as i64)]
    });
    Ok(Reply::Array(counted.collect()))
}

/// `PUBSUB NUMPAT`: the number of patterns that have subscribers.
pub(in crate::engine) fn numpat(call: &mut Call<'_>) -> Answer {
    let patterns = call.state.pubsub.of(Kind::Pattern);
    Ok(Reply::Integer(patterns.len() as i64))
}

fn subscribe_to(call: &mut Call<'_>, kind: Kind, word: &'static str) -> Answer {
    let mut replies = Vec::with_capacity(call.args.len() - 1);
    for name in &call.args[1..] {
        let state = &mut *call.state;
        let session = state.clients.get_mut(&call.client);
        if let Some(session) = session {
            state.pubsub.subscribe(session, kind, name);
        }
        replies.push(confirmation(call, word, Reply::bulk(name)));
    }
    Ok(Reply::Several(replies))
}

fn unsubscribe_from(call: &mut Call<'_>, kind: Kind, word: &'static str) -> Answer {
    let names: Vec<Bytes> = match &call.args[1..] {
        [] => call
            .session()
            .subscriptions
            .of(kind)
            .iter()
            .cloned()
            .collect(),
        names => names
            .iter()
            .map(|name| Bytes::copy_from_slice(name))
            .collect(),
    };
    if names.is_empty() {
        return Ok(confirmation(call, word, Reply::Nil));
    }
    let mut replies = Vec::with_capacity(names.len());
    for name in names {
        let state = &mut *call.state;
        if let Some(session) = state.clients.get_mut(&call.client) {
            state.pubsub.unsubscribe(session, kind, &name);
        }
        replies.push(confirmation(call, word, Reply::Bulk(name)));
    }
    Ok(Reply::Several(replies))
}

/// The confirmation for one name, with the current number of subscriptions.
fn confirmation(call: &mut Call<'_>, word: &'static str, name: Reply) -> Reply {
    let count = call.session().subscriptions.count();
    Reply::Push(vec![
        Reply::Bulk(Bytes::from_static(word.as_bytes())),
        name,
        Reply::Integer(count as i64),
    ])
}
