//! Subscriptions, and the delivery of messages (`src/pubsub.c`).
//!
//! Messages are delivered in the order in which they were published. A client gets a message
//! first as a subscriber of the channel, then once for each of its patterns that match, here in
//! the order of the patterns (in Redis that depends on a hash table).

use bytes::Bytes;

use super::fan_out;
use super::state::State;
use crate::glob;
use crate::wire::reply::{Encoded, Reply};

/// PUBLISH: returns the number of deliveries. A client that got the message several
/// times counts as often.
pub(super) fn publish(state: &mut State, channel: &[u8], message: &[u8]) -> usize {
    if state.pubsub.is_empty() {
        return 0;
    }
    let (channel, message) = (
        Bytes::copy_from_slice(channel),
        Bytes::copy_from_slice(message),
    );
    let direct = state.pubsub.channels.get(&channel).cloned();
    let direct = direct.unwrap_or_default();
    let mut receivers = direct.len();
    if receivers > 0 {
        let items =
            [&Bytes::from("message"), &channel, &message].map(|item| Reply::Bulk(item.clone()));
        let push = Encoded::new(Reply::Push(items.to_vec()));
        fan_out::push(state, &direct, &push);
    }
    let matching: Vec<(Bytes, Vec<u64>)> = state
        .pubsub
        .patterns
        .iter()
        .filter(|(pattern, _)| glob::matches(pattern, &channel))
        .map(|(pattern, clients)| (pattern.clone(), clients.clone()))
        .collect();
    for (pattern, clients) in matching {
        receivers += clients.len();
        let items = [&Bytes::from("pmessage"), &pattern, &channel, &message]
            .map(|item| Reply::Bulk(item.clone()));
        let push = Encoded::new(Reply::Push(items.to_vec()));
        fan_out::push(state, &clients, &push);
    }
    receivers
}
