//! The beliefs of clients that they hold the lock, and their overlaps: the timeline of the checks,
//! prepared for a picture.

use locklab_history::timeline::{Grant, Timeline};

/// One stretch of a client's belief, in true time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold<'a> {
    /// The client that believes.
    pub client: &'a str,
    /// True time of the grant, in nanoseconds.
    pub from_ns: u64,
    /// When the client's own clock reached the deadline, if that was before the end.
    pub deadline_ns: Option<u64>,
    /// When the client ended its belief, or died, or the run ended; or when an expired lease
    /// was renewed, which begins another stretch.
    pub until_ns: u64,
    /// The fencing token of the grant, if it has one.
    pub token: Option<u64>,
    /// Whether it is a reader's grant.
    pub shared: bool,
}

impl Hold<'_> {
    /// The end of the part that the lease covers.
    pub fn covered_until_ns(&self) -> u64 {
        self.deadline_ns.unwrap_or(self.until_ns)
    }
}

/// A period in which two clients believe at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap<'a> {
    /// Both believe that they hold the lock.
    pub clients: [&'a str; 2],
    /// True time of its beginning, in nanoseconds.
    pub from_ns: u64,
    /// True time of its end, in nanoseconds.
    pub until_ns: u64,
    /// Whether one of the two is past its own deadline.
    pub past_deadline: bool,
}

/// All beliefs of a history, in the order of their beginnings.
pub fn holds<'a>(timeline: &Timeline<'a>) -> Vec<Hold<'a>> {
    let grants = timeline.grants.iter().enumerate();
    let hold = |(place, grant): (usize, &Grant<'a>)| {
        let later = &timeline.grants[place + 1..];
        let renewed = later
            .iter()
            .find(|later| (later.host, later.number) == (grant.host, grant.number));
        Hold {
            client: grant.client,
            from_ns: grant.begins_ns,
            deadline_ns: (grant.lapses_ns < grant.ends_ns).then_some(grant.lapses_ns),
            until_ns: renewed.map_or(grant.ends_ns, |renewed| {
                grant.ends_ns.min(renewed.begins_ns)
            }),
            token: grant.token,
            shared: grant.shared,
        }
    };
    grants.map(hold).collect()
}

/// The overlaps of holds of different clients that are not both readers; covered and uncovered
/// parts are separate.
pub fn overlaps<'a>(holds: &[Hold<'a>]) -> Vec<Overlap<'a>> {
    let mut overlaps = Vec::new();
    for (index, earlier) in holds.iter().enumerate() {
        for later in &holds[index + 1..] {
            let is_shared = earlier.shared && later.shared;
            if earlier.client == later.client || is_shared {
                continue;
            }
            let from_ns = earlier.from_ns.max(later.from_ns);
            let until_ns = earlier.until_ns.min(later.until_ns);
            let covered = earlier.covered_until_ns().min(later.covered_until_ns());
            let covered_ns = covered.clamp(from_ns, until_ns.max(from_ns));
            let clients = [earlier.client, later.client];
            for (from_ns, until_ns, past_deadline) in
                [(from_ns, covered_ns, false), (covered_ns, until_ns, true)]
            {
                if from_ns < until_ns {
                    overlaps.push(Overlap {
                        clients,
                        from_ns,
                        until_ns,
                        past_deadline,
                    });
                }
            }
        }
    }
    overlaps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::FileFailurePersistence;

    use super::*;
    use locklab_check::random::{BOUNDS, histories};
    use locklab_check::{Property, Verdict, judge};
    use locklab_history::{ClockKind, Deadline, Event, History, Record};

    fn hold(client: &str, from_ns: u64, deadline_ns: Option<u64>, until_ns: u64) -> Hold<'_> {
        Hold {
            client,
            from_ns,
            deadline_ns,
            until_ns,
            token: None,
            shared: false,
        }
    }

    fn check(holds: &[Hold], expected: &[(u64, u64, bool)]) {
        let found = overlaps(holds);
        let found: Vec<_> = (found.iter())
            .map(|overlap| (overlap.from_ns, overlap.until_ns, overlap.past_deadline))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn overlap_is_split_at_the_deadline() {
        let (first, second) = (hold("c1", 0, Some(10), 20), hold("c2", 5, None, 30));
        check(&[first, second], &[(5, 10, false), (10, 20, true)]);
    }

    #[test]
    fn consecutive_holds_do_not_overlap() {
        let (first, second) = (hold("c1", 0, None, 5), hold("c2", 5, None, 30));
        check(&[first, second], &[]);
    }

    #[test]
    fn readers_do_not_overlap_one_another() {
        let reader = |hold| Hold {
            shared: true,
            ..hold
        };
        let (first, second) = (hold("c1", 0, None, 9), hold("c2", 5, None, 30));
        check(&[reader(first), reader(second)], &[]);
        check(&[reader(first), second], &[(5, 9, false)]);
    }

    #[test]
    fn a_client_does_not_overlap_with_itself() {
        check(&[hold("c1", 0, None, 9), hold("c1", 5, None, 30)], &[]);
    }

    /// A client that extends an expired lease did not hold the lock in between.
    #[test]
    fn lease_renewed_in_time_is_one_hold_and_late_renewal_starts_another() {
        let begins = |at_ns| Record {
            at_ns,
            host: "c1".into(),
            wall_ns: at_ns,
            mono_ns: at_ns,
            event: Event::BeliefBegins {
                grant: 1,
                deadline: Some(Deadline {
                    clock: ClockKind::Wall,
                    at_ns: at_ns + 10,
                }),
                token: None,
                shared: false,
            },
        };
        let check = |renewed_ns, expected: &[Hold]| {
            let history = History {
                records: vec![begins(0), begins(renewed_ns)],
                end_ns: 100,
                ..History::default()
            };
            assert_eq!(holds(&Timeline::of(&history)), expected);
        };
        check(9, &[hold("c1", 0, Some(19), 100)]);
        check(
            12,
            &[hold("c1", 0, Some(10), 12), hold("c1", 12, Some(22), 100)],
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 512,
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
                "tests/regressions/report-holds.txt",
            ))),
            ..ProptestConfig::default()
        })]

        #[test]
        fn overlaps_begin_where_the_checks_say(history in histories()) {
            let holds = holds(&Timeline::of(&history));
            let shown = overlaps(&holds);
            let begins_ns = |overlaps: &mut dyn Iterator<Item = &Overlap>| {
                overlaps.map(|overlap| overlap.from_ns).min()
            };
            let verdicts = judge(&history, &BOUNDS);
            let judged_ns = |property| match &verdicts[&property] {
                Verdict::Violated(violation) => Some(violation.at_ns),
                _ => None,
            };
            prop_assert_eq!(begins_ns(&mut shown.iter()), judged_ns(Property::Belief));
            let covered = begins_ns(&mut shown.iter().filter(|overlap| !overlap.past_deadline));
            prop_assert_eq!(covered, judged_ns(Property::Lease));
        }
    }
}
