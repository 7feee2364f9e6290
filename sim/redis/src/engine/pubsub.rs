//! Subscriptions, and the delivery of messages (`src/pubsub.c`).
//!
//! Messages are delivered in the order in which they were published. A client gets a message
//! first as a subscriber of the channel, then once for each of its patterns that match, here in
//! the order of the patterns (in Redis that depends on a hash table).

use std::collections::BTreeMap;

use bytes::Bytes;

use super::fan_out;
use super::session::{Session, copy_bytes};
use super::state::State;
use crate::glob;
use crate::wire::reply::{Encoded, Reply};

/// The three sets of names that a client may subscribe to.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Channel,
    Pattern,
    /// Shard channels, a separate name space; without a cluster that is the only difference.
    Shard,
}

/// The subscribers of every name, in the order of their subscriptions.
#[derive(Default)]
pub(super) struct PubSub {
    channels: Subscribers,
    patterns: Subscribers,
    shard_channels: Subscribers,
}

pub(super) type Subscribers = BTreeMap<Bytes, Vec<u64>>;

/// PUBLISH and SPUBLISH: returns the number of deliveries. A client that got the message several
/// times counts as often.
pub(super) fn publish(state: &mut State, kind: Kind, channel: &[u8], message: &[u8]) -> usize {
    if state.pubsub.is_empty() {
        return 0;
    }
    let (channel, message) = (
        Bytes::copy_from_slice(channel),
        Bytes::copy_from_slice(message),
    );
    let direct = state.pubsub.of(kind).get(&channel).cloned();
    let direct = direct.unwrap_or_default();
    let mut receivers = direct.len();
    if receivers > 0 {
        let word = if kind == Kind::Shard {
            "smessage"
        } else {
            "message"
        };
        let items = [&Bytes::from(word), &channel, &message].map(|item| Reply::Bulk(item.clone()));
        let push = Encoded::new(Reply::Push(items.to_vec()));
        fan_out::push(state, &direct, &push);
    }
    if kind == Kind::Channel {
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
    }
    receivers
}

impl PubSub {
    /// The names of a kind, each with its subscribers.
    pub(super) fn of(&self, kind: Kind) -> &Subscribers {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        }
    }

    /// Whether there are no subscriptions.
    pub(super) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty() && self.shard_channels.is_empty()
    }

    /// Subscribes a client. Does nothing if it already is subscribed.
    pub(super) fn subscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        let name = Bytes::copy_from_slice(name);
        if session.subscriptions.of(kind).insert(name.clone()) {
            session.names_bytes += copy_bytes(&name);
            self.of_mut(kind).entry(name).or_default().push(session.id);
        }
    }

    /// Ends a subscription, if there is one.
    pub(super) fn unsubscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        if session.subscriptions.of(kind).remove(name)
            && let Some(subscribers) = self.of_mut(kind).get_mut(name)
        {
            session.names_bytes -= copy_bytes(name);
            subscribers.retain(|id| *id != session.id);
            if subscribers.is_empty() {
                self.of_mut(kind).remove(name);
            }
        }
    }

    /// Ends all subscriptions of a client.
    pub(super) fn forget(&mut self, session: Option<&mut Session>) {
        let Some(session) = session else { return };
        for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
            for name in session.subscriptions.of(kind).clone() {
                self.unsubscribe(session, kind, &name);
            }
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Subscribers {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }
}
