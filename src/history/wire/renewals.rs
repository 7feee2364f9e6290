//! Renewals by clients that do not have the lock.

use std::fmt;

use super::visits::{Visit, visits};
use super::{PATIENCE_NS, Wire};
use crate::{Event, Name, Op, Record};

/// A request that gave the key more time, and should not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WrongRenewal {
    /// Who sent it.
    pub client: Name,
    /// Its command, in capitals.
    pub command: String,
    /// What is wrong about it.
    pub wrong: Wrong,
}

/// What is wrong about a renewal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wrong {
    /// The node had granted the lock to this other client.
    OfAnother(Name),
    /// The client had told that it released the lock, and not that it asks for it again.
    AfterRelease,
}

impl fmt::Display for WrongRenewal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            client, command, ..
        } = self;
        match &self.wrong {
            Wrong::OfAnother(holder) => {
                write!(
                    f,
                    "{client} renewed the lock that {holder} held ({command})"
                )
            }
            Wrong::AfterRelease => write!(
                f,
                "{client} renewed the lock after it had told that it released it ({command})"
            ),
        }
    }
}

/// The wrong renewals of this key, each kind once; none if its clients tell that they share it.
pub fn wrong_renewals(wire: &Wire, key: &str) -> Vec<WrongRenewal> {
    let shares = |it: &Record| matches!(it.event, Event::BeliefBegins { shared: true, .. });
    if wire.history.records.iter().any(shares) {
        return Vec::new();
    }
    let visits = visits(wire, key);
    let renewals = visits.iter().filter(|visit| visit.extends);
    let found = renewals.filter_map(|visit| {
        Some(WrongRenewal {
            client: visit.exchange.client.clone(),
            command: command(visit),
            wrong: of_another(visit, &visits).or_else(|| after_release(visit, wire))?,
        })
    });
    let mut found: Vec<WrongRenewal> = found.collect();
    found.sort();
    found.dedup();
    found
}

/// A request that takes the key where it is free shares it with whoever has it, and one that names its value comes from
/// somebody to whom the lock was handed over.
fn of_another(visit: &Visit, visits: &[Visit]) -> Option<Wrong> {
    let holder = &visits[visit.holder?].exchange.client;
    let is_own = visit.asks || visit.knows_value || *holder == visit.exchange.client;
    (!is_own).then(|| Wrong::OfAnother(holder.clone()))
}

/// Of a client that tells when it asks for the lock. A line may come as much later than what it tells as a reply may, so
/// nothing is said of a renewal that is as near to one, or to the end of the run: programs go on until they are
/// killed, and what they tell then is not kept.
fn after_release(visit: &Visit, wire: &Wire) -> Option<Wrong> {
    let (client, sent_ns) = (&visit.exchange.client, visit.exchange.sent_ns);
    let told = wire.history.records.iter().filter(|it| it.host == *client);
    let mut turns = told.filter(|it| is_turn(&it.event));
    let tells = turns.clone().any(|it| asks(&it.event));
    let near_ns = sent_ns.saturating_sub(PATIENCE_NS)..=sent_ns + PATIENCE_NS;
    let is_near = *near_ns.end() >= wire.history.end_ns || { turns.clone() }
        .any(|it| near_ns.contains(&it.at_ns));
    let last = turns.rfind(|it| it.at_ns < sent_ns)?;
    let is_released = matches!(last.event, Event::Complete { .. });
    (tells && !is_near && is_released).then_some(Wrong::AfterRelease)
}

/// Whether a client has the lock, asks for it or has given it up from then on.
fn is_turn(event: &Event) -> bool {
    let has_or_had = matches!(
        event,
        Event::BeliefBegins { .. }
            | Event::Complete {
                op: Op::Release,
                ..
            }
    );
    has_or_had || asks(event) || event.is_death()
}

fn asks(event: &Event) -> bool {
    matches!(event, Event::Invoke { op, .. } if *op == Op::Acquire)
}

/// The command of a request that names the key; of several the first.
fn command(visit: &Visit) -> String {
    let mut words = visit.exchange.commands.iter().filter_map(|it| it.first());
    let first = words.next().map(|word| word.to_ascii_uppercase());
    String::from_utf8_lossy(&first.unwrap_or_default()).into_owned()
}
