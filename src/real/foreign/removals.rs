//! What the releases of programs deleted that tell everything but that, by the wire.

use locklab_history::wire::{Answer, At, Release};
use locklab_history::{Event, Failpoint, History, Name, Op};
use locklab_vecmap::VecMap;

/// `Released` after each release that a program has told without saying what it deleted, and `deleting` when the
/// request left that is known to have given its key up.
pub(super) fn removals(history: &History, answers: &[Answer]) -> Vec<At> {
    let releases = answers.iter().filter_map(|answer| match answer {
        Answer::Granted(grant) => Some((&grant.client, grant.release?)),
        Answer::Refused { .. } => None,
    });
    let releases: Vec<(&Name, Release)> = releases.collect();
    let mut ended: VecMap<&Name, u32> = VecMap::new();
    let mut called: VecMap<&Name, u64> = VecMap::new();
    let mut events = Vec::new();
    for (place, record) in history.records.iter().enumerate() {
        let (host, at_ns) = (&record.host, record.at_ns);
        match record.event {
            Event::BeliefEnds { grant } => {
                ended.insert(host, grant);
            }
            Event::Invoke {
                op: Op::Release, ..
            } => {
                called.insert(host, at_ns);
            }
            Event::Complete {
                op: Op::Release, ..
            } => {
                let (Some(from_ns), Some(grant)) = (called.remove(host), ended.remove(host)) else {
                    continue;
                };
                let mut later = history.records[place + 1..].iter();
                let next = later.find(|later| later.host == *host);
                if next.is_some_and(|next| matches!(next.event, Event::Released { .. })) {
                    continue;
                }
                let own = releases.iter().find(|(client, release)| {
                    *client == host && (from_ns..=at_ns).contains(&release.sent_ns)
                });
                if let Some((_, release)) = own
                    && let Some(removed) = release.removed
                {
                    let deleting = Event::reached(Failpoint::Deleting);
                    events.push((release.sent_ns, host.clone(), deleting));
                    events.push((at_ns, host.clone(), Event::Released { grant, removed }));
                }
            }
            _ => {}
        }
    }
    events
}

#[cfg(test)]
mod tests;
