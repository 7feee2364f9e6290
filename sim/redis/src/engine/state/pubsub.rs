//! The subscriptions of clients.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::session::{Kind, Session, copy_bytes};

/// The subscribers of every name, in the order of their subscriptions.
#[derive(Default)]
pub(in crate::engine) struct PubSub {
    pub(in crate::engine) channels: Subscribers,
    pub(in crate::engine) patterns: Subscribers,
}

pub(in crate::engine) type Subscribers = BTreeMap<Bytes, Vec<u64>>;

impl PubSub {
    /// The names of a kind, each with its subscribers.
    pub(in crate::engine) fn of(&self, kind: Kind) -> &Subscribers {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
        }
    }

    /// Whether there are no subscriptions.
    pub(in crate::engine) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.patterns.is_empty()
    }

    /// Subscribes a client. Does nothing if it already is subscribed.
    pub(in crate::engine) fn subscribe(&mut self, session: &mut Session, kind: Kind, name: &[u8]) {
        let name = Bytes::copy_from_slice(name);
        if session.subscriptions.of(kind).insert(name.clone()) {
            session.names_bytes += copy_bytes(&name);
            self.of_mut(kind).entry(name).or_default().push(session.id);
        }
    }

    /// Ends a subscription, if there is one.
    pub(in crate::engine) fn unsubscribe(
        &mut self,
        session: &mut Session,
        kind: Kind,
        name: &[u8],
    ) {
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
    pub(in crate::engine) fn forget(&mut self, session: Option<&mut Session>) {
        let Some(session) = session else { return };
        for kind in [Kind::Channel, Kind::Pattern] {
            for name in session.subscriptions.of(kind).clone() {
                self.unsubscribe(session, kind, &name);
            }
        }
    }

    pub(in crate::engine) fn of_mut(&mut self, kind: Kind) -> &mut Subscribers {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
        }
    }
}
