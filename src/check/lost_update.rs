//! No accepted write overwrites a version that its writer had not read.
//!
//! Each client reads a version, computes from it, and writes: the read-modify-write that the
//! lock is there to protect. An accepted write that is based on anything but the version
//! current before it discards another client's write.

use super::{Verdict, Violation};
use locklab_history::timeline::{Holder, Timeline};
use locklab_history::{Access, Event, Record};

pub(super) fn check(timeline: &Timeline) -> Verdict {
    let mut current = 0;
    let mut writer: Option<(Holder, &Record)> = None;
    for (_, _, record) in timeline.records() {
        let Event::Access {
            client,
            grant,
            access: Access::Write { based_on, version },
            accepted: true,
            ..
        } = &record.event
        else {
            continue;
        };
        let holder = (client, *grant);
        if *based_on != current {
            let (clients, lost) = match writer {
                Some((author, written)) => (
                    timeline.clients([author, holder]),
                    format!(
                        "which {} had written at {}",
                        author.0,
                        timeline.at(written.at_ns)
                    ),
                ),
                None => (vec![client.clone()], "the first".to_owned()),
            };
            return Verdict::Violated(Violation {
                at_ns: record.at_ns,
                until_ns: record.at_ns,
                clients,
                what: format!(
                    "{client} wrote version {version} at {} from version {based_on} and so \
                     overwrote, unseen, version {current}, {lost}",
                    timeline.at(record.at_ns),
                ),
            });
        }
        current = *version;
        writer = Some((holder, record));
    }
    Verdict::Holds
}

#[cfg(test)]
mod tests {
    use crate::Verdict;
    use crate::history_builder::HistoryBuilder;
    use locklab_history::timeline::Timeline;

    /// How the register treats an access whose token is below the highest it has seen.
    #[derive(Clone, Copy, Debug)]
    enum Fencing {
        None,
        Writes,
        ReadsAndWrites,
    }

    /// Executes two read-modify-writes in one order, `false` for a step of the client with token 33
    /// and `true` for one with 34, on a register with this fencing. Returns the history, and
    /// whether an acknowledged update was lost: each client adds one, so an update is lost if the
    /// final value is below the number of acknowledged additions.
    fn play(order: [bool; 4], fencing: Fencing) -> (HistoryBuilder, bool) {
        let mut builder = HistoryBuilder::default();
        let (mut value, mut acknowledged, mut highest) = (0, 0, 0);
        let mut seen: [Option<u64>; 2] = [None, None];
        let mut version = 0;
        let mut seen_version = [0, 0];
        let mut step_of = [0, 0];
        for (at_ms, second) in (100..).zip(order) {
            let (client, me) = if second { ("c2", 1) } else { ("c1", 0) };
            let token = 33 + me as u64;
            let is_read = step_of[me] == 0;
            step_of[me] += 1;
            let checked = match fencing {
                Fencing::None => false,
                Fencing::Writes => !is_read,
                Fencing::ReadsAndWrites => true,
            };
            if checked && token < highest {
                if !is_read {
                    builder = builder.refused_writing(at_ms, client, seen_version[me]);
                }
                continue;
            }
            if checked {
                highest = token;
            }
            if is_read {
                seen[me] = Some(value);
                seen_version[me] = version;
                builder = builder.reads(at_ms, client, version);
            } else if let Some(read) = seen[me] {
                value = read + 1;
                acknowledged += 1;
                version += 1;
                builder = builder.writes(at_ms, client, seen_version[me]);
            }
        }
        (builder, value < acknowledged)
    }

    #[test]
    fn fencing_writes_halves_the_lost_updates_and_fencing_reads_too_ends_them() {
        let orders = (0..16_u32)
            .filter(|bits| bits.count_ones() == 2)
            .map(|bits| std::array::from_fn(|step| bits >> step & 1 == 1));
        let orders: Vec<[bool; 4]> = orders.collect();
        assert_eq!(orders.len(), 6);

        for (fencing, expected) in [
            (Fencing::None, 4),
            (Fencing::Writes, 2),
            (Fencing::ReadsAndWrites, 0),
        ] {
            let mut lost = 0;
            for &order in &orders {
                let (builder, is_lost) = play(order, fencing);
                let history = builder.history();
                let verdict = super::check(&Timeline::of(&history));
                let violated = matches!(verdict, Verdict::Violated(_));
                assert_eq!(violated, is_lost, "{fencing:?} {order:?}");
                lost += u32::from(is_lost);
            }
            assert_eq!(lost, expected, "{fencing:?}");
        }
    }
}
