//! No release deletes another client's lock.
//!
//! No history records whose key a release deleted, but with one server it can be inferred.
//! There a client gets the lock only while the key is absent. So when client B asked for the
//! lock after A had been granted it, and B was granted it too, A's key was gone by then, and an
//! extension cannot restore it. A release that A calls after that and that still deletes a key
//! deletes B's or a successor's.
//!
//! - B must have *asked* after A's grant. If their calls overlap in time, A's may be the one
//!   that was served last, and A's key may well be there.
//! - B must have *been granted* the lock before A called `release`, or, where the history
//!   records when A sent the deleting command, before that. Otherwise the release may have
//!   deleted A's key first and so let B in.
//! - A and B must not both be readers, which share the lock.
//!
//! A grant that a client gets while it already holds the lock does not count as B's: it may
//! come from a count in the client, and shows nothing about the key.
//!
//! A may have asked for the lock again when its lease was over, and hold it again when it
//! releases the old grant. Then the key is its own, as far as the history shows, unless another
//! client has also followed this newer grant.
//!
//! With several servers none of this follows. A key of A's own can remain on a minority that B
//! did not need, or on a deposed master, and deleting it there is right; and a history has the
//! number of deleted keys summed over the servers. So with more than one server the check
//! reports nothing.

use super::{Verdict, Violation};
use locklab_history::timeline::{Grant, Timeline};
use locklab_history::{Event, Failpoint, Op};

pub(super) fn check(timeline: &Timeline, nodes: u32) -> Verdict {
    if nodes != 1 {
        return Verdict::Inconclusive {
            why: "the owner of a deleted key is known on one node only".into(),
        };
    }

    let mut granted = Granted::default();
    // Per host: until when it believes in its grants so far.
    let mut believes_until_ns = vec![0; timeline.hosts];
    let mut begun = timeline.grants.iter().peekable();
    // Per host: when it last called release, the other client's grant that was requested last.
    let mut at_release: Vec<Conflicting> = vec![Conflicting::default(); timeline.hosts];
    // Per host: the index of that call in the history.
    let mut released_at = vec![0; timeline.hosts];
    for (index, host, record) in timeline.records() {
        while let Some(grant) = begun.next_if(|grant| grant.began <= index) {
            let believes_until_ns = &mut believes_until_ns[grant.host];
            if grant.begins_ns >= *believes_until_ns {
                granted.take(grant);
            }
            *believes_until_ns = grant.ends_ns.max(*believes_until_ns);
        }
        match record.event {
            Event::Invoke {
                op: Op::Release, ..
            } => {
                at_release[host] = granted.other_than(host);
                released_at[host] = index;
            }
            // Some locks check before they delete; this is the time of the deletion.
            ref event if event.is_reached(Failpoint::Deleting) => {
                at_release[host] = granted.other_than(host);
                released_at[host] = index;
            }
            Event::Released {
                grant,
                removed: 1..,
            } => {
                let own = timeline
                    .grant(host, grant)
                    .map(|place| &timeline.grants[place]);
                if let Some(own) = own
                    && let Some(newer) = at_release[host].with(own)
                    && newer.asked > Some(last_of_own(timeline, own, released_at[host]).began)
                {
                    return Verdict::Violated(Violation {
                        at_ns: record.at_ns,
                        until_ns: record.at_ns,
                        clients: vec![own.client.clone(), newer.client.clone()],
                        what: format!(
                            "{}, granted the lock at {}, released it at {} and deleted a lock \
                             that was not its own any more: {} had been granted it at {}",
                            own.client,
                            timeline.at(own.begins_ns),
                            timeline.at(record.at_ns),
                            newer.client,
                            timeline.at(newer.begins_ns),
                        ),
                    });
                }
            }
            _ => {}
        }
    }
    Verdict::Holds
}

/// The last of a client's grants that the key may belong to when the client releases one of them:
/// the released grant, or one that the client requested after the lease of the released one was
/// over.
fn last_of_own<'t, 'h>(
    timeline: &'t Timeline<'h>,
    own: &'t Grant<'h>,
    released_at: usize,
) -> &'t Grant<'h> {
    let records = timeline.all_records();
    let is_new = |grant: &&Grant| {
        let asked_ns = grant.asked.map(|asked| records[asked].at_ns);
        grant.host == own.host && grant.number != own.number && asked_ns >= Some(own.lapses_ns)
    };
    let grants = &timeline.grants;
    // None that began before it was asked for after its lease.
    let from = grants.partition_point(|grant| grant.begins_ns < own.begins_ns);
    let end = grants.partition_point(|grant| grant.began < released_at);
    let later = grants.get(from..end).unwrap_or_default();
    later.iter().rfind(is_new).unwrap_or(own)
}

/// The grants so far: all of them, and the exclusive ones.
#[derive(Default)]
struct Granted<'t, 'h> {
    all: LastAsked<'t, 'h>,
    exclusive: LastAsked<'t, 'h>,
}

impl<'t, 'h> Granted<'t, 'h> {
    fn take(&mut self, grant: &'t Grant<'h>) {
        self.all.take(grant);
        if !grant.shared {
            self.exclusive.take(grant);
        }
    }

    fn other_than(&self, host: usize) -> Conflicting<'t, 'h> {
        Conflicting {
            with_writer: self.all.other_than(host),
            with_reader: self.exclusive.other_than(host),
        }
    }
}

/// The grant requested last that cannot coexist with a client's own.
#[derive(Default, Clone, Copy)]
struct Conflicting<'t, 'h> {
    with_writer: Option<&'t Grant<'h>>,
    with_reader: Option<&'t Grant<'h>>,
}

impl<'t, 'h> Conflicting<'t, 'h> {
    fn with(self, own: &Grant) -> Option<&'t Grant<'h>> {
        match own.shared {
            true => self.with_reader,
            false => self.with_writer,
        }
    }
}

/// The grant requested last so far, and the last one of any other client.
#[derive(Default)]
struct LastAsked<'t, 'h> {
    last: Option<&'t Grant<'h>>,
    other: Option<&'t Grant<'h>>,
}

impl<'t, 'h> LastAsked<'t, 'h> {
    fn take(&mut self, grant: &'t Grant<'h>) {
        let asked = |grant: Option<&Grant>| grant.and_then(|grant| grant.asked);
        let is_lasts = self.last.is_some_and(|last| last.host == grant.host);
        if grant.asked >= asked(self.last) {
            if !is_lasts {
                self.other = self.last;
            }
            self.last = Some(grant);
        } else if grant.asked >= asked(self.other) {
            // A client's own grants are ordered by its requests.
            self.other = Some(grant);
        }
    }

    fn other_than(&self, host: usize) -> Option<&'t Grant<'h>> {
        self.last.filter(|last| last.host != host).or(self.other)
    }
}
