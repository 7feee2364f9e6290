//! The choice of the part of a run that the picture shows.

use super::{retries::retries, window::Window};
use locklab_check::Violation;
use locklab_history::{Event, History, Op};

/// Without a violation, the picture ends after this many messages, not counting retries: more
/// would be drawn on top of each other.
const MAX_MESSAGES: usize = 80;

impl Window {
    /// The span to show; `None` for an empty history.
    pub fn of(history: &History, violation: Option<&Violation>) -> Option<Self> {
        let records = history.records.iter().map(|record| record.at_ns);
        let sent = history.messages.iter().map(|message| message.sent_ns);
        let arrived = (history.messages.iter()).filter_map(|message| message.arrived_ns);
        let instants = || records.clone().chain(sent.clone()).chain(arrived.clone());
        let whole = Window {
            from_ns: instants().min()?,
            to_ns: instants().max()?,
        };
        if let Some(violation) = violation {
            return Some(Self::around(history, violation).unwrap_or(whole));
        }
        let retries = retries(history, whole);
        let mut of_interest = (history.messages.iter())
            .filter(|message| !message.is_handshake())
            .filter(|message| !retries.iter().any(|retry| retry.owns(message)));
        let cut = of_interest.nth(MAX_MESSAGES);
        Some(Window {
            to_ns: cut.map_or(whole.to_ns, |message| message.sent_ns.max(whole.from_ns)),
            ..whole
        })
    }

    /// From the clients' calls of `acquire` to their last events under these grants, or to the
    /// end of the first of the grants, whichever is later. For a client that was waiting at the
    /// violation, from its first unsuccessful call.
    fn around(history: &History, violation: &Violation) -> Option<Self> {
        let latest_ns = violation.until_ns.max(violation.at_ns);
        let mut from_ns = violation.at_ns;
        let mut to_ns = latest_ns;
        let mut first_end_ns: Option<u64> = None;
        for client in &violation.clients {
            let (asked_ns, its_grant) = grant(history, client, latest_ns)?;
            let in_vain_ns = waiting_since(history, client, violation.at_ns);
            from_ns = from_ns.min(in_vain_ns.unwrap_or(asked_ns));
            for record in &history.records {
                match &record.event {
                    Event::BeliefEnds { grant }
                        if *grant == its_grant && record.host == *client =>
                    {
                        let ends_ns = record.at_ns;
                        first_end_ns = first_end_ns.map(|ns| ns.min(ends_ns)).or(Some(ends_ns));
                    }
                    Event::Access {
                        client: asker,
                        grant,
                        ..
                    } if *grant == its_grant && asker == client => {
                        to_ns = to_ns.max(record.at_ns);
                    }
                    _ => {}
                }
            }
        }
        to_ns = to_ns.max(first_end_ns.unwrap_or(0));
        // Include the replies to the last requests.
        let replies = history.messages.iter().filter(|message| {
            (from_ns..=to_ns).contains(&message.sent_ns) && violation.clients.contains(&message.to)
        });
        let replied_ns = replies.filter_map(|message| message.arrived_ns).max();
        Some(Window {
            from_ns,
            to_ns: to_ns.max(replied_ns.unwrap_or(0)),
        })
    }
}

/// Since when the client has been waiting at an instant: its first call of `acquire` since
/// its last grant. `None` if there is none.
fn waiting_since(history: &History, client: &str, at_ns: u64) -> Option<u64> {
    let earlier = history.records.iter().filter(|r| r.at_ns <= at_ns);
    let mut since_ns = None;
    for record in earlier.filter(|record| *record.host == *client) {
        match record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => since_ns = since_ns.or(Some(record.at_ns)),
            Event::BeliefBegins { .. } => since_ns = None,
            _ => {}
        }
    }
    since_ns
}

/// The client's last grant up to an instant: the time of the request for it, and its number.
fn grant(history: &History, client: &str, latest_ns: u64) -> Option<(u64, u32)> {
    let mut asked_ns = None;
    let mut granted = None;
    let earlier = history.records.iter().filter(|r| r.at_ns <= latest_ns);
    for record in earlier.filter(|record| *record.host == *client) {
        match record.event {
            Event::Invoke {
                op: Op::Acquire, ..
            } => asked_ns = Some(record.at_ns),
            Event::BeliefBegins { grant, .. } => {
                granted = Some((asked_ns.unwrap_or(record.at_ns), grant));
            }
            _ => {}
        }
    }
    granted
}
