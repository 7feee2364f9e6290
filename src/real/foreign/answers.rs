//! When the nodes of a lock answered programs.

use locklab_history::Name;
use locklab_proxy::Segment;
use locklab_vecmap::VecMap;

/// What programs sent to each node, and what came back on each connection; in nanoseconds of the machine's monotonic
/// clock, in order.
#[derive(Debug, Default)]
pub(crate) struct Answers<'a> {
    /// When each request left, and its connection, by program and node.
    requests: VecMap<(&'a Name, &'a Name), Vec<(u64, u64)>>,
    /// When each answer left and had arrived, by connection.
    answers: VecMap<u64, Vec<(u64, u64)>>,
    /// How many nodes have to grant the lock.
    need: usize,
}

impl<'a> Answers<'a> {
    /// Of a lock that so many nodes have to grant.
    pub(crate) fn of(
        segments: &'a [Segment],
        is_node: impl Fn(&Name) -> bool,
        need: usize,
    ) -> Self {
        let mut of = Answers {
            need,
            ..Answers::default()
        };
        for segment in segments {
            if is_node(&segment.to) {
                let requests = of.requests.entry((&segment.from, &segment.to)).or_default();
                requests.push((segment.sent_ns, segment.connection));
            } else if let Some(arrived_ns) = segment.arrived_ns.filter(|_| is_node(&segment.from)) {
                let answers = of.answers.entry(segment.connection).or_default();
                answers.push((segment.sent_ns, arrived_ns));
            }
        }
        of.requests.values_mut().for_each(|all| all.sort_unstable());
        of.answers.values_mut().for_each(|all| all.sort_unstable());
        of
    }

    /// When enough nodes had answered what a program sent them first at `from_ns` or later; `None` if they had not by
    /// `by_ns`.
    pub(super) fn after(&self, host: &Name, from_ns: u64, by_ns: u64) -> Option<u64> {
        let own = { self.requests.iter() }.filter(|((client, _), _)| *client == host);
        let answered = own.filter_map(|(_, requests)| self.first_answer(requests, from_ns));
        let mut answered: Vec<u64> = answered.filter(|at_ns| *at_ns <= by_ns).collect();
        answered.sort_unstable();
        answered.get(self.need.checked_sub(1)?).copied()
    }

    fn first_answer(&self, requests: &[(u64, u64)], from_ns: u64) -> Option<u64> {
        let first = requests.partition_point(|(sent_ns, _)| *sent_ns < from_ns);
        let (sent_ns, connection) = requests.get(first)?;
        let answers = self.answers.get(connection)?;
        let first = answers.partition_point(|(answered_ns, _)| answered_ns < sent_ns);
        Some(answers.get(first)?.1)
    }
}

/// A segment of a byte.
#[cfg(test)]
pub(super) fn segment(
    connection: u64,
    [from, to]: [&str; 2],
    sent_ns: u64,
    arrived_ns: u64,
) -> Segment {
    Segment {
        connection,
        from: from.into(),
        to: to.into(),
        sent_ns,
        arrived_ns: Some(arrived_ns),
        payload: vec![1].into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_answered_on_its_connection_by_as_many_nodes_as_it_needs() {
        let segments = [
            segment(1, ["c1", "n1"], 10, 12),
            segment(2, ["n1", "c1"], 13, 14),
            segment(1, ["n1", "c1"], 15, 18),
            segment(3, ["c1", "s1"], 10, 11),
            segment(3, ["s1", "c1"], 11, 12),
            segment(4, ["c1", "n2"], 11, 12),
            segment(4, ["n2", "c1"], 13, 25),
            segment(1, ["c1", "n1"], 30, 32),
        ];
        let after = |need, from_ns, by_ns| {
            let answers = Answers::of(&segments, |name| name.starts_with('n'), need);
            answers.after(&"c1".into(), from_ns, by_ns)
        };
        assert_eq!(after(1, 5, 18), Some(18));
        assert_eq!(after(1, 10, 20), Some(18));
        assert_eq!(after(1, 10, 17), None);
        assert_eq!(after(1, 12, 100), None);
        assert_eq!(after(2, 10, 100), Some(25));
        assert_eq!(after(2, 10, 20), None);
        assert_eq!(after(3, 10, 100), None);
    }
}
