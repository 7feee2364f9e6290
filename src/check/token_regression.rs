//! No fencing token is accepted that is lower than one accepted before.
//!
//! Reads count as well as writes. Accesses that were refused, or that carried no token, do not
//! count.

use super::{Verdict, Violation};
use locklab_history::Event;
use locklab_history::timeline::{Holder, Timeline};

pub(super) fn check(timeline: &Timeline) -> Verdict {
    // The highest token accepted so far, its holder, and since when.
    let mut highest: Option<(u64, Holder, u64)> = None;
    for (_, _, record) in timeline.records() {
        let Event::Access {
            client,
            grant,
            access,
            token: Some(token),
            accepted: true,
        } = &record.event
        else {
            continue;
        };
        let holder = (client, *grant);
        match highest {
            Some((high, owner, since_ns)) if *token < high => {
                let access = access.name();
                return Verdict::Violated(Violation {
                    at_ns: record.at_ns,
                    until_ns: record.at_ns,
                    clients: timeline.clients([holder, owner]),
                    what: format!(
                        "the resource accepted {client}'s {access} with token {token} at {} \
                         after it had accepted token {high} of {} at {}",
                        timeline.at(record.at_ns),
                        owner.0,
                        timeline.at(since_ns),
                    ),
                });
            }
            Some((high, ..)) if *token == high => {}
            _ => highest = Some((*token, holder, record.at_ns)),
        }
    }
    Verdict::Holds
}
